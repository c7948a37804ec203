//! Topics: made, waited for, deleted.

use crate::{client::Connection, clock};
use anyhow::{Context, Result, bail, ensure};
use ottla::wire::{
    messages::{
        CreateTopicsRequest, DeleteTopicsRequest, MetadataRequest, MetadataResponse, TopicName,
        create_topics_request::{CreatableTopic, CreatableTopicConfig},
        metadata_request::MetadataRequestTopic,
    },
    text,
};
use std::{
    thread,
    time::{Duration, Instant},
};

const CREATE_VERSION: i16 = 3;
const DELETE_VERSION: i16 = 3;
const METADATA_VERSION: i16 = 7;
/// How long a broker may take to make or delete a topic, or to find leaders for it.
const PATIENCE: Duration = Duration::from_secs(120);

pub fn name(topic: &str) -> TopicName {
    TopicName(text(topic))
}

/// Makes a topic and waits until every partition has a leader. `configs` are `NAME=VALUE`. Returns how long it took until
/// the answer came.
pub fn create(
    connection: &mut Connection,
    topic: &str,
    partitions: i32,
    configs: &[String],
) -> Result<Duration> {
    let configs: Result<Vec<_>> = configs.iter().map(|config| setting(config)).collect();
    let wanted = CreatableTopic::default()
        .with_name(name(topic))
        .with_num_partitions(partitions)
        .with_replication_factor(1)
        .with_configs(configs?);
    let request = CreateTopicsRequest::default()
        .with_topics(vec![wanted])
        .with_timeout_ms(PATIENCE.as_millis() as i32);
    let began = clock::now();
    let response = connection.call(CREATE_VERSION, &request)?;
    let took = clock::now() - began;
    let result = response.topics.first().context("CreateTopics: no topic in the answer")?;
    ensure!(result.error_code == 0, "CreateTopics: error {}", result.error_code);
    wait_for_leaders(connection, topic, partitions, began + PATIENCE)?;
    Ok(took)
}

fn setting(config: &str) -> Result<CreatableTopicConfig> {
    let (name, value) = config.split_once('=').context("a topic's setting is NAME=VALUE")?;
    let value = Some(text(value));
    Ok(CreatableTopicConfig::default().with_name(text(name)).with_value(value))
}

pub fn wait_for_leaders(
    connection: &mut Connection,
    topic: &str,
    partitions: i32,
    until: Instant,
) -> Result<()> {
    while !has_leaders(&metadata(connection, Some(topic))?, partitions) {
        ensure!(clock::now() < until, "{topic} has no leaders");
        thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

/// Of one topic, or of none.
pub fn metadata(connection: &mut Connection, topic: Option<&str>) -> Result<MetadataResponse> {
    let wanted = |topic| MetadataRequestTopic::default().with_name(Some(name(topic)));
    let request = MetadataRequest::default()
        .with_topics(Some(topic.into_iter().map(wanted).collect()))
        .with_allow_auto_topic_creation(false);
    connection.call(METADATA_VERSION, &request)
}

/// Whether the one topic of an answer has so many partitions, each with a leader.
pub fn has_leaders(metadata: &MetadataResponse, partitions: i32) -> bool {
    let Some(topic) = metadata.topics.first() else { return false };
    let all = &topic.partitions;
    topic.error_code == 0
        && all.len() >= partitions.max(0) as usize
        && all.iter().all(|partition| partition.error_code == 0 && partition.leader_id.0 >= 0)
}

/// Deletes a topic, so that what it holds does not weigh on the next scenario. A broker that cannot is no reason to throw
/// the measurement away: standard error says so.
pub fn delete(connection: &mut Connection, topic: &str) {
    if let Err(error) = try_delete(connection, topic) {
        eprintln!("ottla-bench: {topic} is not deleted: {error:#}");
    }
}

fn try_delete(connection: &mut Connection, topic: &str) -> Result<()> {
    let request = DeleteTopicsRequest::default()
        .with_topic_names(vec![name(topic)])
        .with_timeout_ms(PATIENCE.as_millis() as i32);
    let response = connection.call(DELETE_VERSION, &request)?;
    match response.responses.first().map(|result| result.error_code) {
        Some(0) => Ok(()),
        code => bail!("DeleteTopics: error {code:?}"),
    }
}

/// A name no other scenario uses.
pub fn unique(scenario: &str) -> String {
    format!("bench-{scenario}-{}", std::process::id())
}
