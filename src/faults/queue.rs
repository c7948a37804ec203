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
    writes: VecDeque<(Instant, Op)>,
    syncs: VecDeque<(Instant, Op)>,
    /// When the last write, and the last sync, is done.
    last_write: Option<Instant>,
    last_sync: Option<Instant>,
    /// Somebody is at work on it.
    pub draining: bool,
}

impl Queue {
    pub fn is_empty(&self) -> bool {
        self.writes.is_empty() && self.syncs.is_empty()
    }

    /// Queues what takes `delay` longer than it should.
    pub fn push(&mut self, op: Op, now: Instant, delay: Duration) {
        match op {
            Op::Sync(_) => {
                let due = self.last_write.map_or(now, |at| at.max(now)) + delay;
                let due = self.last_sync.map_or(due, |at| at.max(due));
                self.last_sync = Some(due);
                self.syncs.push_back((due, op));
            }
            _ => {
                let due = self.last_write.map_or(now + delay, |at| at.max(now + delay));
                self.last_write = Some(due);
                self.writes.push_back((due, op));
            }
        }
    }

    /// When the next one is done.
    pub fn next_due(&self) -> Option<Instant> {
        let due = |queue: &VecDeque<(Instant, Op)>| queue.front().map(|(due, _)| *due);
        [due(&self.writes), due(&self.syncs)].into_iter().flatten().min()
    }

    /// The next one that is done by now; at the same moment writes come first.
    pub fn pop_due(&mut self, now: Instant) -> Option<Op> {
        if self.next_due()? > now { None } else { self.pop() }
    }

    /// The next one, done or not.
    pub fn pop(&mut self) -> Option<Op> {
        let write = self.writes.front().map(|(due, _)| *due);
        let sync = self.syncs.front().map(|(due, _)| *due);
        let first = match (write, sync) {
            (Some(write), Some(sync)) if sync < write => &mut self.syncs,
            (Some(_), _) => &mut self.writes,
            (None, _) => &mut self.syncs,
        };
        first.pop_front().map(|(_, op)| op)
    }

    /// The last append to a log, while it waits.
    pub fn last_append(&mut self, log: LogId) -> Option<&mut NewBatch> {
        self.writes.iter_mut().rev().find_map(|(_, op)| match op {
            Op::Append(of, batch) if *of == log => Some(batch),
            _ => None,
        })
    }
}
