//! OffsetCommit: v2-9.
//!
//! Versions: 3 throttle time · 5 no more retention time (KIP-211) · 6 leader epoch · 7 group.instance.id (KIP-345) · 8
//! flexible · 9 GROUP_ID_NOT_FOUND and member epochs (KIP-848).
//! Where an offset points in a log is not looked at. Not here: who may commit is in `group::classic`.

use super::Ctx;
use crate::{
    cluster::Image,
    group::command::{Command, CommittedOffset, OffsetCommit, PartitionResults, Reply},
    session::Session,
    wire::{
        self, Api, ErrorCode,
        messages::{
            OffsetCommitRequest, OffsetCommitResponse,
            offset_commit_response::{OffsetCommitResponsePartition, OffsetCommitResponseTopic},
        },
        text,
    },
};
use std::collections::BTreeMap;

pub const API: Api = Api::new(8, "OffsetCommit", 2, 9, 8);

pub async fn handle(
    ctx: &Ctx,
    _session: &mut Session,
    version: i16,
    request: OffsetCommitRequest,
) -> OffsetCommitResponse {
    let image = ctx.image.load_full();
    let asked = request.topics.iter().map(|topic| {
        let partitions = topic.partitions.iter().map(|it| CommittedOffset {
            partition: it.partition_index,
            offset: it.committed_offset,
            leader_epoch: it.committed_leader_epoch,
            metadata: it.committed_metadata.as_ref().map(ToString::to_string).unwrap_or_default(),
        });
        (topic.name.to_string(), partitions.collect())
    });
    let (known, mut results) = known_partitions(&image, asked, |it| it.partition);
    if !known.is_empty() {
        let committed = commit(ctx, version, &request, &image, known).await;
        merge(&mut results, committed);
    }
    let topics = results.into_iter().map(|(topic, partitions)| {
        let partitions = partitions.into_iter().map(|(index, result)| {
            OffsetCommitResponsePartition::default()
                .with_partition_index(index)
                .with_error_code(wire::code(&result))
        });
        OffsetCommitResponseTopic::default()
            .with_name(text(&topic).into())
            .with_partitions(partitions.collect())
    });
    OffsetCommitResponse::default().with_topics(topics.collect())
}

async fn commit(
    ctx: &Ctx,
    version: i16,
    request: &OffsetCommitRequest,
    image: &Image,
    topics: Vec<(String, Vec<CommittedOffset>)>,
) -> PartitionResults {
    let group = request.group_id.to_string();
    let asked: Vec<(String, Vec<i32>)> = topics
        .iter()
        .map(|(topic, them)| (topic.clone(), them.iter().map(|it| it.partition).collect()))
        .collect();
    let topic_ids = topics
        .iter()
        .filter_map(|(topic, _)| Some((topic.clone(), image.topic(topic)?.id)))
        .collect();
    let command = Command::Commit(OffsetCommit {
        group: group.clone(),
        member_id: request.member_id.to_string(),
        instance_id: request.group_instance_id.as_ref().map(ToString::to_string),
        generation: request.generation_id_or_member_epoch,
        retention_ms: if version < 5 { request.retention_time_ms } else { -1 },
        knows_group_id_not_found: version >= 9,
        topics,
        topic_ids,
    });
    match ctx.groups.call(&group, command).await {
        Ok(Reply::Commit(results)) => results,
        other => {
            let error = other.err().unwrap_or(ErrorCode::UnknownServerError);
            let of_topic = |(topic, partitions): (String, Vec<i32>)| {
                (topic, partitions.into_iter().map(|it| (it, Err(error))).collect())
            };
            asked.into_iter().map(of_topic).collect()
        }
    }
}

/// What is asked of each topic.
type ByTopic<P> = Vec<(String, Vec<P>)>;

/// Parts what is asked for into partitions that exist and UNKNOWN_TOPIC_OR_PARTITION for the others.
pub(super) fn known_partitions<P>(
    image: &Image,
    asked: impl Iterator<Item = (String, Vec<P>)>,
    index: impl Fn(&P) -> i32,
) -> (ByTopic<P>, PartitionResults) {
    let (mut known, mut unknown) = (Vec::new(), Vec::new());
    for (topic, partitions) in asked {
        let count = image.topic(&topic).map_or(0, |it| it.partitions.len());
        let exists = |it: &P| usize::try_from(index(it)).is_ok_and(|index| index < count);
        let (there, missing): (Vec<P>, Vec<P>) = partitions.into_iter().partition(exists);
        if !missing.is_empty() {
            let error = Err(ErrorCode::UnknownTopicOrPartition);
            let missing = missing.iter().map(|it| (index(it), error));
            unknown.push((topic.clone(), missing.collect()));
        }
        if !there.is_empty() {
            known.push((topic, there));
        }
    }
    (known, unknown)
}

/// Adds results of partitions to those refused before, under the same topic.
pub(super) fn merge(results: &mut PartitionResults, more: PartitionResults) {
    if results.is_empty() {
        *results = more;
        return;
    }
    let mut at: BTreeMap<String, usize> =
        results.iter().enumerate().map(|(at, (topic, _))| (topic.clone(), at)).collect();
    for (topic, partitions) in more {
        match at.get(&topic) {
            Some(at) => results[*at].1.extend(partitions),
            None => {
                at.insert(topic.clone(), results.len());
                results.push((topic, partitions));
            }
        }
    }
}
