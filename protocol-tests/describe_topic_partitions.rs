//! DescribeTopicPartitions: v0 (KIP-966).

use kafka_protocol::messages::describe_topic_partitions_request::{Cursor, TopicRequest};
use kafka_protocol::messages::{
    DescribeTopicPartitionsRequest, DescribeTopicPartitionsResponse, MetadataRequest,
};
use uuid::Uuid;

use crate::client::call;
use crate::codes::{
    INVALID_REQUEST, INVALID_TOPIC_EXCEPTION, NONE, UNKNOWN_SERVER_ERROR,
    UNKNOWN_TOPIC_OR_PARTITION,
};
use crate::fixtures::{Topic, create_named, group, topic_name, unique};

fn request(
    names: &[&str],
    limit: i32,
    cursor: Option<(&str, i32)>,
) -> DescribeTopicPartitionsRequest {
    let topics = names.iter().map(|name| TopicRequest::default().with_name(topic_name(name)));
    let cursor = cursor.map(|(name, index)| {
        Cursor::default().with_topic_name(topic_name(name)).with_partition_index(index)
    });
    DescribeTopicPartitionsRequest::default()
        .with_topics(topics.collect())
        .with_response_partition_limit(limit)
        .with_cursor(cursor)
}

/// Topics, as label, error and partitions; and where to go on.
type Seen = (Vec<(String, i16, Vec<i32>)>, Option<(String, i32)>);

fn seen(response: &DescribeTopicPartitionsResponse) -> Seen {
    let topics = response.topics.iter().map(|topic| {
        let partitions = topic.partitions.iter().map(|it| it.partition_index).collect();
        (label(topic.name.as_ref().unwrap()), topic.error_code, partitions)
    });
    let next = response.next_cursor.as_ref();
    (topics.collect(), next.map(|it| (label(&it.topic_name), it.partition_index)))
}

/// The letter a name of `two` ends with; other names are as they are.
fn label(name: &str) -> String {
    match name.rsplit_once('_') {
        Some((_, letter)) if name.starts_with("tests-") => letter.to_owned(),
        _ => name.to_owned(),
    }
}

/// Topics a with two partitions and b with three.
fn two() -> (Topic, Topic) {
    let prefix = unique("partitions");
    (create_named(&format!("{prefix}_a"), 2, &[]), create_named(&format!("{prefix}_b"), 3, &[]))
}

fn told(label: &str, error: i16, partitions: &[i32]) -> (String, i16, Vec<i32>) {
    (label.to_owned(), error, partitions.to_vec())
}

fn next(label: &str, index: i32) -> Option<(String, i32)> {
    Some((label.to_owned(), index))
}

#[test]
fn agrees_with_metadata() {
    let (a, b) = two();
    let response = call(0, &request(&[&b.name, &a.name, &b.name], 2000, None));
    assert_eq!(response.next_cursor, None);
    let node = call(9, &MetadataRequest::default()).brokers[0].node_id;
    for (topic, described) in [&a, &b].into_iter().zip(&response.topics) {
        assert_eq!(described.name.as_deref().map(|it| it.as_str()), Some(topic.name.as_str()));
        assert_eq!((described.error_code, described.topic_id), (NONE, topic.id));
        assert_eq!((described.is_internal, described.topic_authorized_operations), (false, 3576));
        for (index, partition) in (0..).zip(&described.partitions) {
            assert_eq!((partition.error_code, partition.partition_index), (NONE, index));
            assert_eq!((partition.leader_id, partition.leader_epoch), (node, 0));
            assert_eq!(
                (&partition.replica_nodes, &partition.isr_nodes),
                (&vec![node], &vec![node])
            );
            assert_eq!(partition.eligible_leader_replicas, Some(vec![]));
            assert_eq!(partition.last_known_elr, Some(vec![]));
            assert!(partition.offline_replicas.is_empty());
        }
    }
    let expected = vec![told("a", NONE, &[0, 1]), told("b", NONE, &[0, 1, 2])];
    assert_eq!(seen(&response), (expected, None));
}

/// Topics are in name order, whatever the order of the request.
#[test]
fn limits() {
    let (a, b) = two();
    let all_a = told("a", NONE, &[0, 1]);
    for (limit, topics, cursor) in [
        (-1, vec![told("a", NONE, &[0])], next("a", 1)),
        (0, vec![told("a", NONE, &[0])], next("a", 1)),
        (1, vec![told("a", NONE, &[0])], next("a", 1)),
        (2, vec![all_a.clone()], next("b", 0)),
        (3, vec![all_a.clone(), told("b", NONE, &[0])], next("b", 1)),
        (4, vec![all_a.clone(), told("b", NONE, &[0, 1])], next("b", 2)),
        (5, vec![all_a.clone(), told("b", NONE, &[0, 1, 2])], None),
        (i32::MAX, vec![all_a.clone(), told("b", NONE, &[0, 1, 2])], None),
    ] {
        let response = call(0, &request(&[&b.name, &a.name], limit, None));
        assert_eq!(seen(&response), (topics, cursor), "{limit}");
    }
}

#[test]
fn cursors() {
    let (a, b) = two();
    let all_b = told("b", NONE, &[0, 1, 2]);
    for (cursor, limit, topics, next) in [
        ((&b.name, 0), 9, vec![all_b.clone()], None),
        ((&b.name, 1), 9, vec![told("b", NONE, &[1, 2])], None),
        ((&b.name, 1), 1, vec![told("b", NONE, &[1])], next("b", 2)),
        ((&a.name, 1), 9, vec![told("a", NONE, &[1]), all_b.clone()], None),
        ((&a.name, 1), 1, vec![told("a", NONE, &[1])], next("b", 0)),
        ((&a.name, 2), 9, vec![told("a", NONE, &[]), all_b.clone()], None),
        ((&a.name, 99), 9, vec![told("a", NONE, &[]), all_b.clone()], None),
    ] {
        let cursor = Some((cursor.0.as_str(), cursor.1));
        let response = call(0, &request(&[&b.name, &a.name], limit, cursor));
        assert_eq!(seen(&response), (topics, next), "{cursor:?} {limit}");
    }
    // Kafka adds limit and cursor up to a negative one.
    let beyond = call(0, &request(&[&a.name], 9, Some((&a.name, i32::MAX))));
    assert_eq!(seen(&beyond).0, [told("a", NONE, &[])]);
}

#[test]
fn cursors_that_are_wrong() {
    let (a, b) = two();
    for cursor in [(a.name.as_str(), -1), ("tests", 0)] {
        let response = call(0, &request(&[&b.name, &a.name, &a.name], 9, Some(cursor)));
        assert_eq!(response.next_cursor, None);
        let mut labels = Vec::new();
        for topic in &response.topics {
            assert_eq!((topic.error_code, topic.topic_id), (INVALID_REQUEST, Uuid::nil()));
            assert_eq!(topic.topic_authorized_operations, i32::MIN);
            labels.push(label(topic.name.as_ref().unwrap()));
        }
        assert_eq!(labels, ["b", "a", "a"], "{cursor:?}");
    }
}

/// A topic that does not exist takes nothing of the limit.
#[test]
fn what_does_not_exist() {
    let (a, b) = two();
    let response = call(0, &request(&["zz", "0", "a b", &b.name, &a.name], 5, None));
    let (mut topics, cursor) = seen(&response);
    let unknown = |name| told(name, UNKNOWN_TOPIC_OR_PARTITION, &[]);
    // The limit is reached: whether there is such a topic is not told.
    assert_eq!(cursor, next("zz", 0));
    topics.sort();
    let expected = [
        unknown("0"),
        told("a", NONE, &[0, 1]),
        told("a b", INVALID_TOPIC_EXCEPTION, &[]),
        told("b", NONE, &[0, 1, 2]),
    ];
    assert_eq!(topics, expected);
    let missing = call(0, &request(&["0", &a.name], 9, Some(("0", 3))));
    assert_eq!(seen(&missing), (vec![unknown("0"), told("a", NONE, &[0, 1])], None));
    assert_eq!(missing.topics[0].topic_authorized_operations, 3576);
    let nameless = call(0, &request(&["", "0"], 9, None));
    let stumbled = |name| told(name, UNKNOWN_SERVER_ERROR, &[]);
    assert_eq!(seen(&nameless), (vec![stumbled(""), stumbled("0")], None));
}

/// No names: every topic from the cursor on, which need not exist.
#[test]
fn all_topics() {
    group("partitions");
    let (a, b) = two();
    let from_a = call(0, &request(&[], 3, Some((&a.name, 0))));
    assert_eq!(seen(&from_a).0[0], told("a", NONE, &[0, 1]));
    let from_b = call(0, &request(&[], 2, Some((&b.name, 1))));
    assert_eq!(seen(&from_b).0, [told("b", NONE, &[1, 2])]);
    let behind = call(0, &request(&[], 9, Some(("zzzzzz", -1))));
    assert_eq!((behind.topics.len(), behind.next_cursor), (0, None));
    let internal = call(0, &request(&[], 1, Some(("__consumer_offsets", 0))));
    assert!(internal.topics[0].is_internal, "{internal:?}");
}
