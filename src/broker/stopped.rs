//! Brokers whose store stops writing, for good or until there is space, and brokers that are stopped.

use super::*;
use crate::{
    handlers::{self, Answer, Slice, produce::Produced},
    session::Session,
    wire::{
        Builder, StrBytes,
        messages::{
            BrokerId, CreateTopicsRequest, FetchRequest, InitProducerIdRequest, ListOffsetsRequest,
            MetadataRequest, ProduceRequest, TopicName,
            create_topics_request::CreatableTopic,
            fetch_request::{FetchPartition, FetchTopic},
            list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic},
            metadata_request::MetadataRequestTopic,
            produce_request::{PartitionProduceData, TopicProduceData},
        },
    },
};

pub(super) async fn start(store: Arc<Mem>) -> Broker {
    let config = Config::build(true, &[("listeners", "PLAINTEXT://127.0.0.1:0")]).unwrap();
    Broker::start_with(config, store).await.unwrap()
}

fn session() -> Session {
    Session::new(([127, 0, 0, 1], 1).into(), 0)
}

fn name(topic: &'static str) -> TopicName {
    TopicName(StrBytes::from_static_str(topic))
}

impl Broker {
    pub(super) async fn create(&self, topic: &'static str) -> i16 {
        let new = CreatableTopic::default()
            .with_name(name(topic))
            .with_num_partitions(1)
            .with_replication_factor(1);
        let request = CreateTopicsRequest::default().with_topics(vec![new]).with_timeout_ms(10_000);
        let answer = handlers::create_topics::handle(&self.ctx, &mut session(), 7, request).await;
        answer.topics[0].error_code
    }

    /// Whether Metadata knows the topic, after it was asked to create it.
    async fn knows(&self, topic: &'static str) -> i16 {
        let topics = vec![MetadataRequestTopic::default().with_name(Some(name(topic)))];
        let request = MetadataRequest::default()
            .with_topics(Some(topics))
            .with_allow_auto_topic_creation(true);
        let answer = handlers::metadata::handle(&self.ctx, &mut session(), 12, request).await;
        assert_eq!(answer.brokers.len(), 1);
        answer.topics[0].error_code
    }

    pub(super) async fn produce(&self, topic: &'static str) -> i16 {
        let mut builder = Builder::plain();
        builder.push(1, None, Some(b"kept"));
        let data = PartitionProduceData::default()
            .with_records(Some(builder.build().unwrap().bytes))
            .with_index(0);
        let data =
            TopicProduceData::default().with_name(name(topic)).with_partition_data(vec![data]);
        let request = ProduceRequest::default()
            .with_acks(-1)
            .with_timeout_ms(10_000)
            .with_topic_data(vec![data]);
        let mut session = session();
        let begun = handlers::produce::begin(&self.ctx, &mut session, 9, request).await;
        match begun.await {
            Produced::Answer(answer) => answer.responses[0].partition_responses[0].error_code,
            other => panic!("{other:?}"),
        }
    }

    /// The frame of a Fetch answer.
    async fn fetch(&self, topic: &'static str) -> Vec<u8> {
        let partition = FetchPartition::default().with_partition_max_bytes(1 << 20);
        let topic = FetchTopic::default().with_topic(name(topic)).with_partitions(vec![partition]);
        let request = FetchRequest::default().with_max_bytes(1 << 20).with_topics(vec![topic]);
        match handlers::fetch::handle(&self.ctx, &mut session(), 11, 1, request).await {
            Answer::Reply(slices) => {
                let bytes = slices.into_iter().flat_map(|slice| match slice {
                    Slice::Bytes(bytes) => bytes.to_vec(),
                    Slice::File(_) => panic!("memory has no files"),
                });
                bytes.collect()
            }
            _ => panic!("no answer"),
        }
    }

    async fn end(&self, topic: &'static str) -> (i16, i64) {
        let partition = ListOffsetsPartition::default().with_timestamp(-1);
        let topic =
            ListOffsetsTopic::default().with_name(name(topic)).with_partitions(vec![partition]);
        let request =
            ListOffsetsRequest::default().with_replica_id(BrokerId(-1)).with_topics(vec![topic]);
        let answer = handlers::list_offsets::handle(&self.ctx, &mut session(), 5, request).await;
        let partition = &answer.topics[0].partitions[0];
        (partition.error_code, partition.offset)
    }

    async fn producer_id(&self) -> i16 {
        let request = InitProducerIdRequest::default().with_transactional_id(None);
        let answer =
            handlers::init_producer_id::handle(&self.ctx, &mut session(), 4, request).await;
        answer.error_code
    }
}

const STORAGE: i16 = 56;
const UNKNOWN_TOPIC: i16 = 3;
const LOADING: i16 = 14;

#[tokio::test]
async fn reads_go_on_when_writing_has_failed() {
    for by_metadata in [true, false] {
        let store = Arc::new(Mem::with_faults());
        let broker = start(store.clone()).await;
        assert_eq!(broker.create("t").await, 0);
        assert_eq!(broker.produce("t").await, 0);

        store.fail_next_write();
        if by_metadata {
            assert_eq!(broker.create("u").await, STORAGE);
        }
        assert_eq!(broker.produce("t").await, STORAGE);
        assert_eq!(broker.create("v").await, STORAGE);
        assert_eq!(broker.produce("t").await, STORAGE);
        assert_eq!(broker.producer_id().await, LOADING);
        assert_eq!((broker.knows("t").await, broker.knows("w").await), (0, UNKNOWN_TOPIC));
        assert_eq!(broker.end("t").await, (0, 1));
        let fetched = broker.fetch("t").await;
        assert!(fetched.windows(4).any(|it| it == b"kept"));
        assert_eq!(*broker.failed.borrow(), None, "the broker serves");
        tokio::net::TcpStream::connect(broker.addr()).await.unwrap();

        let stopped = tokio::time::timeout(Duration::from_secs(10), broker.shutdown()).await;
        stopped.expect("it stops").ok();
        let again = start(Arc::new(store.crash(&mut |n| n))).await;
        assert_eq!((again.end("t").await, again.produce("t").await), ((0, 1), 0));
        assert_eq!(again.create("v").await, 0);
        again.shutdown().await.unwrap();
    }
}

/// The topic is committed; its log cannot be made any more.
#[tokio::test]
async fn a_change_that_cannot_be_carried_out_ends_nothing() {
    let store = Arc::new(Mem::with_faults());
    let broker = start(store.clone()).await;
    assert_eq!((broker.create("t").await, broker.produce("t").await), (0, 0));
    store.fail_next_create();
    assert_eq!(broker.create("u").await, 0, "committed is committed");
    assert_eq!(broker.create("v").await, STORAGE);
    assert_eq!((broker.knows("t").await, broker.knows("u").await), (0, UNKNOWN_TOPIC));
    assert_eq!(broker.end("t").await, (0, 1));
    assert_eq!(*broker.failed.borrow(), None, "the broker serves");
    let _ = broker.shutdown().await;
    let again = start(Arc::new(store.crash(&mut |n| n))).await;
    assert_eq!((again.knows("u").await, again.produce("u").await), (0, 0));
    again.shutdown().await.unwrap();
}

#[tokio::test]
async fn metadata_is_changed_without_space_and_writing_resumes() {
    let store = Arc::new(Mem::with_faults());
    let broker = start(store.clone()).await;
    assert_eq!((broker.create("t").await, broker.produce("t").await), (0, 0));
    store.set_full(true);
    assert_eq!(broker.produce("t").await, STORAGE);
    assert_eq!((broker.create("u").await, broker.knows("u").await), (0, 0));
    assert_eq!(broker.produce("u").await, STORAGE);
    assert_eq!(broker.end("t").await, (0, 1));
    store.set_full(false);
    // A partition is told by its store, on its own task.
    while broker.produce("t").await != 0 {
        tokio::task::yield_now().await;
    }
    while broker.produce("u").await != 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(broker.end("t").await, (0, 2));
    broker.shutdown().await.unwrap();
}
