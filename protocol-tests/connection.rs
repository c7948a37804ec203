//! What holds for every API: order on a connection, acks=0, input that is no request.

use std::time::{Duration, Instant};

use kafka_protocol::messages::create_topics_request::CreatableTopic;
use kafka_protocol::messages::fetch_request::{FetchPartition, FetchTopic};
use kafka_protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
use kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use kafka_protocol::messages::{
    ApiVersionsRequest, CreateTopicsRequest, FetchRequest, ListOffsetsRequest, MetadataRequest,
    ProduceRequest,
};
use uuid::Uuid;

use crate::api_versions;
use crate::batch::Batch;
use crate::broker;
use crate::client::{Client, call, frame, sized};
use crate::codes::{INVALID_REQUEST, NONE, NOT_LEADER_OR_FOLLOWER, UNKNOWN_TOPIC_OR_PARTITION};
use crate::fixtures::{Topic, produce_request, topic, topic_name, unique};

fn fetch_waiting(topic: &Topic, max_wait_ms: i32) -> FetchRequest {
    let partition = FetchPartition::default().with_partition_max_bytes(1 << 20);
    let topic =
        FetchTopic::default().with_topic(topic_name(&topic.name)).with_partitions(vec![partition]);
    FetchRequest::default()
        .with_max_wait_ms(max_wait_ms)
        .with_min_bytes(1)
        .with_session_epoch(-1)
        .with_topics(vec![topic])
}

#[test]
fn a_waiting_fetch_is_not_overtaken() {
    let topic = topic("order", 1);
    let mut client = Client::connect();
    let fetch = client.send(12, &fetch_waiting(&topic, 500));
    let metadata = client.send(12, &MetadataRequest::default());
    let start = Instant::now();
    assert_eq!(client.receive::<FetchRequest>(12, fetch).error_code, NONE);
    assert!(start.elapsed() > Duration::from_millis(300), "it waited: {:?}", start.elapsed());
    client.receive::<MetadataRequest>(12, metadata);
}

/// kafka-python 2.0.2 sends both before it reads anything.
#[test]
fn requests_may_be_sent_before_the_first_answer() {
    let mut client = Client::connect();
    let versions = client.send(0, &ApiVersionsRequest::default());
    let metadata = client.send(0, &MetadataRequest::default().with_topics(Some(vec![])));
    client.receive::<ApiVersionsRequest>(0, versions);
    client.receive::<MetadataRequest>(0, metadata);
}

#[test]
fn list_offsets_sees_the_produce_before_it() {
    let topic = topic("pipeline", 1);
    let mut client = Client::connect();
    for count in 1..=5 {
        let batch = Batch::of(&["a"]).build();
        let produce = client.send(9, &produce_request(&topic, 0, Some(batch)));
        let partition = ListOffsetsPartition::default().with_timestamp(-1);
        let wanted = ListOffsetsTopic::default()
            .with_name(topic_name(&topic.name))
            .with_partitions(vec![partition]);
        let list = client.send(
            7,
            &ListOffsetsRequest::default().with_replica_id((-1).into()).with_topics(vec![wanted]),
        );
        client.receive::<ProduceRequest>(9, produce);
        let answer = client.receive::<ListOffsetsRequest>(7, list);
        assert_eq!(answer.topics[0].partitions[0].offset, count);
    }
}

/// CreateTopics, Metadata and Produce in one segment. Kafka answers CreateTopics before its broker knows the topic, so
/// the two others may fail there; an Ottla that says "created" means it.
#[test]
fn a_created_topic_is_usable_at_once() {
    for round in 0..5 {
        let name = unique("at-once");
        let creatable = CreatableTopic::default()
            .with_name(topic_name(&name))
            .with_num_partitions(3)
            .with_replication_factor(1);
        let create =
            CreateTopicsRequest::default().with_topics(vec![creatable]).with_timeout_ms(10_000);
        let wanted = MetadataRequestTopic::default().with_name(Some(topic_name(&name)));
        let metadata = MetadataRequest::default()
            .with_topics(Some(vec![wanted]))
            .with_allow_auto_topic_creation(false);
        let to = Topic { name: name.clone(), id: Uuid::nil() };
        let produce = produce_request(&to, 2, Some(Batch::of(&["a"]).build()));
        let mut client = Client::connect();
        client.send_bytes(
            &[frame(7, 1, &create), frame(12, 2, &metadata), frame(9, 3, &produce)].concat(),
        );
        let created = client.receive::<CreateTopicsRequest>(7, 1);
        assert_eq!(created.topics[0].error_code, NONE);
        let seen = client.receive::<MetadataRequest>(12, 2).topics.remove(0);
        let produced = client.receive::<ProduceRequest>(9, 3);
        let code = produced.responses[0].partition_responses[0].error_code;
        if broker::is_foreign() {
            assert!([NONE, UNKNOWN_TOPIC_OR_PARTITION].contains(&seen.error_code), "{round}");
            let early = [NONE, UNKNOWN_TOPIC_OR_PARTITION, NOT_LEADER_OR_FOLLOWER];
            assert!(early.contains(&code), "{round}: {code}");
        } else {
            assert_eq!((seen.error_code, seen.partitions.len()), (NONE, 3), "round {round}");
            assert!(seen.partitions.iter().all(|it| it.error_code == NONE), "{seen:?}");
            assert_eq!(code, NONE, "round {round}");
        }
    }
}

#[test]
fn acks_0_has_no_answer() {
    let topic = topic("acks-0", 1);
    let mut client = Client::connect();
    for version in [3, 9] {
        let request = produce_request(&topic, 0, Some(Batch::of(&["a"]).build())).with_acks(0);
        client.send(version, &request);
        assert_eq!(client.call(4, &versions_request()).error_code, NONE);
    }
    let answer = client.call(9, &produce_request(&topic, 0, Some(Batch::of(&["b"]).build())));
    assert_eq!(answer.responses[0].partition_responses[0].base_offset, 2, "both were appended");
}

#[test]
fn acks_0_with_an_error_closes_the_connection() {
    let topic = topic("acks-0-error", 1);
    let mut client = Client::connect();
    client.send(9, &produce_request(&topic, 7, Some(Batch::of(&["a"]).build())).with_acks(0));
    client.assert_closed();
}

fn versions_request() -> ApiVersionsRequest {
    ApiVersionsRequest::default()
        .with_client_software_name("protocol-tests".into())
        .with_client_software_version("1".into())
}

/// Each is sent on a connection of its own, which the broker closes without an answer, while another one works on.
#[test]
fn what_is_no_request_closes_the_connection() {
    let metadata = frame(12, 1, &MetadataRequest::default());
    let cut = sized(&metadata[4..metadata.len() - 3]);
    let mut huge_count = frame(0, 1, &MetadataRequest::default().with_topics(Some(vec![])));
    huge_count = {
        let at = huge_count.len() - 4;
        [&huge_count[..at], &i32::MAX.to_be_bytes()].concat().into()
    };
    let cases: [(&str, Vec<u8>); 14] = [
        ("size -1", (-1i32).to_be_bytes().to_vec()),
        ("size i32::MIN", i32::MIN.to_be_bytes().to_vec()),
        ("size 100 MiB + 1", ((100i32 << 20) + 1).to_be_bytes().to_vec()),
        ("size i32::MAX", i32::MAX.to_be_bytes().to_vec()),
        ("HTTP", b"GET / HTTP/1.1\r\nHost: x\r\n\r\n".to_vec()),
        ("TLS hello", vec![0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3]),
        ("empty frame", sized(&[]).to_vec()),
        ("one byte", sized(&[0]).to_vec()),
        ("three bytes", sized(&[0, 3, 0]).to_vec()),
        ("header without the rest", sized(&[0, 3, 0, 1, 0, 0, 0, 1]).to_vec()),
        ("unknown key", sized(&[0x03, 0xe7, 0, 0, 0, 0, 0, 1, 0xff, 0xff]).to_vec()),
        ("negative key", sized(&[0xff, 0xfe, 0, 0, 0, 0, 0, 1, 0xff, 0xff]).to_vec()),
        ("body too short", cut.to_vec()),
        ("more topics than bytes", huge_count.to_vec()),
    ];
    let mut other = Client::connect();
    for (what, bytes) in cases {
        eprintln!("{what}");
        let mut client = Client::connect();
        client.send_bytes(&bytes);
        client.assert_closed();
        assert_eq!(other.call(4, &versions_request()).error_code, NONE, "others are served");
    }
}

/// Bodies of bytes that mean large counts and lengths in one place or another. Some happen to be requests and are
/// answered; for the others the connection is closed. Nothing else happens, and nobody else notices.
#[test]
fn bodies_of_noise() {
    let mut other = Client::connect();
    for (key, _, max) in api_versions::EXPECTED {
        for byte in [0x00, 0x01, 0x7f, 0x80, 0xfe, 0xff] {
            for (version, length) in [(max, 64), (max, 3_000), (0.max(max - 3), 64)] {
                let header = [
                    &key.to_be_bytes()[..],
                    &version.to_be_bytes(),
                    &1i32.to_be_bytes(),
                    &[0xff, 0xff, 0x00],
                ];
                let mut client = Client::connect();
                client.send_bytes(&sized(&[&header.concat()[..], &vec![byte; length]].concat()));
                client.shutdown_write();
                if let Some(answer) = client.read_frame() {
                    assert_eq!(answer[..4], [0, 0, 0, 1], "key {key} v{version} {byte:02x}");
                }
            }
        }
        assert_eq!(other.call(4, &versions_request()).error_code, NONE, "after key {key}");
    }
}

/// Every API but ApiVersions: a version outside its range closes the connection.
#[test]
fn an_unsupported_version_closes_the_connection() {
    let cases: [(i16, i16); 30] = [
        (0, 2),
        (0, 14),
        (1, 3),
        (1, 19),
        (2, 0),
        (2, 12),
        (3, -1),
        (3, 14),
        (8, 1),
        (8, 11),
        (9, 0),
        (9, 11),
        (10, 7),
        (11, 10),
        (12, 5),
        (13, 6),
        (14, 6),
        (15, 7),
        (16, 6),
        (19, 1),
        (19, 8),
        (20, 0),
        (20, 7),
        (22, 7),
        (23, 1),
        (23, 5),
        (32, 0),
        (32, 5),
        (37, 4),
        (42, 3),
    ];
    for (key, version) in cases {
        eprintln!("key {key} v{version}");
        let mut client = Client::connect();
        let header = [
            &key.to_be_bytes()[..],
            &version.to_be_bytes(),
            &1i32.to_be_bytes(),
            &[0xff, 0xff, 0, 0, 0, 0, 0],
        ];
        client.send_bytes(&sized(&header.concat()));
        client.assert_closed();
    }
}

/// Kafka reads what the schema says and does not look at the rest.
#[test]
fn bytes_after_the_body() {
    let mut client = Client::connect();
    let request = frame(4, 1, &versions_request());
    client.send_bytes(&sized(&[&request[4..], &[1, 2, 3]].concat()));
    let answer = client.receive::<ApiVersionsRequest>(4, 1);
    assert!([NONE, INVALID_REQUEST].contains(&answer.error_code));
}

/// A tagged field nobody knows is skipped, in the header and in the body.
#[test]
fn unknown_tagged_fields_are_skipped() {
    let mut request = versions_request();
    request.unknown_tagged_fields.insert(9_999, "something".into());
    assert_eq!(call(4, &request).error_code, NONE);
    let mut metadata = MetadataRequest::default().with_topics(Some(vec![]));
    metadata.unknown_tagged_fields.insert(77, "x".into());
    assert_eq!(call(12, &metadata).topics.len(), 0);
}

/// The client says nothing more after its requests: they are answered all the same.
#[test]
fn a_half_closed_connection() {
    let mut client = Client::connect();
    let correlation = client.send(4, &versions_request());
    client.receive::<ApiVersionsRequest>(4, correlation);
    client.shutdown_write();
    client.assert_closed();
}
