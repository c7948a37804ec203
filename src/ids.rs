//! The names of things: one type per kind of id, so that two of them cannot be confused.

use std::fmt;
use uuid::Uuid;

/// A record's position in its partition. Ends are exclusive and called `_end`: the log end offset is
/// the offset the next record will get.
pub type Offset = i64;

/// `node.id`: a broker or controller of the cluster. Never negative.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
#[serde(transparent)]
pub struct NodeId(pub i32);

/// A topic's incarnation: a topic that is deleted and created again has another one (KIP-516). Never zero.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
#[serde(transparent)]
pub struct TopicId(pub Uuid);

/// The number of a partition within its topic, from 0.
pub type PartitionIndex = i32;

/// One leadership of one partition; grows with every change of leader, from 0.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
#[serde(transparent)]
pub struct LeaderEpoch(pub i32);

/// An idempotent producer's id, unique in the cluster for ever. Never negative.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
#[serde(transparent)]
pub struct ProducerId(pub i64);

/// A log of one data directory. Never reused, not even after kill -9.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
#[serde(transparent)]
pub struct LogId(pub u32);

macro_rules! shown_as_its_number {
    ($($name:ident),*) => { $(impl fmt::Display for $name {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { self.0.fmt(f) }
    })* };
}
shown_as_its_number!(NodeId, TopicId, LeaderEpoch, ProducerId, LogId);

/// A random id for a topic, a member, a directory. Called at the edge only: machines get ids as inputs.
pub fn fresh_uuid() -> Uuid {
    #[expect(clippy::disallowed_methods, reason = "the one source of random ids")]
    Uuid::new_v4()
}
