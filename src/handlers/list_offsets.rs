//! ListOffsets: v1-10.
//!
//! Versions: 2 isolation level · 4 leader epochs · 5 OFFSET_NOT_AVAILABLE (KIP-207) · 6 flexible · 7 largest timestamp (-3)
//! · 8 earliest local (-4, KIP-405) · 9 latest tiered (-5) · 10 timeout, which only remote storage uses.
//! Not here: the search (`partition::lookup`).

use crate::{
    handlers::Ctx,
    partition::{Found, Handle, Isolation, View},
    session::Session,
    wire::{
        ErrorCode,
        api::Api,
        messages::{
            ListOffsetsRequest, ListOffsetsResponse,
            list_offsets_request::ListOffsetsPartition,
            list_offsets_response::{ListOffsetsPartitionResponse, ListOffsetsTopicResponse},
        },
    },
};
use std::{
    collections::{HashMap, hash_map::Entry},
    hash::Hash,
};

pub const API: Api = Api::new(2, "ListOffsets", 1, 10, 6);

/// Special timestamps (`ListOffsetsRequest`).
const LATEST: i64 = -1;
const EARLIEST: i64 = -2;
const MAX_TIMESTAMP: i64 = -3;
const EARLIEST_LOCAL: i64 = -4;
const LATEST_TIERED: i64 = -5;

/// `replica_id` of consumers; every other one is a replica or a tool, which see the whole log.
const CONSUMER: i32 = -1;

pub async fn handle(
    ctx: &Ctx,
    _session: &mut Session,
    version: i16,
    request: ListOffsetsRequest,
) -> ListOffsetsResponse {
    let ask = Ask {
        version,
        replica_id: request.replica_id.0,
        isolation: Isolation::from_wire(request.isolation_level),
    };
    let named = request.topics.iter().map(|topic| (&topic.name, &topic.partitions[..]));
    let mut topics = Vec::with_capacity(request.topics.len());
    for (name, asked) in each_once(named) {
        let mut partitions = Vec::with_capacity(asked.len());
        for (partition, times) in asked {
            let answer = match times {
                1 => ask.partition(ctx, name, partition).await,
                _ => Err(ErrorCode::InvalidRequest),
            };
            partitions.push(response(partition.partition_index, version, answer));
        }
        topics.push(
            ListOffsetsTopicResponse::default().with_name(name.clone()).with_partitions(partitions),
        );
    }
    ListOffsetsResponse::default().with_topics(topics)
}

/// Every topic and every partition once, where it is named first, with how often it is named: a partition that is named
/// twice is answered once, with INVALID_REQUEST.
fn each_once<'a, T: Copy + Eq + Hash>(
    named: impl Iterator<Item = (T, &'a [ListOffsetsPartition])>,
) -> Vec<(T, Vec<(&'a ListOffsetsPartition, usize)>)> {
    let mut topics: HashMap<T, usize> = HashMap::new();
    let mut partitions: HashMap<(usize, i32), usize> = HashMap::new();
    let mut once: Vec<(T, Vec<(&ListOffsetsPartition, usize)>)> = Vec::new();
    for (topic, asked) in named {
        let place = *topics.entry(topic).or_insert(once.len());
        if place == once.len() {
            once.push((topic, Vec::with_capacity(asked.len())));
        }
        let (_, known) = &mut once[place];
        for partition in asked {
            match partitions.entry((place, partition.partition_index)) {
                Entry::Occupied(at) => known[*at.get()].1 += 1,
                Entry::Vacant(at) => {
                    at.insert(known.len());
                    known.push((partition, 1));
                }
            }
        }
    }
    once
}

/// An offset with its timestamp (-1: none) and leader epoch (-1: unknown).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Offset {
    offset: i64,
    timestamp: i64,
    leader_epoch: i32,
}

impl Offset {
    /// What stands for "there is none".
    const NONE: Offset = Offset { offset: -1, timestamp: -1, leader_epoch: -1 };

    fn at(offset: i64, leader_epoch: i32) -> Offset {
        Offset { offset, timestamp: -1, leader_epoch }
    }
}

fn response(
    partition_index: i32,
    version: i16,
    answer: Result<Offset, ErrorCode>,
) -> ListOffsetsPartitionResponse {
    let error_code = crate::wire::code(&answer);
    let Offset { offset, timestamp, leader_epoch } = answer.unwrap_or(Offset::NONE);
    ListOffsetsPartitionResponse::default()
        .with_partition_index(partition_index)
        .with_error_code(error_code)
        .with_timestamp(timestamp)
        .with_offset(offset)
        .with_leader_epoch(if version >= 4 { leader_epoch } else { -1 })
}

/// The replica this node leads, and its view, when the client's idea of the epoch is right. Here only -1 is none; Fetch takes
/// every negative one for none. Errors: UNKNOWN_TOPIC_OR_PARTITION and those of `check_epoch`.
pub(super) fn leading(
    ctx: &Ctx,
    topic: &str,
    index: i32,
    current_leader_epoch: i32,
) -> Result<(Handle, View), ErrorCode> {
    let image = ctx.image.load();
    let topic = image.topic(topic).ok_or(ErrorCode::UnknownTopicOrPartition)?;
    let known = usize::try_from(index).is_ok_and(|index| index < topic.partitions.len());
    if !known {
        return Err(ErrorCode::UnknownTopicOrPartition);
    }
    let handle = ctx.partitions.get(topic.id, index).ok_or(ErrorCode::NotLeaderOrFollower)?;
    let view = match current_leader_epoch {
        ..-1 => return Err(ErrorCode::FencedLeaderEpoch),
        epoch => handle.check_epoch(epoch)?,
    };
    Ok((handle, view))
}

/// What all partitions of a request are asked.
struct Ask {
    version: i16,
    replica_id: i32,
    isolation: Isolation,
}

impl Ask {
    async fn partition(
        &self,
        ctx: &Ctx,
        topic: &str,
        partition: &ListOffsetsPartition,
    ) -> Result<Offset, ErrorCode> {
        if !self.supports(partition.timestamp) {
            return Err(ErrorCode::UnsupportedVersion);
        }
        let epoch = partition.current_leader_epoch;
        let (handle, view) = leading(ctx, topic, partition.partition_index, epoch)?;
        match partition.timestamp {
            EARLIEST | EARLIEST_LOCAL => {
                Ok(Offset::at(view.log_start, handle.epoch_at(view.log_start)))
            }
            LATEST if self.is_behind(&view) => Err(self.not_available()),
            LATEST => Ok(Offset::at(self.end(&view), view.leader_epoch.0)),
            LATEST_TIERED => Ok(Offset::NONE),
            timestamp => self.search(&handle, &view, timestamp).await,
        }
    }

    /// Whether this version knows the timestamp, when it is a special one.
    fn supports(&self, timestamp: i64) -> bool {
        match timestamp {
            0.. | LATEST | EARLIEST => true,
            MAX_TIMESTAMP => self.version >= 7,
            EARLIEST_LOCAL => self.version >= 8,
            LATEST_TIERED => self.version >= 9,
            _ => false,
        }
    }

    fn end(&self, view: &View) -> i64 {
        if self.replica_id == CONSUMER { view.end(self.isolation) } else { view.log_end }
    }

    /// A new leader does not know yet what its predecessor committed (KIP-207).
    fn is_behind(&self, view: &View) -> bool {
        self.replica_id == CONSUMER && view.epoch_start > view.high_watermark
    }

    fn not_available(&self) -> ErrorCode {
        match self.version {
            ..5 => ErrorCode::LeaderNotAvailable,
            _ => ErrorCode::OffsetNotAvailable,
        }
    }

    async fn search(
        &self,
        handle: &Handle,
        view: &View,
        timestamp: i64,
    ) -> Result<Offset, ErrorCode> {
        let end = self.end(view);
        let found = match timestamp {
            MAX_TIMESTAMP => handle.max_timestamp(view.log_end).await?,
            _ => handle.offset_for_timestamp(timestamp, view.log_end).await?,
        };
        match found {
            Some(Found { offset, timestamp, leader_epoch }) if offset < end => {
                Ok(Offset { offset, timestamp, leader_epoch: leader_epoch.0 })
            }
            _ if self.is_behind(view) => Err(self.not_available()),
            _ => Ok(Offset::NONE),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{cell::Cell, hash::Hasher};

    fn partition(index: i32) -> ListOffsetsPartition {
        ListOffsetsPartition::default().with_partition_index(index)
    }

    #[test]
    fn what_is_named_again_keeps_its_place() {
        let asked: [(&str, Vec<ListOffsetsPartition>); 4] = [
            ("a", vec![partition(1), partition(0), partition(1)]),
            ("b", vec![partition(1)]),
            ("none", vec![]),
            ("a", vec![partition(2), partition(1)]),
        ];
        let once = each_once(asked.iter().map(|(topic, asked)| (*topic, &asked[..])));
        let seen: Vec<(&str, Vec<(i32, usize)>)> = once
            .into_iter()
            .map(|(topic, asked)| {
                (topic, asked.iter().map(|(it, times)| (it.partition_index, *times)).collect())
            })
            .collect();
        let expected = [("a", vec![(1, 3), (0, 1), (2, 1)]), ("b", vec![(1, 1)]), ("none", vec![])];
        assert_eq!(seen, expected);
    }

    /// A name that counts how often it is compared.
    #[derive(Clone, Copy)]
    struct Counted<'a>(usize, &'a Cell<usize>);

    impl PartialEq for Counted<'_> {
        fn eq(&self, other: &Self) -> bool {
            self.1.set(self.1.get() + 1);
            self.0 == other.0
        }
    }

    impl Eq for Counted<'_> {}

    impl Hash for Counted<'_> {
        fn hash<H: Hasher>(&self, state: &mut H) {
            self.0.hash(state);
        }
    }

    /// It was quadratic: every topic was looked for among all before it.
    #[test]
    fn many_topics_are_not_compared_with_each_other() {
        let (count, compared, asked) = (20_000, Cell::new(0), [partition(0)]);
        let topics = (0..count).chain(0..count).map(|name| (Counted(name, &compared), &asked[..]));
        let once = each_once(topics);
        assert_eq!(once.len(), count);
        assert!(once.iter().all(|(_, asked)| asked[0].1 == 2));
        // Once when a name comes again; growing and chance add some.
        assert!(compared.get() < 3 * count, "{}", compared.get());
    }
}
