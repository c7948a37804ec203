//! Every version's answers, over images made of records.

use super::*;
use crate::{
    cluster::Record, ids::LeaderEpoch, wire::messages::metadata_request::MetadataRequestTopic,
};

fn broker(node: i32, listeners: &[&str], fenced: bool) -> Record {
    Record::Broker {
        node_id: NodeId(node),
        broker_epoch: 1,
        incarnation_id: Uuid::from_u128(9),
        rack: (node == 2).then(|| "r2".to_owned()),
        listeners: listeners
            .iter()
            .map(|name| (name.to_string(), (format!("{}{node}", name.to_lowercase()), 9000)))
            .collect(),
        fenced,
    }
}

fn partition(topic: u128, partition: i32, leader: Option<i32>, replicas: &[i32]) -> Record {
    let replicas: Vec<NodeId> = replicas.iter().copied().map(NodeId).collect();
    let state = PartitionState {
        isr: replicas.clone(),
        replicas,
        leader: leader.map(NodeId),
        leader_epoch: LeaderEpoch(5),
        partition_epoch: 0,
    };
    Record::Partition { topic_id: id(topic), partition, state }
}

fn id(number: u128) -> TopicId {
    TopicId(Uuid::from_u128(number))
}

fn topic(name: &str, number: u128) -> Record {
    Record::Topic { name: name.to_owned(), topic_id: id(number) }
}

/// Brokers 1 (listeners A and B), 2 (A, with a rack) and 3 (A, fenced).
fn image() -> Image {
    let mut image = Image::default();
    for record in [
        Record::Cluster { cluster_id: "cluster".to_owned() },
        broker(1, &["A", "B"], false),
        broker(2, &["A"], false),
        broker(3, &["A"], true),
        topic("b", 11),
        partition(11, 0, Some(1), &[1, 2]),
        partition(11, 1, Some(2), &[2, 3]),
        topic("a", 12),
        partition(12, 0, None, &[7]),
        topic("__consumer_offsets", 13),
        partition(13, 0, Some(1), &[1]),
    ] {
        image.apply(&record);
    }
    image
}

fn named(names: &[&str]) -> MetadataRequest {
    let topic =
        |name: &&str| MetadataRequestTopic::default().with_name(Some(TopicName(text(name))));
    MetadataRequest::default().with_topics(Some(names.iter().map(topic).collect()))
}

fn by_id(ids: &[u128]) -> MetadataRequest {
    let topic = |number: &u128| {
        MetadataRequestTopic::default().with_name(None).with_topic_id(id(*number).0)
    };
    MetadataRequest::default().with_topics(Some(ids.iter().map(topic).collect()))
}

fn ask(version: i16, listener: &str, request: &MetadataRequest) -> MetadataResponse {
    match Wanted::of(version, request) {
        Ok(wanted) => View { image: &image(), listener, version }.answer(&wanted, request),
        Err(error) => refused(error, request),
    }
}

/// Topic: error and name; partitions: error, leader, replicas, isr, offline.
fn shown(response: &MetadataResponse) -> Vec<String> {
    let nodes = |nodes: &[BrokerId]| nodes.iter().map(|node| node.0).collect::<Vec<_>>();
    let topic = |topic: &MetadataResponseTopic| {
        let name = topic.name.as_ref().map_or("null", |name| name.as_str());
        let partitions: Vec<String> = topic
            .partitions
            .iter()
            .map(|p| {
                format!(
                    " {}:{} l{} e{} r{:?} i{:?} o{:?}",
                    p.partition_index,
                    p.error_code,
                    p.leader_id.0,
                    p.leader_epoch,
                    nodes(&p.replica_nodes),
                    nodes(&p.isr_nodes),
                    nodes(&p.offline_replicas)
                )
            })
            .collect();
        format!("{} {name}{}", topic.error_code, partitions.concat())
    };
    response.topics.iter().map(topic).collect()
}

#[test]
fn no_topics_and_all_topics() {
    let all = MetadataRequest::default().with_topics(None);
    let none = named(&[]);
    for version in 1..=13 {
        assert_eq!(ask(version, "A", &none).topics.len(), 0);
        let names: Vec<_> = ask(version, "A", &all).topics.into_iter().map(|t| t.name).collect();
        let names: Vec<_> = names.iter().flatten().map(|name| name.as_str()).collect();
        assert_eq!(names, ["__consumer_offsets", "a", "b"]);
    }
    assert_eq!(ask(0, "A", &none).topics.len(), 3);
    assert!(ask(1, "A", &all).topics[0].is_internal);
}

#[test]
fn topics_by_name_come_once_and_those_that_exist_first() {
    let request = named(&["x y", "b", "none", "a", "b", ".."]);
    assert_eq!(
        shown(&ask(12, "A", &request)),
        [
            "0 b 0:0 l1 e5 r[1, 2] i[1, 2] o[] 1:0 l2 e5 r[2, 3] i[2, 3] o[3]",
            "0 a 0:5 l-1 e5 r[7] i[7] o[7]",
            "17 x y",
            "3 none",
            "17 ..",
        ]
    );
}

#[test]
fn a_listener_the_leader_lacks() {
    let request = named(&["b"]);
    for (version, error) in [(5, 5), (6, 72), (13, 72)] {
        assert_eq!(
            shown(&ask(version, "B", &request)),
            [format!(
                "0 b 0:0 l1 e5 r[1, 2] i[1, 2] o[2] 1:{error} l-1 e5 r[2, 3] i[2, 3] o[2, 3]"
            )]
        );
    }
}

#[test]
fn version_0_leaves_out_what_is_offline() {
    assert_eq!(
        shown(&ask(0, "A", &named(&["b"]))),
        ["0 b 0:0 l1 e5 r[1, 2] i[1, 2] o[] 1:9 l2 e5 r[2] i[2] o[3]"]
    );
}

#[test]
fn brokers_are_named_at_the_listener_that_was_asked() {
    let response = ask(12, "A", &named(&[]));
    let brokers: Vec<_> = response
        .brokers
        .iter()
        .map(|b| (b.node_id.0, b.host.as_str(), b.port, b.rack.as_deref()))
        .collect();
    assert_eq!(brokers, [(1, "a1", 9000, None), (2, "a2", 9000, Some("r2"))]);
    assert_eq!(response.controller_id.0, 1);
    assert_eq!(response.cluster_id.as_deref(), Some("cluster"));
    let response = ask(12, "B", &named(&[]));
    assert_eq!(response.brokers.iter().map(|b| b.host.as_str()).collect::<Vec<_>>(), ["b1"]);
    assert_eq!(ask(12, "C", &named(&[])).controller_id.0, -1);
}

#[test]
fn topics_by_id() {
    assert_eq!(
        shown(&ask(12, "A", &by_id(&[12, 99, 12]))),
        ["100 null", "0 a 0:5 l-1 e5 r[7] i[7] o[7]"]
    );
    let mut mixed = by_id(&[12]);
    mixed.topics.as_mut().unwrap().extend(named(&["b"]).topics.unwrap());
    assert_eq!(shown(&ask(13, "A", &mixed)), ["0 a 0:5 l-1 e5 r[7] i[7] o[7]"]);
}

#[test]
fn ids_before_version_12_and_topics_without_either() {
    for version in [10, 11] {
        let response = ask(version, "A", &by_id(&[12]));
        assert_eq!(shown(&response), ["42 "]);
        assert_eq!((response.brokers.len(), response.cluster_id), (0, None));
        assert_eq!(response.controller_id.0, -1);
    }
    assert_eq!(shown(&ask(12, "A", &by_id(&[0]))), ["-1 "]);
}

#[test]
fn authorized_operations_when_asked() {
    let operations = |request: &MetadataRequest| -> Vec<i32> {
        let topics = ask(12, "A", request).topics;
        topics.iter().map(|topic| topic.topic_authorized_operations).collect()
    };
    let request = named(&["a", "none"]);
    assert_eq!(operations(&request), [i32::MIN, i32::MIN]);
    let request = request.with_include_topic_authorized_operations(true);
    assert_eq!(operations(&request), [3576, 3576]);
    let request = by_id(&[12, 99]).with_include_topic_authorized_operations(true);
    assert_eq!(operations(&request), [i32::MIN, 3576], "none for an unknown id");
    assert_eq!(CLUSTER_OPERATIONS, 8096);
}
