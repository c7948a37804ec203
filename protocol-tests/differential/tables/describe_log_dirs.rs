//! DescribeLogDirs: v1-4.

use kafka_protocol::messages::DescribeLogDirsRequest;
use kafka_protocol::messages::describe_log_dirs_request::DescribableLogDirTopic;

use super::{Case, case, check};
use crate::batch::Batch;
use crate::fixtures::{produce, topic_name};

fn of(name: &str, partitions: &[i32]) -> DescribeLogDirsRequest {
    let topic = DescribableLogDirTopic::default()
        .with_topic(topic_name(name))
        .with_partitions(partitions.to_vec());
    DescribeLogDirsRequest::default().with_topics(Some(vec![topic]))
}

const CASES: &[Case] = &[
    case("a topic with data", 1..=4, |t| {
        let topic = t.topic(2);
        produce(&topic, 0, &Batch::new().value("a", 1_000));
        t.sorted(&["partitions"]).ask(&of(&topic.name, &[0, 1]));
    }),
    case("everything there is", 1..=4, |t| {
        let topic = t.topic(1);
        produce(&topic, 0, &Batch::new().value("a", 1_000));
        t.only_ours("topics").ask(&DescribeLogDirsRequest::default().with_topics(None));
    }),
    case("no such partition, no such topic, no topics", 1..=4, |t| {
        let (topic, unknown) = (t.topic(1), t.name("topic"));
        t.ask(&of(&topic.name, &[7]));
        t.ask(&of(&topic.name, &[]));
        t.ask(&of(&unknown, &[0]));
        t.ask(&DescribeLogDirsRequest::default().with_topics(Some(vec![])));
    }),
];

#[test]
fn describe_log_dirs() {
    check("describe_log_dirs", 35, CASES);
}
