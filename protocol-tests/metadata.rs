//! Metadata: v0-13.

use kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use kafka_protocol::messages::metadata_response::MetadataResponseTopic;
use kafka_protocol::messages::{MetadataRequest, MetadataResponse};
use uuid::Uuid;

use crate::client::{Client, call};
use crate::codes::{
    INVALID_REQUEST, INVALID_TOPIC_EXCEPTION, NONE, UNKNOWN_TOPIC_ID, UNKNOWN_TOPIC_OR_PARTITION,
};
use crate::fixtures::{describe, topic, topic_name, unique, until};

fn named(names: &[&str]) -> MetadataRequest {
    let topics = names
        .iter()
        .map(|name| MetadataRequestTopic::default().with_name(Some(topic_name(name))))
        .collect();
    MetadataRequest::default().with_topics(Some(topics))
}

fn by_id(id: Uuid) -> MetadataRequest {
    let topic = MetadataRequestTopic::default().with_topic_id(id);
    MetadataRequest::default().with_topics(Some(vec![topic]))
}

fn find<'a>(response: &'a MetadataResponse, name: &str) -> &'a MetadataResponseTopic {
    let mut found =
        response.topics.iter().filter(|topic| topic.name.as_ref().is_some_and(|it| &***it == name));
    let topic = found.next().unwrap_or_else(|| panic!("{name} is not in {response:?}"));
    assert!(found.next().is_none(), "{name} is there twice");
    topic
}

#[test]
fn every_version_shows_the_topic() {
    let topic = topic("metadata", 3);
    for version in 0..=13 {
        let response = call(version, &named(&[&topic.name]));
        assert_eq!(response.brokers.len(), 1, "v{version}");
        let broker = &response.brokers[0];
        assert!(!["", "0.0.0.0", "::"].contains(&broker.host.as_str()), "{broker:?}");
        assert!(broker.port > 0, "{broker:?}");
        assert_eq!(response.topics.len(), 1, "v{version}");
        let shown = find(&response, &topic.name);
        assert_eq!((shown.error_code, shown.is_internal), (NONE, false), "v{version}");
        let mut indexes: Vec<_> = shown.partitions.iter().map(|it| it.partition_index).collect();
        indexes.sort_unstable();
        assert_eq!(indexes, [0, 1, 2], "v{version}");
        for partition in &shown.partitions {
            assert_eq!(partition.error_code, NONE, "v{version}");
            assert_eq!(partition.leader_id, broker.node_id, "v{version}");
            assert_eq!(partition.replica_nodes, [broker.node_id], "v{version}");
            assert_eq!(partition.isr_nodes, [broker.node_id], "v{version}");
            assert!(partition.offline_replicas.is_empty(), "v{version}");
            let epoch = if version < 7 { -1 } else { 0 };
            assert_eq!(partition.leader_epoch, epoch, "v{version}");
        }
        if version >= 1 {
            assert_eq!(response.controller_id, broker.node_id, "v{version}");
        }
        if version >= 2 {
            assert!(response.cluster_id.as_ref().is_some_and(|id| id.len() == 22), "{response:?}");
        }
        let id = if version < 10 { Uuid::nil() } else { topic.id };
        assert_eq!(shown.topic_id, id, "v{version}");
        if version >= 8 {
            assert_eq!(shown.topic_authorized_operations, i32::MIN, "v{version}");
        }
        if (8..=10).contains(&version) {
            assert_eq!(response.cluster_authorized_operations, i32::MIN, "v{version}");
        }
    }
}

/// v0: an empty list means all topics. v1 and later: none; null means all.
#[test]
fn an_empty_list_and_no_list() {
    let topic = topic("metadata-all", 1);
    let (all, none) = (MetadataRequest::default().with_topics(None), named(&[]));
    find(&call(0, &none), &topic.name);
    for version in 1..=13 {
        let response = call(version, &none);
        assert_eq!(response.topics, [], "v{version}");
        assert_eq!(response.brokers.len(), 1, "v{version}");
        find(&call(version, &all), &topic.name);
    }
}

#[test]
fn authorized_operations_only_on_request() {
    let topic = topic("metadata-operations", 1);
    let request = named(&[&topic.name])
        .with_include_topic_authorized_operations(true)
        .with_include_cluster_authorized_operations(true);
    let response = call(10, &request);
    assert_eq!(response.topics[0].topic_authorized_operations, 3576);
    assert_eq!(response.cluster_authorized_operations, 8096);
}

/// Kafka creates in the background and answers 3 to the request that triggers it. Ottla creates first and answers with
/// the topic: a client's first produce then needs no second round. Clients take both.
#[test]
fn an_unknown_topic_is_created() {
    for version in [0, 1, 4, 9, 12, 13] {
        let name = unique("metadata-auto");
        let mut client = Client::connect();
        let first = client.call(version, &named(&[&name]));
        let shown = find(&first, &name);
        assert!([NONE, UNKNOWN_TOPIC_OR_PARTITION].contains(&shown.error_code), "v{version}");
        if shown.error_code == NONE {
            assert_ne!(shown.partitions, [], "v{version}: created means usable");
        }
        until("auto-creation", || {
            let again = client.call(version, &named(&[&name]));
            find(&again, &name).error_code == NONE
        });
    }
}

#[test]
fn an_unknown_topic_is_not_created_when_not_allowed() {
    let name = unique("metadata-no-auto");
    for version in 4..=13 {
        let request = named(&[&name]).with_allow_auto_topic_creation(false);
        let response = call(version, &request);
        let shown = find(&response, &name);
        assert_eq!(shown.error_code, UNKNOWN_TOPIC_OR_PARTITION, "v{version}");
        assert_eq!(shown.partitions, [], "v{version}");
        assert_eq!(shown.topic_id, Uuid::nil(), "v{version}");
    }
    call(12, &MetadataRequest::default().with_topics(None));
    assert_eq!(describe(&name).error_code, UNKNOWN_TOPIC_OR_PARTITION, "no request created it");
}

#[test]
fn an_illegal_name_is_never_created() {
    let long = "x".repeat(250);
    for name in ["a b", ".", "..", "", "a/b", "ä", &long] {
        for auto in [true, false] {
            let request = named(&[name]).with_allow_auto_topic_creation(auto);
            let shown = call(9, &request).topics.remove(0);
            assert_eq!(shown.error_code, INVALID_TOPIC_EXCEPTION, "{name:?} auto {auto}");
        }
    }
}

#[test]
fn by_topic_id() {
    let topic = topic("metadata-id", 2);
    for version in [12, 13] {
        let response = call(version, &by_id(topic.id));
        let shown = find(&response, &topic.name);
        assert_eq!((shown.error_code, shown.topic_id), (NONE, topic.id), "v{version}");
        assert_eq!(shown.partitions.len(), 2, "v{version}");

        let unknown = Uuid::from_u128(0x1234);
        let response = call(version, &by_id(unknown));
        let shown = &response.topics[0];
        assert_eq!(shown.error_code, UNKNOWN_TOPIC_ID, "v{version}");
        assert_eq!((shown.name.as_ref(), shown.topic_id), (None, unknown), "v{version}");
    }
}

/// v10 and v11 have the field but no lookup: the whole request is refused, topic by topic.
#[test]
fn by_topic_id_before_v12() {
    let topic = topic("metadata-id-old", 1);
    for version in [10, 11] {
        let mut client = Client::connect();
        let request = by_id(topic.id);
        let response = client.call(version, &request);
        let codes: Vec<_> = response.topics.iter().map(|topic| topic.error_code).collect();
        assert_eq!(codes, [INVALID_REQUEST], "v{version}");
    }
}

#[test]
fn a_name_asked_twice_is_answered_once() {
    let topic = topic("metadata-twice", 1);
    let response = call(9, &named(&[&topic.name, &topic.name]));
    find(&response, &topic.name);
}

#[test]
fn known_and_unknown_side_by_side() {
    let topic = topic("metadata-mixed", 1);
    let unknown = unique("metadata-mixed-unknown");
    let request = named(&[&unknown, &topic.name, "a b"]).with_allow_auto_topic_creation(false);
    let response = call(12, &request);
    assert_eq!(find(&response, &unknown).error_code, UNKNOWN_TOPIC_OR_PARTITION);
    assert_eq!(find(&response, &topic.name).error_code, NONE);
    assert_eq!(find(&response, "a b").error_code, INVALID_TOPIC_EXCEPTION);
    assert_eq!(response.topics.len(), 3);
}
