//! DescribeProducers: v0 (KIP-664): who writes to a partition, as far as its leader remembers them.

use super::{Ctx, list_offsets::leading, messages::Messages};
use crate::{
    cluster::names,
    limits::DESCRIBED_PRODUCERS_MAX,
    partition::producers::Active,
    session::Session,
    wire::{
        ErrorCode,
        api::Api,
        messages::{
            DescribeProducersRequest, DescribeProducersResponse, ProducerId,
            describe_producers_response::{PartitionResponse, ProducerState, TopicResponse},
        },
    },
};

pub const API: Api = Api::new(61, "DescribeProducers", 0, 0, 0);

pub async fn handle(
    ctx: &Ctx,
    _session: &mut Session,
    _version: i16,
    request: DescribeProducersRequest,
) -> DescribeProducersResponse {
    let mut messages = Messages::default();
    let mut described = 0;
    let mut topics = Vec::with_capacity(request.topics.len());
    for topic in request.topics {
        let refusal = refusal(ctx, &topic.name);
        let mut partitions = Vec::with_capacity(topic.partition_indexes.len());
        for index in topic.partition_indexes {
            let answer = PartitionResponse::default().with_partition_index(index);
            if let Some((code, message)) = &refusal {
                let message = messages.take(message.clone());
                partitions.push(answer.with_error_code(code.code()).with_error_message(message));
                continue;
            }
            let producers = match described > DESCRIBED_PRODUCERS_MAX {
                true => Err(ErrorCode::InvalidRequest),
                false => producers(ctx, &topic.name, index).await,
            };
            let code = crate::wire::code(&producers);
            let active: Vec<_> = producers.unwrap_or_default().into_iter().map(state).collect();
            described += active.len();
            partitions.push(answer.with_error_code(code).with_active_producers(active));
        }
        topics.push(TopicResponse::default().with_name(topic.name).with_partitions(partitions));
    }
    DescribeProducersResponse::default().with_topics(topics)
}

/// What is wrong with a whole topic.
fn refusal(ctx: &Ctx, name: &str) -> Option<(ErrorCode, String)> {
    if let Err(message) = names::validate(name) {
        return Some((ErrorCode::InvalidTopicException, message));
    }
    let message = "This server does not host this topic-partition.".to_owned();
    ctx.image.load().topic(name).is_none().then_some((ErrorCode::UnknownTopicOrPartition, message))
}

async fn producers(ctx: &Ctx, name: &str, index: i32) -> Result<Vec<Active>, ErrorCode> {
    let (partition, _) = leading(ctx, name, index, -1)?;
    partition.producers().await
}

fn state(producer: Active) -> ProducerState {
    ProducerState::default()
        .with_producer_id(ProducerId(producer.id))
        .with_producer_epoch(producer.epoch.into())
        .with_last_sequence(producer.last_sequence)
        .with_last_timestamp(producer.last_timestamp)
        .with_coordinator_epoch(-1)
        .with_current_txn_start_offset(-1)
}
