//! Changes on their way to a slow disk, in order. A sync begins when what was asked for before it is written, and covers
//! just that, however much is written until it ends.
//!
//! Not here: the clock, and the disk.

use crate::{
    ids::LogId,
    storage::{
        Done, NewBatch, StorageError,
        mem::{Mem, SyncPoint},
    },
};
use std::{collections::VecDeque, time::Duration};
use tokio::{sync::oneshot, time::Instant};

/// A change that takes its turn.
pub enum Op {
    Append(LogId, NewBatch),
    Sync(LogId),
    /// The end of a sync that began at the point.
    Synced(LogId, SyncPoint),
    Other(Box<dyn FnOnce(&Mem) -> Done + Send>, oneshot::Sender<Result<(), StorageError>>),
}

#[derive(Default)]
pub struct Queue {
    /// With the moment they were asked for; syncs that have not begun are among them.
    writes: VecDeque<(Instant, Op)>,
    /// Have begun.
    syncs: VecDeque<(Instant, LogId, SyncPoint)>,
    /// Somebody is at work on it.
    pub draining: bool,
}

impl Queue {
    pub fn is_empty(&self) -> bool {
        self.writes.is_empty() && self.syncs.is_empty()
    }

    pub fn push(&mut self, op: Op, now: Instant) {
        self.writes.push_back((now, op));
    }

    /// When the next one is done, if a write takes `delay` and a sync as long again.
    pub fn next_due(&self, delay: Duration) -> Option<Instant> {
        let (write, sync) = self.due(delay);
        [write, sync].into_iter().flatten().min()
    }

    /// The next one that is done by now; at the same moment writes come first. Syncs begin as writes are done.
    pub fn pop_due(&mut self, now: Instant, delay: Duration, mem: &Mem) -> Option<Op> {
        loop {
            match self.due(delay) {
                (Some(write), sync) if write <= now && sync.is_none_or(|sync| write <= sync) => {
                    match self.writes.pop_front()? {
                        (asked, Op::Sync(log)) => {
                            let begun = mem.sync_point(log).map(|point| (asked, log, point));
                            self.syncs.extend(begun);
                        }
                        (_, op) => return Some(op),
                    }
                }
                (_, Some(sync)) if sync <= now => {
                    return self.syncs.pop_front().map(|(_, log, point)| Op::Synced(log, point));
                }
                _ => return None,
            }
        }
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
        let sync = self.syncs.front().map(|(asked, ..)| *asked + delay * 2);
        (write, sync)
    }
}
