//! AlterPartitionReassignments: v0-1, where there is one broker.

use kafka_protocol::messages::alter_partition_reassignments_request::{
    ReassignablePartition, ReassignableTopic,
};
use kafka_protocol::messages::{
    AlterPartitionReassignmentsRequest, AlterPartitionReassignmentsResponse, BrokerId,
    MetadataRequest,
};

use crate::client::call;
use crate::codes::{
    INVALID_REPLICA_ASSIGNMENT, NO_REASSIGNMENT_IN_PROGRESS, NONE, REQUEST_TIMED_OUT,
    UNKNOWN_TOPIC_OR_PARTITION,
};
use crate::fixtures::{group, topic, topic_name, unique};

fn of(name: &str, partitions: &[(i32, Option<&[i32]>)]) -> ReassignableTopic {
    let partitions = partitions.iter().map(|(index, replicas)| {
        let replicas = replicas.map(|ids| ids.iter().map(|id| BrokerId(*id)).collect());
        ReassignablePartition::default().with_partition_index(*index).with_replicas(replicas)
    });
    ReassignableTopic::default().with_name(topic_name(name)).with_partitions(partitions.collect())
}

fn request(topics: Vec<ReassignableTopic>) -> AlterPartitionReassignmentsRequest {
    AlterPartitionReassignmentsRequest::default().with_timeout_ms(10_000).with_topics(topics)
}

/// Partition, error and message of all topics.
fn told(response: &AlterPartitionReassignmentsResponse) -> Vec<(i32, i16, Option<&str>)> {
    let partitions = response.responses.iter().flat_map(|topic| &topic.partitions);
    partitions.map(|it| (it.partition_index, it.error_code, it.error_message.as_deref())).collect()
}

fn me() -> i32 {
    call(9, &MetadataRequest::default()).brokers[0].node_id.0
}

#[test]
fn every_version() {
    let (topic, missing, me) = (topic("reassign", 2), unique("missing"), me());
    group("reassign");
    for version in 0..=1 {
        let topics = vec![
            of(&topic.name, &[(0, Some(&[me])), (1, None), (7, Some(&[me])), (-1, None)]),
            of(&missing, &[(0, Some(&[me])), (1, None)]),
            of("a b", &[]),
            of("__consumer_offsets", &[(0, Some(&[me]))]),
        ];
        let response = call(version, &request(topics));
        assert_eq!((response.error_code, response.error_message.as_deref()), (NONE, None));
        let names: Vec<&str> = response.responses.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names, [&topic.name, &missing, "a b", "__consumer_offsets"], "v{version}");
        let no_seventh = format!("Unable to find partition {}:7.", topic.name);
        let no_minus_first = format!("Unable to find partition {}:-1.", topic.name);
        let no_topic = format!("Unable to find a topic named {missing}.");
        let unknown = |index, message| (index, UNKNOWN_TOPIC_OR_PARTITION, Some(message));
        let expected = [
            (0, NONE, None),
            (1, NO_REASSIGNMENT_IN_PROGRESS, None),
            unknown(7, no_seventh.as_str()),
            unknown(-1, &no_minus_first),
            unknown(0, &no_topic),
            unknown(1, &no_topic),
            (0, NONE, None),
        ];
        assert_eq!(told(&response), expected, "v{version}");
        let none = call(version, &request(vec![]));
        assert_eq!((none.error_code, none.error_message.as_deref()), (NONE, Some("")));
        assert_eq!(none.responses, []);
    }
}

#[test]
fn replicas_that_cannot_be() {
    let (topic, me) = (topic("reassign", 1), me());
    for (replicas, message) in [
        (vec![], "an empty replica list.".to_owned()),
        (vec![99], "broker 99, but no such broker is registered.".to_owned()),
        (vec![me, 99], "broker 99, but no such broker is registered.".to_owned()),
        (vec![me, -5], "broker -5, but no such broker is registered.".to_owned()),
        (vec![me, me], format!("the broker {me} more than once.")),
    ] {
        let message = format!("The manual partition assignment includes {message}");
        for (version, may_change) in [(0, true), (1, true), (1, false)] {
            // A partition that is named twice is answered twice.
            let partitions: &[(i32, Option<&[i32]>)] = &[(0, Some(&replicas)), (0, Some(&[me]))];
            let request = request(vec![of(&topic.name, partitions)])
                .with_allow_replication_factor_change(may_change);
            let response = call(version, &request);
            let refused = (0, INVALID_REPLICA_ASSIGNMENT, Some(message.as_str()));
            assert_eq!(told(&response), [refused, (0, NONE, None)], "v{version} {replicas:?}");
            assert_eq!(response.allow_replication_factor_change, may_change);
        }
    }
}

#[test]
fn no_time() {
    let (topic, me) = (topic("reassign", 1), me());
    for version in 0..=1 {
        for timeout_ms in [0, -1] {
            let topics = vec![of(&topic.name, &[(0, Some(&[me])), (7, None)])];
            let response = call(version, &request(topics).with_timeout_ms(timeout_ms));
            let told_all = (response.error_code, response.error_message.as_deref());
            assert_eq!(told_all, (REQUEST_TIMED_OUT, None), "v{version} {timeout_ms}");
            let late = |index| (index, REQUEST_TIMED_OUT, None);
            assert_eq!(told(&response), [late(0), late(7)]);
        }
    }
}
