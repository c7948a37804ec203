//! Fetch: v4-18 without sessions (`fetch_sessions.rs` has those).

use std::thread;
use std::time::{Duration, Instant};

use kafka_protocol::messages::FetchRequest;
use kafka_protocol::messages::fetch_request::{FetchPartition, FetchTopic};
use kafka_protocol::messages::fetch_response::PartitionData;
use uuid::Uuid;

use crate::batch::{Batch, Fetched, read};
use crate::client::{Client, call};
use crate::codes::{
    NONE, OFFSET_OUT_OF_RANGE, UNKNOWN_LEADER_EPOCH, UNKNOWN_TOPIC_ID, UNKNOWN_TOPIC_OR_PARTITION,
};
use crate::fixtures::{Topic, produce, topic, topic_name, topic_with, unique};

pub fn partition(index: i32, offset: i64) -> FetchPartition {
    FetchPartition::default()
        .with_partition(index)
        .with_fetch_offset(offset)
        .with_partition_max_bytes(1 << 20)
}

pub fn of(topic: &Topic, partitions: Vec<FetchPartition>) -> FetchTopic {
    FetchTopic::default()
        .with_topic(topic_name(&topic.name))
        .with_topic_id(topic.id)
        .with_partitions(partitions)
}

/// No session, no waiting.
pub fn request(topics: Vec<FetchTopic>) -> FetchRequest {
    FetchRequest::default().with_max_bytes(50 << 20).with_topics(topics)
}

/// One partition from this offset, at v12.
pub fn fetch_one(topic: &Topic, index: i32, offset: i64) -> PartitionData {
    let request = request(vec![of(topic, vec![partition(index, offset)])]);
    call(12, &request).responses.remove(0).partitions.remove(0)
}

/// Every batch of a partition.
pub fn fetch_all(topic: &Topic, index: i32) -> Vec<Fetched> {
    let answer = fetch_one(topic, index, 0);
    assert_eq!(answer.error_code, NONE);
    read(answer.records.unwrap())
}

#[test]
fn every_version_reads() {
    let topic = topic("fetch", 1);
    produce(&topic, 0, &Batch::of(&["a", "b"]));
    produce(&topic, 0, &Batch::of(&["c"]));
    for version in 4..=18 {
        let response = call(version, &request(vec![of(&topic, vec![partition(0, 0)])]));
        assert_eq!((response.error_code, response.session_id), (NONE, 0), "v{version}");
        assert_eq!(response.responses.len(), 1, "v{version}");
        let answered = &response.responses[0];
        if version < 13 {
            assert_eq!(&**answered.topic, topic.name, "v{version}");
        } else {
            assert_eq!(answered.topic_id, topic.id, "v{version}");
        }
        let data = &answered.partitions[0];
        assert_eq!((data.partition_index, data.error_code), (0, NONE), "v{version}");
        assert_eq!((data.high_watermark, data.last_stable_offset), (3, 3), "v{version}");
        assert_eq!(data.log_start_offset, if version < 5 { -1 } else { 0 }, "v{version}");
        assert_eq!(data.aborted_transactions, None, "v{version}");
        assert_eq!(*data.preferred_read_replica, -1, "v{version}");
        let batches = read(data.records.clone().unwrap());
        assert_eq!(batches.iter().map(|it| it.base_offset).collect::<Vec<_>>(), [0, 2]);
    }
}

#[test]
fn read_committed_without_transactions() {
    let topic = topic("fetch-committed", 1);
    produce(&topic, 0, &Batch::of(&["a"]));
    for version in [4, 11, 18] {
        let request = request(vec![of(&topic, vec![partition(0, 0)])]).with_isolation_level(1);
        let data = call(version, &request).responses.remove(0).partitions.remove(0);
        assert_eq!(data.last_stable_offset, 1, "v{version}");
        assert_eq!(data.aborted_transactions, Some(vec![]), "v{version}");
        assert_eq!(read(data.records.unwrap()).len(), 1, "v{version}");
    }
}

/// At the end: nothing, no error. Beyond it or before the start: OFFSET_OUT_OF_RANGE.
#[test]
fn offsets_at_the_edges() {
    let topic = topic("fetch-edges", 1);
    produce(&topic, 0, &Batch::of(&["a", "b", "c"]));
    let cases = [
        (0, NONE, 3),
        (3, NONE, 0),
        (4, OFFSET_OUT_OF_RANGE, 0),
        (i64::MAX, OFFSET_OUT_OF_RANGE, 0),
        (-1, OFFSET_OUT_OF_RANGE, 0),
        (-2, OFFSET_OUT_OF_RANGE, 0),
        (i64::MIN, OFFSET_OUT_OF_RANGE, 0),
    ];
    for (offset, code, records) in cases {
        let data = fetch_one(&topic, 0, offset);
        assert_eq!(data.error_code, code, "{offset}");
        let watermark = if code == NONE { 3 } else { -1 };
        assert_eq!(data.high_watermark, watermark, "{offset}");
        let found: i32 = read(data.records.unwrap()).iter().map(|it| it.count).sum();
        assert_eq!(found, records, "{offset}");
    }
}

#[test]
fn an_offset_inside_a_batch_gives_the_whole_batch() {
    let topic = topic("fetch-inside", 1);
    produce(&topic, 0, &Batch::of(&["a", "b", "c"]));
    produce(&topic, 0, &Batch::of(&["d"]));
    for (offset, first) in [(1, 0), (2, 0), (3, 3)] {
        let batches = read(fetch_one(&topic, 0, offset).records.unwrap());
        assert_eq!(batches[0].base_offset, first, "{offset}");
    }
}

/// The first batch found is returned whatever its size (KIP-74); after it the limits hold.
#[test]
fn a_batch_larger_than_the_limits() {
    let topic = topic("fetch-large", 3);
    let large = "x".repeat(10_000);
    for index in 0..3 {
        produce(&topic, index, &Batch::of(&[&large]));
        produce(&topic, index, &Batch::of(&["small"]));
    }
    let sizes = |request: &FetchRequest, version| -> Vec<usize> {
        let response = call(version, request);
        response.responses[0]
            .partitions
            .iter()
            .map(|data| read(data.records.clone().unwrap()).len())
            .collect()
    };
    let limited = |max_bytes, partition_max| {
        let partitions = (0..3)
            .map(|index| partition(index, 0).with_partition_max_bytes(partition_max))
            .collect();
        request(vec![of(&topic, partitions)]).with_max_bytes(max_bytes)
    };
    for version in [4, 12] {
        assert_eq!(sizes(&limited(100, 100), version), [1, 0, 0], "both limits");
        assert_eq!(sizes(&limited(100, 1 << 20), version), [1, 0, 0], "the request's");
        assert_eq!(sizes(&limited(1 << 20, 100), version), [1, 0, 0], "the partition's");
        assert_eq!(sizes(&limited(1 << 20, 1 << 20), version), [2, 2, 2], "none");
        assert_eq!(sizes(&limited(0, 0), version), [1, 0, 0], "zero");
    }
}

/// What does not fit may be cut in the middle of a batch, never within the first.
#[test]
fn partition_limit_between_batches() {
    let topic = topic("fetch-limit", 1);
    for _ in 0..10 {
        produce(&topic, 0, &Batch::of(&[&"x".repeat(1_000)]));
    }
    for (limit, whole) in [(3_500, 3), (1, 1), (1 << 20, 10)] {
        let request =
            request(vec![of(&topic, vec![partition(0, 0).with_partition_max_bytes(limit)])]);
        let data = call(12, &request).responses.remove(0).partitions.remove(0);
        let records = data.records.unwrap();
        assert!(records.len() <= 1_100 || records.len() <= limit as usize, "{limit}");
        assert_eq!(read(records).len(), whole, "{limit}");
    }
}

fn waiting(topic: &Topic, offset: i64, max_wait_ms: i32, min_bytes: i32) -> FetchRequest {
    request(vec![of(topic, vec![partition(0, offset)])])
        .with_max_wait_ms(max_wait_ms)
        .with_min_bytes(min_bytes)
}

fn timed(request: &FetchRequest) -> (Duration, PartitionData) {
    let start = Instant::now();
    let data = call(12, request).responses.remove(0).partitions.remove(0);
    (start.elapsed(), data)
}

#[test]
fn max_wait_and_min_bytes() {
    let topic = topic("fetch-wait", 1);
    let (waited, data) = timed(&waiting(&topic, 0, 300, 1));
    assert!(waited >= Duration::from_millis(290), "{waited:?}");
    assert_eq!((data.error_code, data.records.unwrap().len()), (NONE, 0));

    produce(&topic, 0, &Batch::of(&["a"]));
    let (waited, data) = timed(&waiting(&topic, 0, 5_000, 1));
    assert!(waited < Duration::from_millis(2_500), "{waited:?}");
    assert_eq!(read(data.records.unwrap()).len(), 1);

    let (waited, data) = timed(&waiting(&topic, 0, 300, 1_000_000));
    assert!(waited >= Duration::from_millis(290), "not enough bytes: {waited:?}");
    assert_eq!(read(data.records.unwrap()).len(), 1, "what is there comes at the end");

    for (max_wait, min_bytes) in [(0, 1), (5_000, 0)] {
        let (waited, _) = timed(&waiting(&topic, 1, max_wait, min_bytes));
        assert!(waited < Duration::from_millis(2_500), "{max_wait} {min_bytes}: {waited:?}");
    }
}

#[test]
fn a_produce_ends_the_wait() {
    let topic = topic("fetch-wake", 1);
    thread::scope(|scope| {
        let fetch = scope.spawn(|| timed(&waiting(&topic, 0, 10_000, 1)));
        let early = timed(&waiting(&topic, 0, 100, 1)).1;
        assert_eq!(early.records.unwrap().len(), 0);
        produce(&topic, 0, &Batch::of(&["a"]));
        let (waited, data) = fetch.join().unwrap();
        assert!(waited < Duration::from_secs(5), "{waited:?}");
        assert_eq!(read(data.records.unwrap()).len(), 1);
    });
}

/// A client that closes its half of the connection still gets the answer it waits for, when it is due.
#[test]
fn a_half_closed_connection_waits() {
    let topic = topic("fetch-half-closed", 1);
    for produces in [false, true] {
        let mut client = Client::connect();
        let wait = if produces { 10_000 } else { 300 };
        let correlation = client.send(12, &waiting(&topic, 0, wait, 1));
        client.shutdown_write();
        if produces {
            timed(&waiting(&topic, 0, 100, 1));
            produce(&topic, 0, &Batch::of(&["a"]));
        }
        let response = client.receive::<FetchRequest>(12, correlation);
        let records = response.responses[0].partitions[0].records.clone().unwrap();
        assert_eq!(read(records).len(), usize::from(produces));
        client.assert_closed();
    }
}

/// An offset out of range ends a wait at once; an unknown partition beside a readable one does not; unknown ones alone
/// leave nothing to wait for.
#[test]
fn which_errors_end_the_wait() {
    let (known, other) = (topic("fetch-errors", 1), topic("fetch-errors", 1));
    let unknown = Topic { name: unique("fetch-unknown"), id: Uuid::from_u128(99) };
    let ask = |version, topics: Vec<FetchTopic>| {
        let start = Instant::now();
        let request = request(topics).with_max_wait_ms(600).with_min_bytes(1);
        let response = call(version, &request);
        let codes: Vec<_> = response
            .responses
            .iter()
            .flat_map(|topic| topic.partitions.iter().map(|it| it.error_code))
            .collect();
        (start.elapsed() < Duration::from_millis(550), codes)
    };
    let quiet = || of(&known, vec![partition(0, 0)]);
    for version in [12, 13] {
        let missing = if version < 13 { UNKNOWN_TOPIC_OR_PARTITION } else { UNKNOWN_TOPIC_ID };
        let (at_once, codes) = ask(version, vec![quiet(), of(&other, vec![partition(0, 5)])]);
        assert_eq!((at_once, codes), (true, vec![NONE, OFFSET_OUT_OF_RANGE]), "v{version}");

        let (at_once, mut codes) = ask(version, vec![quiet(), of(&unknown, vec![partition(0, 0)])]);
        codes.sort_unstable();
        assert_eq!((at_once, codes), (false, vec![NONE, missing]), "v{version}");

        let (at_once, mut codes) =
            ask(version, vec![of(&known, vec![partition(0, 0), partition(8, 0)])]);
        codes.sort_unstable();
        let expected = vec![NONE, UNKNOWN_TOPIC_OR_PARTITION];
        assert_eq!((at_once, codes), (false, expected), "v{version}");

        let answer = ask(version, vec![of(&unknown, vec![partition(0, 0)])]);
        assert_eq!(answer, (true, vec![missing]), "v{version}");
        let answer = ask(version, vec![of(&known, vec![partition(8, 0)])]);
        assert_eq!(answer, (true, vec![UNKNOWN_TOPIC_OR_PARTITION]), "v{version}");
        assert_eq!(ask(version, vec![]), (true, vec![]), "v{version}");
    }
}

#[test]
fn leader_epochs() {
    let topic = topic("fetch-epochs", 1);
    produce(&topic, 0, &Batch::of(&["a"]));
    for (epoch, expected) in
        [(-2, NONE), (-1, NONE), (0, NONE), (1, UNKNOWN_LEADER_EPOCH), (50, UNKNOWN_LEADER_EPOCH)]
    {
        let request =
            request(vec![of(&topic, vec![partition(0, 0).with_current_leader_epoch(epoch)])]);
        for version in [9, 12, 17] {
            let data = call(version, &request).responses.remove(0).partitions.remove(0);
            assert_eq!(data.error_code, expected, "epoch {epoch} v{version}");
        }
    }
}

#[test]
fn error_partitions_have_no_offsets() {
    let topic = topic("fetch-error-shape", 1);
    let request = request(vec![of(&topic, vec![partition(9, 0)])]);
    for version in 4..=18 {
        let data = call(version, &request).responses.remove(0).partitions.remove(0);
        assert_eq!(data.error_code, UNKNOWN_TOPIC_OR_PARTITION, "v{version}");
        assert_eq!(data.high_watermark, -1, "v{version}");
        assert_eq!(data.last_stable_offset, -1, "v{version}");
        assert_eq!(data.log_start_offset, -1, "v{version}");
        assert_eq!(data.records.unwrap().len(), 0, "v{version}");
    }
}

/// Every partition asked for is answered, in the order of the request.
#[test]
fn all_partitions_in_order() {
    let (a, b) = (topic("fetch-order", 3), topic("fetch-order", 1));
    produce(&a, 1, &Batch::of(&["a"]));
    let topics = vec![
        of(&b, vec![partition(0, 0)]),
        of(&a, vec![partition(2, 0), partition(1, 0), partition(0, 0)]),
    ];
    for version in [4, 12, 13] {
        let response = call(version, &request(topics.clone()));
        let order: Vec<_> = response
            .responses
            .iter()
            .flat_map(|topic| topic.partitions.iter().map(|it| it.partition_index))
            .collect();
        assert_eq!(order, [0, 2, 1, 0], "v{version}");
    }
}

/// Old brokers refused zstd below v10; Kafka 4 sends what is stored to every version.
#[test]
fn a_zstd_topic_at_every_version() {
    let topic = topic_with("fetch-zstd", 1, &[("compression.type", "zstd")]);
    produce(&topic, 0, &Batch::of(&["a"]));
    let request = request(vec![of(&topic, vec![partition(0, 0)])]);
    for version in 4..=18 {
        let data = call(version, &request).responses.remove(0).partitions.remove(0);
        assert_eq!(data.error_code, NONE, "v{version}");
        assert_eq!(read(data.records.unwrap())[0].attributes, 4, "v{version}");
    }
}
