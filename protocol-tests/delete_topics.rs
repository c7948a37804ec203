//! DeleteTopics: v1-6.

use kafka_protocol::messages::DeleteTopicsRequest;
use kafka_protocol::messages::delete_topics_request::DeleteTopicState;
use uuid::Uuid;

use crate::batch::Batch;
use crate::client::call;
use crate::codes::{INVALID_REQUEST, NONE, UNKNOWN_TOPIC_ID, UNKNOWN_TOPIC_OR_PARTITION};
use crate::fixtures::{create_named, describe, produce, topic, topic_name, unique, until};

pub fn by_name(name: &str) -> DeleteTopicsRequest {
    let state = DeleteTopicState::default().with_name(Some(topic_name(name)));
    DeleteTopicsRequest::default()
        .with_topic_names(vec![topic_name(name)])
        .with_topics(vec![state])
        .with_timeout_ms(10_000)
}

fn for_version(version: i16, request: DeleteTopicsRequest) -> DeleteTopicsRequest {
    if version < 6 { request.with_topics(vec![]) } else { request.with_topic_names(vec![]) }
}

fn by_id(id: Uuid) -> DeleteTopicsRequest {
    let state = DeleteTopicState::default().with_name(None).with_topic_id(id);
    DeleteTopicsRequest::default().with_topics(vec![state]).with_timeout_ms(10_000)
}

pub fn gone(name: &str) {
    until("the deletion", || describe(name).error_code == UNKNOWN_TOPIC_OR_PARTITION);
}

#[test]
fn every_version_deletes() {
    for version in 1..=6 {
        let topic = topic("delete", 2);
        let request = for_version(version, by_name(&topic.name));
        let result = call(version, &request).responses.remove(0);
        assert_eq!(result.error_code, NONE, "v{version}");
        assert_eq!(result.name.as_deref().map(|it| &**it), Some(&*topic.name), "v{version}");
        assert_eq!(result.error_message, None, "v{version}");
        if version == 6 {
            assert_eq!(result.topic_id, topic.id);
        }
        gone(&topic.name);
        let again = call(version, &request).responses.remove(0);
        assert_eq!(again.error_code, UNKNOWN_TOPIC_OR_PARTITION, "v{version}");
        assert_eq!(again.name.as_deref().map(|it| &**it), Some(&*topic.name), "v{version}");
        assert_eq!(again.topic_id, Uuid::nil(), "v{version}");
    }
}

#[test]
fn by_topic_id() {
    let topic = topic("delete-id", 1);
    let result = call(6, &by_id(topic.id)).responses.remove(0);
    assert_eq!((result.error_code, result.topic_id), (NONE, topic.id));
    assert_eq!(result.name.as_deref().map(|it| &**it), Some(&*topic.name));
    gone(&topic.name);
    let again = call(6, &by_id(topic.id)).responses.remove(0);
    assert_eq!((again.error_code, again.topic_id), (UNKNOWN_TOPIC_ID, topic.id));
    assert_eq!(again.name, None);
}

#[test]
fn neither_name_nor_id_or_both() {
    let topic = topic("delete-both", 1);
    let both = by_name(&topic.name).topics[0].clone().with_topic_id(topic.id);
    let neither = DeleteTopicState::default().with_name(None);
    for state in [both, neither] {
        let request =
            DeleteTopicsRequest::default().with_topics(vec![state.clone()]).with_timeout_ms(5_000);
        let result = call(6, &request).responses.remove(0);
        assert_eq!(result.error_code, INVALID_REQUEST, "{state:?}");
    }
    assert_eq!(describe(&topic.name).error_code, NONE);
}

/// Nothing of the old topic is left: another id, offsets from 0, and a producer may go on with its next sequence number.
#[test]
fn created_again() {
    let old = topic("delete-again", 1);
    for sequence in 0..3 {
        produce(&old, 0, &Batch::of(&["old"]).producer(4_000_001, 0, sequence));
    }
    call(6, &by_id(old.id));
    gone(&old.name);
    let new = create_named(&old.name, 1, &[]);
    assert_ne!(new.id, old.id);
    assert_eq!(produce(&new, 0, &Batch::of(&["new"]).producer(4_000_001, 0, 17)), 0);
}

#[test]
fn several_topics() {
    let topic = topic("delete-several", 1);
    let unknown = unique("delete-unknown");
    let request = DeleteTopicsRequest::default()
        .with_topic_names(vec![topic_name(&unknown), topic_name(&topic.name)])
        .with_timeout_ms(10_000);
    let response = call(5, &request);
    let code = |name: &str| {
        let named =
            response.responses.iter().find(|it| it.name.as_ref().is_some_and(|n| &***n == name));
        named.unwrap().error_code
    };
    assert_eq!(code(&unknown), UNKNOWN_TOPIC_OR_PARTITION);
    assert_eq!(code(&topic.name), NONE);
    gone(&topic.name);
}
