//! Produce: the records inside a batch, uncompressed and in every codec.

use std::io::Write;

use bytes::{BufMut, Bytes, BytesMut};
use kafka_protocol::messages::produce_response::PartitionProduceResponse;

use crate::batch::{Batch, CODECS, compress, now_ms, put_varint};
use crate::codes::{INVALID_RECORD, INVALID_TIMESTAMP, NONE, UNKNOWN_SERVER_ERROR};
use crate::fetch::fetch_all;
use crate::fixtures::{produce_raw, topic, topic_with};
use crate::produce::{patched, rechecked};

const HOUR_MS: i64 = 3_600_000;
/// Of a record: a null key, the value "v", no headers.
const REST: &[u8] = &[1, 2, b'v', 0];

/// A record of the batch's own time: its place, and the bytes behind it.
fn record(offset_delta: i64, rest: &[u8]) -> Bytes {
    let mut body = BytesMut::new();
    body.put_slice(&[0, 0]);
    put_varint(&mut body, offset_delta);
    body.put_slice(rest);
    let mut record = BytesMut::new();
    put_varint(&mut record, i64::try_from(body.len()).unwrap());
    record.put_slice(&body);
    record.freeze()
}

/// A batch of `count` records, whatever lies in it.
fn batch(codec: i16, count: usize, payload: &[u8]) -> Bytes {
    let now = now_ms();
    let header = (0..count).fold(Batch::new(), |batch, _| batch.value("", now));
    header.attributes(codec).build_with(payload)
}

fn packed(codec: i16, count: usize, records: &[Bytes]) -> Bytes {
    batch(codec, count, &compress(codec, &records.concat()))
}

/// The batch as a whole is refused, and by the log: it tells where that starts.
#[track_caller]
fn assert_refused(answer: &PartitionProduceResponse, code: i16, what: &str) {
    let told = (answer.error_code, answer.base_offset, answer.log_start_offset);
    assert_eq!(told, (code, -1, 0), "{what}: {answer:?}");
    assert_eq!((&answer.record_errors[..], &answer.error_message), (&[][..], &None), "{what}");
}

#[test]
fn malformed_records() {
    let topic = topic("records-malformed", 1);
    let cases: [(&str, &[u8]); 6] = [
        ("a key beyond the end", &[100, b'k', 2, b'v', 0]),
        ("a value beyond the end", &[1, 100, b'v', 0]),
        ("a byte too many", &[1, 2, b'v', 0, 9]),
        ("-1 headers", &[1, 2, b'v', 1]),
        ("headers that are not there", &[1, 2, b'v', 100]),
        ("a header without a key", &[1, 2, b'v', 2, 1, 1]),
    ];
    for (name, codec) in CODECS {
        for (what, rest) in cases {
            let records = [record(0, REST), record(1, rest), record(2, REST)];
            let answer = produce_raw(&topic, 0, packed(codec, 3, &records));
            assert_refused(&answer, INVALID_RECORD, &format!("{what}, {name}"));
        }
        let good = [record(0, &[3, 2, b'v', 2, 2, b'h', 1]), record(1, REST)];
        assert_eq!(produce_raw(&topic, 0, packed(codec, 2, &good)).error_code, NONE, "{name}");
    }
    assert_eq!(fetch_all(&topic, 0).len(), CODECS.len());
}

/// Of compressed records Kafka does not compare the length with the fields: it stores what its own consumers choke on.
#[test]
fn a_length_that_lies() {
    let topic = topic("records-length", 1);
    for (name, codec) in CODECS {
        let lying = patched(&record(1, REST), 0, &[4]).into();
        let records = [record(0, REST), lying, record(2, REST)];
        let code = produce_raw(&topic, 0, packed(codec, 3, &records)).error_code;
        let tolerated = if codec == 0 { INVALID_RECORD } else { NONE };
        assert!([INVALID_RECORD, tolerated].contains(&code), "{name}: {code}");
    }
}

#[test]
fn a_count_that_lies() {
    let topic = topic("records-count", 1);
    for (name, codec) in CODECS {
        for count in [1, 3] {
            let records = [record(0, REST), record(1, REST)];
            let answer = produce_raw(&topic, 0, packed(codec, count, &records));
            assert_refused(&answer, INVALID_RECORD, &format!("{count} instead of 2, {name}"));
        }
    }
    assert_eq!(fetch_all(&topic, 0), []);
}

/// Uncompressed they are stored as they are. Kafka would write a compressed batch anew, but has skipped what it needs for it.
#[test]
fn offsets_that_are_not_consecutive() {
    let topic = topic("records-offsets", 1);
    for deltas in [[0, 2, 1], [0, 0, 0], [5, 6, 7], [-1, 0, 1]] {
        let records = deltas.map(|delta| record(delta, REST));
        for (name, codec) in CODECS {
            let answer = produce_raw(&topic, 0, packed(codec, 3, &records));
            match codec {
                0 => assert_eq!(answer.error_code, NONE, "{deltas:?}"),
                _ => assert_refused(&answer, UNKNOWN_SERVER_ERROR, &format!("{deltas:?}, {name}")),
            }
        }
    }
    let ends: Vec<_> = fetch_all(&topic, 0).iter().map(|it| it.base_offset).collect();
    assert_eq!(ends, [0, 3, 6, 9]);
}

/// The header's largest timestamp is what the records say, whatever the producer said; nothing else changes.
#[test]
fn the_largest_timestamp() {
    let topic = topic("records-timestamp", 1);
    let now = now_ms();
    let mut offset = 0;
    for (name, codec) in CODECS {
        let good = Batch::new().value("a", now).value("b", now + 500).attributes(codec).build();
        for promised in [now + 500, -1, now, now + 1_000, now + 9 * HOUR_MS] {
            let sent = rechecked(patched(&good, 35, &promised.to_be_bytes()));
            assert_eq!(produce_raw(&topic, 0, sent).error_code, NONE, "{name}");
            let stored = crate::fetch::fetch_one(&topic, 0, offset).records.unwrap();
            assert_eq!(stored[16..good.len()], good[16..], "{name}: {}", promised - now);
            offset += 2;
        }
        let late = Batch::new().value("a", now).value("b", now + 2 * HOUR_MS).attributes(codec);
        let sent = rechecked(patched(&late.build(), 35, &now.to_be_bytes()));
        assert_eq!(produce_raw(&topic, 0, sent).error_code, INVALID_TIMESTAMP, "{name}");
    }
}

#[test]
fn what_does_not_decompress() {
    let topic = topic("records-garbage", 1);
    let records = [record(0, REST), record(1, REST)].concat();
    for (name, codec) in &CODECS[1..] {
        let good = compress(*codec, &records);
        let cases: [(&str, &[u8]); 2] =
            [("garbage", b"garbage garbage garbage"), ("cut", &good[..good.len() - 3])];
        for (what, payload) in cases {
            let answer = produce_raw(&topic, 0, batch(*codec, 2, payload));
            assert_refused(&answer, UNKNOWN_SERVER_ERROR, &format!("{what}, {name}"));
        }
    }
    assert_eq!(fetch_all(&topic, 0), []);
}

/// Kafka's readers of gzip and LZ4 stop where their stream ends; of the others, everything must be part of it.
#[test]
fn what_follows_a_compressed_stream() {
    let topic = topic("records-behind", 1);
    let records = [record(0, REST), record(1, REST)];
    let accepted = |codec, count, payload: Vec<u8>| {
        produce_raw(&topic, 0, batch(codec, count, &payload)).error_code == NONE
    };
    for (name, codec) in &CODECS[1..] {
        let whole = compress(*codec, &records.concat());
        for filler in [0, 7] {
            let followed = [&whole[..], &[filler; 30]].concat();
            assert_eq!(accepted(*codec, 2, followed), ["gzip", "lz4"].contains(name), "{name}");
        }
        let (first, second) = (compress(*codec, &records[0]), compress(*codec, &records[1]));
        let twice = accepted(*codec, 2, [first, second].concat());
        assert_eq!(twice, ["gzip", "zstd"].contains(name), "two streams, {name}");
    }
    let whole = compress(3, &records.concat());
    let info = lz4_flex::frame::FrameInfo::new().block_mode(lz4_flex::frame::BlockMode::Linked);
    let mut linked = lz4_flex::frame::FrameEncoder::with_frame_info(info, Vec::new());
    linked.write_all(&records.concat()).unwrap();
    let linked = linked.finish().unwrap();
    assert!(!accepted(3, 2, linked), "lz4 with blocks that may refer to each other");
    assert!(!accepted(3, 2, whole[..whole.len() - 4].to_vec()), "lz4 without its end");
}

/// Which record is at fault, and in words what with.
#[test]
fn record_errors() {
    let now = now_ms();
    let compact = topic_with("records-errors", 1, &[("cleanup.policy", "compact")]);
    let keys = Batch::new().record(Some("k"), None, now).value("a", now).value("b", now);
    let late = keys.clone().record(Some("k"), None, now + 2 * HOUR_MS);
    let append_time =
        topic_with("records-errors", 1, &[("message.timestamp.type", "LogAppendTime")]);
    let set = Batch::of(&["a"]).attributes(8);
    let cases = [
        (&compact, keys, INVALID_RECORD, vec![1, 2], "without key"),
        (&compact, late, INVALID_TIMESTAMP, vec![1, 2, 3], "invalid timestamp"),
        (&append_time, set, INVALID_TIMESTAMP, vec![0], "invalid timestamp"),
    ];
    for (topic, batch, code, at, words) in cases {
        let answer = produce_raw(topic, 0, batch.build());
        assert_eq!((answer.error_code, answer.log_start_offset), (code, 0), "{answer:?}");
        let errors: Vec<_> = answer.record_errors.iter().map(|it| it.batch_index).collect();
        assert_eq!(errors, at, "{answer:?}");
        let message = answer.error_message.as_deref().unwrap_or_default();
        assert!(message.contains(words), "{answer:?}");
        let told = |at: usize| answer.record_errors[at].batch_index_error_message.clone().unwrap();
        match errors.len() {
            1 => assert!(told(0).contains("LogAppendTime"), "{answer:?}"),
            _ => assert!(told(0).ends_with(&format!("{}-0", topic.name)), "{answer:?}"),
        }
        if errors.len() == 3 {
            let late = (now + 2 * HOUR_MS).to_string();
            assert!(told(2).contains(&late) && told(2).contains("offset 3"), "{answer:?}");
        }
    }
}
