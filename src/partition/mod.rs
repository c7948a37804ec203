//! One replica of one partition.
//!
//! Reading order: `replica` is the machine (pure), `actor` the task that runs it over a log, `Handle` what handlers hold.
//! `validate` is what a batch must fulfil before it reaches them, `producers` what idempotence remembers, `isr` the
//! in-sync set, `lookup` finds offsets by time, `log_dir` where all logs lie. Three positions: `written` (accepted by the OS), `durable` (synced), `high
//! watermark` (what consumers may see).

pub(crate) mod actor;
pub(crate) mod handle;
mod inspect;
mod isr;
mod log_dir;
mod lookup;
pub mod producers;
pub mod replica;
pub mod validate;

use crate::ids::{LeaderEpoch, Offset, PartitionIndex, TopicId};
use dashmap::DashMap;

pub use self::{
    actor::{SpawnParams, log_options, spawn},
    handle::{Append, AppendError, Handle, Pending},
    inspect::Inspection,
    log_dir::LogDir,
    lookup::Found,
    replica::{Acks, Appended, Assigned},
    validate::{Fault, RecordError},
};
pub use crate::storage::{FileRange, Slice};

/// What readers may know of a replica; published after every change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct View {
    pub leader_epoch: LeaderEpoch,
    /// Whether this node leads the partition in that epoch.
    pub leading: bool,
    /// The log end when the epoch began. While the high watermark is below it, a leader does not know what was committed
    /// before (KIP-207).
    pub epoch_start: Offset,
    pub log_start: Offset,
    /// Consumers (read_uncommitted) read below it.
    pub high_watermark: Offset,
    /// read_committed consumers read below it; equal to the high watermark without transactions.
    pub last_stable: Offset,
    pub log_end: Offset,
}

impl View {
    /// Where a reader must stop.
    pub fn end(&self, isolation: Isolation) -> Offset {
        match isolation {
            Isolation::ReadUncommitted => self.high_watermark,
            Isolation::ReadCommitted => self.last_stable,
        }
    }
}

/// KIP-98 isolation level of a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Isolation {
    ReadUncommitted,
    ReadCommitted,
}

impl Isolation {
    /// From `isolation_level` on the wire: 1 is read_committed, as in Kafka everything else reads uncommitted.
    pub fn from_wire(level: i8) -> Isolation {
        if level == 1 { Isolation::ReadCommitted } else { Isolation::ReadUncommitted }
    }
}

/// The replicas this node hosts. Written by `broker::reconcile` only; gives out clones, so no lock outlives a call.
#[derive(Default)]
pub struct Registry {
    handles: DashMap<(TopicId, PartitionIndex), Handle>,
}

impl Registry {
    pub fn get(&self, topic: TopicId, index: PartitionIndex) -> Option<Handle> {
        self.handles.get(&(topic, index)).map(|handle| handle.clone())
    }

    /// Replaces an earlier one of the same partition.
    pub fn insert(&self, handle: Handle) {
        self.handles.insert((handle.topic_id(), handle.index()), handle);
    }

    pub fn remove(&self, topic: TopicId, index: PartitionIndex) -> Option<Handle> {
        self.handles.remove(&(topic, index)).map(|(_, handle)| handle)
    }

    /// All of them, in no order.
    pub fn all(&self) -> Vec<Handle> {
        self.handles.iter().map(|handle| handle.clone()).collect()
    }
}

#[cfg(test)]
mod tests;
