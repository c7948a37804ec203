//! DeleteTopics: v1-6.

use kafka_protocol::messages::DeleteTopicsRequest;
use kafka_protocol::messages::delete_topics_request::DeleteTopicState;
use uuid::Uuid;

use super::{Case, case, check};
use crate::batch::Batch;
use crate::delete_topics::gone;
use crate::fixtures::{produce, produce_request, topic_name};

/// By name, in the version's field for it.
fn named(version: i16, names: &[&str]) -> DeleteTopicsRequest {
    let request = DeleteTopicsRequest::default().with_timeout_ms(10_000);
    if version < 6 {
        return request.with_topic_names(names.iter().map(|name| topic_name(name)).collect());
    }
    let state = |name: &&str| DeleteTopicState::default().with_name(Some(topic_name(name)));
    request.with_topics(names.iter().map(state).collect())
}

fn by_id(name: Option<&str>, id: Uuid) -> DeleteTopicsRequest {
    let state = DeleteTopicState::default().with_name(name.map(topic_name)).with_topic_id(id);
    DeleteTopicsRequest::default().with_timeout_ms(10_000).with_topics(vec![state])
}

const CASES: &[Case] = &[
    case("a topic, and once more", 1..=6, |t| {
        let topic = t.topic(2);
        t.ask(&named(t.version, &[&topic.name]));
        gone(&topic.name);
        t.ask(&named(t.version, &[&topic.name]));
    }),
    case("unknown, illegal and known ones", 1..=6, |t| {
        let topic = t.topic(1);
        let unknown = t.name("topic");
        let request = named(t.version, &[&unknown, &topic.name, "a b", ""]);
        t.sorted(&["responses"]).ask(&request);
    }),
    case("a name twice", 1..=6, |t| {
        let topic = t.topic(1);
        t.ask(&named(t.version, &[&topic.name, &topic.name]));
    }),
    case("by id, and once more", 6..=6, |t| {
        let topic = t.topic(1);
        t.ask(&by_id(None, topic.id));
        gone(&topic.name);
        t.ask(&by_id(None, topic.id));
    }),
    case("by both, by neither", 6..=6, |t| {
        let topic = t.topic(1);
        t.ask(&by_id(Some(&topic.name), topic.id));
        t.ask(&by_id(None, Uuid::nil()));
    }),
    case("created again: nothing is left of the old one", 1..=6, |t| {
        let topic = t.topic(1);
        let batch = |sequence| Batch::new().value("a", 1_000).producer(1_000_000, 0, sequence);
        produce(&topic, 0, &batch(0));
        t.ask(&named(t.version, &[&topic.name]));
        gone(&topic.name);
        let again = t.topic_named(&topic.name, 1, &[]);
        t.note("a producer goes on");
        t.ask_at(9, &produce_request(&again, 0, Some(batch(17).build())));
    }),
    case("no topics", 1..=6, |t| {
        t.ask(&named(t.version, &[]));
    }),
];

#[test]
fn delete_topics() {
    check("delete_topics", 20, CASES);
}
