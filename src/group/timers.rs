//! Named deadlines. Scheduling a name again moves it, so that nothing can fire stale (Kafka: `CoordinatorTimer`).

use super::classic::Id;
use crate::machine::Mono;
use std::collections::{BTreeMap, BTreeSet};

/// What may be waited for; one deadline each.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Timer {
    /// A member, or one that was only given an id, is not heard of.
    Session(Id, Id),
    /// The members of a group have had their time to join.
    Join(Id),
    /// The members of a group have had their time to sync.
    Sync(Id),
    /// Tombstones for deleted topics remain to be written.
    TopicsDeleted,
    /// Offsets and empty groups are looked through.
    Expiration,
}

/// All deadlines of one machine.
#[derive(Debug, Default)]
pub(super) struct Timers {
    at: BTreeMap<Timer, Mono>,
    queue: BTreeSet<(Mono, Timer)>,
}

impl Timers {
    pub fn schedule(&mut self, timer: Timer, at: Mono) {
        if let Some(before) = self.at.insert(timer.clone(), at) {
            self.queue.remove(&(before, timer.clone()));
        }
        self.queue.insert((at, timer));
    }

    pub fn cancel(&mut self, timer: Timer) {
        if let Some(at) = self.at.remove(&timer) {
            self.queue.remove(&(at, timer));
        }
    }

    pub fn next(&self) -> Option<Mono> {
        self.queue.first().map(|(at, _)| *at)
    }

    /// Takes one timer whose time has come.
    pub fn due(&mut self, now: Mono) -> Option<Timer> {
        if self.next()? > now {
            return None;
        }
        let (_, timer) = self.queue.pop_first()?;
        self.at.remove(&timer);
        Some(timer)
    }

    #[cfg(test)]
    pub fn is_scheduled(&self, timer: &Timer) -> bool {
        self.at.contains_key(timer)
    }
}
