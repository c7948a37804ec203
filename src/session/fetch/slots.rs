//! Which sessions stay (Kafka's `FetchSessionCacheShard`). When all slots are taken, a session that was silent for two
//! minutes makes room; else the smallest that may go, unless it is larger than the one that wants in. Sessions of brokers
//! go last, and young ones only for a broker.
//!
//! Beside Kafka's number of slots there is a bound on memory: beyond it no session begins or grows.

use super::incremental::Incremental;
use crate::limits;
use parking_lot::Mutex;
use std::{collections::HashMap, sync::Arc};

/// Milliseconds of silence after which any session makes room, and of life after which it counts as settled.
const EVICTION_MS: u64 = 120_000;

pub(super) struct Slots {
    max: usize,
    slots: HashMap<i32, Slot>,
    /// Of all sessions.
    bytes: usize,
}

struct Slot {
    session: Arc<Mutex<Incremental>>,
    privileged: bool,
    created_ms: u64,
    last_used_ms: u64,
    partitions: usize,
    bytes: usize,
    evictable_by: EvictableBy,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum EvictableBy {
    Nobody,
    Privileged,
    All,
}

impl Slots {
    pub fn new(max: usize) -> Slots {
        Slots { max, slots: HashMap::new(), bytes: 0 }
    }

    pub fn get(&self, id: i32) -> Option<Arc<Mutex<Incremental>>> {
        self.slots.get(&id).map(|slot| slot.session.clone())
    }

    pub fn remove(&mut self, id: i32) {
        if let Some(slot) = self.slots.remove(&id) {
            self.bytes -= slot.bytes;
        }
    }

    /// Finds a slot; None when there is none to be had. The id is near `random`.
    pub fn create(
        &mut self,
        now_ms: u64,
        privileged: bool,
        partitions: usize,
        bytes: usize,
        session: Arc<Mutex<Incremental>>,
        random: u32,
    ) -> Option<i32> {
        if self.bytes.saturating_add(bytes) > limits::FETCH_SESSIONS_BYTES_MAX {
            return None;
        }
        if self.slots.len() >= self.max {
            let victim = self.victim(now_ms, privileged, partitions)?;
            self.remove(victim);
        }
        let mut id = (random & 0x7fff_ffff) as i32;
        while id == 0 || self.slots.contains_key(&id) {
            id = id.checked_add(1).unwrap_or(1);
        }
        let slot = Slot {
            session,
            privileged,
            created_ms: now_ms,
            last_used_ms: now_ms,
            partitions,
            bytes,
            evictable_by: evictable_by(privileged, 0),
        };
        self.bytes += bytes;
        self.slots.insert(id, slot);
        Some(id)
    }

    /// Notes that a session is used, and how large it is now. False when it may not be so large: it is gone then.
    pub fn touch(&mut self, now_ms: u64, id: i32, partitions: usize, bytes: usize) -> bool {
        let Some(slot) = self.slots.get_mut(&id) else { return true };
        self.bytes = self.bytes - slot.bytes + bytes;
        slot.bytes = bytes;
        slot.partitions = partitions;
        slot.last_used_ms = now_ms;
        slot.evictable_by = evictable_by(slot.privileged, now_ms.saturating_sub(slot.created_ms));
        if self.bytes > limits::FETCH_SESSIONS_BYTES_MAX {
            self.remove(id);
            return false;
        }
        true
    }

    fn victim(&self, now_ms: u64, privileged: bool, partitions: usize) -> Option<i32> {
        let (stalest, slot) =
            self.slots.iter().min_by_key(|(id, slot)| (slot.last_used_ms, **id))?;
        if now_ms.saturating_sub(slot.last_used_ms) > EVICTION_MS {
            return Some(*stalest);
        }
        let by = if privileged { EvictableBy::Privileged } else { EvictableBy::All };
        let evictable = self.slots.iter().filter(|(_, slot)| slot.evictable_by >= by);
        let worth = |slot: &Slot, id: i32| (slot.privileged, slot.partitions, id);
        let (id, slot) = evictable.min_by_key(|(id, slot)| worth(slot, **id))?;
        ((privileged, partitions, 0) >= worth(slot, *id)).then_some(*id)
    }
}

fn evictable_by(privileged: bool, age_ms: u64) -> EvictableBy {
    match (privileged, age_ms > EVICTION_MS) {
        (_, true) => EvictableBy::All,
        (false, false) => EvictableBy::Privileged,
        (true, false) => EvictableBy::Nobody,
    }
}
