//! DeleteRecords: v0-2.

use std::collections::BTreeMap;

use kafka_protocol::messages::delete_records_request::{
    DeleteRecordsPartition, DeleteRecordsTopic,
};
use kafka_protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
use kafka_protocol::messages::{DeleteRecordsRequest, ListOffsetsRequest};

use crate::batch::{Batch, read};
use crate::client::call;
use crate::codes::{
    INVALID_TOPIC_EXCEPTION, NONE, OFFSET_OUT_OF_RANGE, OUT_OF_ORDER_SEQUENCE_NUMBER,
    POLICY_VIOLATION, UNKNOWN_TOPIC_OR_PARTITION,
};
use crate::fetch::fetch_one;
use crate::fixtures::{Topic, group, produce, produce_raw, topic, topic_name, topic_with, unique};
use crate::init_producer_id::producer;

fn asked(topic: &str, partitions: &[(i32, i64)]) -> DeleteRecordsTopic {
    let partitions = partitions
        .iter()
        .map(|(index, offset)| {
            DeleteRecordsPartition::default().with_partition_index(*index).with_offset(*offset)
        })
        .collect();
    DeleteRecordsTopic::default().with_name(topic_name(topic)).with_partitions(partitions)
}

fn request(topics: Vec<DeleteRecordsTopic>) -> DeleteRecordsRequest {
    DeleteRecordsRequest::default().with_topics(topics).with_timeout_ms(10_000)
}

/// Answers by topic and partition: error and low watermark. Kafka has them in no order.
fn answers(version: i16, request: &DeleteRecordsRequest) -> BTreeMap<(String, i32), (i16, i64)> {
    let mut answers = BTreeMap::new();
    for topic in call(version, request).topics {
        for it in topic.partitions {
            let key = (topic.name.to_string(), it.partition_index);
            let before = answers.insert(key, (it.error_code, it.low_watermark));
            assert_eq!(before, None, "{} {} twice", *topic.name, it.partition_index);
        }
    }
    answers
}

/// What one partition answers.
fn delete(topic: &Topic, index: i32, before: i64) -> (i16, i64) {
    let answers = answers(2, &request(vec![asked(&topic.name, &[(index, before)])]));
    assert_eq!(answers.len(), 1);
    answers[&(topic.name.clone(), index)]
}

/// A topic with four records in every partition.
fn full(label: &str, partitions: i32) -> Topic {
    let topic = topic(label, partitions);
    for index in 0..partitions {
        produce(&topic, index, &Batch::of(&["a", "b", "c", "d"]));
    }
    topic
}

fn earliest(topic: &Topic) -> i64 {
    let partition = ListOffsetsPartition::default()
        .with_partition_index(0)
        .with_current_leader_epoch(-1)
        .with_timestamp(-2);
    let topic = ListOffsetsTopic::default()
        .with_name(topic_name(&topic.name))
        .with_partitions(vec![partition]);
    let request =
        ListOffsetsRequest::default().with_replica_id((-1).into()).with_topics(vec![topic]);
    call(6, &request).topics[0].partitions[0].offset
}

#[test]
fn every_version_deletes() {
    let topic = full("delete-records", 1);
    for version in 0..=2 {
        let before = i64::from(version) + 1;
        let answers = answers(version, &request(vec![asked(&topic.name, &[(0, before)])]));
        assert_eq!(answers, BTreeMap::from([((topic.name.clone(), 0), (NONE, before))]));
    }
}

#[test]
fn cases() {
    let topic = full("delete-records", 1);
    for (what, before, expected) in [
        ("nothing", 0, (NONE, 0)),
        ("within a batch", 1, (NONE, 1)),
        ("again", 1, (NONE, 1)),
        ("less than is deleted", 0, (NONE, 1)),
        ("beyond the high watermark", 5, (OFFSET_OUT_OF_RANGE, -1)),
        ("far beyond", i64::MAX, (OFFSET_OUT_OF_RANGE, -1)),
        ("negative", -2, (OFFSET_OUT_OF_RANGE, -1)),
        ("very negative", i64::MIN, (OFFSET_OUT_OF_RANGE, -1)),
        ("up to the high watermark", 4, (NONE, 4)),
        ("the high watermark itself", -1, (NONE, 4)),
    ] {
        assert_eq!(delete(&topic, 0, before), expected, "{what}");
    }
    produce(&topic, 0, &Batch::of(&["e", "f"]));
    assert_eq!(delete(&topic, 0, -1), (NONE, 6), "all there is");
}

#[test]
fn what_does_not_exist() {
    let topic = full("delete-records", 1);
    let missing = unique("missing");
    for version in 0..=2 {
        let topics = vec![
            asked(&topic.name, &[(0, 0), (1, 0), (-1, 0)]),
            asked(&missing, &[(0, 0)]),
            asked("not a name", &[(0, 0)]),
            asked("", &[(0, 0)]),
            asked("__cluster_metadata", &[(0, 0)]),
        ];
        let answers = answers(version, &request(topics));
        let unknown = (UNKNOWN_TOPIC_OR_PARTITION, -1);
        let expected = BTreeMap::from([
            ((topic.name.clone(), 0), (NONE, 0)),
            ((topic.name.clone(), 1), unknown),
            ((topic.name.clone(), -1), unknown),
            ((missing.clone(), 0), unknown),
            (("not a name".to_owned(), 0), unknown),
            ((String::new(), 0), unknown),
            (("__cluster_metadata".to_owned(), 0), unknown),
        ]);
        assert_eq!(answers, expected, "v{version}");
    }
}

/// What is named last counts; a topic without partitions is not answered.
#[test]
fn named_twice() {
    let topic = full("delete-records", 2);
    let both = vec![asked(&topic.name, &[(0, 3), (0, 2)])];
    assert_eq!(answers(2, &request(both))[&(topic.name.clone(), 0)], (NONE, 2));
    let apart = vec![asked(&topic.name, &[(1, 2)]), asked(&topic.name, &[(1, 1)])];
    assert_eq!(answers(2, &request(apart))[&(topic.name.clone(), 1)], (NONE, 1));
    assert!(call(2, &request(vec![asked(&topic.name, &[])])).topics.is_empty());
    assert!(call(2, &request(vec![])).topics.is_empty());
}

#[test]
fn the_topic_must_allow_it() {
    let violation = (POLICY_VIOLATION, -1);
    for (policy, expected) in [
        ("compact", violation),
        ("", violation),
        ("compact,delete", (NONE, 0)),
        ("delete", (NONE, 0)),
    ] {
        let topic = topic_with("delete-records", 1, &[("cleanup.policy", policy)]);
        assert_eq!(delete(&topic, 0, 0), expected, "{policy:?}");
    }
    group("delete-records");
    let offsets = asked("__consumer_offsets", &[(0, 0), (9999, 0)]);
    let answers = answers(2, &request(vec![offsets]));
    let of = |index| answers[&("__consumer_offsets".to_owned(), index)];
    assert_eq!(of(0), (INVALID_TOPIC_EXCEPTION, -1));
    assert_eq!(of(9999), (UNKNOWN_TOPIC_OR_PARTITION, -1));
}

/// Where there is one replica nothing has to be waited for.
#[test]
fn the_timeout_has_no_effect() {
    let topic = full("delete-records", 1);
    for (before, timeout_ms) in [(1, 0), (2, -1), (3, i32::MIN), (4, i32::MAX)] {
        let topics = vec![asked(&topic.name, &[(0, before)])];
        let answers = answers(2, &request(topics).with_timeout_ms(timeout_ms));
        assert_eq!(answers[&(topic.name.clone(), 0)], (NONE, before), "{timeout_ms}");
    }
}

#[test]
fn seen_by_everyone_at_once() {
    let topic = full("delete-records", 1);
    produce(&topic, 0, &Batch::of(&["e", "f"]));
    assert_eq!(delete(&topic, 0, 2), (NONE, 2));
    assert_eq!(earliest(&topic), 2);
    for below in [0, 1] {
        let fetched = fetch_one(&topic, 0, below);
        assert_eq!(fetched.error_code, OFFSET_OUT_OF_RANGE, "{below}");
    }
    let fetched = fetch_one(&topic, 0, 2);
    assert_eq!((fetched.error_code, fetched.log_start_offset), (NONE, 2));
    let batches = read(fetched.records.unwrap());
    assert_eq!(batches[0].base_offset, 0, "a batch that spans the start is whole");
    let produced = produce_raw(&topic, 0, Batch::of(&["g"]).build());
    assert_eq!((produced.base_offset, produced.log_start_offset), (6, 2));
    assert_eq!(delete(&topic, 0, -1), (NONE, 7));
    let fetched = fetch_one(&topic, 0, 7);
    assert_eq!((fetched.error_code, fetched.log_start_offset), (NONE, 7));
    assert_eq!(fetched.records.unwrap().len(), 0);
}

/// Who wrote what is deleted is remembered: a gap is a gap, a retry is recognised.
#[test]
fn producers_stay() {
    let topic = topic("delete-records", 1);
    let id = producer();
    let batch = |sequence| Batch::of(&["x"]).producer(id, 0, sequence);
    produce(&topic, 0, &batch(0));
    let last = batch(1);
    produce(&topic, 0, &last);
    assert_eq!(delete(&topic, 0, -1), (NONE, 2));
    let gap = produce_raw(&topic, 0, batch(3).build());
    assert_eq!((gap.error_code, gap.log_start_offset), (OUT_OF_ORDER_SEQUENCE_NUMBER, 2));
    assert_eq!(produce(&topic, 0, &last), 1);
    assert_eq!(produce(&topic, 0, &batch(2)), 2);
}
