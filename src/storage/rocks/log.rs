//! A log that is open: what the writing thread, the syncing stage and readers know of it.
//!
//! The writing thread alone changes it (recovery before it exists for others); readers look at it under the same lock.

use super::totals::Totals;
use super::values::{Point, Start};
use crate::ids::{LeaderEpoch, LogId, Offset};
use crate::storage::chain::Chain;
use crate::storage::{LogOptions, Positions, StorageError, Summary};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::atomic::AtomicBool;
use std::{fs::File, ops::Range, path::PathBuf, sync::Arc};
use tokio::sync::watch;

pub struct Log {
    pub id: LogId,
    pub state: Mutex<State>,
    pub positions: watch::Sender<Positions>,
    /// Nothing is written for it any more.
    pub deleted: AtomicBool,
}

/// The segment file that is being written.
pub struct Growing {
    pub file: Arc<File>,
    /// The offset in its name.
    pub base: Offset,
    pub len: u64,
}

pub struct State {
    pub options: LogOptions,
    pub start: Start,
    /// The end of what is queued before the writing thread, committed or about to be.
    pub end: Offset,
    /// The end is not below this, whatever entries there are: where the log was cut or restarted last.
    pub floor: Offset,
    pub totals: Totals,
    pub point: Point,
    pub high_watermark: Offset,
    pub epochs: Vec<(LeaderEpoch, Offset)>,
    pub snapshots: VecDeque<Offset>,
    pub damaged: Vec<Range<Offset>>,
    /// The most recent batches.
    pub tail: Chain,
    pub growing: Option<Growing>,
    /// Files with bytes that are not synced, and directories with names that are not.
    pub unsynced: Vec<Arc<File>>,
    pub unsynced_directories: Vec<PathBuf>,
    /// An append has been refused since the last one that was accepted.
    pub hole: bool,
    /// A segment was closed since the recovery point was last asked to move.
    pub rolled: bool,
    /// Bytes appended since then.
    pub since_point: u64,
    /// Changes whenever offsets are taken back: what was counted before does not hold any more.
    pub generation: u64,
}

impl State {
    pub fn size(&self) -> u64 {
        self.totals.end_position() - self.start.first_position
    }

    /// Counts a batch that leaves for the write-ahead log.
    pub fn appended(&mut self, batch: &Summary) {
        self.end = batch.last_offset + 1;
        self.since_point += u64::from(batch.size);
        self.hole = false;
    }

    /// Lowers the end (or, restarting, sets it) and what follows from it, in memory.
    pub fn set_end(&mut self, end: Offset) {
        self.end = end;
        self.floor = end;
        self.hole = false;
        self.generation += 1;
        self.epochs.retain(|(_, start)| *start < end);
        self.snapshots.retain(|offset| *offset <= end);
        self.damaged.retain(|range| range.start < end);
        self.high_watermark = self.high_watermark.clamp(self.start.log_start, end);
        self.growing = None;
    }

    /// Raises the log start and what follows from it, in memory.
    pub fn set_start(&mut self, start: Offset) {
        self.start.log_start = start;
        // The epoch that covers the start stays (Kafka's LeaderEpochFileCache.truncateFromStart).
        let below = self.epochs.partition_point(|(_, first)| *first <= start);
        self.epochs.drain(..below.saturating_sub(1));
        if let Some(oldest) = self.epochs.first_mut() {
            oldest.1 = oldest.1.max(start);
        }
        self.damaged.retain(|range| range.end > start);
        self.high_watermark = self.high_watermark.max(start);
        self.tail.trim(start);
    }
}

impl Log {
    /// Everything up to `end` is written.
    pub fn set_written(&self, end: Offset) {
        self.positions.send_if_modified(|now| std::mem::replace(&mut now.written, end) != end);
    }

    /// Everything up to `end` is durable.
    pub fn set_durable(&self, end: Offset) {
        self.positions.send_if_modified(|now| {
            let more = end > now.durable;
            now.durable = now.durable.max(end);
            more
        });
    }

    /// The end has been set back (or, restarting, anywhere); `durable` follows, where it must.
    pub fn set_back(&self, start: Offset, end: Offset) {
        self.positions.send_modify(|now| {
            now.written = end;
            now.durable = now.durable.clamp(start, end);
        });
    }

    pub fn refuse(&self) {
        self.positions.send_modify(|now| now.refused += 1);
    }

    /// Writing has stopped.
    pub fn fail(&self, error: &StorageError) {
        self.positions.send_if_modified(|now| {
            let first = now.failed.is_none() || now.failed == Some(StorageError::OutOfSpace);
            if first {
                now.failed = Some(error.clone());
            }
            first
        });
    }

    /// There is space again.
    pub fn resume(&self) {
        self.positions.send_if_modified(|now| {
            now.failed.take_if(|error| *error == StorageError::OutOfSpace).is_some()
        });
    }
}
