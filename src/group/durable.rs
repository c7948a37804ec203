//! What a shard's log says, and nothing else: `apply` is the only function that changes it, live and at recovery.
//!
//! Not here: rebalances, timers, waiting callers. They are volatile and live in `classic`.

use super::records::{Generation, Offset, Record};
use crate::machine::BatchKind;
use std::collections::BTreeMap;

/// Offsets of one group: by topic and partition.
pub(super) type GroupOffsets = BTreeMap<String, BTreeMap<i32, Offset>>;

/// The durable state of a shard.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Durable {
    groups: BTreeMap<String, Generation>,
    /// No empty maps are kept.
    offsets: BTreeMap<String, GroupOffsets>,
}

impl Durable {
    /// Records of a transaction take effect with its marker: until transactions are served none are written, and none of
    /// another broker's are taken for committed.
    pub fn apply(&mut self, record: &Record, kind: BatchKind) {
        if kind != BatchKind::Plain {
            return;
        }
        match record {
            Record::Group { group, value: Some(generation) } => {
                self.groups.insert(group.clone(), generation.clone());
            }
            Record::Group { group, value: None } => {
                self.groups.remove(group);
            }
            Record::Offset { group, topic, partition, value: Some(offset) } => {
                let topics = self.offsets.entry(group.clone()).or_default();
                topics.entry(topic.clone()).or_default().insert(*partition, offset.clone());
            }
            Record::Offset { group, topic, partition, value: None } => {
                self.forget(group, topic, *partition);
            }
        }
    }

    pub fn groups(&self) -> impl Iterator<Item = (&String, &Generation)> {
        self.groups.iter()
    }

    #[cfg(test)]
    pub fn group(&self, group: &str) -> Option<&Generation> {
        self.groups.get(group)
    }

    /// Groups that have offsets, and these.
    pub fn all_offsets(&self) -> impl Iterator<Item = (&String, &GroupOffsets)> {
        self.offsets.iter()
    }

    pub fn offsets(&self, group: &str) -> Option<&GroupOffsets> {
        self.offsets.get(group)
    }

    pub fn offset(&self, group: &str, topic: &str, partition: i32) -> Option<&Offset> {
        self.offsets.get(group)?.get(topic)?.get(&partition)
    }

    fn forget(&mut self, group: &str, topic: &str, partition: i32) {
        let Some(topics) = self.offsets.get_mut(group) else { return };
        if let Some(partitions) = topics.get_mut(topic) {
            partitions.remove(&partition);
            if partitions.is_empty() {
                topics.remove(topic);
            }
        }
        if topics.is_empty() {
            self.offsets.remove(group);
        }
    }
}
