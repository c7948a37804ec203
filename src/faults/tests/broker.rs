//! Whole brokers that crash, restart and see the clock jump, over the wire.

use super::{HOUR, batch};
use crate::{
    Broker, Config,
    faults::{Plant, Store},
    wire::{
        batch::batches,
        messages::{
            CreateTopicsRequest, FetchRequest, FindCoordinatorRequest, GroupId, MetadataRequest,
            OffsetCommitRequest, OffsetFetchRequest, ProduceRequest, RequestHeader, ResponseHeader,
            TopicName,
            create_topics_request::{CreatableTopic, CreatableTopicConfig},
            fetch_request::{FetchPartition, FetchTopic},
            metadata_response::MetadataResponseTopic,
            offset_commit_request::{OffsetCommitRequestPartition, OffsetCommitRequestTopic},
            offset_fetch_request::OffsetFetchRequestTopic,
            produce_request::{PartitionProduceData, TopicProduceData},
            produce_response::PartitionProduceResponse,
        },
        protocol::{Decodable, Encodable, HeaderVersion, Request},
        text,
    },
};
use bytes::{Buf, BufMut, BytesMut};
use std::sync::atomic::Ordering;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    runtime::Runtime,
};

const TOPIC: &str = "t";
const GROUP: &str = "g";

fn config() -> Config {
    let set = [
        ("listeners", "PLAINTEXT://127.0.0.1:0"),
        ("offsets.topic.num.partitions", "1"),
        ("num.partitions", "1"),
    ];
    Config::build(true, &set).unwrap()
}

/// A client with one connection.
struct Client(TcpStream);

impl Client {
    async fn of(broker: &Broker) -> Client {
        Client(TcpStream::connect(broker.addr()).await.unwrap())
    }

    async fn call<R: Request>(&mut self, version: i16, request: R) -> R::Response {
        self.send(version, request).await;
        self.answer::<R>(version).await
    }

    async fn send<R: Request>(&mut self, version: i16, request: R) {
        let mut frame = BytesMut::new();
        frame.put_i32(0);
        let header =
            RequestHeader::default().with_request_api_key(R::KEY).with_request_api_version(version);
        header.encode(&mut frame, R::header_version(version)).unwrap();
        request.encode(&mut frame, version).unwrap();
        let size = frame.len() as i32 - 4;
        frame[..4].copy_from_slice(&size.to_be_bytes());
        self.0.write_all(&frame).await.unwrap();
    }

    async fn answer<R: Request>(&mut self, version: i16) -> R::Response {
        let mut frame = vec![0; self.0.read_i32().await.unwrap() as usize];
        self.0.read_exact(&mut frame).await.unwrap();
        let mut frame = &frame[..];
        ResponseHeader::decode(&mut frame, R::Response::header_version(version)).unwrap();
        let response = R::Response::decode(&mut frame, version).unwrap();
        assert!(!frame.has_remaining());
        response
    }

    async fn create_topic(&mut self, configs: &[(&'static str, &'static str)]) {
        let configs = configs.iter().map(|(name, value)| {
            CreatableTopicConfig::default().with_name(text(name)).with_value(Some(text(value)))
        });
        let topic = CreatableTopic::default()
            .with_name(TopicName(text(TOPIC)))
            .with_num_partitions(1)
            .with_replication_factor(1)
            .with_configs(configs.collect());
        let request = CreateTopicsRequest::default().with_topics(vec![topic]).with_timeout_ms(5000);
        assert_eq!(self.call(5, request).await.topics[0].error_code, 0);
    }

    async fn metadata(&mut self) -> MetadataResponseTopic {
        self.call(4, MetadataRequest::default().with_topics(None)).await.topics.remove(0)
    }

    async fn produce(&mut self, value: &str) -> PartitionProduceResponse {
        let answer = self.call(8, produce(value)).await;
        answer.responses[0].partition_responses[0].clone()
    }

    /// Values and timestamps from offset 0 on.
    async fn fetch(&mut self) -> Vec<(String, i64)> {
        let partition = FetchPartition::default().with_partition_max_bytes(1 << 20);
        let topic = FetchTopic::default()
            .with_topic(TopicName(text(TOPIC)))
            .with_partitions(vec![partition]);
        let request = FetchRequest::default()
            .with_replica_id((-1).into())
            .with_max_bytes(1 << 20)
            .with_session_epoch(-1)
            .with_topics(vec![topic]);
        let mut answer = self.call(10, request).await;
        let partition = answer.responses.remove(0).partitions.remove(0);
        assert_eq!(partition.error_code, 0);
        let mut seen = Vec::new();
        for batch in batches(partition.records.unwrap_or_default()) {
            let payload = batch.payload();
            for record in crate::wire::records(&batch.header, &payload).map(Result::unwrap) {
                let value = String::from_utf8_lossy(record.value.unwrap()).into_owned();
                seen.push((value, record.timestamp));
            }
        }
        seen
    }

    async fn commit(&mut self, offset: i64) {
        let partition = OffsetCommitRequestPartition::default().with_committed_offset(offset);
        let topic = OffsetCommitRequestTopic::default()
            .with_name(TopicName(text(TOPIC)))
            .with_partitions(vec![partition]);
        let request = OffsetCommitRequest::default()
            .with_group_id(GroupId(text(GROUP)))
            .with_generation_id_or_member_epoch(-1)
            .with_topics(vec![topic]);
        let answer = self.call(7, request).await;
        assert_eq!(answer.topics[0].partitions[0].error_code, 0);
    }

    async fn committed(&mut self) -> i64 {
        let topic = OffsetFetchRequestTopic::default()
            .with_name(TopicName(text(TOPIC)))
            .with_partition_indexes(vec![0]);
        let request = OffsetFetchRequest::default()
            .with_group_id(GroupId(text(GROUP)))
            .with_topics(Some(vec![topic]));
        let answer = self.call(5, request).await;
        assert_eq!(answer.error_code, 0);
        assert_eq!(answer.topics[0].partitions[0].error_code, 0);
        answer.topics[0].partitions[0].committed_offset
    }

    /// Has `__consumer_offsets` created.
    async fn find_coordinator(&mut self) {
        let request = FindCoordinatorRequest::default().with_key(text(GROUP));
        while self.call(2, request.clone()).await.error_code != 0 {}
    }
}

fn produce(value: &str) -> ProduceRequest {
    let partition = PartitionProduceData::default().with_records(Some(batch(&[value]).bytes));
    let topic = TopicProduceData::default()
        .with_name(TopicName(text(TOPIC)))
        .with_partition_data(vec![partition]);
    ProduceRequest::default().with_acks(-1).with_timeout_ms(5000).with_topic_data(vec![topic])
}

#[tokio::test]
async fn while_the_disk_is_slow_only_writers_wait() {
    let store = Store::new();
    let broker = Broker::start_on(config(), &store).await.unwrap();
    let (mut writer, mut other) = (Client::of(&broker).await, Client::of(&broker).await);
    writer.create_topic(&[("flush.messages", "1")]).await;
    store.slow(HOUR);
    writer.send(8, produce("a")).await;
    for _ in 0..10 {
        assert_eq!(&*other.metadata().await.name.unwrap().0, TOPIC);
        assert_eq!(other.fetch().await, []);
    }
    store.heal();
    let answer = writer.answer::<ProduceRequest>(8).await;
    assert_eq!(answer.responses[0].partition_responses[0].base_offset, 0);
    assert_eq!(other.fetch().await, [("a".into(), 1)]);
    broker.shutdown().await.unwrap();
}

/// The program that checks histories lives like this.
#[test]
fn a_broker_dies_with_its_runtime_and_the_next_one_has_what_was_acknowledged() {
    let store = Store::new();
    let mut config = config();
    for life in 0..3 {
        let runtime = Runtime::new().unwrap();
        let broker = runtime.block_on(async {
            let broker = Broker::start_on(config.clone(), &store).await.unwrap();
            let mut client = Client::of(&broker).await;
            if life == 0 {
                client.create_topic(&[("flush.messages", "1")]).await;
            }
            assert_eq!(client.produce("a").await.base_offset, life);
            assert_eq!(client.fetch().await.len(), 1 + life as usize);
            broker
        });
        // The next one listens where this one does.
        config.listeners[0].port = broker.addr().port();
        match life {
            0 => store.crash(),
            _ => store.power_cut(1),
        }
        runtime.shutdown_timeout(HOUR);
    }
}

#[tokio::test]
async fn a_clean_stop_is_a_restart_too() {
    let store = Store::new();
    let broker = Broker::start_on(config(), &store).await.unwrap();
    let mut client = Client::of(&broker).await;
    client.create_topic(&[]).await;
    client.produce("a").await;
    broker.shutdown().await.unwrap();
    let broker = Broker::start_on(config(), &store).await.unwrap();
    assert_eq!(Client::of(&broker).await.fetch().await, [("a".into(), 1)]);
    broker.shutdown().await.unwrap();
}

#[tokio::test]
async fn forget_commit() {
    let store = Store::new();
    let broker = Broker::start_on(config(), &store).await.unwrap();
    let mut client = Client::of(&broker).await;
    client.create_topic(&[]).await;
    client.find_coordinator().await;
    client.commit(5).await;
    client.commit(7).await;
    assert_eq!(client.committed().await, 7);
    broker.shutdown().await.unwrap();
    let broker = Broker::start_on(config(), &store).await.unwrap();
    assert_eq!(Client::of(&broker).await.committed().await, 7);
    // No other bug touches what coordinators write.
    for plant in Plant::ALL {
        store.plant(plant, 1, 1);
    }
    let mut client = Client::of(&broker).await;
    client.commit(8).await;
    store.crash();
    let broker = Broker::start_on(config(), &store).await.unwrap();
    assert_eq!(Client::of(&broker).await.committed().await, 7);
    for plant in Plant::ALL {
        assert_eq!(store.acted(plant), u64::from(plant == Plant::ForgetCommit), "{plant}");
    }
}

#[tokio::test]
async fn a_clock_that_jumps_changes_timestamps_and_ends_nothing() {
    let store = Store::new();
    let config = config();
    let offset = config.wall_clock_offset_ms.clone();
    let broker = Broker::start_on(config, &store).await.unwrap();
    let mut client = Client::of(&broker).await;
    client.create_topic(&[("message.timestamp.type", "LogAppendTime")]).await;
    client.find_coordinator().await;
    let day = 24 * 3_600_000;
    let mut before = client.produce("a").await.log_append_time_ms;
    for (jump, commit) in [(0, 1), (day, 2), (-400 * day, 3), (i64::MIN, 4), (i64::MAX, 5), (0, 6)]
    {
        offset.store(jump, Ordering::Relaxed);
        let now = client.produce("a").await.log_append_time_ms;
        match jump {
            0 => assert!((now - before).abs() < day),
            i64::MIN => assert_eq!(now, 0),
            i64::MAX => assert_eq!(now, i64::MAX),
            _ => assert!((now - before - jump).abs() < day / 2, "{jump}"),
        }
        if jump == 0 {
            before = now;
        }
        client.commit(commit).await;
        assert_eq!(client.committed().await, commit);
        client.fetch().await;
    }
    let times: Vec<i64> = client.fetch().await.into_iter().map(|(_, time)| time).collect();
    assert_eq!(times.len(), 7);
    assert_eq!(times[4], 0);
    broker.shutdown().await.unwrap();
}
