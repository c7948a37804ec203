//! CreatePartitions: v0-3.
//!
//! Versions: 2 flexible · 3 throttling.
//! Not here: the rules are in `controller::machine::partitions`.

use super::Ctx;
use crate::{
    controller::{MorePartitions, Refusal},
    session::Session,
    wire::{
        StrBytes,
        api::Api,
        messages::{
            CreatePartitionsRequest, CreatePartitionsResponse, TopicName,
            create_partitions_request::CreatePartitionsTopic,
            create_partitions_response::CreatePartitionsTopicResult,
        },
    },
};

pub const API: Api = Api::new(37, "CreatePartitions", 0, 3, 2);

pub async fn handle(
    ctx: &Ctx,
    _session: &mut Session,
    _version: i16,
    request: CreatePartitionsRequest,
) -> CreatePartitionsResponse {
    let asked: Vec<TopicName> = request.topics.iter().map(|topic| topic.name.clone()).collect();
    let topics = request.topics.into_iter().map(wanted).collect();
    let grown = ctx.controller.create_partitions(topics, request.validate_only, request.timeout_ms);
    let results = match grown.await {
        Ok(results) => results
            .into_iter()
            .map(|(name, grown)| result(TopicName(StrBytes::from_string(name)), grown))
            .collect(),
        Err(code) => asked.into_iter().map(|name| result(name, Err(code.into()))).collect(),
    };
    CreatePartitionsResponse::default().with_results(results)
}

fn wanted(topic: CreatePartitionsTopic) -> MorePartitions {
    MorePartitions {
        name: topic.name.to_string(),
        count: topic.count,
        assignments: topic.assignments.map(|assignments| {
            let replicas = assignments.into_iter().map(|it| it.broker_ids);
            replicas.map(|ids| ids.into_iter().map(|id| id.0).collect()).collect()
        }),
    }
}

fn result(name: TopicName, result: Result<(), Refusal>) -> CreatePartitionsTopicResult {
    let answer = CreatePartitionsTopicResult::default().with_name(name);
    match result {
        Ok(()) => answer.with_error_message(None),
        Err(refusal) => answer
            .with_error_code(refusal.code.code())
            .with_error_message(refusal.message.map(StrBytes::from_string)),
    }
}
