//! DescribeQuorum: v0-2.

use kafka_protocol::messages::DescribeQuorumRequest;
use kafka_protocol::messages::describe_quorum_request::{PartitionData, TopicData};

use super::{Case, case, check};
use crate::fixtures::topic_name;

fn of(name: &str, partition: i32) -> DescribeQuorumRequest {
    let partition = PartitionData::default().with_partition_index(partition);
    let topic =
        TopicData::default().with_topic_name(topic_name(name)).with_partitions(vec![partition]);
    DescribeQuorumRequest::default().with_topics(vec![topic])
}

const CASES: &[Case] = &[
    case("the quorum", 0..=2, |t| {
        t.hidden(&["high_watermark", "leader_epoch", "log_end_offset"]);
        t.ask(&of("__cluster_metadata", 0));
    }),
    case("no such partition, another topic, nothing", 0..=2, |t| {
        let topic = t.topic(1);
        t.ask(&of("__cluster_metadata", 1));
        t.ask(&of(&topic.name, 0));
        t.ask(&DescribeQuorumRequest::default());
    }),
];

#[test]
fn describe_quorum() {
    check("describe_quorum", 55, CASES);
}
