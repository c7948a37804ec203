//! DeleteTopics: v1-6.
//!
//! Versions: 3 a code of its own for "deletion is disabled" · 4 flexible · 5 error messages · 6 topic ids (KIP-516).
//! Not here: the rules are in `controller::machine::topics`. Kafka shuffles the results; ours are in no promised order.

use super::Ctx;
use crate::{
    controller::{Refusal, TopicRef},
    ids::TopicId,
    session::Session,
    wire::{
        ErrorCode, StrBytes,
        api::Api,
        messages::{
            DeleteTopicsRequest, DeleteTopicsResponse, TopicName,
            delete_topics_response::DeletableTopicResult,
        },
    },
};
use uuid::Uuid;

pub const API: Api = Api::new(20, "DeleteTopics", 1, 6, 4);

pub async fn handle(
    ctx: &Ctx,
    _session: &mut Session,
    version: i16,
    request: DeleteTopicsRequest,
) -> DeleteTopicsResponse {
    let by_name = request
        .topic_names
        .into_iter()
        .map(|name| TopicRef { name: Some(name.to_string()), topic_id: None });
    let by_either = request.topics.into_iter().map(|topic| TopicRef {
        name: topic.name.map(|name| name.to_string()),
        topic_id: Some(TopicId(topic.topic_id)).filter(|id| !id.0.is_nil()),
    });
    let topics: Vec<TopicRef> = by_name.chain(by_either).collect();
    let refuse_all = |topics: Vec<TopicRef>, refusal: Refusal| -> Vec<DeletableTopicResult> {
        topics.into_iter().map(|topic| result(topic, Err(refusal.clone()))).collect()
    };
    let results = if !ctx.config.delete_topic_enable {
        refuse_all(topics, disabled(version))
    } else {
        match ctx.controller.delete_topics(topics.clone(), request.timeout_ms).await {
            Ok(results) => results.into_iter().map(|(topic, it)| result(topic, it)).collect(),
            Err(code) => refuse_all(topics, code.into()),
        }
    };
    DeleteTopicsResponse::default().with_responses(results)
}

fn disabled(version: i16) -> Refusal {
    let (code, message) = match version {
        ..3 => (ErrorCode::InvalidRequest, "Topic deletion is disabled."),
        _ => (ErrorCode::TopicDeletionDisabled, "Topic deletion is disabled."),
    };
    Refusal { code, message: Some(message.to_owned()) }
}

fn result(topic: TopicRef, result: Result<(), Refusal>) -> DeletableTopicResult {
    let answer = DeletableTopicResult::default()
        .with_name(topic.name.map(|name| TopicName(StrBytes::from_string(name))))
        .with_topic_id(topic.topic_id.map_or(Uuid::nil(), |id| id.0));
    match result {
        Ok(()) => answer,
        Err(refusal) => answer
            .with_error_code(refusal.code.code())
            .with_error_message(refusal.message.map(StrBytes::from_string)),
    }
}
