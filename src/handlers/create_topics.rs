//! CreateTopics: v2-7.
//!
//! Versions: 4 -1 for the defaults (KIP-464) · 5 flexible, partitions, factor and configs in the answer (KIP-525) ·
//! 6 throttling · 7 topic ids in the answer.
//! Not here: the rules are in `controller::machine::topics`.

use super::Ctx;
use crate::{
    config::{Config, describe},
    controller::{Created, NewTopic, Refusal},
    session::Session,
    wire::{
        StrBytes,
        api::Api,
        messages::{
            BrokerId, CreateTopicsRequest, CreateTopicsResponse, TopicName,
            create_topics_request::CreatableTopic,
            create_topics_response::{CreatableTopicConfigs, CreatableTopicResult},
        },
    },
};

pub const API: Api = Api::new(19, "CreateTopics", 2, 7, 5);

pub async fn handle(
    ctx: &Ctx,
    _session: &mut Session,
    _version: i16,
    request: CreateTopicsRequest,
) -> CreateTopicsResponse {
    let asked: Vec<TopicName> = request.topics.iter().map(|topic| topic.name.clone()).collect();
    let topics = request.topics.into_iter().map(wanted).collect();
    let created = ctx.controller.create_topics(topics, request.validate_only, request.timeout_ms);
    let created = created.await;
    let config = ctx.config_now();
    let results = match created {
        Ok(results) => results
            .into_iter()
            .map(|(name, result)| match result {
                Ok(created) => success(&config, name, created),
                Err(refusal) => failure(TopicName(StrBytes::from_string(name)), refusal),
            })
            .collect(),
        Err(code) => asked.into_iter().map(|name| failure(name, code.into())).collect(),
    };
    CreateTopicsResponse::default().with_topics(results)
}

fn wanted(topic: CreatableTopic) -> NewTopic {
    let replicas = |ids: Vec<_>| ids.into_iter().map(|id: BrokerId| id.0).collect();
    NewTopic {
        name: topic.name.to_string(),
        partitions: topic.num_partitions,
        replication_factor: topic.replication_factor,
        assignments: topic
            .assignments
            .into_iter()
            .map(|it| (it.partition_index, replicas(it.broker_ids)))
            .collect(),
        configs: topic
            .configs
            .into_iter()
            .map(|it| (it.name.to_string(), it.value.map(|value| value.to_string())))
            .collect(),
        internal: false,
    }
}

fn success(config: &Config, name: String, created: Created) -> CreatableTopicResult {
    let configs = describe::topic(config, &created.configs).into_iter().map(|entry| {
        CreatableTopicConfigs::default()
            .with_name(StrBytes::from_string(entry.name.into_owned()))
            .with_value(entry.value.map(StrBytes::from_string))
            .with_read_only(entry.read_only)
            .with_config_source(entry.source as i8)
            .with_is_sensitive(entry.sensitive)
    });
    CreatableTopicResult::default()
        .with_name(TopicName(StrBytes::from_string(name)))
        .with_topic_id(created.topic_id.0)
        .with_error_message(None)
        .with_num_partitions(created.partitions)
        .with_replication_factor(created.replication_factor)
        .with_configs(Some(configs.collect()))
}

fn failure(name: TopicName, refusal: Refusal) -> CreatableTopicResult {
    CreatableTopicResult::default()
        .with_name(name)
        .with_error_code(refusal.code.code())
        .with_error_message(refusal.message.map(StrBytes::from_string))
        .with_num_partitions(-1)
        .with_replication_factor(-1)
        .with_configs(Some(Vec::new()))
}
