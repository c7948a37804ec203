//! Fetch over partitions in memory; expected values as real Kafka gives them.

mod counting;

use self::counting::Counting;
use super::{
    answer::Answering,
    memory::{Held, Memory},
    reading::{Got, Limits, Pass, Target},
    waiting::wait,
};
use crate::{
    cluster::{Image, Record, Topic, record::PartitionState},
    config::{Config, topic::LogConfig},
    ids::{LeaderEpoch, NodeId, TopicId},
    limits::FILE_PIECE_BYTES_MAX,
    machine::clock::Clock,
    partition::{self, Assigned, Isolation, Slice, SpawnParams},
    session::fetch::{Key, Params, TopicKey, Verdict},
    storage::{LogStore, mem::Mem},
    wire::{Builder, ErrorCode, fetch::FetchResponse},
};
use bytes::Bytes;
use futures_util::poll;
use std::{collections::BTreeMap, pin::pin, sync::Arc};
use uuid::Uuid;

const LIMITS: Limits = Limits {
    max_bytes: 1 << 20,
    min_bytes: 1,
    isolation: Isolation::ReadUncommitted,
    from_follower: false,
};
const EPOCH: i32 = 3;

async fn partition(index: i32) -> partition::Handle {
    partition_in(Arc::new(Mem::new()), index).await
}

async fn partition_in(store: Arc<dyn LogStore>, index: i32) -> partition::Handle {
    let log = store.create(crate::partition::log_options(&Config::dev().topic_defaults)).unwrap();
    let params = SpawnParams {
        store,
        log,
        topic_id: topic().id,
        topic_name: topic().name,
        index,
        node: NodeId(1),
        config: LogConfig::resolve(&Config::dev(), &BTreeMap::new()),
        assigned: Assigned {
            leader_epoch: LeaderEpoch(EPOCH),
            leading: true,
            isr: vec![NodeId(1)],
            replicas: vec![NodeId(1)],
        },
        producer_id_check_ms: 1000,
        clock: Clock::start(),
        inspection: partition::Inspection::default(),
    };
    partition::spawn(params).await.unwrap().0
}

/// Appends one batch of one record, and waits until it can be read. Returns the batch's bytes.
async fn append(handle: &partition::Handle, value: usize) -> usize {
    let mut builder = Builder::plain();
    builder.push(1, None, Some(&vec![b'x'; value]));
    let size = builder.size();
    let end = handle.append_internal(builder.build().unwrap()).await.unwrap().last_offset + 1;
    handle.watch().wait_for(|view| view.high_watermark >= end).await.unwrap();
    size
}

fn topic() -> Topic {
    let state = PartitionState {
        replicas: vec![NodeId(1)],
        isr: vec![NodeId(1)],
        leader: Some(NodeId(1)),
        leader_epoch: LeaderEpoch(EPOCH),
        partition_epoch: 0,
    };
    let id = TopicId(Uuid::from_u128(5));
    Topic { name: "orders".to_owned(), id, partitions: vec![state.clone(), state] }
}

fn target(handle: &partition::Handle, fetch_offset: i64) -> Target {
    Target {
        place: handle.index() as usize,
        topic: Arc::new(topic()),
        partition: handle.index() as usize,
        handle: Some(handle.clone()),
        params: Params {
            fetch_offset,
            max_bytes: 1 << 20,
            current_leader_epoch: -1,
            last_fetched_epoch: -1,
            log_start_offset: -1,
        },
    }
}

fn with(mut target: Target, change: impl FnOnce(&mut Params)) -> Target {
    change(&mut target.params);
    target
}

async fn read(targets: &[Target], limits: Limits) -> Pass {
    Pass::read(targets, &limits, &Memory::default()).await
}

/// Bytes of each partition, or its error.
fn sizes(pass: &Pass) -> Vec<Result<usize, i16>> {
    let size = |got: &Result<_, ErrorCode>| match got {
        Ok(Got { bytes, .. }) => Ok(*bytes),
        Err(error) => Err(error.code()),
    };
    pass.got.iter().map(size).collect()
}

#[tokio::test]
async fn the_first_batch_is_whole_and_the_others_obey_the_limits() {
    let (a, b) = (partition(0).await, partition(1).await);
    let size = append(&a, 100).await;
    append(&a, 100).await;
    append(&b, 100).await;
    let both = [target(&a, 0), target(&b, 0)];
    let small = |target| with(target, |params| params.max_bytes = 1);
    let max = |max_bytes| Limits { max_bytes, ..LIMITS };
    for (targets, limits, expected) in [
        (&both, max(1 << 20), [2 * size, size]),
        (&both, max(1), [size, 0]),
        (&both, max(2 * size), [2 * size, 0]),
        (&both, max(3 * size - 1), [2 * size, 0]),
        (&[small(target(&a, 0)), small(target(&b, 0))], LIMITS, [size, 0]),
        (&[target(&a, 2), small(target(&b, 0))], max(0), [0, size]),
        (&[target(&a, 1), target(&b, 0)], max(2 * size), [size, size]),
    ] {
        let pass = read(targets, limits).await;
        assert_eq!(sizes(&pass), expected.map(Ok), "{limits:?}");
    }
}

#[tokio::test]
async fn errors() {
    let a = partition(0).await;
    append(&a, 100).await;
    let epoch = |epoch| with(target(&a, 0), |params| params.current_leader_epoch = epoch);
    let away = Target { handle: None, ..target(&a, 0) };
    for (target, expected) in [
        (target(&a, 1), Ok(0)),
        (target(&a, 2), Err(1)),
        (target(&a, -1), Err(1)),
        (away, Err(6)),
        (epoch(EPOCH - 1), Err(74)),
        (epoch(EPOCH + 1), Err(75)),
    ] {
        let pass = read(&[target], LIMITS).await;
        assert_eq!(sizes(&pass), [expected]);
        assert_eq!(pass.is_enough(&LIMITS), expected.is_err());
    }
    let follower = Limits { from_follower: true, ..LIMITS };
    assert_eq!(sizes(&read(&[epoch(EPOCH)], follower).await), [Err(75)]);
    assert_eq!(sizes(&read(&[epoch(-1)], follower).await), [Err(6)]);
}

#[tokio::test]
async fn a_log_that_leaves_ours() {
    let a = partition(0).await;
    append(&a, 100).await;
    let after =
        |epoch, offset| with(target(&a, offset), |params| params.last_fetched_epoch = epoch);
    let pass = read(&[after(EPOCH, 9)], LIMITS).await;
    let diverging = pass.got[0].as_ref().unwrap().diverging.unwrap();
    assert_eq!((diverging.epoch, diverging.end_offset, pass.bytes), (EPOCH, 1, 0));
    assert!(pass.is_enough(&LIMITS));
    assert_eq!(sizes(&read(&[after(EPOCH + 1, 1)], LIMITS).await), [Err(1)]);
    assert_eq!(sizes(&read(&[after(EPOCH, -1)], LIMITS).await), [Err(1)]);
    let pass = read(&[after(EPOCH, 0)], LIMITS).await;
    assert!(pass.got[0].as_ref().unwrap().diverging.is_none() && pass.bytes > 0);
}

#[tokio::test]
async fn any_record_ends_the_wait_for_one_byte() {
    let (a, b) = (partition(0).await, partition(1).await);
    let targets = [target(&a, 0), target(&b, 0)];
    let pass = read(&targets, LIMITS).await;
    assert!(!pass.is_enough(&LIMITS));
    let mut waiting = pin!(wait(&targets, pass.into_progress(), &LIMITS));
    assert!(poll!(&mut waiting).is_pending());
    append(&b, 1).await;
    waiting.await;
    assert!(read(&targets, LIMITS).await.is_enough(&LIMITS));
}

#[tokio::test]
async fn what_came_between_the_read_and_the_wait_ends_it() {
    let a = partition(0).await;
    let targets = [target(&a, 0)];
    let progress = read(&targets, LIMITS).await.into_progress();
    append(&a, 1).await;
    assert!(poll!(pin!(wait(&targets, progress, &LIMITS))).is_ready());
}

#[tokio::test]
async fn more_bytes_are_added_up() {
    let a = partition(0).await;
    let size = append(&a, 100).await;
    let limits = Limits { min_bytes: 3 * size, ..LIMITS };
    let targets = [target(&a, 0)];
    let pass = read(&targets, limits).await;
    assert_eq!(pass.bytes, size);
    let mut waiting = pin!(wait(&targets, pass.into_progress(), &limits));
    assert!(poll!(&mut waiting).is_pending());
    append(&a, 100).await;
    assert!(poll!(&mut waiting).is_pending(), "a second of three");
    append(&a, 100).await;
    waiting.await;
    assert!(read(&targets, limits).await.is_enough(&limits));
}

#[tokio::test]
async fn a_partition_adds_no_more_than_it_may_give() {
    let a = partition(0).await;
    let limits = Limits { min_bytes: 1000, ..LIMITS };
    let targets = [with(target(&a, 0), |params| params.max_bytes = 500)];
    let progress = read(&targets, limits).await.into_progress();
    let mut waiting = pin!(wait(&targets, progress, &limits));
    for _ in 0..5 {
        append(&a, 400).await;
        assert!(poll!(&mut waiting).is_pending());
    }
}

/// What a wait reads is only counted, and however much the client wants, little of it is in memory at a time.
#[tokio::test]
async fn a_wait_reads_no_more_than_is_missing() {
    let store = Arc::new(Counting::new());
    let a = partition_in(store.clone(), 0).await;
    let targets = [with(target(&a, 0), |params| params.max_bytes = 50 << 20)];
    for (min_bytes, enough) in [(500_000, true), (50 << 20, false)] {
        let limits = Limits { min_bytes, max_bytes: 50 << 20, ..LIMITS };
        let progress = read(&targets, limits).await.into_progress();
        let mut size = 0;
        for _ in 0..40 {
            size = append(&a, 60_000).await;
        }
        store.take_reads();
        let had = progress[0].bytes;
        assert_eq!(poll!(pin!(wait(&targets, progress, &limits))).is_ready(), enough);
        let reads = store.take_reads();
        let most = min_bytes - had + size;
        assert!(reads.iter().sum::<usize>() < most, "{min_bytes}: {reads:?}");
        let piece = FILE_PIECE_BYTES_MAX;
        assert!(reads.len() > 1 && reads.iter().all(|read| *read <= piece), "{reads:?}");
    }
}

#[tokio::test]
async fn a_replica_that_ends_ends_the_wait() {
    let (a, b) = (partition(0).await, partition(1).await);
    let targets = [target(&a, 0), target(&b, 0)];
    let progress = read(&targets, LIMITS).await.into_progress();
    let mut waiting = pin!(wait(&targets, progress, &LIMITS));
    assert!(poll!(&mut waiting).is_pending());
    b.stop().await;
    waiting.await;
}

#[tokio::test]
async fn memory_is_held_until_the_answer_has_left() {
    let memory = Memory::of(10 << 10);
    let mut held = Held::default();
    assert_eq!(held.reserve(&memory, 3000), 3000);
    held.shrink(1500);
    assert_eq!(memory.available(), 8 << 10);
    assert_eq!(held.reserve(&memory, 100 << 10), 8 << 10, "what there is");
    assert_eq!(Held::default().reserve(&memory, 1), 0);
    let slices = held.until_sent(vec![
        Slice::Bytes(Bytes::from_static(b"first")),
        Slice::Bytes(Bytes::from_static(b"last")),
    ]);
    let mut sent: Vec<Bytes> = slices
        .into_iter()
        .map(|slice| match slice {
            Slice::Bytes(bytes) => bytes,
            Slice::File(_) => unreachable!("none was given"),
        })
        .collect();
    assert_eq!(sent, ["first", "last"]);
    sent.remove(0);
    assert_eq!(memory.available(), 0);
    sent.remove(0);
    assert_eq!(memory.available(), 10 << 10);
}

#[tokio::test]
async fn readers_get_less_when_memory_is_short() {
    let (a, b) = (partition(0).await, partition(1).await);
    let size = append(&a, 4000).await;
    append(&a, 4000).await;
    append(&b, 4000).await;
    let memory = Memory::of(5 << 10);
    let pass = Pass::read(&[target(&a, 0), target(&b, 0)], &LIMITS, &memory).await;
    assert_eq!(sizes(&pass), [Ok(size), Ok(0)]);
    let other = Pass::read(&[target(&b, 0)], &LIMITS, &memory).await;
    assert_eq!(sizes(&other), [Ok(size)], "the first batch in any case");
    drop((pass, other));
    assert_eq!(memory.available(), 5 << 10);
}

fn image() -> Image {
    let Topic { name, id, partitions } = topic();
    let listeners = BTreeMap::from([("PLAINTEXT".to_owned(), ("host".to_owned(), 9092))]);
    let mut image = Image::default();
    image.apply(&Record::Broker {
        node_id: NodeId(1),
        broker_epoch: 1,
        incarnation_id: Uuid::nil(),
        rack: Some("rack".to_owned()),
        listeners,
        fenced: false,
    });
    image.apply(&Record::Topic { name, topic_id: id });
    for (partition, state) in (0..).zip(partitions) {
        image.apply(&Record::Partition { topic_id: id, partition, state });
    }
    image
}

fn wanted(topics: &[(&str, i32)]) -> Vec<(Key, Params)> {
    let params = Params {
        fetch_offset: 0,
        max_bytes: 1,
        current_leader_epoch: -1,
        last_fetched_epoch: -1,
        log_start_offset: -1,
    };
    let key = |name: &str, partition| Key { topic: TopicKey::Name(name.into()), partition };
    topics.iter().map(|(name, partition)| (key(name, *partition), params)).collect()
}

fn verdict(named: &[bool]) -> Verdict {
    Verdict { session_id: 7, error: None, named: named.to_vec() }
}

#[tokio::test]
async fn what_is_said_of_a_partition() {
    let a = partition(0).await;
    append(&a, 10).await;
    let image = image();
    let wanted = wanted(&[("orders", 0), ("none", 4), ("orders", 1)]);
    for isolation in [Isolation::ReadUncommitted, Isolation::ReadCommitted] {
        let limits = Limits { isolation, ..LIMITS };
        let mut answering = Answering::new(12, &limits, &image, "PLAINTEXT");
        let targets = [target(&a, 0)];
        let got = read(&targets, limits).await.got.remove(0);
        answering.add(&targets[0], got);
        answering.add(&targets[0], Err(ErrorCode::OffsetOutOfRange));
        answering.add_unknown(1, &wanted[1].0, ErrorCode::UnknownTopicOrPartition);
        let response = answering.response(verdict(&[true; 3]), &wanted);
        let [orders, none] = &response.topics[..] else { panic!("{response:?}") };
        assert_eq!((orders.name.as_str(), none.name.as_str()), ("orders", "none"));
        let [read, out] = &orders.partitions[..] else { panic!("{orders:?}") };
        let aborted = (isolation == Isolation::ReadCommitted).then(Vec::new);
        assert_eq!((read.error_code, read.high_watermark, read.last_stable_offset), (0, 1, 1));
        assert_eq!((read.log_start_offset, &read.aborted_transactions), (0, &aborted));
        assert_eq!((out.error_code, out.high_watermark, out.log_start_offset), (1, -1, -1));
        assert_eq!(out.aborted_transactions, None);
        assert_eq!((none.partitions[0].index, none.partitions[0].error_code), (4, 3));
        assert_eq!(none.partitions[0].aborted_transactions, Some(Vec::new()));
        assert_eq!((response.session_id, response.error_code), (7, 0));
    }
}

#[tokio::test]
async fn whoever_asks_the_wrong_node_is_told_the_right_one() {
    let a = partition(0).await;
    let image = image();
    let ask = |version, error| -> FetchResponse<Slice> {
        let mut answering = Answering::new(version, &LIMITS, &image, "PLAINTEXT");
        answering.add(&target(&a, 0), Err(error));
        answering.add(&target(&a, 0), Err(error));
        answering.response(verdict(&[true; 2]), &wanted(&[("orders", 0)]))
    };
    for (version, error, told) in [
        (15, ErrorCode::NotLeaderOrFollower, false),
        (16, ErrorCode::NotLeaderOrFollower, true),
        (18, ErrorCode::FencedLeaderEpoch, true),
        (18, ErrorCode::UnknownLeaderEpoch, false),
    ] {
        let response = ask(version, error);
        let leader = response.topics[0].partitions[0].current_leader;
        let leader = leader.map(|leader| (leader.leader_id, leader.leader_epoch));
        assert_eq!(leader, told.then_some((1, EPOCH)));
        assert_eq!(response.node_endpoints.len(), usize::from(told));
    }
    let endpoint = &ask(16, ErrorCode::NotLeaderOrFollower).node_endpoints[0];
    assert_eq!((endpoint.node_id, endpoint.host.as_str(), endpoint.port), (1, "host", 9092));
    assert_eq!(endpoint.rack.as_deref(), Some("rack"));
    let code =
        |version| ask(version, ErrorCode::KafkaStorageError).topics[0].partitions[0].error_code;
    assert_eq!((code(5), code(6)), (6, 56));
}

#[test]
fn only_named_partitions_are_told() {
    let (image, wanted) = (image(), wanted(&[("a", 0), ("b", 0), ("a", 1), ("a", 2)]));
    let mut answering = Answering::new(11, &LIMITS, &image, "PLAINTEXT");
    for (place, (key, _)) in wanted.iter().enumerate() {
        answering.add_unknown(place, key, ErrorCode::UnknownTopicOrPartition);
    }
    let response = answering.response(verdict(&[true, false, true, true]), &wanted);
    let told: Vec<_> = response
        .topics
        .iter()
        .map(|topic| (topic.name.as_str(), topic.partitions.iter().map(|p| p.index).collect()))
        .collect();
    assert_eq!(told, [("a", vec![0, 1, 2])]);
}
