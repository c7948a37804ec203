//! Committed offsets: commit, fetch, delete, expire (Kafka: `OffsetMetadataManager`). Reads `Durable`, writes records.
//!
//! Whether topics and partitions exist is the handler's to know; where in a log an offset points is nobody's business.

use super::{
    Settings,
    classic::{Group, State},
    command::{FetchedOffset, FetchedOffsets, OffsetCommit, PartitionResults},
    durable::{Durable, GroupOffsets},
    records::{Offset, Record},
};
use crate::{
    cluster::Image, ids::TopicId, limits::OFFSET_FETCH_BYTES_MAX, machine::Now, wire::ErrorCode,
};
use std::collections::{BTreeMap, BTreeSet};

/// Metadata is checked for each partition; what is left is written together. None: that is more than a batch may be. A
/// topic that is `gone` is unknown: the request came from before its end.
pub(super) fn commit(
    settings: &Settings,
    now: Now,
    request: OffsetCommit,
    gone: &BTreeSet<TopicId>,
) -> Option<(PartitionResults, Vec<Record>)> {
    let OffsetCommit { group, retention_ms, topics, topic_ids, .. } = request;
    let expire_timestamp = match retention_ms {
        -1 => -1,
        ms => now.wall_ms.saturating_add(ms),
    };
    let mut room = settings.batch_bytes_max();
    let mut records = Vec::new();
    let mut results = Vec::with_capacity(topics.len());
    for (topic, partitions) in topics {
        let mut of_topic = Vec::with_capacity(partitions.len());
        let topic_id = topic_ids.get(&topic).copied();
        if topic_id.is_some_and(|id| gone.contains(&id)) {
            let error = Err(ErrorCode::UnknownTopicOrPartition);
            results.push((topic, partitions.iter().map(|it| (it.partition, error)).collect()));
            continue;
        }
        for it in partitions {
            if settings.is_metadata_too_large(&it.metadata) {
                of_topic.push((it.partition, Err(ErrorCode::OffsetMetadataTooLarge)));
                continue;
            }
            of_topic.push((it.partition, Ok(())));
            let value = Offset {
                offset: it.offset,
                leader_epoch: it.leader_epoch,
                metadata: it.metadata,
                commit_timestamp: now.wall_ms,
                expire_timestamp,
                topic_id,
            };
            let (group, topic) = (group.clone(), topic.clone());
            let value = Some(value);
            let record = Record::Offset { group, topic, partition: it.partition, value };
            room = room.checked_sub(record.size())?;
            records.push(record);
        }
        results.push((topic, of_topic));
    }
    Some((results, records))
}

/// Nothing committed, or no such group, is no error. An answer may not become larger than `OFFSET_FETCH_BYTES_MAX`: one
/// partition can be asked for again and again.
pub(super) fn fetch(
    durable: &Durable,
    group: &str,
    topics: Option<Vec<(String, Vec<i32>)>>,
) -> Result<FetchedOffsets, ErrorCode> {
    let mut room = OFFSET_FETCH_BYTES_MAX;
    let mut take = |partition, committed| {
        let fetched = fetched(partition, committed);
        room = room.checked_sub(fetched.size()).ok_or(ErrorCode::UnknownServerError)?;
        Ok(fetched)
    };
    match topics {
        Some(topics) => {
            let of_topic = |(topic, partitions): (String, Vec<i32>)| {
                let partitions = partitions.into_iter();
                let them = partitions.map(|it| take(it, durable.offset(group, &topic, it)));
                let them: Result<Vec<FetchedOffset>, ErrorCode> = them.collect();
                Ok((topic, them?))
            };
            topics.into_iter().map(of_topic).collect()
        }
        None => {
            let topics = durable.offsets(group).into_iter().flatten();
            let of_topic = topics.map(|(topic, partitions)| {
                let them = partitions.iter().map(|(index, it)| take(*index, Some(it)));
                let them: Result<Vec<FetchedOffset>, ErrorCode> = them.collect();
                Ok((topic.clone(), them?))
            });
            of_topic.collect()
        }
    }
}

fn fetched(partition: i32, committed: Option<&Offset>) -> FetchedOffset {
    FetchedOffset {
        partition,
        offset: committed.map_or(-1, |it| it.offset),
        leader_epoch: committed.map_or(-1, |it| it.leader_epoch),
        metadata: committed.map_or_else(String::new, |it| it.metadata.clone()),
    }
}

/// Deletes single offsets, but of no topic that members consume.
pub(super) fn delete(
    settings: &Settings,
    durable: &Durable,
    group: (&str, Option<&Group>),
    topics: Vec<(String, Vec<i32>)>,
) -> Result<(PartitionResults, Vec<Record>), ErrorCode> {
    let (id, Some(group)) = group else { return Err(ErrorCode::GroupIdNotFound) };
    if group.state() != State::Empty && !group.is_consumer() {
        return Err(ErrorCode::NonEmptyGroup);
    }
    let mut records = Vec::new();
    let mut results = Vec::with_capacity(topics.len());
    for (topic, partitions) in topics {
        let subscribed = group.is_subscribed_to(&topic);
        let mut done = BTreeSet::new();
        let mut of_topic = Vec::with_capacity(partitions.len());
        for partition in partitions {
            if subscribed {
                of_topic.push((partition, Err(ErrorCode::GroupSubscribedToTopic)));
                continue;
            }
            if durable.offset(id, &topic, partition).is_some() && done.insert(partition) {
                records.push(tombstone(id, &topic, partition));
            }
            of_topic.push((partition, Ok(())));
        }
        results.push((topic, of_topic));
    }
    if !settings.fit(&records) {
        return Err(ErrorCode::UnknownServerError);
    }
    Ok((results, records))
}

/// Tombstones for every offset of a group.
pub(super) fn tombstones(durable: &Durable, group: &str) -> Vec<Record> {
    let topics = durable.offsets(group).into_iter().flatten();
    topics
        .flat_map(|(topic, partitions)| {
            partitions.keys().map(move |partition| tombstone(group, topic, *partition))
        })
        .collect()
}

/// Incarnations of topics, by name; None: whatever is not known to be of one.
pub(super) type Incarnations = BTreeMap<String, BTreeSet<Option<TopicId>>>;

/// Tombstones for all groups' offsets in `topics`.
pub(super) fn of_deleted_topics<'a>(
    durable: &'a Durable,
    topics: &'a Incarnations,
) -> impl Iterator<Item = Record> + 'a {
    let of_group = |(group, offsets): (&'a String, &'a GroupOffsets)| {
        let gone =
            offsets.iter().filter_map(|(topic, them)| Some((topic, them, topics.get(topic)?)));
        gone.flat_map(move |(topic, them, ids)| {
            let of_topic = them.iter().filter(|(_, it)| ids.contains(&it.topic_id));
            of_topic.map(move |(partition, _)| tombstone(group, topic, *partition))
        })
    };
    durable.all_offsets().flat_map(of_group)
}

/// Topics that offsets are of and that `image` does not have.
pub(super) fn missing_topics(durable: &Durable, image: &Image) -> Incarnations {
    let mut missing = Incarnations::new();
    for (topic, partitions) in durable.all_offsets().flat_map(|(_, offsets)| offsets) {
        let there = image.topic(topic).map(|it| it.id);
        for it in partitions.values() {
            if there.is_none_or(|there| it.topic_id.is_some_and(|id| id != there)) {
                missing.entry(topic.clone()).or_default().insert(it.topic_id);
            }
        }
    }
    missing
}

/// The offsets of a group that have expired, and whether that is all of them.
///
/// A commit that names its own expiry is taken at its word. Else `offsets.retention.minutes` runs from when the group
/// became empty; from the commit for a group that only keeps offsets, and for topics that no member of a stable consumer
/// group consumes; otherwise nothing expires (KIP-211).
pub(super) fn expired(
    settings: &Settings,
    durable: &Durable,
    id: &str,
    group: &Group,
    wall_ms: i64,
) -> (Vec<Record>, bool) {
    let Some(offsets) = durable.offsets(id) else { return (Vec::new(), true) };
    let since_empty = group.has_protocol_type() && group.state() == State::Empty;
    let since_commit = !group.has_protocol_type()
        || (group.is_consumer() && group.knows_subscriptions() && group.state() == State::Stable);
    if !since_empty && !since_commit {
        return (Vec::new(), false);
    }
    let retention_ms = i64::from(settings.offsets_retention_minutes) * 60_000;
    let mut records = Vec::new();
    let mut all = true;
    for (topic, partitions) in offsets {
        let consumed = group.is_subscribed_to(topic);
        for (partition, it) in partitions {
            let base = match group.state_timestamp() {
                Some(timestamp) if since_empty => timestamp,
                _ => it.commit_timestamp,
            };
            let deadline = match it.expire_timestamp {
                -1 => base.saturating_add(retention_ms),
                timestamp => timestamp,
            };
            if !consumed && wall_ms >= deadline {
                records.push(tombstone(id, topic, *partition));
            } else {
                all = false;
            }
        }
    }
    (records, all)
}

fn tombstone(group: &str, topic: &str, partition: i32) -> Record {
    Record::Offset { group: group.to_owned(), topic: topic.to_owned(), partition, value: None }
}
