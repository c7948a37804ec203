//! Produce: v3-13.

use bytes::Bytes;
use kafka_protocol::messages::produce_request::{PartitionProduceData, TopicProduceData};
use kafka_protocol::messages::{ProduceRequest, TransactionalId};
use uuid::Uuid;

use crate::batch::{Batch, CODECS, now_ms, read};
use crate::client::{Client, call};
use crate::codes::{
    CORRUPT_MESSAGE, INVALID_RECORD, INVALID_REQUIRED_ACKS, INVALID_TIMESTAMP, MESSAGE_TOO_LARGE,
    NONE, UNKNOWN_TOPIC_ID, UNKNOWN_TOPIC_OR_PARTITION, UNSUPPORTED_COMPRESSION_TYPE,
};
use crate::fetch::fetch_all;
use crate::fixtures::{
    Topic, produce, produce_raw, produce_request, topic, topic_name, topic_with, unique,
};

const HOUR_MS: i64 = 3_600_000;

#[test]
fn every_version_appends() {
    let topic = topic("produce", 1);
    for (version, offset) in (3..=13).zip(0..) {
        let request = produce_request(&topic, 0, Some(Batch::of(&["a"]).build()));
        let response = call(version, &request);
        let answered = &response.responses[0];
        if version < 13 {
            assert_eq!(&**answered.name, topic.name, "v{version}");
        } else {
            assert_eq!(answered.topic_id, topic.id, "v{version}");
        }
        let partition = &answered.partition_responses[0];
        assert_eq!((partition.index, partition.error_code), (0, NONE), "v{version}");
        assert_eq!(partition.base_offset, offset, "v{version}");
        assert_eq!(partition.log_append_time_ms, -1, "v{version}");
        assert_eq!(partition.log_start_offset, if version < 5 { -1 } else { 0 }, "v{version}");
        assert_eq!(partition.record_errors, [], "v{version}");
        assert_eq!(partition.error_message, None, "v{version}");
        assert_eq!(response.node_endpoints, [], "v{version}");
    }
    assert_eq!(fetch_all(&topic, 0).len(), 11);
}

#[test]
fn acks() {
    let topic = topic("produce-acks", 1);
    for (acks, expected) in
        [(-1, NONE), (1, NONE), (2, INVALID_REQUIRED_ACKS), (-2, INVALID_REQUIRED_ACKS)]
    {
        for version in [3, 13] {
            let request = produce_request(&topic, 0, Some(Batch::of(&["a"]).build()));
            let response = call(version, &request.with_acks(acks));
            let partition = &response.responses[0].partition_responses[0];
            assert_eq!(partition.error_code, expected, "acks {acks} v{version}");
            if expected != NONE {
                assert_eq!(partition.base_offset, -1, "acks {acks} v{version}");
                assert_eq!(partition.log_append_time_ms, -1, "acks {acks} v{version}");
            }
        }
    }
    assert_eq!(fetch_all(&topic, 0).len(), 4);
}

#[test]
fn exactly_one_batch_of_magic_2() {
    let topic = topic("produce-batches", 1);
    let one = Batch::of(&["a"]).build();
    let two: Bytes = [&one[..], &one[..]].concat().into();
    let magic = |magic| Batch { magic, ..Batch::of(&["a"]) }.build();
    let cases = [
        ("no batch", Bytes::new(), INVALID_RECORD),
        ("two batches", two, INVALID_RECORD),
        ("magic 0", magic(0), INVALID_RECORD),
        ("magic 1", magic(1), INVALID_RECORD),
        ("no records in it", Batch::new().build(), INVALID_RECORD),
        ("a control batch", Batch::of(&["a"]).attributes(1 << 5).build(), INVALID_RECORD),
    ];
    for (what, records, expected) in cases {
        for version in [3, 7, 9] {
            let request = produce_request(&topic, 0, Some(records.clone()));
            let partition =
                call(version, &request).responses.remove(0).partition_responses.remove(0);
            assert_eq!(partition.error_code, expected, "{what} v{version}");
            assert_eq!(partition.base_offset, -1, "{what} v{version}");
        }
    }
    assert_eq!(fetch_all(&topic, 0), []);
}

pub fn patched(batch: &Bytes, at: usize, bytes: &[u8]) -> Vec<u8> {
    let mut patched = batch.to_vec();
    patched[at..at + bytes.len()].copy_from_slice(bytes);
    patched
}

/// The checksum made right again after a change.
pub fn rechecked(mut batch: Vec<u8>) -> Bytes {
    let sum = crc32c::crc32c(&batch[21..]);
    batch[17..21].copy_from_slice(&sum.to_be_bytes());
    batch.into()
}

#[test]
fn damaged_batches() {
    let topic = topic("produce-damaged", 1);
    let good = Batch::of(&["aaaa", "bbbb"]).build();
    let last = good.len() - 2;
    let cases: [(&str, Bytes, i16); 9] = [
        ("a flipped value", patched(&good, last, b"?").into(), CORRUPT_MESSAGE),
        ("a wrong checksum", patched(&good, 17, &[0, 0, 0, 0]).into(), CORRUPT_MESSAGE),
        ("cut in the header", good.slice(..40), INVALID_RECORD),
        ("cut in the records", good.slice(..last), INVALID_RECORD),
        ("a size of 0", patched(&good, 8, &0i32.to_be_bytes()).into(), CORRUPT_MESSAGE),
        ("a negative size", patched(&good, 8, &(-1i32).to_be_bytes()).into(), CORRUPT_MESSAGE),
        ("a size too large", patched(&good, 8, &1_000_000i32.to_be_bytes()).into(), INVALID_RECORD),
        ("a count too high", rechecked(patched(&good, 57, &3i32.to_be_bytes())), INVALID_RECORD),
        ("a delta too high", rechecked(patched(&good, 23, &5i32.to_be_bytes())), INVALID_RECORD),
    ];
    for (what, records, expected) in cases {
        let partition = produce_raw(&topic, 0, records);
        assert_eq!(partition.error_code, expected, "{what}: {partition:?}");
    }
    assert_eq!(fetch_all(&topic, 0), []);
    assert_eq!(produce(&topic, 0, &Batch::of(&["a"])), 0, "the partition still works");
}

/// The leader epoch a producer sends is overwritten, not looked at (sarama sends 0, Java -1); its base offset must be 0.
#[test]
fn leader_epoch_and_base_offset() {
    let topic = topic("produce-epoch", 1);
    for leader_epoch in [-1, 0, 77, i32::MAX] {
        let batch = Batch { leader_epoch, ..Batch::of(&["a", "b"]) };
        produce(&topic, 0, &batch);
    }
    for base_offset in [1, 1_000, -5] {
        let batch = Batch { base_offset, ..Batch::of(&["a", "b"]) };
        let partition = produce_raw(&topic, 0, batch.build());
        assert_eq!((partition.error_code, partition.base_offset), (INVALID_RECORD, -1));
        assert_eq!(partition.log_start_offset, 0, "seen by the log, unlike other bad batches");
    }
    let batches = fetch_all(&topic, 0);
    assert_eq!(batches.iter().map(|it| it.base_offset).collect::<Vec<_>>(), [0, 2, 4, 6]);
    assert!(batches.iter().all(|it| it.leader_epoch == 0), "{batches:?}");
}

/// What is stored is what was sent, byte for byte, but for base offset and leader epoch.
#[test]
fn every_codec_passes_through() {
    let topic = topic("produce-codecs", 1);
    for (offset, (name, codec)) in (0..).step_by(3).zip(CODECS) {
        let sent = Batch::of(&["one one one one", "two", "three"]).attributes(codec).build();
        assert_eq!(produce_raw(&topic, 0, sent.clone()).error_code, NONE, "{name}");
        let stored = crate::fetch::fetch_one(&topic, 0, offset).records.unwrap();
        assert_eq!(stored[16..], sent[16..], "{name}");
        assert_eq!(stored[..8], i64::to_be_bytes(offset), "{name}");
        assert_eq!(read(stored)[0].count, 3, "{name}");
    }
}

#[test]
fn zstd_needs_v7() {
    let topic = topic("produce-zstd", 1);
    for (version, expected) in
        [(3, UNSUPPORTED_COMPRESSION_TYPE), (6, UNSUPPORTED_COMPRESSION_TYPE), (7, NONE)]
    {
        let records = Batch::of(&["a"]).attributes(4).build();
        let response = call(version, &produce_request(&topic, 0, Some(records)));
        let code = response.responses[0].partition_responses[0].error_code;
        assert_eq!(code, expected, "v{version}");
    }
}

#[test]
fn an_unknown_codec() {
    let topic = topic("produce-codec-7", 1);
    for codec in [5, 7] {
        let partition = produce_raw(&topic, 0, Batch::of(&["a"]).attributes(codec).build());
        assert_ne!(partition.error_code, NONE, "{codec}: {partition:?}");
    }
    assert_eq!(fetch_all(&topic, 0), []);
}

#[test]
fn too_large() {
    let topic = topic_with("produce-large", 1, &[("max.message.bytes", "1000")]);
    let fits = "x".repeat(900);
    let over = "x".repeat(1000);
    assert_eq!(produce_raw(&topic, 0, Batch::of(&[&fits]).build()).error_code, NONE);
    let partition = produce_raw(&topic, 0, Batch::of(&[&over]).build());
    assert_eq!((partition.error_code, partition.base_offset), (MESSAGE_TOO_LARGE, -1));
    let spoilt = patched(&Batch::of(&[&over]).build(), 17, &[0; 4]);
    let partition = produce_raw(&topic, 0, spoilt.into());
    assert_eq!(partition.error_code, MESSAGE_TOO_LARGE, "compared before the checksum");
    let control = Batch::of(&[&over]).attributes(1 << 5).build();
    assert_eq!(produce_raw(&topic, 0, control).error_code, MESSAGE_TOO_LARGE);
    assert_eq!(fetch_all(&topic, 0).len(), 1);
}

#[test]
fn unknown_topics_and_partitions() {
    let known = topic("produce-known", 1);
    let unknown = Topic { name: unique("produce-unknown"), id: Uuid::from_u128(7) };
    let batch = || Some(Batch::of(&["a"]).build());
    let cases = [
        (3, &unknown, 0, UNKNOWN_TOPIC_OR_PARTITION),
        (12, &unknown, 0, UNKNOWN_TOPIC_OR_PARTITION),
        (13, &unknown, 0, UNKNOWN_TOPIC_ID),
        (12, &known, 1, UNKNOWN_TOPIC_OR_PARTITION),
        (13, &known, 1, UNKNOWN_TOPIC_OR_PARTITION),
        (9, &known, -1, UNKNOWN_TOPIC_OR_PARTITION),
    ];
    for (version, topic, partition, expected) in cases {
        let response = call(version, &produce_request(topic, partition, batch()));
        let answer = &response.responses[0].partition_responses[0];
        assert_eq!((answer.index, answer.error_code), (partition, expected), "v{version}");
        assert_eq!(answer.base_offset, -1, "v{version}");
        assert_eq!(*answer.current_leader.leader_id, -1, "v{version}");
    }
}

/// A request that names a partition twice has written its last batch, and gets one answer for it.
#[test]
fn a_partition_named_twice() {
    let topic = topic("produce-twice", 2);
    let data = |index, value| {
        PartitionProduceData::default()
            .with_index(index)
            .with_records(Some(Batch::of(&[value]).build()))
    };
    let of = |partitions| {
        TopicProduceData::default()
            .with_name(topic_name(&topic.name))
            .with_topic_id(topic.id)
            .with_partition_data(partitions)
    };
    for version in [9, 13] {
        let request =
            ProduceRequest::default().with_acks(-1).with_timeout_ms(5_000).with_topic_data(vec![
                of(vec![data(0, "1"), data(0, "2")]),
                of(vec![data(1, "3"), data(0, "4")]),
            ]);
        let response = call(version, &request);
        assert_eq!(response.responses.len(), 1, "v{version}");
        let mut answers: Vec<_> = response.responses[0]
            .partition_responses
            .iter()
            .map(|it| (it.index, it.error_code))
            .collect();
        answers.sort_unstable();
        assert_eq!(answers, [(0, NONE), (1, NONE)], "v{version}");
    }
    let values = |index| -> Vec<_> {
        fetch_all(&topic, index).into_iter().flat_map(|it| it.values).flatten().collect()
    };
    assert_eq!(values(0), ["4", "4"]);
    assert_eq!(values(1), ["3", "3"]);
}

/// Each partition has its own answer, whatever happens to the others.
#[test]
fn several_partitions() {
    let (a, b) = (topic("produce-several", 3), topic("produce-several", 1));
    let data = |index, records: Bytes| {
        PartitionProduceData::default().with_index(index).with_records(Some(records))
    };
    let good = || Batch::of(&["a"]).build();
    let of = |topic: &Topic, partitions| {
        TopicProduceData::default()
            .with_name(topic_name(&topic.name))
            .with_partition_data(partitions)
    };
    let request =
        ProduceRequest::default().with_acks(-1).with_timeout_ms(5_000).with_topic_data(vec![
            of(&a, vec![data(2, good()), data(0, Bytes::new()), data(9, good())]),
            of(&b, vec![data(0, good())]),
        ]);
    let response = call(9, &request);
    let mut codes: Vec<_> = response
        .responses
        .iter()
        .flat_map(|topic| {
            topic.partition_responses.iter().map(|it| (&**topic.name, it.index, it.error_code))
        })
        .collect();
    codes.sort_unstable();
    let mut expected = [
        (&*a.name, 0, INVALID_RECORD),
        (&*a.name, 2, NONE),
        (&*a.name, 9, UNKNOWN_TOPIC_OR_PARTITION),
        (&*b.name, 0, NONE),
    ];
    expected.sort_unstable();
    assert_eq!(codes, expected);
}

#[test]
fn create_time_bounds() {
    let topic = topic("produce-time", 1);
    let now = now_ms();
    let cases = [
        (now, NONE),
        (now - 365 * 24 * HOUR_MS, NONE),
        (now + HOUR_MS / 2, NONE),
        (now + 2 * HOUR_MS, INVALID_TIMESTAMP),
        (0, NONE),
    ];
    for (timestamp, expected) in cases {
        let partition = produce_raw(&topic, 0, Batch::new().value("a", timestamp).build());
        assert_eq!(partition.error_code, expected, "{}", timestamp - now);
        assert_eq!(partition.log_append_time_ms, -1);
    }
    let strict = topic_with("produce-time", 1, &[("message.timestamp.before.max.ms", "1000")]);
    let batch = Batch::new().value("ok", now_ms()).value("old", now - HOUR_MS);
    let partition = produce_raw(&strict, 0, batch.build());
    assert_eq!(partition.error_code, INVALID_TIMESTAMP);
    let errors: Vec<_> = partition.record_errors.iter().map(|it| it.batch_index).collect();
    assert_eq!(errors, [1], "{partition:?}");
    assert_eq!(fetch_all(&strict, 0), []);
}

/// LogAppendTime: the broker's clock in the answer, in the batch's maximum and in its attributes.
#[test]
fn log_append_time() {
    let topic =
        topic_with("produce-append-time", 1, &[("message.timestamp.type", "LogAppendTime")]);
    let before = now_ms() - 5_000;
    let sent = Batch::new().value("a", 1_000).value("b", 2_000);
    let partition = produce_raw(&topic, 0, sent.build());
    assert_eq!(partition.error_code, NONE);
    let at = partition.log_append_time_ms;
    assert!((before..now_ms() + 5_000).contains(&at), "{at}");
    let batch = fetch_all(&topic, 0).remove(0);
    assert_eq!((batch.attributes, batch.max_timestamp), (8, at));
    assert_eq!(batch.base_timestamp, 1_000);
    assert_eq!(batch.values, [Some("a".to_owned()), Some("b".to_owned())]);
}

#[test]
fn a_compacted_topic_wants_keys() {
    let topic = topic_with("produce-compact", 1, &[("cleanup.policy", "compact")]);
    let now = now_ms();
    for (name, codec) in CODECS {
        let batch = Batch::new()
            .record(Some("k"), Some("v"), now)
            .record(None, Some("no key"), now)
            .record(Some("k"), None, now)
            .record(None, None, now)
            .attributes(codec);
        let request = produce_request(&topic, 0, Some(batch.build()));
        for version in [7, 8, 9] {
            let answer = call(version, &request).responses.remove(0).partition_responses.remove(0);
            assert_eq!((answer.error_code, answer.base_offset), (INVALID_RECORD, -1), "{name}");
            let errors: Vec<_> = answer.record_errors.iter().map(|it| it.batch_index).collect();
            if version < 8 {
                assert!(errors.is_empty(), "{name}");
            } else {
                assert_eq!(errors, [1, 3], "{name}");
                assert!(answer.error_message.is_some(), "{name}");
            }
        }
    }
    assert_eq!(fetch_all(&topic, 0), []);
    let batch = Batch::new().record(Some("k"), Some("v"), now).record(Some("k"), None, now);
    assert_eq!(produce(&topic, 0, &batch), 0, "a tombstone is a record");
}

/// A topic's own codec: whatever a producer sends is stored with it.
#[test]
fn compression_type() {
    for (name, codec) in [("gzip", 1), ("lz4", 3), ("zstd", 4), ("snappy", 2), ("uncompressed", 0)]
    {
        let topic = topic_with("produce-recompress", 1, &[("compression.type", name)]);
        for sent in [0, 1, 3, codec] {
            produce(&topic, 0, &Batch::of(&["one", "two"]).attributes(sent));
        }
        let batches = fetch_all(&topic, 0);
        let stored: Vec<_> = batches.iter().map(|it| it.attributes & 7).collect();
        assert_eq!(stored, [codec; 4], "{name}");
        assert!(batches.iter().all(|it| it.count == 2), "{name}");
    }
}

#[test]
fn min_insync_replicas_above_the_replicas() {
    let topic = topic_with("produce-isr", 1, &[("min.insync.replicas", "3")]);
    assert_eq!(produce_raw(&topic, 0, Batch::of(&["a"]).build()).error_code, NONE);
}

/// Sent without waiting: appended and answered in this order.
#[test]
fn pipelined() {
    let topic = topic("produce-pipelined", 1);
    let mut client = Client::connect();
    let ids: Vec<_> = (0..50)
        .map(|n| {
            client.send(9, &produce_request(&topic, 0, Some(Batch::of(&[&n.to_string()]).build())))
        })
        .collect();
    for (id, offset) in ids.into_iter().zip(0..) {
        let answer = client.receive::<ProduceRequest>(9, id);
        let partition = &answer.responses[0].partition_responses[0];
        assert_eq!((partition.error_code, partition.base_offset), (NONE, offset));
    }
    let values: Vec<_> =
        fetch_all(&topic, 0).into_iter().flat_map(|it| it.values).flatten().collect();
    assert_eq!(values, (0..50).map(|n| n.to_string()).collect::<Vec<_>>());
}

/// A transactional id in a request whose batch is not transactional changes nothing.
#[test]
fn no_topics_at_all() {
    let request = ProduceRequest::default().with_acks(-1).with_timeout_ms(1_000);
    assert_eq!(call(9, &request).responses, []);
    let request = request.with_transactional_id(None::<TransactionalId>);
    assert_eq!(call(3, &request).responses, []);
}
