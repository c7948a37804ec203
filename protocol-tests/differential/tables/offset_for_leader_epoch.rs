//! OffsetForLeaderEpoch: v2-4.

use kafka_protocol::messages::OffsetForLeaderEpochRequest;
use kafka_protocol::messages::offset_for_leader_epoch_request::{
    OffsetForLeaderPartition, OffsetForLeaderTopic,
};

use super::{Case, case, check};
use crate::batch::Batch;
use crate::fixtures::{produce, topic_name};

fn of(name: &str, partition: i32, epoch: i32, current: i32) -> OffsetForLeaderEpochRequest {
    let partition = OffsetForLeaderPartition::default()
        .with_partition(partition)
        .with_leader_epoch(epoch)
        .with_current_leader_epoch(current);
    let topic = OffsetForLeaderTopic::default()
        .with_topic(topic_name(name))
        .with_partitions(vec![partition]);
    OffsetForLeaderEpochRequest::default().with_replica_id((-2).into()).with_topics(vec![topic])
}

const CASES: &[Case] = &[
    case("epochs that are, that were not, that may come", 2..=4, |t| {
        let topic = t.topic(1);
        produce(&topic, 0, &Batch::new().value("a", 1_000).value("b", 1_000));
        for epoch in [0, 1, 7, -1] {
            t.note(&format!("epoch {epoch}")).ask(&of(&topic.name, 0, epoch, -1));
        }
    }),
    case("an empty partition", 2..=4, |t| {
        let topic = t.topic(1);
        t.ask(&of(&topic.name, 0, 0, -1));
    }),
    case("the current epoch, a later one", 2..=4, |t| {
        let topic = t.topic(1);
        for current in [0, 1] {
            t.ask(&of(&topic.name, 0, 0, current));
        }
    }),
    case("no such partition, no such topic, no topics", 2..=4, |t| {
        let (topic, unknown) = (t.topic(1), t.name("topic"));
        t.ask(&of(&topic.name, 7, 0, -1));
        t.ask(&of(&unknown, 0, 0, -1));
        t.ask(&OffsetForLeaderEpochRequest::default().with_replica_id((-2).into()));
    }),
];

#[test]
fn offset_for_leader_epoch() {
    check("offset_for_leader_epoch", 23, CASES);
}
