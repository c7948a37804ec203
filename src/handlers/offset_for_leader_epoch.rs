//! OffsetForLeaderEpoch: v2-4.
//!
//! Versions: 2 current leader epoch for fencing (KIP-320) · 3 replica id, so that consumers may ask · 4 flexible.
//! Not here: the search (`partition::lookup`).

use crate::{
    handlers::{Ctx, list_offsets::leading},
    session::Session,
    wire::{
        ErrorCode,
        api::Api,
        messages::{
            OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse,
            offset_for_leader_epoch_request::OffsetForLeaderPartition,
            offset_for_leader_epoch_response::{EpochEndOffset, OffsetForLeaderTopicResult},
        },
    },
};

pub const API: Api = Api::new(23, "OffsetForLeaderEpoch", 2, 4, 4);

pub async fn handle(
    ctx: &Ctx,
    _session: &mut Session,
    _version: i16,
    request: OffsetForLeaderEpochRequest,
) -> OffsetForLeaderEpochResponse {
    let topics = request.topics.into_iter().map(|topic| {
        let answer = |partition: &OffsetForLeaderPartition| {
            let end = epoch_end(ctx, &topic.topic, partition);
            let error_code = crate::wire::code(&end);
            let (leader_epoch, end_offset) = end.unwrap_or((-1, -1));
            EpochEndOffset::default()
                .with_error_code(error_code)
                .with_partition(partition.partition)
                .with_leader_epoch(leader_epoch)
                .with_end_offset(end_offset)
        };
        let partitions = topic.partitions.iter().map(answer).collect();
        OffsetForLeaderTopicResult::default().with_topic(topic.topic).with_partitions(partitions)
    });
    OffsetForLeaderEpochResponse::default().with_topics(topics.collect())
}

fn epoch_end(
    ctx: &Ctx,
    topic: &str,
    partition: &OffsetForLeaderPartition,
) -> Result<(i32, i64), ErrorCode> {
    let epoch = partition.current_leader_epoch;
    let (handle, _) = leading(ctx, topic, partition.partition, epoch)?;
    Ok(handle.epoch_end(partition.leader_epoch))
}
