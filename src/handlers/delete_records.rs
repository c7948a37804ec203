//! DeleteRecords: v0-2.
//!
//! Versions: 2 flexible. On one node the low watermark is the log start, so nothing waits for other replicas and the timeout
//! has no effect; unlike Kafka, the new log start is durable when it is answered.
//! Not here: what may be deleted (`partition::replica`). Kafka's answers come in no promised order.

use super::Ctx;
use crate::{
    cluster::names,
    partition::Handle,
    session::Session,
    wire::{
        ErrorCode,
        api::Api,
        messages::{
            DeleteRecordsRequest, DeleteRecordsResponse, TopicName,
            delete_records_response::{DeleteRecordsPartitionResult, DeleteRecordsTopicResult},
        },
    },
};
use futures_util::future::join_all;
use std::collections::{BTreeMap, HashMap};

pub const API: Api = Api::new(21, "DeleteRecords", 0, 2, 2);

/// `DeleteRecordsResponse.INVALID_LOW_WATERMARK`.
const NO_LOW_WATERMARK: i64 = -1;

pub async fn handle(
    ctx: &Ctx,
    _session: &mut Session,
    _version: i16,
    request: DeleteRecordsRequest,
) -> DeleteRecordsResponse {
    // A partition that is named again is asked what it is asked last, as in Kafka.
    let mut asked: HashMap<TopicName, BTreeMap<i32, i64>> = HashMap::new();
    for topic in request.topics.into_iter().filter(|topic| !topic.partitions.is_empty()) {
        let partitions = topic.partitions.into_iter().map(|it| (it.partition_index, it.offset));
        asked.entry(topic.name).or_default().extend(partitions);
    }
    let topics = asked.into_iter().map(async |(name, partitions)| {
        let answers = partitions.into_iter().map(async |(index, offset)| {
            let answer = match partition(ctx, &name, index) {
                Ok(partition) => partition.delete_records(offset).await,
                Err(code) => Err(code),
            };
            DeleteRecordsPartitionResult::default()
                .with_partition_index(index)
                .with_error_code(crate::wire::code(&answer))
                .with_low_watermark(answer.unwrap_or(NO_LOW_WATERMARK))
        });
        let answers = join_all(answers).await;
        DeleteRecordsTopicResult::default().with_name(name).with_partitions(answers)
    });
    DeleteRecordsResponse::default().with_topics(join_all(topics).await)
}

fn partition(ctx: &Ctx, name: &str, index: i32) -> Result<Handle, ErrorCode> {
    let image = ctx.image.load();
    let topic = image.topic(name).ok_or(ErrorCode::UnknownTopicOrPartition)?;
    if !usize::try_from(index).is_ok_and(|index| index < topic.partitions.len()) {
        return Err(ErrorCode::UnknownTopicOrPartition);
    }
    if names::is_internal(name) {
        return Err(ErrorCode::InvalidTopicException);
    }
    ctx.partitions.get(topic.id, index).ok_or(ErrorCode::NotLeaderOrFollower)
}
