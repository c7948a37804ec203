//! OffsetForLeaderEpoch: v2-4.

use kafka_protocol::messages::OffsetForLeaderEpochRequest;
use kafka_protocol::messages::offset_for_leader_epoch_request::{
    OffsetForLeaderPartition, OffsetForLeaderTopic,
};
use uuid::Uuid;

use crate::batch::Batch;
use crate::client::call;
use crate::codes::{FENCED_LEADER_EPOCH, NONE, UNKNOWN_LEADER_EPOCH, UNKNOWN_TOPIC_OR_PARTITION};
use crate::fixtures::{Topic, produce, topic, topic_name, unique};

/// (error, epoch, end offset)
fn ask(version: i16, topic: &Topic, index: i32, current: i32, epoch: i32) -> (i16, i32, i64) {
    let partition = OffsetForLeaderPartition::default()
        .with_partition(index)
        .with_current_leader_epoch(current)
        .with_leader_epoch(epoch);
    let wanted = OffsetForLeaderTopic::default()
        .with_topic(topic_name(&topic.name))
        .with_partitions(vec![partition]);
    let request = OffsetForLeaderEpochRequest::default()
        .with_replica_id((if version < 3 { -2 } else { -1 }).into())
        .with_topics(vec![wanted]);
    let response = call(version, &request);
    let answer = &response.topics[0].partitions[0];
    assert_eq!((&**response.topics[0].topic, answer.partition), (&*topic.name, index));
    (answer.error_code, answer.leader_epoch, answer.end_offset)
}

#[test]
fn every_version() {
    let topic = topic("epoch", 1);
    produce(&topic, 0, &Batch::of(&["a", "b", "c"]));
    let unknown = Topic { name: unique("epoch-unknown"), id: Uuid::nil() };
    for version in 2..=4 {
        assert_eq!(ask(version, &topic, 0, -1, 0), (NONE, 0, 3), "v{version}");
        assert_eq!(ask(version, &topic, 0, 0, 0), (NONE, 0, 3), "v{version}");
        assert_eq!(ask(version, &topic, 0, -1, 1), (NONE, -1, -1), "v{version}: not yet an epoch");
        assert_eq!(ask(version, &topic, 0, -1, -1), (NONE, -1, -1), "v{version}");
        assert_eq!(ask(version, &topic, 0, 1, 0), (UNKNOWN_LEADER_EPOCH, -1, -1), "v{version}");
        assert_eq!(ask(version, &topic, 0, -2, 0), (FENCED_LEADER_EPOCH, -1, -1), "v{version}");
        let missing = (UNKNOWN_TOPIC_OR_PARTITION, -1, -1);
        assert_eq!(ask(version, &topic, 4, -1, 0), missing, "v{version}");
        assert_eq!(ask(version, &unknown, 0, -1, 0), missing, "v{version}");
    }
}

#[test]
fn an_empty_partition() {
    let topic = topic("epoch-empty", 1);
    assert_eq!(ask(4, &topic, 0, -1, 0), (NONE, 0, 0));
}
