//! What many tests need first: a topic, records in it, a group with members.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use kafka_protocol::messages::create_topics_request::{CreatableTopic, CreatableTopicConfig};
use kafka_protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
use kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use kafka_protocol::messages::metadata_response::MetadataResponseTopic;
use kafka_protocol::messages::produce_request::{PartitionProduceData, TopicProduceData};
use kafka_protocol::messages::produce_response::PartitionProduceResponse;
use kafka_protocol::messages::{
    CreateTopicsRequest, FindCoordinatorRequest, ListOffsetsRequest, MetadataRequest,
    OffsetFetchRequest, ProduceRequest, TopicName,
};
use uuid::Uuid;

use crate::batch::{Batch, now_ms};
use crate::client::{Client, call, text};
use crate::codes::{
    COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, NONE, NOT_COORDINATOR,
};

/// A name no other test and no other run uses.
pub fn unique(label: &str) -> String {
    static RUN: LazyLock<String> =
        LazyLock::new(|| format!("{:x}-{:x}", now_ms() & 0xffff_ffff, std::process::id()));
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("tests-{label}-{}-{}", *RUN, NEXT.fetch_add(1, Ordering::Relaxed))
}

pub fn topic_name(name: &str) -> TopicName {
    TopicName(text(name))
}

/// A topic that is ready for use.
pub struct Topic {
    pub name: String,
    pub id: Uuid,
}

/// A new topic with these many partitions and Kafka's default settings.
pub fn topic(label: &str, partitions: i32) -> Topic {
    topic_with(label, partitions, &[])
}

pub fn topic_with(label: &str, partitions: i32, configs: &[(&'static str, &str)]) -> Topic {
    create_named(&unique(label), partitions, configs)
}

pub fn create_named(name: &str, partitions: i32, configs: &[(&'static str, &str)]) -> Topic {
    let configs = configs
        .iter()
        .map(|(key, value)| {
            CreatableTopicConfig::default().with_name((*key).into()).with_value(Some(text(value)))
        })
        .collect();
    let topic = CreatableTopic::default()
        .with_name(topic_name(name))
        .with_num_partitions(partitions)
        .with_replication_factor(1)
        .with_configs(configs);
    let request = CreateTopicsRequest::default().with_topics(vec![topic]).with_timeout_ms(10_000);
    let response = call(7, &request);
    assert_eq!(response.topics[0].error_code, NONE, "{:?}", response.topics[0]);
    wait_for_leaders(name, partitions);
    Topic { name: name.to_owned(), id: response.topics[0].topic_id }
}

/// Kafka answers CreateTopics before its broker has seen the topic, and shows it in Metadata before it leads the
/// partitions; Ottla does neither, and passes here at once.
pub fn wait_for_leaders(name: &str, partitions: i32) {
    let wanted = (0..partitions)
        .map(|index| {
            ListOffsetsPartition::default()
                .with_partition_index(index)
                .with_current_leader_epoch(-1)
                .with_timestamp(-1)
        })
        .collect();
    let wanted = ListOffsetsTopic::default().with_name(topic_name(name)).with_partitions(wanted);
    let request =
        ListOffsetsRequest::default().with_replica_id((-1).into()).with_topics(vec![wanted]);
    let mut client = Client::connect();
    until("leaders", || {
        let seen = describe(name);
        let answer = client.call(6, &request);
        seen.error_code == NONE
            && i32::try_from(seen.partitions.len()).unwrap() == partitions
            && answer.topics[0].partitions.iter().all(|partition| partition.error_code == NONE)
    });
}

/// The topic's entry in Metadata; never creates it.
pub fn describe(name: &str) -> MetadataResponseTopic {
    let topic = MetadataRequestTopic::default().with_name(Some(topic_name(name)));
    let request = MetadataRequest::default()
        .with_topics(Some(vec![topic]))
        .with_allow_auto_topic_creation(false);
    call(12, &request).topics.remove(0)
}

/// Asks again and again until `holds`, for at most ten seconds.
#[track_caller]
pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(10);
    while !holds() {
        assert!(Instant::now() < end, "still waiting for {what}");
    }
}

/// A request for one partition, acks=all.
pub fn produce_request(topic: &Topic, partition: i32, records: Option<Bytes>) -> ProduceRequest {
    let partition = PartitionProduceData::default().with_index(partition).with_records(records);
    let topic = TopicProduceData::default()
        .with_name(topic_name(&topic.name))
        .with_topic_id(topic.id)
        .with_partition_data(vec![partition]);
    ProduceRequest::default().with_acks(-1).with_timeout_ms(10_000).with_topic_data(vec![topic])
}

/// What the partition answered.
pub fn produce_raw(topic: &Topic, partition: i32, records: Bytes) -> PartitionProduceResponse {
    let mut response = call(9, &produce_request(topic, partition, Some(records)));
    response.responses.remove(0).partition_responses.remove(0)
}

/// Appends a batch; gives its base offset.
#[track_caller]
pub fn produce(topic: &Topic, partition: i32, batch: &Batch) -> i64 {
    let answer = produce_raw(topic, partition, batch.build());
    assert_eq!(answer.error_code, NONE, "{answer:?}");
    answer.base_offset
}

/// A group name whose coordinator serves it. Kafka creates `__consumer_offsets` at the first question and answers
/// COORDINATOR_NOT_AVAILABLE meanwhile; Ottla may do so too, but then serves at once.
pub fn group(label: &str) -> String {
    let name = unique(label);
    let mut client = Client::connect();
    until("the coordinator", || {
        let request = FindCoordinatorRequest::default().with_coordinator_keys(vec![text(&name)]);
        let code = client.call(4, &request).coordinators[0].error_code;
        assert!([NONE, COORDINATOR_NOT_AVAILABLE].contains(&code), "FindCoordinator: {code}");
        code == NONE
    });
    until("the group's shard", || {
        let request = OffsetFetchRequest::default().with_group_id(text(&name).into());
        let code = client.call(7, &request).error_code;
        let loading = [COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR];
        assert!(code == NONE || loading.contains(&code), "OffsetFetch: {code}");
        code == NONE
    });
    name
}
