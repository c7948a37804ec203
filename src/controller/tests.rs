//! The controller whole: machine, runner, quorum and handle over a store in memory.

use super::{quorum::Ideal, *};
use crate::{
    cluster::{names, record::Resource},
    storage::mem::Mem,
    wire::ErrorCode,
};
use std::collections::{BTreeMap, BTreeSet};

struct Node {
    handle: Handle,
    images: watch::Receiver<Arc<Image>>,
    task: JoinHandle<Result<(), JournalError>>,
    /// Keeps `applied` open.
    _applied: watch::Sender<i64>,
}

fn config() -> Arc<Config> {
    Arc::new(Config::build(true, &[("node.id", "1")]).unwrap())
}

async fn register(handle: &Handle) {
    let broker = Registration {
        node_id: NodeId(1),
        incarnation_id: Uuid::from_u128(1),
        rack: None,
        listeners: BTreeMap::from([("PLAINTEXT".to_owned(), ("localhost".to_owned(), 9092))]),
    };
    handle.register_broker(broker).await.unwrap();
}

/// A broker that applies everything at once.
async fn start(disk: &Arc<Mem>) -> Node {
    let (applied, watched) = watch::channel(i64::MAX);
    let started = super::start(disk.clone(), config(), Clock::start(), watched);
    let Started { handle, images, task } = started.await.unwrap();
    register(&handle).await;
    Node { handle, images, task, _applied: applied }
}

async fn create(node: &Node, name: &str) -> Result<Created, Refusal> {
    let topic = NewTopic { partitions: 2, ..NewTopic::named(name) };
    node.handle.create_topics(vec![topic], false, 1000).await.unwrap().remove(0).1
}

#[tokio::test]
async fn everything_answered_survives_crashes_and_producer_ids_are_never_reused() {
    let mut disk = Arc::new(Mem::with_faults());
    let mut ids = BTreeSet::new();
    let mut cluster_id = None;
    let mut offset = 0;
    for round in 0..4 {
        let node = start(&disk).await;
        let image = node.images.borrow().clone();
        assert!(image.offset > offset, "the offset never goes back");
        offset = image.offset;
        assert_eq!(image.topic_count(), round);
        assert_eq!(*cluster_id.get_or_insert(image.cluster_id().to_owned()), image.cluster_id());
        assert_eq!(image.cluster_id().len(), 22);

        let created = create(&node, &format!("t{round}")).await.unwrap();
        for _ in 0..1500 {
            let id = node.handle.allocate_producer_id().await.unwrap();
            assert!(ids.insert(id), "{id} was given out before");
        }
        let image = node.images.borrow().clone();
        let topic = image.topic_by_id(created.topic_id).expect("committed before it is answered");
        assert_eq!((topic.name.as_str(), topic.partitions.len()), (&*format!("t{round}"), 2));
        disk = Arc::new(disk.crash(&mut |_| 0));
    }
}

#[tokio::test]
async fn configs_survive_crashes() {
    let mut disk = Arc::new(Mem::with_faults());
    let group = Resource::Group("g".to_owned());
    let resources = [Resource::Topic("t".to_owned()), Resource::Broker(None), group];
    let names = ["flush.ms", "log.retention.ms", "consumer.session.timeout.ms"];
    let all = |value: &str| {
        let change = |(resource, name): (&Resource, &str)| {
            let configs = BTreeMap::from([(name.to_owned(), value.to_owned())]);
            (resource.clone(), Change::All(configs))
        };
        resources.iter().zip(names).map(change).collect()
    };
    for round in 0..3 {
        let node = start(&disk).await;
        if round == 0 {
            create(&node, "t").await.unwrap();
        }
        let value = format!("{}", 50_000 + round);
        let results = node.handle.alter_configs(all(&value), false).await.unwrap();
        assert_eq!(results, [Ok(()), Ok(()), Ok(())]);
        let dry = node.handle.alter_configs(all("50009"), true).await.unwrap();
        assert_eq!(dry, [Ok(()), Ok(()), Ok(())]);
        disk = Arc::new(disk.crash(&mut |_| 0));
        let image = start(&disk).await.images.borrow().clone();
        for (resource, name) in resources.iter().zip(names) {
            assert_eq!(image.configs(resource), BTreeMap::from([(name.to_owned(), value.clone())]));
        }
    }
}

#[tokio::test]
async fn an_internal_topic_is_created_once_with_kafkas_configs() {
    let node = start(&Arc::new(Mem::new())).await;
    let offsets = names::CONSUMER_OFFSETS;
    for _ in 0..2 {
        node.handle.create_internal_topic(offsets).await.unwrap();
    }
    let image = node.images.borrow().clone();
    let topic = image.topic(offsets).unwrap();
    assert_eq!((topic.partitions.len(), topic.partitions[0].replicas.len()), (1, 1));
    let configs = image.configs(&Resource::Topic(offsets.to_owned()));
    let configs: Vec<_> = configs.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
    assert_eq!(
        configs,
        [
            ("cleanup.policy", "compact"),
            ("compression.type", "producer"),
            ("segment.bytes", "104857600")
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn an_answer_waits_until_it_is_applied_but_not_for_ever() {
    let (applied, watched) = watch::channel(i64::MAX);
    let quorum = Ideal::new(Image::default(), 1);
    let clock = Clock::start();
    let Started { handle, images, .. } = run(quorum, config(), clock, watched).await.unwrap();
    register(&handle).await;
    applied.send_replace(0);
    let create = |name: &'static str, timeout_ms| {
        let handle = handle.clone();
        tokio::spawn(async move {
            handle.create_topics(vec![NewTopic::named(name)], false, timeout_ms).await
        })
    };
    let waiting = create("a", 30_000);
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert!(images.borrow().topic("a").is_some() && !waiting.is_finished());
    applied.send_replace(images.borrow().offset);
    assert!(waiting.await.unwrap().unwrap()[0].1.is_ok());
    assert_eq!(clock.now().mono.0, 500);

    assert!(create("b", 30_000).await.unwrap().unwrap()[0].1.is_ok(), "committed is committed");
    assert_eq!(clock.now().mono.0, 1500);
    assert!(create("c", 200).await.unwrap().unwrap()[0].1.is_ok());
    assert_eq!(clock.now().mono.0, 1700);
}

#[tokio::test(start_paused = true)]
async fn a_request_without_time_is_not_looked_at() {
    let node = start(&Arc::new(Mem::new())).await;
    for timeout_ms in [0, -1, i32::MIN] {
        let topics = vec![NewTopic::named("late")];
        let answer = node.handle.create_topics(topics, false, timeout_ms).await;
        assert_eq!(answer, Err(ErrorCode::RequestTimedOut));
    }
    assert!(node.images.borrow().topic("late").is_none());
}

#[tokio::test]
async fn a_store_that_fails_ends_the_controller() {
    let disk = Arc::new(Mem::with_faults());
    let node = start(&disk).await;
    disk.fail_next_sync();
    let topics = vec![NewTopic::named("t")];
    let answer = node.handle.create_topics(topics, false, 1000).await;
    assert_eq!(answer, Err(ErrorCode::KafkaStorageError));
    let id = node.handle.allocate_producer_id().await;
    assert_eq!(id, Err(ErrorCode::CoordinatorLoadInProgress));
    assert!(matches!(node.task.await.unwrap(), Err(JournalError::Failed(_))));
    assert!(node.images.borrow().topic("t").is_none());
}

#[tokio::test]
async fn a_clean_stop_leaves_everything() {
    let disk = Arc::new(Mem::new());
    let node = start(&disk).await;
    create(&node, "t").await.unwrap();
    drop(node.handle);
    assert_eq!(node.task.await.unwrap(), Ok(()));
    assert!(start(&disk).await.images.borrow().topic("t").is_some());
}

#[test]
fn ids_as_kafka_writes_them() {
    for (id, text) in [
        (0, "AAAAAAAAAAAAAAAAAAAAAA"),
        (1, "AAAAAAAAAAAAAAAAAAAAAQ"),
        (u128::MAX, "_____________________w"),
        (0x0102030405060708090a0b0c0d0e0f10, "AQIDBAUGBwgJCgsMDQ4PEA"),
    ] {
        assert_eq!(base64(Uuid::from_u128(id)), text);
    }
}
