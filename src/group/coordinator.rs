//! Finds the machine that coordinates a group and asks it.
//!
//! Shards come and go with the leadership of their partitions; whoever reconciles sets them. Kept here: only where they are.

use super::{
    command::{Command, Listed, Reply},
    machine::{Event, GroupMachine},
};
use crate::{
    ids::TopicId,
    machine::runner::{CallError, Handle},
    wire::ErrorCode,
};
use arc_swap::ArcSwap;
use std::collections::BTreeMap;

/// All shards of this node.
pub struct Coordinator {
    /// By partition; None: another node's, or not loaded.
    shards: ArcSwap<Vec<Option<Shard>>>,
}

type Shard = Handle<GroupMachine>;

impl Coordinator {
    /// `partitions`: `offsets.topic.num.partitions`, until the topic says otherwise.
    pub fn new(partitions: usize) -> Coordinator {
        Coordinator { shards: ArcSwap::from_pointee(vec![None; partitions.max(1)]) }
    }

    /// `__consumer_offsets` has this many partitions, whatever the configuration says now: groups are where they were.
    pub fn set_partitions(&self, partitions: usize) {
        self.change(|shards| shards.resize(partitions.max(1), None));
    }

    /// This node leads partition `index` (and has replayed it), or no longer does. Unknown indexes are ignored.
    pub fn set_shard(&self, index: usize, shard: Option<Shard>) {
        self.change(|shards| {
            if let Some(slot) = shards.get_mut(index) {
                slot.clone_from(&shard);
            }
        });
    }

    /// This node leads none any more: it stops.
    pub fn clear(&self) {
        self.change(|shards| shards.fill(None));
    }

    /// The partition that holds a group, on every node alike: Java's `String.hashCode`, as Kafka.
    pub fn partition_for(&self, group: &str) -> usize {
        let hash = group
            .encode_utf16()
            .fold(0i32, |hash, unit| hash.wrapping_mul(31).wrapping_add(i32::from(unit)));
        let positive = hash.checked_abs().unwrap_or(0);
        usize::try_from(positive).unwrap_or(0) % self.shards.load().len()
    }

    /// Asks the shard of `group`. NOT_COORDINATOR: another node leads it; COORDINATOR_NOT_AVAILABLE: the answer rests on
    /// records that were not committed in time.
    pub async fn call(&self, group: &str, command: Command) -> Result<Reply, ErrorCode> {
        self.call_shard(self.partition_for(group), command).await
    }

    /// Groups by the partition that holds them, for commands that name several.
    pub fn by_shard(&self, groups: impl Iterator<Item = String>) -> BTreeMap<usize, Vec<String>> {
        let mut shards: BTreeMap<usize, Vec<String>> = BTreeMap::new();
        for group in groups {
            shards.entry(self.partition_for(&group)).or_default().push(group);
        }
        shards
    }

    /// Groups of all shards of this node.
    pub async fn list(
        &self,
        states: &[String],
        types: &[String],
    ) -> Result<Vec<Listed>, ErrorCode> {
        let mut all = Vec::new();
        for index in 0..self.shards.load().len() {
            let command = Command::List { states: states.to_vec(), types: types.to_vec() };
            match self.call_shard(index, command).await {
                Ok(Reply::List(groups)) => all.extend(groups),
                Ok(_) => return Err(ErrorCode::UnknownServerError),
                Err(ErrorCode::NotCoordinator) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(all)
    }

    /// Tells all shards that topics are gone; before the image without them is published.
    pub fn topics_deleted(&self, topics: &[(String, TopicId)]) {
        for shard in self.shards.load().iter().flatten() {
            shard.send(Event::TopicsDeleted(topics.to_vec()));
        }
    }

    /// Tells the shard of partition `index` what its log takes from now on.
    pub fn message_max_bytes(&self, index: usize, max: usize) {
        if let Some(Some(shard)) = self.shards.load().get(index) {
            shard.send(Event::MessageMaxBytes(max));
        }
    }

    /// Asks the shard of partition `index`; errors as `call`.
    pub async fn call_shard(&self, index: usize, command: Command) -> Result<Reply, ErrorCode> {
        let shard = self.shards.load().get(index).cloned().flatten();
        let shard = shard.ok_or(ErrorCode::NotCoordinator)?;
        shard.call(command).await.map_err(|error| match error {
            CallError::Gone => ErrorCode::NotCoordinator,
            CallError::TimedOut => ErrorCode::CoordinatorNotAvailable,
        })
    }

    fn change(&self, change: impl Fn(&mut Vec<Option<Shard>>)) {
        self.shards.rcu(|shards| {
            let mut shards = shards.to_vec();
            change(&mut shards);
            shards
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where Kafka 4.1.1 with 50 partitions put them.
    #[test]
    fn groups_are_placed_as_java_hashes() {
        let coordinator = Coordinator::new(50);
        let seen = [
            ("", 0),
            ("grp-s549564", 34),
            ("grp-d549564", 11),
            ("grp-e549564", 20),
            ("grp-f549564", 1),
            ("grp-1796054922", 25),
        ];
        for (group, partition) in seen {
            assert_eq!(coordinator.partition_for(group), partition, "{group:?}");
        }
        // Hashes to i32::MIN, which has no absolute value.
        assert_eq!(coordinator.partition_for("polygenelubricants"), 0);
        // Surrogate pairs are two units.
        assert_eq!(coordinator.partition_for("äö€𝄞"), 22);
    }

    #[test]
    fn a_shard_that_is_not_here_is_another_nodes() {
        let coordinator = Coordinator::new(1);
        coordinator.set_partitions(3);
        coordinator.set_shard(7, None);
        let names = ["a", "b", "c", "d"].map(str::to_owned);
        let by_shard = coordinator.by_shard(names.into_iter());
        assert_eq!(by_shard.keys().copied().collect::<Vec<_>>(), [0, 1, 2]);
        let call = coordinator.call("a", Command::Describe { groups: Vec::new() });
        let reply = futures_util::FutureExt::now_or_never(call).unwrap();
        assert_eq!(reply.err(), Some(ErrorCode::NotCoordinator));
    }
}
