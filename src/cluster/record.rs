//! Metadata records: the only way the cluster's state changes. One quorum entry holds one step's records, all or none.

use crate::ids::{LeaderEpoch, NodeId, TopicId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One change of metadata. Encoded as JSON, so that fields can be added and old logs stay readable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type")]
pub enum Record {
    /// The first record of a cluster.
    Cluster { cluster_id: String },
    /// A broker registered (again): its endpoints by listener name.
    Broker {
        node_id: NodeId,
        broker_epoch: i64,
        incarnation_id: uuid::Uuid,
        rack: Option<String>,
        listeners: BTreeMap<String, (String, u16)>,
        fenced: bool,
    },
    /// A topic exists; its partitions follow in the same batch.
    Topic { name: String, topic_id: TopicId },
    /// A partition of a topic, new or changed.
    Partition { topic_id: TopicId, partition: i32, state: PartitionState },
    /// The topic and everything of it is gone.
    RemoveTopic { topic_id: TopicId },
    /// A dynamic config: None removes it.
    Config { resource: Resource, name: String, value: Option<String> },
    /// Producer ids below this one are taken.
    ProducerIds { next_producer_id: i64 },
}

/// Who replicates a partition and who leads it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartitionState {
    /// Preferred leader first.
    pub replicas: Vec<NodeId>,
    /// In-sync replicas.
    pub isr: Vec<NodeId>,
    /// None: leaderless.
    pub leader: Option<NodeId>,
    pub leader_epoch: LeaderEpoch,
    /// Grows with every change of this state (KIP-497).
    pub partition_epoch: i32,
}

/// What a dynamic config belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Resource {
    /// By name, as Kafka does; removed with the topic.
    Topic(String),
    /// None: the cluster-wide default.
    Broker(Option<NodeId>),
    Group(String),
    /// A client metrics subscription (KIP-714).
    ClientMetrics(String),
}

/// Text that is not a list of records: damage, or a newer Ottla's record.
#[derive(Debug, thiserror::Error)]
#[error("metadata line {line}: {cause}")]
pub struct DecodeError {
    /// From 1.
    pub line: usize,
    pub cause: serde_json::Error,
}

/// One quorum entry: a record a line.
pub fn encode(records: &[Record]) -> String {
    let mut text = String::new();
    for record in records {
        text += &serde_json::to_string(record).expect("a record has string keys only");
        text.push('\n');
    }
    text
}

/// The records of one quorum entry.
pub fn decode(text: &str) -> Result<Vec<Record>, DecodeError> {
    let read = |(at, line)| {
        serde_json::from_str(line).map_err(|cause| DecodeError { line: at + 1, cause })
    };
    text.lines().enumerate().map(read).collect()
}
