//! Which log holds which partition: one small value per partition in the store's `Meta` space.
//!
//! Key: `log/` ‖ topic id (16 bytes) ‖ partition (i32 BE). Value: log id (u32 BE). The log is created before its value is
//! written and the value removed before the log is deleted, so a crash in between leaves a log without a name, never a name
//! without a log; `orphans` finds those at the next start.

use crate::{
    ids::{LogId, TopicId},
    storage::{Done, LogOptions, LogStore, Put, Space, StorageError},
};
use bytes::Bytes;
use std::collections::{HashMap, HashSet};

const PREFIX: &[u8] = b"log/";
/// First key after every name.
const PREFIX_END: &[u8] = b"log0";
/// Names read at a time at start.
const PAGE: usize = 1024;

/// A partition of one incarnation of a topic.
pub type Name = (TopicId, i32);

fn key((topic_id, partition): Name) -> Vec<u8> {
    let mut key = PREFIX.to_vec();
    key.extend_from_slice(topic_id.0.as_bytes());
    key.extend_from_slice(&partition.to_be_bytes());
    key
}

fn parse(key: &[u8], value: &[u8]) -> Option<(Name, LogId)> {
    let rest = key.strip_prefix(PREFIX)?;
    let topic_id = TopicId(uuid::Uuid::from_slice(rest.get(..16)?).ok()?);
    let partition = i32::from_be_bytes(rest.get(16..)?.try_into().ok()?);
    Some(((topic_id, partition), LogId(u32::from_be_bytes(value.try_into().ok()?))))
}

/// Every partition that has a log. Blocking.
pub fn named(store: &dyn LogStore) -> Result<HashMap<Name, LogId>, StorageError> {
    let mut found = HashMap::new();
    let mut from = PREFIX.to_vec();
    loop {
        let page = store.scan(Space::Meta, from..PREFIX_END.to_vec(), PAGE)?;
        for (key, value) in &page {
            let (name, log) = parse(key, value)
                .ok_or_else(|| StorageError::Io("a log's name is not readable".into()))?;
            found.insert(name, log);
        }
        match page.last() {
            Some((last, _)) if page.len() == PAGE => {
                from = last.to_vec();
                from.push(0);
            }
            _ => return Ok(found),
        }
    }
}

/// Logs that no partition names. Blocking.
pub fn orphans(
    store: &dyn LogStore,
    named: &HashMap<Name, LogId>,
) -> Result<Vec<LogId>, StorageError> {
    let known: HashSet<LogId> = named.values().copied().collect();
    Ok(store.logs()?.into_iter().filter(|log| !known.contains(log)).collect())
}

/// Partitions that have a log and whose topic is gone: a crash came between the topic's deletion and its logs'.
pub fn strays(named: &HashMap<Name, LogId>, exists: impl Fn(TopicId) -> bool) -> Vec<Name> {
    let mut found: Vec<Name> = named.keys().filter(|name| !exists(name.0)).copied().collect();
    found.sort_unstable();
    found
}

/// Creates the log of a new partition. Blocking; the name is durable when the returned completion is.
pub fn create(
    store: &dyn LogStore,
    name: Name,
    options: LogOptions,
) -> Result<(LogId, Done), StorageError> {
    let log = store.create(options)?;
    let value = Bytes::copy_from_slice(&log.0.to_be_bytes());
    Ok((log, store.put(vec![Put::Set(Space::Meta, key(name), value)], true)))
}

/// Forgets a partition's log; delete the log once this is done.
pub fn forget(store: &dyn LogStore, name: Name) -> Done {
    store.put(vec![Put::Delete(Space::Meta, key(name))], true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_read_back() {
        let name = (TopicId(uuid::Uuid::from_u128(7)), 3);
        assert_eq!(parse(&key(name), &9u32.to_be_bytes()), Some((name, LogId(9))));
        assert!(key(name).as_slice() < PREFIX_END);
        assert_eq!(parse(b"log/short", &9u32.to_be_bytes()), None);
    }

    /// The simulation found it: a topic was deleted, the process killed before the names of its logs were gone, and nobody
    /// ever deleted these logs.
    #[test]
    fn names_of_deleted_topics_are_strays() {
        let topic = |id| TopicId(uuid::Uuid::from_u128(id));
        let names = [(topic(1), 0), (topic(2), 1), (topic(2), 0)];
        let named = names.iter().zip(1..).map(|(name, log)| (*name, LogId(log))).collect();
        let found = strays(&named, |id| id == topic(1));
        assert_eq!(found, [(topic(2), 0), (topic(2), 1)]);
    }
}
