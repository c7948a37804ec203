//! Record batches (magic 2), uncompressed: made for raw producers, taken apart for raw readers.

use crate::payload;
use bytes::{Buf, BufMut, Bytes, BytesMut};
use judge::history::Record;

/// Who sends a batch, as an idempotent producer.
#[derive(Debug, Clone, Copy)]
pub struct Producer {
    pub id: i64,
    pub epoch: i16,
    /// Of the first record.
    pub sequence: i32,
}

/// What a batch has before its records.
const HEADER_BYTES: usize = 61;
/// Of which this many before what `length` counts.
const LENGTH_FROM: usize = 12;
/// What the checksum covers begins here.
const CHECKED_FROM: usize = 21;

/// A batch of records with these keys and payloads, all of the time `timestamp` (milliseconds).
pub fn encode(producer: Producer, timestamp: i64, records: &[(String, Vec<u8>)]) -> Bytes {
    let mut checked = BytesMut::new();
    checked.put_i16(0);
    checked.put_i32(records.len() as i32 - 1);
    checked.put_i64(timestamp);
    checked.put_i64(timestamp);
    checked.put_i64(producer.id);
    checked.put_i16(producer.epoch);
    checked.put_i32(producer.sequence);
    checked.put_i32(records.len() as i32);
    for (index, (key, value)) in records.iter().enumerate() {
        let mut record = BytesMut::new();
        record.put_u8(0);
        put_varint(&mut record, 0);
        put_varint(&mut record, index as i64);
        put_varint(&mut record, key.len() as i64);
        record.put_slice(key.as_bytes());
        put_varint(&mut record, value.len() as i64);
        record.put_slice(value);
        put_varint(&mut record, 0);
        put_varint(&mut checked, record.len() as i64);
        checked.put_slice(&record);
    }
    let mut batch = BytesMut::new();
    batch.put_i64(0);
    batch.put_i32((checked.len() + CHECKED_FROM - LENGTH_FROM) as i32);
    batch.put_i32(-1);
    batch.put_u8(2);
    batch.put_u32(crc32c::crc32c(&checked));
    batch.put_slice(&checked);
    batch.freeze()
}

/// All records in `records`, which are whole batches and, as Kafka answers, perhaps a part of one more.
pub fn decode(mut records: Bytes) -> Result<Vec<Record>, String> {
    let mut all = Vec::new();
    while let Some(size) = whole_batch(&records)? {
        decode_batch(records.split_to(size), &mut all)?;
    }
    Ok(all)
}

/// The bytes of the first batch, if all of it is there.
fn whole_batch(records: &[u8]) -> Result<Option<usize>, String> {
    let Some(length) = records.get(8..LENGTH_FROM) else { return Ok(None) };
    let length = i32::from_be_bytes(length.try_into().map_err(|_| "no length".to_owned())?);
    let length = usize::try_from(length).map_err(|_| format!("a batch of {length} bytes"))?;
    if length < HEADER_BYTES - LENGTH_FROM {
        return Err(format!("a batch of {length} bytes"));
    }
    Ok(Some(LENGTH_FROM + length).filter(|size| *size <= records.len()))
}

fn decode_batch(mut batch: Bytes, all: &mut Vec<Record>) -> Result<(), String> {
    let checksum = crc32c::crc32c(&batch[CHECKED_FROM..]);
    let base = batch.get_i64();
    batch.advance(8);
    let (magic, claimed) = (batch.get_u8(), batch.get_u32());
    if magic != 2 {
        return Err(format!("magic {magic} at offset {base}"));
    }
    if claimed != checksum {
        return Err(format!("wrong checksum at offset {base}"));
    }
    let attributes = batch.get_i16();
    if attributes & 7 != 0 {
        return Err(format!("compressed at offset {base}"));
    }
    let last_delta = i64::from(batch.get_i32());
    batch.advance(8 + 8 + 8 + 2 + 4);
    let count = batch.get_i32();
    for _ in 0..count {
        let record = decode_record(&mut batch, base).ok_or(format!("damaged at offset {base}"))?;
        if !(base..=base + last_delta).contains(&record.offset) {
            return Err(format!("offset {} in a batch from {base}", record.offset));
        }
        all.push(record);
    }
    if batch.has_remaining() {
        return Err(format!("bytes left over at offset {base}"));
    }
    Ok(())
}

fn decode_record(batch: &mut Bytes, base: i64) -> Option<Record> {
    let size = usize::try_from(varint(batch)?).ok().filter(|size| *size <= batch.len())?;
    let mut record = batch.split_to(size);
    record.try_get_u8().ok()?;
    varint(&mut record)?;
    let offset = base.checked_add(varint(&mut record)?)?;
    let key = field(&mut record)?;
    let value = field(&mut record)?;
    Some(Record {
        offset,
        key: payload::decode_key(key.as_deref()),
        value: value.as_deref().map_or(0, payload::decode),
    })
}

/// A key or a value; there may be none.
fn field(record: &mut Bytes) -> Option<Option<Bytes>> {
    let size = varint(record)?;
    if size < 0 {
        return Some(None);
    }
    let size = usize::try_from(size).ok().filter(|size| *size <= record.len())?;
    Some(Some(record.split_to(size)))
}

fn put_varint(to: &mut BytesMut, value: i64) {
    let mut rest = ((value << 1) ^ (value >> 63)) as u64;
    while rest >= 0x80 {
        to.put_u8(rest as u8 | 0x80);
        rest >>= 7;
    }
    to.put_u8(rest as u8);
}

fn varint(from: &mut Bytes) -> Option<i64> {
    let mut value = 0_u64;
    for shift in (0..64).step_by(7) {
        let byte = from.try_get_u8().ok()?;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some((value >> 1) as i64 ^ -((value & 1) as i64));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(values: &[u64]) -> Bytes {
        let record = |value: &u64| (payload::key(3), payload::encode(*value, 20));
        let records: Vec<_> = values.iter().map(record).collect();
        encode(Producer { id: 7, epoch: 1, sequence: 9 }, 1_700_000_000_000, &records)
    }

    #[test]
    fn batches_come_back_up_to_the_one_that_is_cut_off() {
        let two = [batch(&[1, 2]), batch(&[3])].concat();
        let record = |offset, value| Record { offset, key: 3, value };
        let all = [record(0, 1), record(1, 2), record(0, 3)];
        assert_eq!(decode(two.clone().into()).unwrap(), all);
        assert_eq!(decode(two[..two.len() - 1].to_vec().into()).unwrap(), all[..2]);
        assert_eq!(decode(Bytes::new()).unwrap(), []);
    }

    #[test]
    fn a_changed_byte_under_the_checksum_is_found() {
        let good = batch(&[1]);
        for index in [CHECKED_FROM, HEADER_BYTES, good.len() - 1] {
            let mut bad = good.to_vec();
            bad[index] ^= 1;
            assert_eq!(decode(bad.into()).unwrap_err(), "wrong checksum at offset 0");
        }
    }

    #[test]
    fn ottla_takes_such_a_batch_for_one() {
        let checked = ottla::wire::batch::check(9, batch(&[1, 2]), 1 << 20).unwrap();
        assert_eq!((checked.header.producer_id, checked.header.records_count), (7, 2));
    }
}
