//! DescribeQuorum: v0-2, of a quorum of one.

use kafka_protocol::messages::describe_quorum_request::{PartitionData, TopicData};
use kafka_protocol::messages::{DescribeQuorumRequest, MetadataRequest};
use uuid::Uuid;

use crate::batch::now_ms;
use crate::client::call;
use crate::codes::{NONE, UNKNOWN_TOPIC_OR_PARTITION};
use crate::fixtures::{topic, topic_name};

const METADATA: &str = "__cluster_metadata";

fn asked(topic: &str, partitions: &[i32]) -> TopicData {
    let partitions = partitions
        .iter()
        .map(|index| PartitionData::default().with_partition_index(*index))
        .collect();
    TopicData::default().with_topic_name(topic_name(topic)).with_partitions(partitions)
}

fn request(topics: Vec<TopicData>) -> DescribeQuorumRequest {
    DescribeQuorumRequest::default().with_topics(topics)
}

#[test]
fn every_version() {
    let node = call(9, &MetadataRequest::default()).brokers[0].node_id;
    for version in 0..=2 {
        let before = now_ms();
        let response = call(version, &request(vec![asked(METADATA, &[0])]));
        assert_eq!((response.error_code, response.error_message.as_deref()), (NONE, Some("")));
        assert_eq!(response.topics.len(), 1);
        assert_eq!(response.topics[0].topic_name.as_str(), METADATA);
        let [partition] = &response.topics[0].partitions[..] else { panic!("{response:?}") };
        assert_eq!((partition.error_code, partition.partition_index), (NONE, 0), "v{version}");
        assert_eq!(partition.error_message.as_deref(), Some(""), "v{version}");
        assert_eq!(partition.leader_id, node);
        assert!(partition.leader_epoch > 0 && partition.high_watermark > 0, "{partition:?}");
        assert!(partition.observers.is_empty());
        let [voter] = &partition.current_voters[..] else { panic!("{partition:?}") };
        assert_eq!((voter.replica_id, voter.replica_directory_id), (node, Uuid::nil()));
        assert!(voter.log_end_offset >= partition.high_watermark);
        for time in [voter.last_fetch_timestamp, voter.last_caught_up_timestamp] {
            if version == 0 {
                assert_eq!(time, -1);
            } else {
                assert!((before - 1000..=now_ms() + 1000).contains(&time), "v{version}: {time}");
            }
        }
        let nodes: Vec<_> = response.nodes.iter().map(|it| it.node_id).collect();
        assert_eq!(nodes, if version < 2 { vec![] } else { vec![node] }, "v{version}");
        assert!(response.nodes.iter().all(|it| !it.listeners.is_empty()));
    }
}

#[test]
fn the_high_watermark_grows_with_metadata() {
    let high_watermark = || {
        let response = call(2, &request(vec![asked(METADATA, &[0])]));
        response.topics[0].partitions[0].high_watermark
    };
    let before = high_watermark();
    topic("quorum", 1);
    assert!(high_watermark() > before);
}

/// Anything else than that partition alone.
#[test]
fn what_is_not_the_quorum() {
    for version in 0..=2 {
        for asked in [
            vec![asked(METADATA, &[1])],
            vec![asked(METADATA, &[0, 1])],
            vec![asked("other", &[0, 3])],
            vec![asked(METADATA, &[0]), asked("other", &[0])],
            vec![asked(METADATA, &[])],
            vec![],
        ] {
            let response = call(version, &request(asked.clone()));
            assert_eq!((response.error_code, response.error_message.as_deref()), (NONE, Some("")));
            assert!(response.nodes.is_empty());
            assert_eq!(response.topics.len(), asked.len());
            for (topic, asked) in response.topics.iter().zip(asked) {
                assert_eq!(topic.topic_name, asked.topic_name);
                assert_eq!(topic.partitions.len(), asked.partitions.len());
                for (partition, asked) in topic.partitions.iter().zip(asked.partitions) {
                    assert_eq!(partition.partition_index, asked.partition_index);
                    assert_eq!(partition.error_code, UNKNOWN_TOPIC_OR_PARTITION);
                    let message = match version {
                        ..2 => "",
                        _ => "This server does not host this topic-partition.",
                    };
                    assert_eq!(partition.error_message.as_deref(), Some(message), "v{version}");
                    assert_eq!((partition.leader_id.0, partition.high_watermark), (0, 0));
                    assert!(partition.current_voters.is_empty());
                }
            }
        }
    }
}
