//! One session: the partitions its client wants, in the order they are served, and what it was told of each.

use super::{Key, Outcome, Params, TopicKey};
use std::collections::{BTreeMap, HashMap};

pub struct Incremental {
    pub(super) uses_topic_ids: bool,
    /// Which the next request must have.
    pub(super) epoch: i32,
    /// By turn: what gave records goes behind all others, so that none starves.
    by_turn: BTreeMap<u64, Cached>,
    turns: HashMap<Key, u64>,
    next_turn: u64,
    bytes: usize,
}

struct Cached {
    key: Key,
    params: Params,
    /// As told last; -1 after an error, so that the partition is told again when the error is gone.
    high_watermark: i64,
    log_start_offset: i64,
}

impl Incremental {
    pub(super) fn new(uses_topic_ids: bool, epoch: i32) -> Incremental {
        Incremental {
            uses_topic_ids,
            epoch,
            by_turn: BTreeMap::new(),
            turns: HashMap::new(),
            next_turn: 0,
            bytes: 0,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.by_turn.len()
    }

    /// Memory it takes.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn wanted(&self) -> Vec<(Key, Params)> {
        self.by_turn.values().map(|cached| (cached.key.clone(), cached.params)).collect()
    }

    /// Remembers a partition and what the first answer says of it.
    pub(super) fn add(&mut self, key: Key, params: Params, told: Outcome) {
        let Outcome { high_watermark, log_start_offset, .. } = told;
        self.push(Cached { key, params, high_watermark, log_start_offset });
    }

    /// Takes over what a request says: new partitions go last, forgotten ones go even if they are named too.
    pub(super) fn update(&mut self, wanted: &[(Key, Params)], forgotten: &[Key]) {
        for (key, params) in wanted {
            let known = self.turns.get(key).and_then(|turn| self.by_turn.get_mut(turn));
            match known {
                Some(cached) => cached.params = *params,
                None => self.push(Cached {
                    key: key.clone(),
                    params: *params,
                    high_watermark: -1,
                    log_start_offset: -1,
                }),
            }
        }
        for key in forgotten {
            self.remove(key);
        }
    }

    /// Whether the answer names the partition (`CachedPartition.maybeUpdateResponseData`).
    pub(super) fn tell(&mut self, key: &Key, now: &Outcome) -> bool {
        let Some(cached) = self.turns.get(key).and_then(|turn| self.by_turn.get_mut(turn)) else {
            return true;
        };
        if let TopicKey::Id(_, Some(name)) = &key.topic {
            self.bytes -= cached.key.bytes();
            cached.key.topic.learn(name);
            self.bytes += cached.key.bytes();
        }
        let changed = cached.high_watermark != now.high_watermark
            || cached.log_start_offset != now.log_start_offset;
        cached.high_watermark = if now.failed { -1 } else { now.high_watermark };
        cached.log_start_offset = now.log_start_offset;
        if now.has_records
            && let Some(cached) = self.remove(key)
        {
            self.push(cached);
        }
        now.has_records || changed || now.must_tell
    }

    fn push(&mut self, cached: Cached) {
        self.bytes += cached.key.bytes();
        self.turns.insert(cached.key.clone(), self.next_turn);
        self.by_turn.insert(self.next_turn, cached);
        self.next_turn += 1;
    }

    fn remove(&mut self, key: &Key) -> Option<Cached> {
        let cached = self.by_turn.remove(&self.turns.remove(key)?)?;
        self.bytes -= cached.key.bytes();
        Some(cached)
    }
}
