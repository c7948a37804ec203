//! Record batches (magic 2), written and read by hand: the tests must not share the broker's view of them.

use std::io::Write;

use bytes::{Buf, BufMut, Bytes, BytesMut};

/// A batch to be sent.
#[derive(Clone)]
pub struct Batch {
    pub records: Vec<(Option<Bytes>, Option<Bytes>, i64)>,
    pub attributes: i16,
    pub magic: i8,
    pub base_offset: i64,
    pub leader_epoch: i32,
    pub producer_id: i64,
    pub producer_epoch: i16,
    pub base_sequence: i32,
}

impl Batch {
    pub fn new() -> Batch {
        Batch {
            records: Vec::new(),
            attributes: 0,
            magic: 2,
            base_offset: 0,
            leader_epoch: -1,
            producer_id: -1,
            producer_epoch: -1,
            base_sequence: -1,
        }
    }

    /// Values without keys, one millisecond apart from now.
    pub fn of(values: &[&str]) -> Batch {
        let start = now_ms();
        values.iter().zip(start..).fold(Batch::new(), |batch, (value, at)| batch.value(value, at))
    }

    pub fn value(self, value: &str, timestamp: i64) -> Batch {
        self.record(None, Some(value), timestamp)
    }

    pub fn record(mut self, key: Option<&str>, value: Option<&str>, timestamp: i64) -> Batch {
        let own = |text: &str| Bytes::copy_from_slice(text.as_bytes());
        self.records.push((key.map(own), value.map(own), timestamp));
        self
    }

    pub fn producer(mut self, id: i64, epoch: i16, base_sequence: i32) -> Batch {
        (self.producer_id, self.producer_epoch, self.base_sequence) = (id, epoch, base_sequence);
        self
    }

    pub fn attributes(mut self, attributes: i16) -> Batch {
        self.attributes = attributes;
        self
    }

    pub fn build(&self) -> Bytes {
        self.build_with(&compress(self.attributes & 7, &self.encoded()))
    }

    /// The records, uncompressed.
    fn encoded(&self) -> BytesMut {
        let base_timestamp = self.records.first().map_or(-1, |record| record.2);
        let mut records = BytesMut::new();
        for (index, (key, value, timestamp)) in (0..).zip(&self.records) {
            let mut record = BytesMut::new();
            record.put_i8(0);
            put_varint(&mut record, timestamp - base_timestamp);
            put_varint(&mut record, index);
            put_bytes(&mut record, key.as_deref());
            put_bytes(&mut record, value.as_deref());
            put_varint(&mut record, 0);
            put_varint(&mut records, i64::try_from(record.len()).unwrap());
            records.put_slice(&record);
        }
        records
    }

    /// The batch with this behind its header, whatever its records are.
    pub fn build_with(&self, payload: &[u8]) -> Bytes {
        let base_timestamp = self.records.first().map_or(-1, |record| record.2);
        let max_timestamp = self.records.iter().map(|record| record.2).max().unwrap_or(-1);
        let mut checked = BytesMut::new();
        checked.put_i16(self.attributes);
        checked.put_i32(i32::try_from(self.records.len()).unwrap() - 1);
        checked.put_i64(base_timestamp);
        checked.put_i64(max_timestamp);
        checked.put_i64(self.producer_id);
        checked.put_i16(self.producer_epoch);
        checked.put_i32(self.base_sequence);
        checked.put_i32(i32::try_from(self.records.len()).unwrap());
        checked.put_slice(payload);
        let mut batch = BytesMut::new();
        batch.put_i64(self.base_offset);
        batch.put_i32(i32::try_from(checked.len()).unwrap() + 9);
        batch.put_i32(self.leader_epoch);
        batch.put_i8(self.magic);
        batch.put_u32(crc32c::crc32c(&checked));
        batch.put_slice(&checked);
        batch.freeze()
    }
}

/// The codec's number in a batch's attributes.
pub const CODECS: [(&str, i16); 5] =
    [("none", 0), ("gzip", 1), ("snappy", 2), ("lz4", 3), ("zstd", 4)];

pub fn compress(codec: i16, records: &[u8]) -> Vec<u8> {
    match codec {
        1 => {
            let mut encoder =
                flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
            encoder.write_all(records).unwrap();
            encoder.finish().unwrap()
        }
        2 => snap::raw::Encoder::new().compress_vec(records).unwrap(),
        3 => {
            let mut encoder = lz4_flex::frame::FrameEncoder::new(Vec::new());
            encoder.write_all(records).unwrap();
            encoder.finish().unwrap()
        }
        4 => zstd::encode_all(records, 0).unwrap(),
        _ => records.to_vec(),
    }
}

pub fn now_ms() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    i64::try_from(since.as_millis()).unwrap()
}

/// A batch as it was fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetched {
    pub base_offset: i64,
    pub leader_epoch: i32,
    pub attributes: i16,
    pub last_offset_delta: i32,
    pub base_timestamp: i64,
    pub max_timestamp: i64,
    pub producer_id: i64,
    pub producer_epoch: i16,
    pub base_sequence: i32,
    pub count: i32,
    /// Empty when the batch is compressed.
    pub values: Vec<Option<String>>,
}

/// The whole batches of a fetched record set; a cut batch at the end is left out. Sizes and checksums are checked.
pub fn read(mut records: Bytes) -> Vec<Fetched> {
    let mut batches = Vec::new();
    while records.len() > 12 {
        let size =
            12 + usize::try_from(i32::from_be_bytes(records[8..12].try_into().unwrap())).unwrap();
        if size > records.len() {
            break;
        }
        batches.push(read_one(records.split_to(size)));
    }
    batches
}

fn read_one(mut batch: Bytes) -> Fetched {
    let base_offset = batch.get_i64();
    let _size = batch.get_i32();
    let leader_epoch = batch.get_i32();
    assert_eq!(batch.get_i8(), 2, "magic");
    assert_eq!(batch.get_u32(), crc32c::crc32c(&batch), "checksum of the batch at {base_offset}");
    let mut fetched = Fetched {
        base_offset,
        leader_epoch,
        attributes: batch.get_i16(),
        last_offset_delta: batch.get_i32(),
        base_timestamp: batch.get_i64(),
        max_timestamp: batch.get_i64(),
        producer_id: batch.get_i64(),
        producer_epoch: batch.get_i16(),
        base_sequence: batch.get_i32(),
        count: batch.get_i32(),
        values: Vec::new(),
    };
    if fetched.attributes & 7 == 0 {
        fetched.values = (0..fetched.count).map(|_| read_value(&mut batch)).collect();
    }
    fetched
}

fn read_value(batch: &mut Bytes) -> Option<String> {
    let size = usize::try_from(get_varint(batch)).unwrap();
    let mut record = batch.split_to(size);
    record.advance(1);
    get_varint(&mut record);
    get_varint(&mut record);
    get_bytes(&mut record);
    get_bytes(&mut record).map(|value| String::from_utf8(value.to_vec()).unwrap())
}

fn get_bytes(from: &mut Bytes) -> Option<Bytes> {
    usize::try_from(get_varint(from)).ok().map(|size| from.split_to(size))
}

fn put_bytes(to: &mut BytesMut, bytes: Option<&[u8]>) {
    match bytes {
        None => put_varint(to, -1),
        Some(bytes) => {
            put_varint(to, i64::try_from(bytes.len()).unwrap());
            to.put_slice(bytes);
        }
    }
}

pub fn put_varint(to: &mut BytesMut, value: i64) {
    let mut rest = ((value << 1) ^ (value >> 63)) as u64;
    while rest >= 0x80 {
        to.put_u8(rest as u8 | 0x80);
        rest >>= 7;
    }
    to.put_u8(rest as u8);
}

fn get_varint(from: &mut Bytes) -> i64 {
    let (mut value, mut shift) = (0u64, 0);
    loop {
        let byte = from.get_u8();
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return (value >> 1) as i64 ^ -((value & 1) as i64);
        }
        shift += 7;
    }
}
