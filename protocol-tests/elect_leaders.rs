//! ElectLeaders: v0-2, where every partition has one replica, which leads.

use kafka_protocol::messages::elect_leaders_request::TopicPartitions;
use kafka_protocol::messages::elect_leaders_response::ReplicaElectionResult;
use kafka_protocol::messages::{ElectLeadersRequest, ElectLeadersResponse};

use crate::client::call;
use crate::codes::{
    ELECTION_NOT_NEEDED, INVALID_REQUEST, NONE, REQUEST_TIMED_OUT, UNKNOWN_TOPIC_OR_PARTITION,
};
use crate::fixtures::{topic, topic_name, unique};

const PREFERRED: i8 = 0;
const UNCLEAN: i8 = 1;
const NOT_NEEDED: &str = "Leader election not needed for topic partition.";

fn asked(topic: &str, partitions: &[i32]) -> TopicPartitions {
    TopicPartitions::default().with_topic(topic_name(topic)).with_partitions(partitions.to_vec())
}

fn request(kind: i8, topics: Vec<TopicPartitions>) -> ElectLeadersRequest {
    ElectLeadersRequest::default()
        .with_election_type(kind)
        .with_topic_partitions(Some(topics))
        .with_timeout_ms(10_000)
}

/// Partition, error, message.
fn told(result: &ReplicaElectionResult) -> Vec<(i32, i16, Option<&str>)> {
    let partitions = result.partition_result.iter();
    partitions.map(|it| (it.partition_id, it.error_code, it.error_message.as_deref())).collect()
}

fn names(response: &ElectLeadersResponse) -> Vec<&str> {
    response.replica_election_results.iter().map(|it| it.topic.as_str()).collect()
}

#[test]
fn every_version_and_type() {
    let (topic, missing) = (topic("elect", 2), unique("missing"));
    for (version, kind) in
        [(0, PREFERRED), (1, PREFERRED), (1, UNCLEAN), (2, PREFERRED), (2, UNCLEAN)]
    {
        let topics = vec![
            asked(&topic.name, &[0, 1, 7, -1, 0]),
            asked(&missing, &[0, 1]),
            asked("", &[]),
            asked(&topic.name, &[1]),
        ];
        let response = call(version, &request(kind, topics));
        assert_eq!(response.error_code, NONE, "v{version} {kind}");
        assert_eq!(names(&response), [&topic.name, &missing, "", &topic.name]);
        let not_needed = |index| (index, ELECTION_NOT_NEEDED, Some(NOT_NEEDED));
        let no_seventh = format!("No such partition as {}-7", topic.name);
        let no_minus_first = format!("No such partition as {}--1", topic.name);
        let no_topic = format!("No such topic as {missing}");
        let unknown = |index, message| (index, UNKNOWN_TOPIC_OR_PARTITION, Some(message));
        let expected = [
            not_needed(0),
            not_needed(1),
            unknown(7, no_seventh.as_str()),
            unknown(-1, no_minus_first.as_str()),
            not_needed(0),
        ];
        let results = &response.replica_election_results;
        assert_eq!(told(&results[0]), expected, "v{version} {kind}");
        assert_eq!(told(&results[1]), [unknown(0, &no_topic), unknown(1, &no_topic)]);
        assert_eq!(told(&results[2]), []);
        assert_eq!(told(&results[3]), [not_needed(1)]);
    }
}

/// Partitions that have the leader they should have are left out, their topics are not.
#[test]
fn all_partitions() {
    let topic = topic("elect", 2);
    for (version, kind) in [(0, PREFERRED), (1, UNCLEAN), (2, PREFERRED)] {
        let request = request(kind, vec![]).with_topic_partitions(None);
        let response = call(version, &request);
        assert_eq!(response.error_code, NONE, "v{version}");
        let results = response.replica_election_results;
        let found = results.iter().find(|it| it.topic.as_str() == topic.name).unwrap();
        assert_eq!(told(found), [], "v{version}");
    }
    assert_eq!(call(2, &request(PREFERRED, vec![])).replica_election_results, []);
}

#[test]
fn the_whole_request_fails() {
    let topic = topic("elect", 1);
    let topics = || vec![asked(&topic.name, &[0]), asked("other", &[])];
    for (version, kind, timeout_ms, error, message) in [
        (1, 2, 1000, INVALID_REQUEST, Some("Unknown election type 2")),
        (2, -1, 1000, INVALID_REQUEST, Some("Unknown election type -1")),
        (0, PREFERRED, 0, REQUEST_TIMED_OUT, None),
        (1, PREFERRED, 0, REQUEST_TIMED_OUT, None),
        (2, UNCLEAN, -1, REQUEST_TIMED_OUT, None),
    ] {
        let request = request(kind, topics()).with_timeout_ms(timeout_ms);
        let response = call(version, &request);
        let top_level = if version == 0 { NONE } else { error };
        assert_eq!(response.error_code, top_level, "v{version} {kind} {timeout_ms}");
        assert_eq!(names(&response), [&topic.name, "other"]);
        assert_eq!(told(&response.replica_election_results[0]), [(0, error, message)]);
        let all = call(version, &request.with_topic_partitions(None));
        assert_eq!((all.error_code, all.replica_election_results.len()), (top_level, 0));
    }
}
