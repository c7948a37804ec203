//! ElectLeaders: v0-2.

use kafka_protocol::messages::ElectLeadersRequest;
use kafka_protocol::messages::elect_leaders_request::TopicPartitions;

use super::{Case, case, check};
use crate::fixtures::topic_name;

const PREFERRED: i8 = 0;
const UNCLEAN: i8 = 1;

fn of(kind: i8, name: &str, partitions: &[i32]) -> ElectLeadersRequest {
    let topic = TopicPartitions::default()
        .with_topic(topic_name(name))
        .with_partitions(partitions.to_vec());
    ElectLeadersRequest::default()
        .with_election_type(kind)
        .with_topic_partitions(Some(vec![topic]))
        .with_timeout_ms(10_000)
}

const CASES: &[Case] = &[
    case("the preferred leader leads already", 0..=2, |t| {
        let topic = t.topic(2);
        t.sorted(&["partition_result"]).ask(&of(PREFERRED, &topic.name, &[0, 1]));
    }),
    case("an unclean election nobody needs", 1..=2, |t| {
        let topic = t.topic(1);
        t.ask(&of(UNCLEAN, &topic.name, &[0]));
    }),
    case("a kind that does not exist", 1..=2, |t| {
        let topic = t.topic(1);
        t.try_ask(&of(7, &topic.name, &[0]));
    }),
    case("no such partition, no such topic, no topics", 0..=2, |t| {
        let (topic, unknown) = (t.topic(1), t.name("topic"));
        t.ask(&of(PREFERRED, &topic.name, &[7]));
        t.ask(&of(PREFERRED, &unknown, &[0]));
        t.ask(&of(PREFERRED, "a b", &[0]));
        t.ask(
            &ElectLeadersRequest::default().with_topic_partitions(Some(vec![])).with_timeout_ms(9),
        );
    }),
    case("all partitions: only those that changed are told", 0..=2, |t| {
        t.topic(1);
        let all = ElectLeadersRequest::default().with_topic_partitions(None).with_timeout_ms(9_000);
        t.only_ours("replica_election_results").ask(&all);
    }),
];

#[test]
fn elect_leaders() {
    check("elect_leaders", 43, CASES);
}
