//! OffsetDelete: v0.
//!
//! Deletes committed offsets of single partitions, but of no topic that a member consumes (KIP-496).

use super::{
    Ctx,
    offset_commit::{known_partitions, merge},
};
use crate::{
    group::command::{Command, PartitionResults, Reply, group_id},
    session::Session,
    wire::{
        self, Api, ErrorCode,
        messages::{
            OffsetDeleteRequest, OffsetDeleteResponse,
            offset_delete_response::{OffsetDeleteResponsePartition, OffsetDeleteResponseTopic},
        },
        text,
    },
};

pub const API: Api = Api::new(47, "OffsetDelete", 0, 0, i16::MAX);

pub async fn handle(
    ctx: &Ctx,
    _session: &mut Session,
    _version: i16,
    request: OffsetDeleteRequest,
) -> OffsetDeleteResponse {
    let image = ctx.image.load_full();
    let asked = request.topics.iter().map(|topic| {
        (topic.name.to_string(), topic.partitions.iter().map(|it| it.partition_index).collect())
    });
    let (known, mut results) = known_partitions(&image, asked, |it| *it);
    match delete(ctx, &request, known).await {
        Ok(deleted) => merge(&mut results, deleted),
        Err(error) => return OffsetDeleteResponse::default().with_error_code(error.code()),
    }
    let topics = results.into_iter().map(|(topic, partitions)| {
        let partitions = partitions.into_iter().map(|(index, result)| {
            OffsetDeleteResponsePartition::default()
                .with_partition_index(index)
                .with_error_code(wire::code(&result))
        });
        OffsetDeleteResponseTopic::default()
            .with_name(text(&topic).into())
            .with_partitions(partitions.collect())
    });
    OffsetDeleteResponse::default().with_topics(topics.collect())
}

async fn delete(
    ctx: &Ctx,
    request: &OffsetDeleteRequest,
    topics: Vec<(String, Vec<i32>)>,
) -> Result<PartitionResults, ErrorCode> {
    let group = group_id(&request.group_id)?;
    let command = Command::DeleteOffsets { group: group.clone(), topics };
    match ctx.groups.call(&group, command).await? {
        Reply::DeleteOffsets(result) => result,
        _ => Err(ErrorCode::UnknownServerError),
    }
}
