//! Incremental fetch sessions (KIP-227): what a client wants is remembered, so that requests and answers name only what
//! changed. Pure: time and fresh ids come in with the calls.
//!
//! A request is `Cache::begin`, then reading, then `Context::finish`, which says what the answer contains. Names are copied
//! out of the request. `slots` decides who may stay in the cache, `incremental` is one session, `key` what it calls things.

mod incremental;
mod key;
mod slots;
#[cfg(test)]
mod tests;

pub use key::{Key, TopicKey};

use crate::wire::ErrorCode;
use incremental::Incremental;
use parking_lot::Mutex;
use slots::Slots;
use std::{collections::HashMap, sync::Arc};

/// "No session", in requests and answers.
const NO_SESSION: i32 = 0;
/// Begins a session, ending the one that is named.
const INITIAL_EPOCH: i32 = 0;
/// Ends the session that is named and begins none.
const FINAL_EPOCH: i32 = -1;
/// From this version on topics are named by id.
const TOPIC_IDS_FROM: i16 = 13;

/// What a request says of one partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Params {
    pub fetch_offset: i64,
    pub max_bytes: i32,
    /// -1: unknown.
    pub current_leader_epoch: i32,
    /// -1: none.
    pub last_fetched_epoch: i32,
    /// Of a follower.
    pub log_start_offset: i64,
}

/// The part of a request that concerns sessions.
#[derive(Debug)]
pub struct Request {
    pub version: i16,
    pub session_id: i32,
    pub session_epoch: i32,
    /// Whether a broker asks: its sessions stay when there is not room for all.
    pub privileged: bool,
    pub wanted: Vec<(Key, Params)>,
    pub forgotten: Vec<Key>,
}

/// What came out for one partition, as far as it decides whether the answer names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outcome {
    pub has_records: bool,
    pub high_watermark: i64,
    pub log_start_offset: i64,
    /// An error or a diverging epoch: always told.
    pub must_tell: bool,
    pub failed: bool,
}

/// What the answer says of its session.
#[derive(Debug, PartialEq, Eq)]
pub struct Verdict {
    pub session_id: i32,
    pub error: Option<ErrorCode>,
    /// Which of the outcomes the answer names.
    pub named: Vec<bool>,
}

/// All fetch sessions of a broker.
pub struct Cache {
    slots: Mutex<Slots>,
}

impl Cache {
    /// `slots`: sessions at most, `max.incremental.fetch.session.cache.slots`.
    pub fn new(slots: usize) -> Cache {
        Cache { slots: Mutex::new(Slots::new(slots)) }
    }

    /// What a request is about (Kafka's `FetchManager.newContext`). `now_ms` is monotonic.
    pub fn begin(&self, now_ms: u64, request: Request) -> Context {
        let Request { version, session_id, session_epoch, privileged, wanted, forgotten } = request;
        let uses_topic_ids = version >= TOPIC_IDS_FROM;
        if session_epoch == INITIAL_EPOCH || session_epoch == FINAL_EPOCH {
            if session_id != NO_SESSION {
                self.slots.lock().remove(session_id);
            }
            let wanted = each_once(wanted);
            return match session_epoch {
                FINAL_EPOCH => Context::Sessionless { wanted },
                _ => Context::Full { wanted, uses_topic_ids, privileged },
            };
        }
        let Some(session) = self.slots.lock().get(session_id) else {
            return Context::Refused(ErrorCode::FetchSessionIdNotFound);
        };
        let mut incremental = session.lock();
        if incremental.epoch != session_epoch {
            return Context::Refused(ErrorCode::InvalidFetchSessionEpoch);
        }
        if incremental.uses_topic_ids != uses_topic_ids {
            return Context::Refused(ErrorCode::FetchSessionTopicIdError);
        }
        incremental.update(&wanted, &forgotten);
        let (partitions, bytes) = (incremental.len(), incremental.bytes());
        if partitions == 0 {
            self.slots.lock().remove(session_id);
            return Context::Sessionless { wanted: each_once(wanted) };
        }
        if !self.slots.lock().touch(now_ms, session_id, partitions, bytes) {
            return Context::Refused(ErrorCode::FetchSessionIdNotFound);
        }
        incremental.epoch = next_epoch(session_epoch);
        let (epoch, wanted) = (incremental.epoch, incremental.wanted());
        drop(incremental);
        Context::Incremental { session, session_id, epoch, wanted }
    }

    fn create(&self, now_ms: u64, privileged: bool, session: Incremental, random: u32) -> i32 {
        let (partitions, bytes) = (session.len(), session.bytes());
        let session = Arc::new(Mutex::new(session));
        self.slots
            .lock()
            .create(now_ms, privileged, partitions, bytes, session, random)
            .unwrap_or(NO_SESSION)
    }
}

/// A request on its way.
pub enum Context {
    /// Nothing is read.
    Refused(ErrorCode),
    Sessionless {
        wanted: Vec<(Key, Params)>,
    },
    /// Begins a session when there is room.
    Full {
        wanted: Vec<(Key, Params)>,
        uses_topic_ids: bool,
        privileged: bool,
    },
    Incremental {
        session: Arc<Mutex<Incremental>>,
        session_id: i32,
        /// Which the next request must have.
        epoch: i32,
        wanted: Vec<(Key, Params)>,
    },
}

impl Context {
    /// What is to be read, in this order; each partition once.
    pub fn wanted(&self) -> &[(Key, Params)] {
        match self {
            Context::Refused(_) => &[],
            Context::Sessionless { wanted }
            | Context::Full { wanted, .. }
            | Context::Incremental { wanted, .. } => wanted,
        }
    }

    /// Remembers what topics are called that are named by id, each by a place in `wanted`; the session keeps it.
    pub fn learn<'a>(&mut self, names: impl Iterator<Item = (usize, &'a str)>) {
        let wanted = match self {
            Context::Refused(_) => return,
            Context::Sessionless { wanted }
            | Context::Full { wanted, .. }
            | Context::Incremental { wanted, .. } => wanted,
        };
        for (place, name) in names {
            wanted[place].0.topic.learn(name);
        }
    }

    /// Which partitions are told, and in which session. `outcomes` has each wanted partition by its place in `wanted`, in
    /// the order of the answer. `random` gives a new session its id.
    pub fn finish(
        &self,
        cache: &Cache,
        now_ms: u64,
        outcomes: &[(usize, Outcome)],
        random: impl FnOnce() -> u32,
    ) -> Verdict {
        let all =
            |session_id| Verdict { session_id, error: None, named: vec![true; outcomes.len()] };
        let none = |session_id, error| Verdict {
            session_id,
            error: Some(error),
            named: vec![false; outcomes.len()],
        };
        match self {
            Context::Refused(error) => none(NO_SESSION, *error),
            Context::Sessionless { .. } => all(NO_SESSION),
            Context::Full { wanted, uses_topic_ids, privileged } => {
                let mut session = Incremental::new(*uses_topic_ids, next_epoch(INITIAL_EPOCH));
                for (at, outcome) in outcomes {
                    let (key, params) = &wanted[*at];
                    session.add(key.clone(), *params, *outcome);
                }
                all(cache.create(now_ms, *privileged, session, random()))
            }
            Context::Incremental { session, session_id, epoch, wanted } => {
                let mut session = session.lock();
                if session.epoch != *epoch {
                    return none(*session_id, ErrorCode::InvalidFetchSessionEpoch);
                }
                let tell = |(at, outcome): &(usize, Outcome)| session.tell(&wanted[*at].0, outcome);
                let named = outcomes.iter().map(tell).collect();
                Verdict { session_id: *session_id, error: None, named }
            }
        }
    }
}

/// The epoch a session's next request has.
fn next_epoch(epoch: i32) -> i32 {
    epoch.checked_add(1).unwrap_or(1)
}

/// A partition that is named twice keeps its first place and what is said last.
fn each_once(wanted: Vec<(Key, Params)>) -> Vec<(Key, Params)> {
    if wanted.len() < 2 {
        return wanted;
    }
    let mut places: HashMap<Key, usize> = HashMap::with_capacity(wanted.len());
    let mut once: Vec<(Key, Params)> = Vec::with_capacity(wanted.len());
    for (key, params) in wanted {
        match places.get(&key) {
            Some(place) => once[*place].1 = params,
            None => {
                places.insert(key.clone(), once.len());
                once.push((key, params));
            }
        }
    }
    once
}
