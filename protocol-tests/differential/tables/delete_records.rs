//! DeleteRecords: v0-2.

use kafka_protocol::messages::delete_records_request::{
    DeleteRecordsPartition, DeleteRecordsTopic,
};
use kafka_protocol::messages::{DeleteRecordsRequest, FetchRequest};

use super::fetch::all_of;
use super::{Case, Run, case, check};
use crate::batch::Batch;
use crate::fixtures::{Topic, produce, topic_name};

fn of(name: &str, partitions: &[(i32, i64)]) -> DeleteRecordsRequest {
    let partition = |(index, offset): &(i32, i64)| {
        DeleteRecordsPartition::default().with_partition_index(*index).with_offset(*offset)
    };
    let topic = DeleteRecordsTopic::default()
        .with_name(topic_name(name))
        .with_partitions(partitions.iter().map(partition).collect());
    DeleteRecordsRequest::default().with_topics(vec![topic]).with_timeout_ms(10_000)
}

/// Offsets 0 to 2 in two batches.
fn filled(t: &mut Run, configs: &[(&'static str, &str)]) -> Topic {
    let topic = t.topic_with(1, configs);
    produce(
        &topic,
        0,
        &Batch::new().record(Some("k"), Some("a"), 1_000).record(Some("l"), Some("b"), 1_001),
    );
    produce(&topic, 0, &Batch::new().record(Some("k"), Some("c"), 1_002));
    topic
}

const CASES: &[Case] = &[
    case("up to an offset, before it again, up to the end", 0..=2, |t| {
        let topic = filled(t, &[]);
        for offset in [1, 0, 1, -1] {
            t.note(&format!("offset {offset}")).ask(&of(&topic.name, &[(0, offset)]));
            t.ask_at::<FetchRequest>(12, &all_of(&topic));
        }
    }),
    case("offsets that cannot be", 0..=2, |t| {
        let topic = filled(t, &[]);
        for offset in [4, -2, i64::MAX] {
            t.note(&format!("offset {offset}")).ask(&of(&topic.name, &[(0, offset)]));
        }
    }),
    case("a compacted topic, a topic that is compacted and deleted", 0..=2, |t| {
        for policy in ["compact", "compact,delete"] {
            let topic = filled(t, &[("cleanup.policy", policy)]);
            t.note(policy).ask(&of(&topic.name, &[(0, 1)]));
        }
    }),
    case("no such partition, no such topic, no topics", 0..=2, |t| {
        let (topic, unknown) = (filled(t, &[]), t.name("topic"));
        t.sorted(&["partitions"]).ask(&of(&topic.name, &[(7, 0), (0, 1), (-1, 0)]));
        t.ask(&of(&unknown, &[(0, 0)]));
        t.ask(&of("a b", &[(0, 0)]));
        t.ask(&DeleteRecordsRequest::default().with_timeout_ms(10_000));
    }),
    case("an internal topic", 0..=2, |t| {
        t.group();
        t.ask(&of("__consumer_offsets", &[(0, 0)]));
    }),
    case("an idempotent producer is remembered", 0..=2, |t| {
        let topic = t.topic(1);
        let from_producer =
            |sequence| Batch::new().value("a", 1_000).producer(1_000_000, 0, sequence);
        produce(&topic, 0, &from_producer(0));
        t.ask(&of(&topic.name, &[(0, -1)]));
        let request = crate::fixtures::produce_request(&topic, 0, Some(from_producer(5).build()));
        t.ask_at(9, &request);
    }),
];

#[test]
fn delete_records() {
    check("delete_records", 21, CASES);
}
