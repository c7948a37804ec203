//! ListOffsets: v1-10.

use kafka_protocol::messages::ListOffsetsRequest;
use kafka_protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};

use super::{Case, Run, case, check};
use crate::batch::Batch;
use crate::fixtures::{Topic, produce, topic_name};

const LATEST: i64 = -1;
const EARLIEST: i64 = -2;
const MAX_TIMESTAMP: i64 = -3;
const EARLIEST_LOCAL: i64 = -4;
const LATEST_TIERED: i64 = -5;

fn partition(index: i32, timestamp: i64) -> ListOffsetsPartition {
    ListOffsetsPartition::default()
        .with_partition_index(index)
        .with_current_leader_epoch(-1)
        .with_timestamp(timestamp)
}

fn of(name: &str, partitions: Vec<ListOffsetsPartition>) -> ListOffsetsRequest {
    let topic = ListOffsetsTopic::default().with_name(topic_name(name)).with_partitions(partitions);
    ListOffsetsRequest::default().with_replica_id((-1).into()).with_topics(vec![topic])
}

/// Offsets 0 to 3 have the timestamps 2,000, 4,000, 8,000 and 6,000.
fn filled(t: &mut Run) -> Topic {
    let topic = t.topic(1);
    produce(&topic, 0, &Batch::new().value("a", 2_000).value("b", 4_000));
    produce(&topic, 0, &Batch::new().value("c", 8_000).value("d", 6_000));
    topic
}

const CASES: &[Case] = &[
    case("earliest, latest", 1..=10, |t| {
        let topic = filled(t);
        for timestamp in [EARLIEST, LATEST] {
            t.ask(&of(&topic.name, vec![partition(0, timestamp)]));
        }
    }),
    case("by timestamp", 1..=10, |t| {
        let topic = filled(t);
        for timestamp in [0, 2_000, 2_001, 4_001, 6_000, 8_000, 8_001] {
            t.note(&format!("timestamp {timestamp}"));
            t.ask(&of(&topic.name, vec![partition(0, timestamp)]));
        }
    }),
    case("the largest timestamp, from v7 on", 1..=10, |t| {
        let topic = filled(t);
        t.ask(&of(&topic.name, vec![partition(0, MAX_TIMESTAMP)]));
    }),
    case(
        "the earliest local offset, from v8 on, and the latest tiered one, from v9 on",
        1..=10,
        |t| {
            let topic = filled(t);
            for timestamp in [EARLIEST_LOCAL, LATEST_TIERED] {
                t.ask(&of(&topic.name, vec![partition(0, timestamp)]));
            }
        },
    ),
    case("timestamps that mean nothing", 1..=10, |t| {
        let topic = filled(t);
        for timestamp in [-6, -7, i64::MIN, i64::MAX] {
            t.note(&format!("timestamp {timestamp}"));
            t.ask(&of(&topic.name, vec![partition(0, timestamp)]));
        }
    }),
    case("an empty partition", 1..=10, |t| {
        let topic = t.topic(1);
        for timestamp in [EARLIEST, LATEST, 0] {
            t.ask(&of(&topic.name, vec![partition(0, timestamp)]));
        }
    }),
    case("the largest timestamp of an empty partition", 7..=10, |t| {
        let topic = t.topic(1);
        t.ask(&of(&topic.name, vec![partition(0, MAX_TIMESTAMP)]));
    }),
    case("read_committed", 2..=10, |t| {
        let topic = filled(t);
        for timestamp in [LATEST, 6_000] {
            let request = of(&topic.name, vec![partition(0, timestamp)]);
            t.ask(&request.with_isolation_level(1));
        }
    }),
    case("leader epochs: the current one, a later one", 4..=10, |t| {
        let topic = filled(t);
        for epoch in [0, 1] {
            let partition = partition(0, LATEST).with_current_leader_epoch(epoch);
            t.ask(&of(&topic.name, vec![partition]));
        }
    }),
    case("no such partition, no such topic", 1..=10, |t| {
        let topic = filled(t);
        let partitions = vec![partition(7, LATEST), partition(0, LATEST), partition(-1, LATEST)];
        t.sorted(&["partitions"]).ask(&of(&topic.name, partitions));
        let unknown = t.name("topic");
        t.ask(&of(&unknown, vec![partition(0, LATEST)]));
        t.ask(&of("a b", vec![partition(0, LATEST)]));
    }),
    case("a partition twice", 1..=10, |t| {
        let topic = filled(t);
        let partitions = vec![partition(0, EARLIEST), partition(0, LATEST)];
        t.ask(&of(&topic.name, partitions));
    }),
    case("no topics", 1..=10, |t| {
        t.ask(&ListOffsetsRequest::default().with_replica_id((-1).into()));
    }),
    case("isolation levels that do not exist", 2..=10, |t| {
        let topic = filled(t);
        for level in [2, -1] {
            let request = of(&topic.name, vec![partition(0, LATEST)]);
            t.try_ask(&request.with_isolation_level(level));
        }
    }),
    case("the same timestamp in several batches", 1..=10, |t| {
        let topic = t.topic(1);
        for _ in 0..3 {
            produce(&topic, 0, &Batch::new().value("a", 1_000).value("b", 1_000));
        }
        for timestamp in [1_000, 1_001] {
            t.ask(&of(&topic.name, vec![partition(0, timestamp)]));
        }
    }),
    case("a compressed batch", 1..=10, |t| {
        let topic = t.topic(1);
        produce(&topic, 0, &Batch::new().value("a", 1_000).value("b", 3_000).attributes(1));
        for timestamp in [1_001, 3_000, MAX_TIMESTAMP] {
            t.ask(&of(&topic.name, vec![partition(0, timestamp)]));
        }
    }),
];

#[test]
fn list_offsets() {
    check("list_offsets", 2, CASES);
}
