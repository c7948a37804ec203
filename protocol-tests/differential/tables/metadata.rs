//! Metadata: v0-13.

use kafka_protocol::messages::MetadataRequest;
use kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use uuid::Uuid;

use super::{Case, case, check};
use crate::fixtures::topic_name;

fn named(names: &[&str]) -> MetadataRequest {
    let topic = |name: &&str| MetadataRequestTopic::default().with_name(Some(topic_name(name)));
    MetadataRequest::default().with_topics(Some(names.iter().map(topic).collect()))
}

fn by_id(id: Uuid) -> MetadataRequest {
    let topic = MetadataRequestTopic::default().with_topic_id(id);
    MetadataRequest::default().with_topics(Some(vec![topic]))
}

const CASES: &[Case] = &[
    case("a topic with two partitions", 0..=13, |t| {
        let topic = t.topic(2);
        t.sorted(&["partitions"]).ask(&named(&[&topic.name]));
    }),
    case("all topics: no list, from v1 on", 1..=13, |t| {
        t.topic(1);
        t.topic(1);
        t.only_ours("topics")
            .sorted(&["topics"])
            .ask(&MetadataRequest::default().with_topics(None));
    }),
    case("an empty list: all topics at v0, none from v1 on", 0..=13, |t| {
        t.topic(1);
        t.only_ours("topics").ask(&named(&[]));
    }),
    case("an unknown topic that may not be created", 4..=13, |t| {
        let name = t.name("topic");
        t.ask(&named(&[&name]).with_allow_auto_topic_creation(false));
        t.ask(&named(&[&name]).with_allow_auto_topic_creation(false));
    }),
    case("an unknown topic that is created", 0..=13, |t| {
        let name = t.name("topic");
        t.ask(&named(&[&name]));
    }),
    case("illegal names", 0..=13, |t| {
        for name in ["", ".", "..", "a b", "a/b", "ä", &"x".repeat(250)] {
            t.ask(&named(&[name]));
        }
    }),
    case("known, unknown and illegal names side by side", 4..=13, |t| {
        let topic = t.topic(1);
        let unknown = t.name("topic");
        let request = named(&[&unknown, &topic.name, "a b"]);
        t.sorted(&["topics"]).ask(&request.with_allow_auto_topic_creation(false));
    }),
    case("a name twice", 0..=13, |t| {
        let topic = t.topic(1);
        t.ask(&named(&[&topic.name, &topic.name]));
    }),
    case("by id, not served below v12", 10..=13, |t| {
        let topic = t.topic(1);
        t.ask(&by_id(topic.id));
        t.ask(&by_id(Uuid::from_u128(0x1234)));
        t.ask(&by_id(Uuid::nil()));
    }),
    case("operations allowed on a topic", 8..=13, |t| {
        let topic = t.topic(1);
        t.ask(&named(&[&topic.name]).with_include_topic_authorized_operations(true));
    }),
    case("operations allowed on the cluster", 8..=10, |t| {
        let request = named(&[]).with_include_cluster_authorized_operations(true);
        t.ask(&request);
    }),
    case("the topic of the groups is internal", 0..=13, |t| {
        t.group();
        t.counted(&["partitions"]).ask(&named(&["__consumer_offsets"]));
    }),
    case("two topics", 0..=13, |t| {
        let (one, other) = (t.topic(1), t.topic(1));
        t.sorted(&["topics"]).ask(&named(&[&other.name, &one.name]));
    }),
];

#[test]
fn metadata() {
    check("metadata", 3, CASES);
}
