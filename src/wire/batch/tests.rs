//! Batches and records: golden bytes, Kafka's answers, spoilt bytes.

use super::*;
use crate::wire::{
    Builder, RecordError,
    compression::{compress, decompress},
    records,
    sample::Random,
};

/// Two records, the first with headers `h=1` and `h=null`, the second all null; accepted and given back by Kafka 4.1.1.
const GOLDEN: &str = "00000000000000000000004f00000000027f55520e0000000000010000018bcfe56800\
    0000018bcfe568faffffffffffffffffffffffffffff000000022a000000066b65790a76616c756504026802310268\
    010e00f40302010100";

fn golden() -> Bytes {
    let digits: Vec<u8> = GOLDEN.bytes().filter(u8::is_ascii_hexdigit).collect();
    digits
        .chunks(2)
        .map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

#[test]
fn a_header_is_read_and_written_field_by_field() {
    let header = Header::parse(&golden()).unwrap();
    let expected = Header {
        base_offset: 0,
        batch_length: 79,
        partition_leader_epoch: 0,
        magic: 2,
        crc: 0x7f55_520e,
        attributes: 0,
        last_offset_delta: 1,
        base_timestamp: 1_700_000_000_000,
        max_timestamp: 1_700_000_000_250,
        producer_id: -1,
        producer_epoch: -1,
        base_sequence: -1,
        records_count: 2,
    };
    assert_eq!(header, expected);
    assert_eq!(header.encode(), golden()[..HEADER_BYTES]);
    assert_eq!((header.size(), header.last_offset(), header.last_sequence()), (91, 1, -1));
    assert_eq!(Header::parse(&golden()[..60]), None);
    let wrapped = Header { base_sequence: i32::MAX, ..header };
    assert_eq!(wrapped.last_sequence(), 0);
}

#[test]
fn records_are_read_where_they_lie() {
    let batch = check(7, golden(), usize::MAX).unwrap();
    let payload = batch.payload();
    let all: Vec<_> = records(&batch.header, &payload).map(Result::unwrap).collect();
    assert_eq!((all[0].offset, all[0].timestamp), (0, 1_700_000_000_000));
    assert_eq!((all[0].key, all[0].value), (Some(&b"key"[..]), Some(&b"value"[..])));
    let headers: Vec<_> = all[0].headers.collect();
    assert_eq!(headers, [(&b"h"[..], Some(&b"1"[..])), (b"h", None)], "repeated keys are kept");
    assert_eq!((all[1].offset, all[1].timestamp), (1, 1_700_000_000_250));
    assert_eq!((all[1].key, all[1].value, all[1].headers.count()), (None, None, 0));
    assert_eq!([all[0].bytes, all[1].bytes].concat(), payload[..]);
}

fn one(attributes: i16) -> Header {
    let mut builder = Builder::plain();
    builder.push(1_700_000_000_000, Some(b"k"), Some(b"v"));
    Header { attributes, ..builder.build().unwrap().header }
}

/// A record of key "k" and value "v".
const RECORD: &[u8] = &[16, 0, 0, 0, 2, b'k', 2, b'v', 0];

fn bytes(header: Header) -> Vec<u8> {
    Batch::assemble(header, RECORD).unwrap().bytes.to_vec()
}

fn with(at: usize, values: &[u8]) -> Vec<u8> {
    let mut bytes = bytes(one(0));
    bytes[at..at + values.len()].copy_from_slice(values);
    bytes
}

/// Every code was seen on Kafka 4.1.1, but null records (here: empty), which it never answers.
#[test]
fn what_a_producer_may_send() {
    use ErrorCode::*;
    let good = || bytes(one(0));
    let header = one(0);
    let set = |header: Header| bytes(header);
    let cases: Vec<(&str, Vec<u8>, Option<ErrorCode>)> = vec![
        ("a batch", good(), None),
        ("nothing", vec![], Some(InvalidRecord)),
        ("11 bytes", good()[..11].to_vec(), Some(InvalidRecord)),
        ("16 bytes", good()[..16].to_vec(), Some(InvalidRecord)),
        ("all but one byte", good()[..69].to_vec(), Some(InvalidRecord)),
        ("two batches", [good(), good()].concat(), Some(InvalidRecord)),
        ("one byte more", [good(), vec![9]].concat(), None),
        ("half a batch more", [good(), good()[..50].to_vec()].concat(), None),
        ("12 zeros more", [good(), vec![0; 12]].concat(), Some(CorruptMessage)),
        ("magic 0", with(16, &[0]), Some(InvalidRecord)),
        ("magic 1", with(16, &[1]), Some(InvalidRecord)),
        ("magic 3", with(16, &[3]), Some(CorruptMessage)),
        ("magic -1", with(16, &[0xff]), Some(CorruptMessage)),
        ("wrong checksum", with(17, &[1, 2, 3, 4]), Some(CorruptMessage)),
        ("length -1", with(8, &[0xff; 4]), Some(CorruptMessage)),
        ("length 13", with(8, &[0, 0, 0, 13]), Some(CorruptMessage)),
        ("length 14", with(8, &[0, 0, 0, 14]), Some(CorruptMessage)),
        ("one too long", with(8, &[0, 0, 0, 59]), Some(InvalidRecord)),
        ("one too short", with(8, &[0, 0, 0, 57]), Some(CorruptMessage)),
        ("base offset 1", set(Header { base_offset: 1, ..header }), Some(InvalidRecord)),
        ("leader epoch 5", set(Header { partition_leader_epoch: 5, ..header }), None),
        ("delta 1", set(Header { last_offset_delta: 1, ..header }), Some(InvalidRecord)),
        ("delta -1", set(Header { last_offset_delta: -1, ..header }), Some(InvalidRecord)),
        ("count 0", set(Header { records_count: 0, ..header }), Some(InvalidRecord)),
        ("count 2", set(Header { records_count: 2, ..header }), Some(InvalidRecord)),
        (
            "no records",
            set(Header { records_count: 0, last_offset_delta: -1, ..header }),
            Some(InvalidRecord),
        ),
        ("a control batch", set(one(0x20)), Some(InvalidRecord)),
        ("codec 5", set(one(5)), Some(UnknownServerError)),
        ("a producer", set(Header { producer_id: 1, base_sequence: 0, ..header }), None),
        ("no sequence", set(Header { producer_id: 1, ..header }), Some(InvalidRecord)),
        ("producer id -2", set(Header { producer_id: -2, ..header }), None),
        ("unknown attributes", set(one(0x1c0)), None),
    ];
    for (name, bytes, expected) in cases {
        assert_eq!(code(7, bytes, 70), expected, "{name}");
    }
    let zstd = bytes(one(4));
    assert_eq!(code(6, zstd.clone(), 70), Some(UnsupportedCompressionType));
    assert_eq!(code(7, zstd, 70), None);
}

fn code(version: i16, bytes: Vec<u8>, bytes_max: usize) -> Option<ErrorCode> {
    check(version, bytes.into(), bytes_max).err().map(|flaw| flaw.code)
}

/// Kafka compares the size before the checksum, and only then looks at what the header says.
#[test]
fn too_large_is_found_before_it_is_read() {
    use ErrorCode::*;
    let spoilt = with(17, &[1, 2, 3, 4]);
    let control = bytes(one(0x20));
    let elsewhere = bytes(Header { base_offset: 1, ..one(0) });
    let two = [bytes(one(0)), bytes(one(0))].concat();
    for (name, bytes, expected) in [
        ("good", bytes(one(0)), MessageTooLarge),
        ("checksum", spoilt, MessageTooLarge),
        ("control", control, MessageTooLarge),
        ("codec", bytes(one(7)), MessageTooLarge),
        ("base offset", elsewhere, InvalidRecord),
        ("two", two, InvalidRecord),
    ] {
        assert_eq!(code(7, bytes, 69), Some(expected), "{name}");
    }
}

/// Seen on Kafka 4.1.1: what the log refuses is answered with where it starts, but for size and checksum.
#[test]
fn some_flaws_are_found_by_the_log() {
    let found = |bytes: Vec<u8>| check(7, bytes.into(), 70).unwrap_err().tells_log_start;
    assert!(found(bytes(Header { base_offset: 1, ..one(0) })));
    assert!(found(bytes(one(5))));
    let old = check(6, bytes(one(5)).into(), 70).unwrap_err();
    assert!(!old.tells_log_start, "an unknown codec is found before the log below v7");
    assert!(found(bytes(one(0x20))));
    assert!(found(bytes(Header { records_count: 2, ..one(0) })));
    assert!(!found(vec![]));
    assert!(!found(with(17, &[1, 2, 3, 4])));
    let magic_1_behind = [bytes(one(0)), with(16, &[1])].concat();
    assert!(!found(magic_1_behind));
}

#[test]
fn what_follows_a_batch_is_dropped() {
    let batch = check(7, [bytes(one(0)), vec![1, 2, 3]].concat().into(), 70).unwrap();
    assert_eq!(batch.bytes, bytes(one(0)));
}

#[test]
fn spoilt_payloads_are_errors() {
    let header = one(0);
    let first = |header: &Header, payload: &[u8]| records(header, payload).next().unwrap().err();
    let record = |at: usize, value: u8| {
        let mut record = RECORD.to_vec();
        record[at] = value;
        record
    };
    assert_eq!(first(&header, RECORD), None);
    assert_eq!(first(&header, &RECORD[..8]), Some(RecordError::Truncated));
    assert_eq!(first(&header, &[]), Some(RecordError::Truncated));
    assert_eq!(first(&header, &[RECORD, &[0]].concat()), Some(RecordError::Trailing));
    assert_eq!(first(&header, &record(0, 1)), Some(RecordError::Length));
    assert_eq!(first(&header, &record(8, 1)), Some(RecordError::Structure), "-1 headers");
    assert_eq!(first(&header, &record(8, 2)), Some(RecordError::Structure), "no room for one");
    assert_eq!(first(&header, &record(4, 40)), Some(RecordError::Structure), "key beyond the end");
    let longer = [18, 0, 0, 0, 2, b'k', 2, b'v', 0, 0];
    assert_eq!(first(&header, &longer), Some(RecordError::Length), "a byte left");
    let null_header_key = [22, 0, 0, 0, 2, b'k', 2, b'v', 2, 1, 1, 0];
    assert_eq!(first(&header, &null_header_key), Some(RecordError::Structure));
    let three = Header { records_count: 3, ..header };
    assert_eq!(records(&three, RECORD).count(), 2, "ends at the first error");
    assert_eq!(records(&Header { records_count: -5, ..header }, RECORD).count(), 0);
}

#[test]
fn random_payloads_never_panic() {
    let mut random = Random(5);
    let header = Header { records_count: 10, base_offset: i64::MAX, ..one(0) };
    for _ in 0..20_000 {
        let mut payload = [RECORD; 4].concat();
        random.mutate(&mut payload);
        for record in records(&header, &payload).flatten() {
            record.headers.for_each(drop);
        }
        let mut bytes = golden().to_vec();
        random.mutate(&mut bytes);
        let _ = check(7, bytes.clone().into(), usize::MAX);
        batches(bytes.into()).for_each(drop);
    }
}

#[test]
fn a_built_batch_reads_back() {
    let mut builder = Builder::transactional(7, 3).base_sequence(40);
    let records_in: Vec<_> = (0..300)
        .map(|at| {
            let key = (at % 3 > 0).then(|| vec![1; at as usize]);
            (1000 - at * 3, key, (at % 5 > 0).then(Vec::new))
        })
        .collect();
    for (timestamp, key, value) in &records_in {
        builder.push(*timestamp, key.as_deref(), value.as_deref());
    }
    let size = builder.size();
    let batch = check(13, builder.build().unwrap().bytes, usize::MAX).unwrap();
    assert_eq!(batch.bytes.len(), size);
    let header = batch.header;
    assert!(header.is_transactional() && !header.is_control());
    assert_eq!((header.producer_id, header.producer_epoch), (7, 3));
    assert_eq!((header.last_sequence(), header.max_timestamp), (339, 1000));
    let payload = batch.payload();
    let read: Vec<_> = records(&header, &payload)
        .map(Result::unwrap)
        .map(|r| (r.timestamp, r.key.map(<[u8]>::to_vec), r.value.map(<[u8]>::to_vec)))
        .collect();
    assert_eq!(read, records_in);
}

#[test]
fn a_marker_says_how_the_transaction_ended() {
    for (commit, kind) in [(false, 0), (true, 1)] {
        let batch = Builder::end_transaction(9, 2, commit, 5, 1234).build().unwrap();
        assert!(batch.header.is_control() && batch.header.is_transactional());
        assert_eq!(batch.header.base_sequence, -1);
        let payload = batch.payload();
        let record = records(&batch.header, &payload).next().unwrap().unwrap();
        assert_eq!(record.key, Some(&[0, 0, 0, kind][..]));
        assert_eq!(record.value, Some(&[0, 0, 0, 0, 0, 5][..]));
    }
}

#[test]
fn log_append_time_overwrites_every_timestamp() {
    let batch = check(7, golden(), usize::MAX).unwrap();
    let stamped = batch.with_log_append_time(42);
    assert!(stamped.header.is_log_append_time());
    assert_eq!(
        check(7, stamped.bytes.clone(), usize::MAX).unwrap(),
        stamped,
        "its checksum is right"
    );
    let payload = stamped.payload();
    assert!(records(&stamped.header, &payload).all(|record| record.unwrap().timestamp == 42));
    assert_eq!(payload, batch.payload());

    let same = batch.with_create_time(batch.header.max_timestamp);
    assert_eq!(same.bytes.as_ptr(), batch.bytes.as_ptr(), "nothing to copy");
    let odd = Batch { header: Header { attributes: 0x7f80, ..batch.header }, ..batch.clone() };
    assert_eq!(odd.with_create_time(7).header.attributes, 0, "bits without a meaning go");
    let again = stamped.with_create_time(7);
    assert_eq!((again.header.is_log_append_time(), again.header.max_timestamp), (false, 7));
}

#[test]
fn a_compressed_batch_keeps_its_records() {
    for codec in [Compression::Gzip, Compression::Snappy, Compression::Lz4, Compression::Zstd] {
        let plain = check(7, golden(), usize::MAX).unwrap();
        let header = Header { attributes: codec.set_in(plain.header.attributes), ..plain.header };
        let payload = compress(codec, None, &plain.payload()).unwrap();
        let packed =
            check(7, Batch::assemble(header, &payload).unwrap().bytes, usize::MAX).unwrap();
        assert_eq!(packed.header.compression(), Some(codec));
        let unpacked = decompress(codec, &packed.payload(), 1000).unwrap();
        assert_eq!(unpacked, plain.payload());
        assert_eq!(records(&packed.header, &unpacked).filter(Result::is_ok).count(), 2);
    }
}

#[test]
fn stored_batches_are_split_and_a_torn_one_ends_them() {
    let log = [golden(), golden(), golden().slice(..80)].concat();
    let split: Vec<_> = batches(log.into()).collect();
    assert_eq!(split.len(), 2);
    assert_eq!(split[1].bytes, golden());
}
