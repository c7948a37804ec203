//! CreatePartitions: v0-3.

use kafka_protocol::messages::CreatePartitionsRequest;
use kafka_protocol::messages::create_partitions_request::{
    CreatePartitionsAssignment, CreatePartitionsTopic,
};

use crate::batch::Batch;
use crate::client::call;
use crate::codes::{
    INVALID_PARTITIONS, INVALID_REPLICA_ASSIGNMENT, INVALID_REQUEST, NONE,
    UNKNOWN_TOPIC_OR_PARTITION,
};
use crate::fixtures::{Topic, describe, produce, topic, topic_name, unique, wait_for_leaders};

fn to(name: &str, count: i32) -> CreatePartitionsTopic {
    CreatePartitionsTopic::default()
        .with_name(topic_name(name))
        .with_count(count)
        .with_assignments(None)
}

fn request(topics: Vec<CreatePartitionsTopic>) -> CreatePartitionsRequest {
    CreatePartitionsRequest::default().with_topics(topics).with_timeout_ms(10_000)
}

fn grow(version: i16, topic: CreatePartitionsTopic) -> i16 {
    call(version, &request(vec![topic])).results.remove(0).error_code
}

#[test]
fn every_version_grows() {
    let topic = topic("grow", 1);
    produce(&topic, 0, &Batch::of(&["kept"]));
    for (version, count) in (0..=3).zip(2..) {
        let result = call(version, &request(vec![to(&topic.name, count)])).results.remove(0);
        assert_eq!((&**result.name, result.error_code), (&*topic.name, NONE), "v{version}");
        assert_eq!(result.error_message, None, "v{version}");
        wait_for_leaders(&topic.name, count);
        assert_eq!(produce(&topic, count - 1, &Batch::of(&["first"])), 0, "v{version}");
    }
    assert_eq!(describe(&topic.name).topic_id, topic.id, "still the same topic");
    assert_eq!(produce(&topic, 0, &Batch::of(&["next"])), 1);
}

#[test]
fn counts_that_do_not_grow() {
    let topic = topic("grow-not", 3);
    for count in [3, 2, 1, 0, -1] {
        assert_eq!(grow(3, to(&topic.name, count)), INVALID_PARTITIONS, "{count}");
    }
    assert_eq!(grow(3, to(&unique("grow-unknown"), 2)), UNKNOWN_TOPIC_OR_PARTITION);
    assert_eq!(describe(&topic.name).partitions.len(), 3);
}

#[test]
fn manual_assignment() {
    let topic: Topic = topic("grow-manual", 1);
    let node = *describe(&topic.name).partitions[0].leader_id;
    let with = |count, assignments: &[&[i32]]| {
        let assignments = assignments
            .iter()
            .map(|ids| {
                let ids = ids.iter().map(|id| (*id).into()).collect();
                CreatePartitionsAssignment::default().with_broker_ids(ids)
            })
            .collect();
        grow(3, to(&topic.name, count).with_assignments(Some(assignments)))
    };
    assert_eq!(with(3, &[&[node]]), INVALID_REPLICA_ASSIGNMENT, "one assignment for two");
    assert_eq!(with(2, &[&[node + 77]]), INVALID_REPLICA_ASSIGNMENT, "an unknown broker");
    assert_eq!(with(2, &[&[node]]), NONE);
    wait_for_leaders(&topic.name, 2);
}

#[test]
fn validate_only_creates_nothing() {
    let topic = topic("grow-validate", 1);
    let request = request(vec![to(&topic.name, 4)]).with_validate_only(true);
    assert_eq!(call(3, &request).results[0].error_code, NONE);
    assert_eq!(describe(&topic.name).partitions.len(), 1);
}

#[test]
fn a_name_given_twice() {
    let topic = topic("grow-twice", 1);
    let response = call(3, &request(vec![to(&topic.name, 2), to(&topic.name, 3)]));
    let codes: Vec<_> = response.results.iter().map(|it| it.error_code).collect();
    assert_eq!(codes, [INVALID_REQUEST]);
}
