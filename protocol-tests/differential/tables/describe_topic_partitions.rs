//! DescribeTopicPartitions: v0.

use kafka_protocol::messages::DescribeTopicPartitionsRequest;
use kafka_protocol::messages::describe_topic_partitions_request::{Cursor, TopicRequest};

use super::{Case, case, check};
use crate::fixtures::topic_name;

fn of(names: &[&str]) -> DescribeTopicPartitionsRequest {
    let topic = |name: &&str| TopicRequest::default().with_name(topic_name(name));
    DescribeTopicPartitionsRequest::default()
        .with_topics(names.iter().map(topic).collect())
        .with_response_partition_limit(2_000)
        .with_cursor(None)
}

fn from(name: &str, partition: i32) -> Option<Cursor> {
    Some(Cursor::default().with_topic_name(topic_name(name)).with_partition_index(partition))
}

const CASES: &[Case] = &[
    case("a topic with three partitions", 0..=0, |t| {
        let topic = t.topic(3);
        t.ask(&of(&[&topic.name]));
    }),
    case("in the order of names, each once", 0..=0, |t| {
        let (one, other) = (t.topic(1), t.topic(1));
        t.ask(&of(&[&other.name, &one.name, &other.name]));
    }),
    case("a limit, and on from its cursor", 0..=0, |t| {
        let topic = t.topic(3);
        for limit in [2, 0, -1] {
            t.note(&format!("limit {limit}"));
            t.ask(&of(&[&topic.name]).with_response_partition_limit(limit));
        }
        t.ask(&of(&[&topic.name]).with_cursor(from(&topic.name, 2)));
        t.ask(&of(&[&topic.name]).with_cursor(from(&topic.name, 7)));
    }),
    case("a cursor of another topic, a negative partition", 0..=0, |t| {
        let (topic, other) = (t.topic(1), t.name("topic"));
        t.ask(&of(&[&topic.name]).with_cursor(from(&other, 0)));
        t.ask(&of(&[&topic.name]).with_cursor(from(&topic.name, -1)));
    }),
    case("unknown topics, illegal names", 0..=0, |t| {
        let (topic, unknown) = (t.topic(1), t.name("topic"));
        t.sorted(&["topics"]).ask(&of(&[&unknown, &topic.name, "a b", ""]));
    }),
];

#[test]
fn describe_topic_partitions() {
    check("describe_topic_partitions", 75, CASES);
}
