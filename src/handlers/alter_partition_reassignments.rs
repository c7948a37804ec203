//! AlterPartitionReassignments: v0-1 (KIP-455).
//!
//! Versions: 1 whether the replication factor may change (KIP-860). A node alone has nowhere to move a replica to: what is not
//! refused is as it should be already.

use super::{Ctx, messages::Messages};
use crate::{
    cluster::Image,
    controller::{Refusal, check_replicas},
    session::Session,
    wire::{
        ErrorCode, StrBytes,
        api::Api,
        messages::{
            AlterPartitionReassignmentsRequest, AlterPartitionReassignmentsResponse,
            alter_partition_reassignments_request::ReassignablePartition,
            alter_partition_reassignments_response::{
                ReassignablePartitionResponse, ReassignableTopicResponse,
            },
        },
    },
};

pub const API: Api = Api::new(45, "AlterPartitionReassignments", 0, 1, 0);

pub async fn handle(
    ctx: &Ctx,
    _session: &mut Session,
    version: i16,
    request: AlterPartitionReassignmentsRequest,
) -> AlterPartitionReassignmentsResponse {
    let image = ctx.image.load();
    let mut messages = Messages::default();
    let too_late = request.timeout_ms <= 0;
    let named_none = request.topics.is_empty();
    let topics = request.topics.into_iter().map(|topic| {
        let partitions = topic.partitions.iter().map(|partition| {
            let result = match too_late {
                true => Err(ErrorCode::RequestTimedOut.into()),
                false => reassign(&image, &topic.name, partition),
            };
            let answer = ReassignablePartitionResponse::default()
                .with_partition_index(partition.partition_index);
            match result {
                Ok(()) => answer.with_error_message(None),
                Err(Refusal { code, message }) => answer
                    .with_error_code(code.code())
                    .with_error_message(message.and_then(|message| messages.take(message))),
            }
        });
        let partitions = partitions.collect();
        ReassignableTopicResponse::default().with_name(topic.name).with_partitions(partitions)
    });
    let response = AlterPartitionReassignmentsResponse::default()
        .with_responses(topics.collect())
        .with_error_code(if too_late { ErrorCode::RequestTimedOut.code() } else { 0 })
        // Kafka's own: no words unless nothing was asked for.
        .with_error_message(named_none.then(StrBytes::default));
    match version {
        0 => response,
        _ => response.with_allow_replication_factor_change(request.allow_replication_factor_change),
    }
}

/// Kafka's order of checks (`ReplicationControlManager.alterPartitionReassignment`).
fn reassign(image: &Image, name: &str, asked: &ReassignablePartition) -> Result<(), Refusal> {
    let index = asked.partition_index;
    let unknown =
        |message| Refusal { code: ErrorCode::UnknownTopicOrPartition, message: Some(message) };
    let topic = image
        .topic(name)
        .ok_or_else(|| unknown(format!("Unable to find a topic named {name}.")))?;
    let known = usize::try_from(index).ok().and_then(|index| topic.partitions.get(index));
    let partition =
        known.ok_or_else(|| unknown(format!("Unable to find partition {name}:{index}.")))?;
    let Some(replicas) = &asked.replicas else {
        return Err(ErrorCode::NoReassignmentInProgress.into());
    };
    let replicas: Vec<i32> = replicas.iter().map(|id| id.0).collect();
    check_replicas(image, &replicas)?;
    if partition.replicas.iter().map(|id| id.0).eq(replicas) {
        return Ok(());
    }
    let message = "Replicas cannot be moved to another broker.".to_owned();
    Err(Refusal { code: ErrorCode::InvalidReplicaAssignment, message: Some(message) })
}
