//! ListOffsets: v1-10.

use kafka_protocol::messages::ListOffsetsRequest;
use kafka_protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
use kafka_protocol::messages::list_offsets_response::ListOffsetsPartitionResponse;
use uuid::Uuid;

use crate::batch::Batch;
use crate::client::call;
use crate::codes::{
    FENCED_LEADER_EPOCH, INVALID_REQUEST, NONE, UNKNOWN_LEADER_EPOCH, UNKNOWN_TOPIC_OR_PARTITION,
    UNSUPPORTED_VERSION,
};
use crate::fixtures::{Topic, produce, topic, topic_name, unique};

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

fn request(topic: &Topic, partitions: Vec<ListOffsetsPartition>) -> ListOffsetsRequest {
    let wanted =
        ListOffsetsTopic::default().with_name(topic_name(&topic.name)).with_partitions(partitions);
    ListOffsetsRequest::default().with_replica_id((-1).into()).with_topics(vec![wanted])
}

fn list(version: i16, topic: &Topic, timestamp: i64) -> ListOffsetsPartitionResponse {
    let mut response = call(version, &request(topic, vec![partition(0, timestamp)]));
    assert_eq!(&**response.topics[0].name, topic.name);
    response.topics.remove(0).partitions.remove(0)
}

/// (error, offset, timestamp, leader epoch; -1 below v4)
fn short(answer: &ListOffsetsPartitionResponse) -> (i16, i64, i64, i32) {
    (answer.error_code, answer.offset, answer.timestamp, answer.leader_epoch)
}

/// Records at offsets 0..4 with timestamps 2,000, 4,000, 6,000, 8,000, in two batches.
fn even_seconds() -> Topic {
    let topic = topic("list-offsets", 1);
    produce(&topic, 0, &Batch::new().value("0", 2_000).value("1", 4_000));
    produce(&topic, 0, &Batch::new().value("2", 6_000).value("3", 8_000));
    topic
}

#[test]
fn every_version_knows_both_ends() {
    let topic = even_seconds();
    for version in 1..=10 {
        let epoch = if version < 4 { -1 } else { 0 };
        assert_eq!(short(&list(version, &topic, LATEST)), (NONE, 4, -1, epoch), "v{version}");
        assert_eq!(short(&list(version, &topic, EARLIEST)), (NONE, 0, -1, epoch), "v{version}");
        if version < 2 {
            continue;
        }
        let committed = request(&topic, vec![partition(0, LATEST)]).with_isolation_level(1);
        let answer = call(version, &committed).topics.remove(0).partitions.remove(0);
        assert_eq!(short(&answer), (NONE, 4, -1, epoch), "v{version}");
    }
}

#[test]
fn by_time() {
    let topic = even_seconds();
    let cases = [
        (0, (NONE, 0, 2_000, 0)),
        (2_000, (NONE, 0, 2_000, 0)),
        (2_001, (NONE, 1, 4_000, 0)),
        (3_000, (NONE, 1, 4_000, 0)),
        (4_001, (NONE, 2, 6_000, 0)),
        (8_000, (NONE, 3, 8_000, 0)),
        (8_001, (NONE, -1, -1, -1)),
        (i64::MAX, (NONE, -1, -1, -1)),
    ];
    for (timestamp, expected) in cases {
        for version in [4, 7, 10] {
            assert_eq!(
                short(&list(version, &topic, timestamp)),
                expected,
                "{timestamp} v{version}"
            );
        }
    }
}

/// Time is looked up record by record, also where it runs backwards and in compressed batches.
#[test]
fn by_time_out_of_order_and_compressed() {
    let topic = topic("list-offsets-time", 1);
    produce(&topic, 0, &Batch::new().value("0", 5_000).value("1", 1_000).value("2", 9_000));
    produce(&topic, 0, &Batch::new().value("3", 2_000).value("4", 9_500).attributes(3));
    let cases = [(1_000, 0, 5_000), (5_001, 2, 9_000), (9_001, 4, 9_500)];
    for (timestamp, offset, found) in cases {
        let answer = list(7, &topic, timestamp);
        assert_eq!(short(&answer), (NONE, offset, found, 0), "{timestamp}");
    }
}

#[test]
fn an_empty_partition() {
    let topic = topic("list-offsets-empty", 1);
    for version in [1, 4, 7, 10] {
        let epoch = if version < 4 { -1 } else { 0 };
        assert_eq!(short(&list(version, &topic, LATEST)), (NONE, 0, -1, epoch), "v{version}");
        assert_eq!(short(&list(version, &topic, EARLIEST)), (NONE, 0, -1, epoch), "v{version}");
        assert_eq!(short(&list(version, &topic, 1_000)), (NONE, -1, -1, -1), "v{version}");
        if version >= 7 {
            let answer = list(version, &topic, MAX_TIMESTAMP);
            assert_eq!(short(&answer), (NONE, -1, -1, -1), "v{version}");
        }
    }
}

#[test]
fn max_timestamp() {
    let topic = topic("list-offsets-max", 1);
    produce(&topic, 0, &Batch::new().value("0", 3_000).value("1", 9_000).value("2", 4_000));
    produce(&topic, 0, &Batch::new().value("3", 8_000));
    for version in [7, 10] {
        assert_eq!(short(&list(version, &topic, MAX_TIMESTAMP)), (NONE, 1, 9_000, 0), "v{version}");
    }
}

/// A special timestamp a version does not know yet is an error, not a time before 1970.
#[test]
fn special_timestamps_by_version() {
    let topic = even_seconds();
    let cases = [
        (MAX_TIMESTAMP, 6, (UNSUPPORTED_VERSION, -1, -1, -1)),
        (EARLIEST_LOCAL, 7, (UNSUPPORTED_VERSION, -1, -1, -1)),
        (EARLIEST_LOCAL, 8, (NONE, 0, -1, 0)),
        (EARLIEST_LOCAL, 10, (NONE, 0, -1, 0)),
        (LATEST_TIERED, 8, (UNSUPPORTED_VERSION, -1, -1, -1)),
        (LATEST_TIERED, 9, (NONE, -1, -1, -1)),
        (LATEST_TIERED, 10, (NONE, -1, -1, -1)),
        (-6, 10, (UNSUPPORTED_VERSION, -1, -1, -1)),
        (i64::MIN, 10, (UNSUPPORTED_VERSION, -1, -1, -1)),
    ];
    for (timestamp, version, expected) in cases {
        assert_eq!(short(&list(version, &topic, timestamp)), expected, "{timestamp} v{version}");
    }
}

#[test]
fn unknown_topics_and_partitions() {
    let known = topic("list-offsets-known", 1);
    let unknown = Topic { name: unique("list-offsets-unknown"), id: Uuid::nil() };
    for version in 1..=10 {
        let answer = list(version, &unknown, LATEST);
        assert_eq!(short(&answer), (UNKNOWN_TOPIC_OR_PARTITION, -1, -1, -1), "v{version}");
        let response = call(version, &request(&known, vec![partition(3, LATEST)]));
        let answer = &response.topics[0].partitions[0];
        assert_eq!(answer.partition_index, 3);
        assert_eq!(short(answer), (UNKNOWN_TOPIC_OR_PARTITION, -1, -1, -1), "v{version}");
    }
}

#[test]
fn leader_epochs() {
    let topic = even_seconds();
    let cases = [(-1, NONE), (0, NONE), (1, UNKNOWN_LEADER_EPOCH), (-2, FENCED_LEADER_EPOCH)];
    for (epoch, expected) in cases {
        let request = request(&topic, vec![partition(0, LATEST).with_current_leader_epoch(epoch)]);
        let code = call(4, &request).topics[0].partitions[0].error_code;
        assert_eq!(code, expected, "{epoch}");
    }
}

/// The same partition twice in one request.
#[test]
fn a_partition_given_twice() {
    let topic = even_seconds();
    let partitions = vec![partition(0, LATEST), partition(0, EARLIEST)];
    let response = call(4, &request(&topic, partitions));
    let codes: Vec<_> = response.topics[0].partitions.iter().map(|it| it.error_code).collect();
    assert_eq!(codes, [INVALID_REQUEST]);
}
