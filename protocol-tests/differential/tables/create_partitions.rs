//! CreatePartitions: v0-3.

use kafka_protocol::messages::CreatePartitionsRequest;
use kafka_protocol::messages::create_partitions_request::{
    CreatePartitionsAssignment, CreatePartitionsTopic,
};

use super::create_topics::node_id;
use super::{Case, case, check};
use crate::fixtures::topic_name;

fn more(name: &str, count: i32) -> CreatePartitionsTopic {
    CreatePartitionsTopic::default()
        .with_name(topic_name(name))
        .with_count(count)
        .with_assignments(None)
}

fn of(topics: Vec<CreatePartitionsTopic>) -> CreatePartitionsRequest {
    CreatePartitionsRequest::default().with_topics(topics).with_timeout_ms(10_000)
}

fn assigned(brokers: &[&[i32]]) -> Option<Vec<CreatePartitionsAssignment>> {
    let assignment = |ids: &&[i32]| {
        let ids = ids.iter().map(|id| (*id).into()).collect();
        CreatePartitionsAssignment::default().with_broker_ids(ids)
    };
    Some(brokers.iter().map(assignment).collect())
}

const CASES: &[Case] = &[
    case("more, as many, fewer", 0..=3, |t| {
        let topic = t.topic(1);
        for count in [3, 3, 2, 0, -1] {
            t.note(&format!("{count} partitions"));
            t.ask(&of(vec![more(&topic.name, count)]));
        }
    }),
    case("with an assignment", 0..=3, |t| {
        let topic = t.topic(1);
        let node = node_id();
        let one = || more(&topic.name, 2);
        t.note("an unknown broker");
        t.ask(&of(vec![one().with_assignments(assigned(&[&[node + 77]]))]));
        t.note("one too many");
        t.ask(&of(vec![one().with_assignments(assigned(&[&[node], &[node]]))]));
        t.note("none").ask(&of(vec![one().with_assignments(assigned(&[]))]));
        t.note("no broker").ask(&of(vec![one().with_assignments(assigned(&[&[]]))]));
        t.note("good").ask(&of(vec![one().with_assignments(assigned(&[&[node]]))]));
    }),
    case("only validated", 0..=3, |t| {
        let topic = t.topic(1);
        for count in [2, 1, 2] {
            t.ask(&of(vec![more(&topic.name, count)]).with_validate_only(true));
        }
    }),
    case("unknown topics, illegal names, a topic twice", 0..=3, |t| {
        let (topic, unknown) = (t.topic(1), t.name("topic"));
        t.ask(&of(vec![more(&unknown, 2)]));
        t.ask(&of(vec![more("a b", 2)]));
        t.ask(&of(vec![more(&topic.name, 2), more(&topic.name, 3)]));
        t.ask(&of(vec![]));
    }),
];

#[test]
fn create_partitions() {
    check("create_partitions", 37, CASES);
}
