//! Changes on their way to a slow disk. Writes keep their order and so do syncs; a sync covers at least what was written
//! before it was asked for.
//!
//! Not here: the clock, and the disk.

use crate::{
    ids::LogId,
    storage::{Done, NewBatch, StorageError, mem::Mem},
};
use std::{collections::VecDeque, time::Duration};
use tokio::{sync::oneshot, time::Instant};

/// A change that takes its turn.
pub enum Op {
    Append(LogId, NewBatch),
    Sync(LogId),
    Other(Box<dyn FnOnce(&Mem) -> Done + Send>, oneshot::Sender<Result<(), StorageError>>),
}

#[derive(Default)]
pub struct Queue {
    /// With the moment they were asked for.
    writes: VecDeque<(Instant, Op)>,
    syncs: VecDeque<(Instant, Op)>,
    /// Somebody is at work on it.
    pub draining: bool,
}

impl Queue {
    pub fn is_empty(&self) -> bool {
        self.writes.is_empty() && self.syncs.is_empty()
    }

    pub fn push(&mut self, op: Op, now: Instant) {
        let queue = if matches!(op, Op::Sync(_)) { &mut self.syncs } else { &mut self.writes };
        queue.push_back((now, op));
    }

    /// When the next one is done, if a write takes `delay` and a sync as long again.
    pub fn next_due(&self, delay: Duration) -> Option<Instant> {
        let (write, sync) = self.due(delay);
        [write, sync].into_iter().flatten().min()
    }

    /// The next one that is done by now; at the same moment writes come first.
    pub fn pop_due(&mut self, now: Instant, delay: Duration) -> Option<Op> {
        match self.due(delay) {
            (Some(write), sync) if write <= now && sync.is_none_or(|sync| write <= sync) => {
                self.writes.pop_front()
            }
            (_, Some(sync)) if sync <= now => self.syncs.pop_front(),
            _ => None,
        }
        .map(|(_, op)| op)
    }

    /// The last append to a log, while it waits.
    pub fn last_append(&mut self, log: LogId) -> Option<&mut NewBatch> {
        self.writes.iter_mut().rev().find_map(|(_, op)| match op {
            Op::Append(of, batch) if *of == log => Some(batch),
            _ => None,
        })
    }

    fn due(&self, delay: Duration) -> (Option<Instant>, Option<Instant>) {
        let write = self.writes.front().map(|(asked, _)| *asked + delay);
        let sync = self.syncs.front().map(|(asked, _)| *asked + delay * 2);
        (write, sync)
    }
}
