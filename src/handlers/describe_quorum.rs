//! DescribeQuorum: v0-2.
//!
//! Versions: 1 times of the last fetch (KIP-836) · 2 directory ids, listeners of the controllers, error messages (KIP-853).
//! The quorum of the metadata log is this node. Offsets count records of metadata. Controllers have no listener of their own:
//! the node is told with those of its broker. Its directory id is not told, as on a Kafka whose voters are fixed.

use super::Ctx;
use crate::{
    cluster::{Image, names::CLUSTER_METADATA},
    session::Session,
    wire::{
        ErrorCode, StrBytes,
        api::Api,
        messages::{
            BrokerId, DescribeQuorumRequest, DescribeQuorumResponse,
            describe_quorum_response::{Listener, Node, PartitionData, ReplicaState, TopicData},
        },
        text,
    },
};

pub const API: Api = Api::new(55, "DescribeQuorum", 0, 2, 0);

pub async fn handle(
    ctx: &Ctx,
    _session: &mut Session,
    version: i16,
    request: DescribeQuorumRequest,
) -> DescribeQuorumResponse {
    let is_quorum = match &request.topics[..] {
        [topic] if topic.topic_name.as_str() == CLUSTER_METADATA => {
            matches!(&topic.partitions[..], [partition] if partition.partition_index == 0)
        }
        _ => false,
    };
    if !is_quorum {
        return refused(version, request);
    }
    let image = ctx.image.load();
    let me = BrokerId(ctx.config.node_id);
    let mut voter = ReplicaState::default().with_replica_id(me).with_log_end_offset(image.offset);
    if version >= 1 {
        let now_ms = ctx.clock.now().wall_ms;
        voter = voter.with_last_fetch_timestamp(now_ms).with_last_caught_up_timestamp(now_ms);
    }
    let partition = PartitionData::default()
        .with_partition_index(0)
        .with_leader_id(me)
        .with_leader_epoch(ctx.controller.epoch())
        .with_high_watermark(image.offset)
        .with_current_voters(vec![voter]);
    let topics = request.topics.into_iter().map(|topic| {
        TopicData::default()
            .with_topic_name(topic.topic_name)
            .with_partitions(vec![partition.clone()])
    });
    let response = DescribeQuorumResponse::default().with_topics(topics.collect());
    if version >= 2 { response.with_nodes(nodes(&image)) } else { response }
}

fn nodes(image: &Image) -> Vec<Node> {
    let nodes = image.brokers().map(|broker| {
        let listeners = broker.listeners.iter().map(|(name, (host, port))| {
            Listener::default().with_name(text(name)).with_host(text(host)).with_port(*port)
        });
        Node::default().with_node_id(BrokerId(broker.node_id.0)).with_listeners(listeners.collect())
    });
    nodes.collect()
}

/// Anything else than the one partition of the metadata log, alone: no partition exists.
fn refused(version: i16, request: DescribeQuorumRequest) -> DescribeQuorumResponse {
    let message = "This server does not host this topic-partition.";
    let topics = request.topics.into_iter().map(|topic| {
        let partitions = topic.partitions.into_iter().map(|partition| {
            let refused = PartitionData::default()
                .with_partition_index(partition.partition_index)
                .with_error_code(ErrorCode::UnknownTopicOrPartition.code());
            if version >= 2 {
                refused.with_error_message(Some(StrBytes::from_static_str(message)))
            } else {
                refused
            }
        });
        let partitions = partitions.collect();
        TopicData::default().with_topic_name(topic.topic_name).with_partitions(partitions)
    });
    DescribeQuorumResponse::default().with_topics(topics.collect())
}
