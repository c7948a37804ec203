//! The group coordinator: one machine for each partition of `__consumer_offsets`, on the node that leads it.
//!
//! Reading order: `command` (what can be asked), `machine` (who gets it), `classic` (groups), `offsets`, `durable` and
//! `records` (what is kept, and in which bytes). A machine's journal is its partition; this module only finds the machine.
//!
//! # States of a classic group
//!
//! As `ClassicGroupState` documents them and Kafka 4.1 acts (where the two differ, as it acts).
//!
//! **Empty**: no members; exists for its offsets or for ids that were given out.
//! - *action*: Heartbeat, SyncGroup, LeaveGroup: UNKNOWN_MEMBER_ID (LeaveGroup of a pending id: let go). OffsetCommit
//!   without a generation: accepted. OffsetFetch: answered. JoinGroup with an unknown id: UNKNOWN_MEMBER_ID.
//! - *transition*: a member joins => PreparingRebalance. Deleted, or its last offset expired => Dead.
//!
//! **PreparingRebalance**: waits for members to join.
//! - *action*: JoinGroup: parked until all have joined or the longest rebalance timeout is over. Heartbeat:
//!   REBALANCE_IN_PROGRESS. SyncGroup: REBALANCE_IN_PROGRESS. LeaveGroup: the member goes. OffsetCommit of the previous
//!   generation: accepted.
//! - *transition*: some have joined => CompletingRebalance. None is left => Empty.
//!
//! **CompletingRebalance**: waits for the leader's assignment.
//! - *action*: SyncGroup: parked until the leader's. Heartbeat: accepted. OffsetCommit: REBALANCE_IN_PROGRESS. JoinGroup
//!   of a member that says what it said before: the generation again.
//! - *transition*: the leader's SyncGroup => Stable. A member comes, changes, leaves, fails or does not sync in time
//!   => PreparingRebalance.
//!
//! **Stable**: members work.
//! - *action*: Heartbeat: accepted. SyncGroup: the current assignment again. JoinGroup of a follower that says what it
//!   said before: the generation again; of a known static member without its id: a new id, no rebalance. OffsetCommit of
//!   the current generation: accepted.
//! - *transition*: a member comes, changes, leaves, fails or has not synced in time; the leader joins again
//!   => PreparingRebalance.
//!
//! **Dead**: does not exist. Heartbeat, SyncGroup, LeaveGroup, JoinGroup with an id: UNKNOWN_MEMBER_ID; OffsetFetch: no
//! offsets; OffsetCommit without a generation and JoinGroup without an id make the group.

pub mod classic;
pub mod command;
mod coordinator;
mod durable;
mod machine;
mod offsets;
pub mod records;
#[cfg(test)]
mod tests;
mod timers;

pub use coordinator::Coordinator;
pub use machine::{Effect, Event, GroupMachine};

use crate::{config::Config, limits::GROUPS_MAX};
use records::Record;

/// What a machine needs of the configuration; fields are Kafka's settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    pub group_min_session_timeout_ms: i32,
    pub group_max_session_timeout_ms: i32,
    pub group_initial_rebalance_delay_ms: i32,
    pub group_max_size: i32,
    /// `offset.metadata.max.bytes`: of one partition's commit. Kafka counts UTF-16 units, so do we.
    pub offset_metadata_max_bytes: i32,
    pub offsets_retention_minutes: i32,
    pub offsets_retention_check_interval_ms: i64,
    /// `max.message.bytes` of the shard's log, as it is now: what is written together has to fit.
    pub message_max_bytes: usize,
    /// Groups of one shard; who would make one more is told COORDINATOR_NOT_AVAILABLE, which clients retry.
    pub groups_max: usize,
}

impl Default for Settings {
    /// Kafka's defaults.
    fn default() -> Self {
        Settings {
            group_min_session_timeout_ms: 6_000,
            group_max_session_timeout_ms: 1_800_000,
            group_initial_rebalance_delay_ms: 3_000,
            group_max_size: i32::MAX,
            offset_metadata_max_bytes: 4_096,
            offsets_retention_minutes: 7 * 24 * 60,
            offsets_retention_check_interval_ms: 600_000,
            message_max_bytes: 1_048_588,
            groups_max: GROUPS_MAX,
        }
    }
}

/// Bytes of a record batch's header.
const BATCH_HEADER_BYTES: usize = 61;

impl Settings {
    /// What `config` says, and the log's own settings.
    pub fn of(config: &Config, message_max_bytes: usize) -> Settings {
        Settings {
            group_min_session_timeout_ms: config.group_min_session_timeout_ms,
            group_max_session_timeout_ms: config.group_max_session_timeout_ms,
            group_initial_rebalance_delay_ms: config.group_initial_rebalance_delay_ms,
            group_max_size: config.group_max_size,
            offset_metadata_max_bytes: config.offset_metadata_max_bytes,
            offsets_retention_minutes: config.offsets_retention_minutes,
            offsets_retention_check_interval_ms: config.offsets_retention_check_interval_ms,
            message_max_bytes,
            groups_max: GROUPS_MAX / config.offsets_topic_num_partitions.max(1) as usize,
        }
    }

    fn group_max_size(&self) -> usize {
        usize::try_from(self.group_max_size).unwrap_or(0)
    }

    fn is_metadata_too_large(&self, metadata: &str) -> bool {
        let max = usize::try_from(self.offset_metadata_max_bytes).unwrap_or(0);
        metadata.len() > max && metadata.encode_utf16().count() > max
    }

    /// Bytes of the records in one batch.
    fn batch_bytes_max(&self) -> usize {
        self.message_max_bytes.saturating_sub(BATCH_HEADER_BYTES)
    }

    fn fits(&self, record: &Record) -> bool {
        record.size() <= self.batch_bytes_max()
    }

    fn fit(&self, records: &[Record]) -> bool {
        records.iter().map(Record::size).sum::<usize>() <= self.batch_bytes_max()
    }
}
