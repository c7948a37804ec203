//! One pass over the partitions of a request (Kafka's `ReplicaManager.readFromLog`): the first that gives anything gives a
//! whole batch at least, the others what is left of the limits.

use super::memory::{Held, Memory};
use crate::{
    cluster::{Image, Topic},
    handlers::Ctx,
    ids::{LeaderEpoch, TopicId},
    partition::{self, Isolation, Slice, View},
    session::fetch::{Key, Params, TopicKey},
    wire::{ErrorCode, fetch::EpochEndOffset, messages::FetchRequest},
};
use std::sync::Arc;

/// A partition the image knows.
pub(super) struct Target {
    /// Its place among what is wanted.
    pub place: usize,
    pub topic: Arc<Topic>,
    pub partition: usize,
    /// None: no replica of it is here.
    pub handle: Option<partition::Handle>,
    pub params: Params,
}

/// What holds for the whole request.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub max_bytes: usize,
    pub min_bytes: usize,
    pub isolation: Isolation,
    pub from_follower: bool,
}

impl Limits {
    /// `fetch_max_bytes`: the broker's own limit.
    pub fn of(request: &FetchRequest, from_follower: bool, fetch_max_bytes: i32) -> Limits {
        let max_bytes = request.max_bytes.min(fetch_max_bytes);
        Limits {
            max_bytes: count(max_bytes),
            min_bytes: count(request.min_bytes.min(max_bytes)),
            isolation: Isolation::from_wire(request.isolation_level),
            from_follower,
        }
    }
}

/// Negative counts as none.
pub(super) fn count(bytes: i32) -> usize {
    usize::try_from(bytes).unwrap_or(0)
}

/// Wanted partitions the image knows, and the places of those it does not know with what they are answered.
pub(super) fn resolve(
    ctx: &Ctx,
    wanted: &[(Key, Params)],
) -> (Vec<Target>, Vec<(usize, ErrorCode)>) {
    let image = ctx.image.load();
    let (mut targets, mut unknown) = (Vec::with_capacity(wanted.len()), Vec::new());
    for (place, (key, params)) in wanted.iter().enumerate() {
        let topic = match &key.topic {
            TopicKey::Name(name) => image.topic(name),
            TopicKey::Id(id, _) => image.topic_by_id(TopicId(*id)),
        };
        let Some(topic) = topic else {
            unknown.push((place, missing(&image, &key.topic)));
            continue;
        };
        match usize::try_from(key.partition) {
            Ok(partition) if partition < topic.partitions.len() => targets.push(Target {
                place,
                topic: topic.clone(),
                partition,
                handle: ctx.partitions.get(topic.id, key.partition),
                params: *params,
            }),
            _ => unknown.push((place, ErrorCode::UnknownTopicOrPartition)),
        }
    }
    // As in Kafka, ids that are nobody's come before partitions that are not there.
    unknown.sort_by_key(|(_, error)| *error != ErrorCode::UnknownTopicId);
    (targets, unknown)
}

/// What is said of a topic that is not there (any more).
fn missing(image: &Image, topic: &TopicKey) -> ErrorCode {
    match topic {
        TopicKey::Id(_, None) => ErrorCode::UnknownTopicId,
        TopicKey::Id(_, Some(name)) if image.topic(name).is_some() => {
            ErrorCode::InconsistentTopicId
        }
        _ => ErrorCode::UnknownTopicOrPartition,
    }
}

/// What one partition gives.
pub(super) struct Got {
    /// As of just before the read.
    pub view: View,
    pub diverging: Option<EpochEndOffset>,
    /// Whole batches.
    pub slices: Vec<Slice>,
    /// In `slices`.
    pub bytes: usize,
    /// Where the next read would begin.
    pub next_offset: i64,
}

/// What all give.
pub(super) struct Pass {
    /// In order of the targets.
    pub got: Vec<Result<Got, ErrorCode>>,
    pub bytes: usize,
    pub held: Held,
}

impl Pass {
    pub async fn read(targets: &[Target], limits: &Limits, memory: &Memory) -> Pass {
        let mut pass =
            Pass { got: Vec::with_capacity(targets.len()), bytes: 0, held: Held::default() };
        let mut in_memory = 0;
        for target in targets {
            let left = limits.max_bytes.saturating_sub(pass.bytes);
            let max_bytes = left.min(count(target.params.max_bytes));
            let first = pass.bytes == 0;
            let memory_max = pass.held.reserve(memory, max_bytes);
            let max_bytes = if first { max_bytes } else { memory_max };
            let got = target.read(limits, max_bytes, first, memory_max).await;
            if let Ok(got) = &got {
                pass.bytes = pass.bytes.saturating_add(got.bytes);
                in_memory += got.slices.iter().map(in_memory_len).sum::<usize>();
            }
            pass.held.shrink(in_memory);
            pass.got.push(got);
        }
        pass
    }

    /// Whether it is answered without waiting for more.
    pub fn is_enough(&self, limits: &Limits) -> bool {
        let tells = |got: &Result<Got, _>| got.as_ref().map_or(true, |got| got.diverging.is_some());
        self.bytes >= limits.min_bytes || self.got.iter().any(tells)
    }

    /// How far each partition has been read; lets go of what was read.
    pub fn into_progress(self) -> Vec<Progress> {
        let got = self.got.into_iter().flatten();
        got.map(|Got { view, next_offset, bytes, .. }| Progress {
            leader_epoch: view.leader_epoch,
            next_offset,
            bytes,
        })
        .collect()
    }
}

/// How far a partition has been read.
pub(super) struct Progress {
    pub leader_epoch: LeaderEpoch,
    pub next_offset: i64,
    pub bytes: usize,
}

impl Target {
    async fn read(
        &self,
        limits: &Limits,
        max_bytes: usize,
        at_least_one: bool,
        memory_max: usize,
    ) -> Result<Got, ErrorCode> {
        let handle = self.handle.as_ref().ok_or(ErrorCode::NotLeaderOrFollower)?;
        let Params { fetch_offset, current_leader_epoch, .. } = self.params;
        let view = handle.check_epoch(current_leader_epoch)?;
        if limits.from_follower {
            // No replica but this one is assigned (`Partition.followerReplicaOrThrow`).
            return Err(match current_leader_epoch {
                0.. => ErrorCode::UnknownLeaderEpoch,
                _ => ErrorCode::NotLeaderOrFollower,
            });
        }
        let diverging = self.diverging(handle, &view)?;
        let nothing =
            Got { view, diverging, slices: Vec::new(), bytes: 0, next_offset: fetch_offset };
        if diverging.is_some() {
            return Ok(nothing);
        }
        if fetch_offset < view.log_start || fetch_offset > view.log_end {
            return Err(ErrorCode::OffsetOutOfRange);
        }
        if max_bytes == 0 && !at_least_one {
            return Ok(nothing);
        }
        let read = handle
            .read(fetch_offset, limits.isolation, max_bytes, at_least_one, memory_max)
            .await?;
        Ok(Got { slices: read.slices, bytes: read.bytes, next_offset: read.next_offset, ..nothing })
    }

    /// Where the reader's log leaves ours (KIP-595), if it does.
    fn diverging(
        &self,
        handle: &partition::Handle,
        view: &View,
    ) -> Result<Option<EpochEndOffset>, ErrorCode> {
        let Params { fetch_offset, last_fetched_epoch, .. } = self.params;
        if last_fetched_epoch < 0 {
            return Ok(None);
        }
        let (epoch, end_offset) = handle.epoch_end(last_fetched_epoch);
        if epoch < 0 || end_offset < 0 || fetch_offset < view.log_start {
            return Err(ErrorCode::OffsetOutOfRange);
        }
        let leaves = epoch < last_fetched_epoch || end_offset < fetch_offset;
        Ok(leaves.then_some(EpochEndOffset { epoch, end_offset }))
    }
}

fn in_memory_len(slice: &Slice) -> usize {
    match slice {
        Slice::Bytes(bytes) => bytes.len(),
        Slice::File(_) => 0,
    }
}
