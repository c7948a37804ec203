//! AlterReplicaLogDirs: v1-2.
//!
//! Versions: 2 flexible. A node has one log directory, in which every replica is already: another one is not found.
//! Kafka's answers come in no promised order.

use super::Ctx;
use crate::{
    session::Session,
    wire::{
        ErrorCode,
        api::Api,
        messages::{
            AlterReplicaLogDirsRequest, AlterReplicaLogDirsResponse, TopicName,
            alter_replica_log_dirs_response::{
                AlterReplicaLogDirPartitionResult, AlterReplicaLogDirTopicResult,
            },
        },
    },
};
use std::collections::BTreeMap;

pub const API: Api = Api::new(34, "AlterReplicaLogDirs", 1, 2, 2);

pub async fn handle(
    ctx: &Ctx,
    _session: &mut Session,
    _version: i16,
    request: AlterReplicaLogDirsRequest,
) -> AlterReplicaLogDirsResponse {
    // A replica that is named again goes where it is named last, as in Kafka.
    let mut is_here: BTreeMap<TopicName, BTreeMap<i32, bool>> = BTreeMap::new();
    for dir in request.dirs {
        let here = dir.path.as_str() == ctx.log_dir.path();
        for topic in dir.topics.into_iter().filter(|topic| !topic.partitions.is_empty()) {
            let partitions = topic.partitions.into_iter().map(|index| (index, here));
            is_here.entry(topic.name).or_default().extend(partitions);
        }
    }
    let results = is_here.into_iter().map(|(name, partitions)| {
        let partitions = partitions.into_iter().map(|(index, here)| {
            AlterReplicaLogDirPartitionResult::default()
                .with_partition_index(index)
                .with_error_code(crate::wire::code(&alter(ctx, &name, index, here)))
        });
        let partitions = partitions.collect();
        AlterReplicaLogDirTopicResult::default().with_topic_name(name).with_partitions(partitions)
    });
    AlterReplicaLogDirsResponse::default().with_results(results.collect())
}

/// Kafka's order of checks (`ReplicaManager.alterReplicaLogDirs`).
fn alter(ctx: &Ctx, name: &str, index: i32, here: bool) -> Result<(), ErrorCode> {
    if directory_name_bytes(name, index) > FILE_NAME_BYTES_MAX {
        return Err(ErrorCode::InvalidTopicException);
    }
    if !here {
        return Err(ErrorCode::LogDirNotFound);
    }
    let image = ctx.image.load();
    let topic = image.topic(name).ok_or(ErrorCode::UnknownTopicOrPartition)?;
    if !usize::try_from(index).is_ok_and(|index| index < topic.partitions.len()) {
        return Err(ErrorCode::UnknownTopicOrPartition);
    }
    ctx.partitions.get(topic.id, index).map(|_| ()).ok_or(ErrorCode::ReplicaNotAvailable)
}

const FILE_NAME_BYTES_MAX: usize = 255;

/// Of the directory that Kafka would move a replica to: `name-index.32 hex digits-future`.
fn directory_name_bytes(name: &str, index: i32) -> usize {
    format!("{name}-{index}.-future").len() + 32
}
