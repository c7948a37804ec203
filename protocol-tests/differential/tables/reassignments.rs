//! ListPartitionReassignments: v0, AlterPartitionReassignments: v0-1, on one node.

use kafka_protocol::messages::alter_partition_reassignments_request::{
    ReassignablePartition, ReassignableTopic,
};
use kafka_protocol::messages::list_partition_reassignments_request::ListPartitionReassignmentsTopics;
use kafka_protocol::messages::{
    AlterPartitionReassignmentsRequest, ListPartitionReassignmentsRequest,
};

use super::create_topics::node_id;
use super::{Case, case, check};
use crate::fixtures::topic_name;

fn alter(
    name: &str,
    partition: i32,
    replicas: Option<&[i32]>,
) -> AlterPartitionReassignmentsRequest {
    let partition = ReassignablePartition::default()
        .with_partition_index(partition)
        .with_replicas(replicas.map(|ids| ids.iter().map(|id| (*id).into()).collect()));
    let topic =
        ReassignableTopic::default().with_name(topic_name(name)).with_partitions(vec![partition]);
    AlterPartitionReassignmentsRequest::default()
        .with_topics(vec![topic])
        .with_timeout_ms(10_000)
        .with_allow_replication_factor_change(true)
}

fn list(name: &str, partitions: &[i32]) -> ListPartitionReassignmentsRequest {
    let topic = ListPartitionReassignmentsTopics::default()
        .with_name(topic_name(name))
        .with_partition_indexes(partitions.to_vec());
    ListPartitionReassignmentsRequest::default()
        .with_topics(Some(vec![topic]))
        .with_timeout_ms(10_000)
}

const LIST: &[Case] = &[case("none are under way", 0..=0, |t| {
    let (topic, unknown) = (t.topic(1), t.name("topic"));
    t.ask(&ListPartitionReassignmentsRequest::default().with_topics(None));
    t.ask(&ListPartitionReassignmentsRequest::default().with_topics(Some(vec![])));
    t.ask(&list(&topic.name, &[0, 7]));
    t.ask(&list(&unknown, &[0]));
})];

const ALTER: &[Case] = &[
    case("where it is already", 0..=1, |t| {
        let topic = t.topic(1);
        t.ask(&alter(&topic.name, 0, Some(&[node_id()])));
    }),
    case("a cancellation of none", 0..=1, |t| {
        let topic = t.topic(1);
        t.ask(&alter(&topic.name, 0, None));
    }),
    case("replicas that cannot be", 0..=1, |t| {
        let (topic, node) = (t.topic(1), node_id());
        for (what, replicas) in [
            ("an unknown broker", &[node + 77][..]),
            ("no broker", &[]),
            ("a broker twice", &[node, node]),
            ("a negative one", &[-5]),
        ] {
            t.note(what).ask(&alter(&topic.name, 0, Some(replicas)));
        }
    }),
    case("no such partition, no such topic, no topics", 0..=1, |t| {
        let (topic, unknown, node) = (t.topic(1), t.name("topic"), node_id());
        t.ask(&alter(&topic.name, 7, Some(&[node])));
        t.ask(&alter(&unknown, 0, Some(&[node])));
        t.ask(&AlterPartitionReassignmentsRequest::default().with_timeout_ms(10_000));
    }),
];

#[test]
fn list_partition_reassignments() {
    check("list_partition_reassignments", 46, LIST);
}

#[test]
fn alter_partition_reassignments() {
    check("alter_partition_reassignments", 45, ALTER);
}
