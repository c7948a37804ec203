//! Fetch: v4-18, sessions included. Not here: waiting (`../../fetch.rs`).

use kafka_protocol::messages::FetchRequest;
use kafka_protocol::messages::fetch_request::{FetchPartition, FetchTopic, ForgottenTopic};
use uuid::Uuid;

use super::{Case, Run, case, check};
use crate::batch::Batch;
use crate::fixtures::{Topic, produce, topic_name};

fn partition(index: i32, offset: i64) -> FetchPartition {
    FetchPartition::default()
        .with_partition(index)
        .with_fetch_offset(offset)
        .with_partition_max_bytes(1 << 20)
}

fn of(topic: &Topic, partitions: Vec<FetchPartition>) -> FetchTopic {
    FetchTopic::default()
        .with_topic(topic_name(&topic.name))
        .with_topic_id(topic.id)
        .with_partitions(partitions)
}

/// Without a session, and without waiting.
fn request(topics: Vec<FetchTopic>) -> FetchRequest {
    FetchRequest::default().with_max_bytes(50 << 20).with_session_epoch(-1).with_topics(topics)
}

fn session(id: i32, epoch: i32, topics: Vec<FetchTopic>) -> FetchRequest {
    request(topics).with_session_id(id).with_session_epoch(epoch)
}

pub fn all_of(topic: &Topic) -> FetchRequest {
    request(vec![of(topic, vec![partition(0, 0)])])
}

/// Three records in two batches of partition 0.
fn filled(t: &mut Run, partitions: i32) -> Topic {
    let topic = t.topic(partitions);
    produce(&topic, 0, &Batch::new().value("a", 1_000).value("b", 1_001));
    produce(&topic, 0, &Batch::new().value("c", 1_002));
    topic
}

const CASES: &[Case] = &[
    case("a topic with data, from the beginning", 4..=18, |t| {
        let topic = filled(t, 2);
        t.ask(&request(vec![of(&topic, vec![partition(0, 0), partition(1, 0)])]));
    }),
    case("read_committed", 4..=18, |t| {
        let topic = filled(t, 1);
        t.ask(&all_of(&topic).with_isolation_level(1));
    }),
    case("offsets inside a batch, at the end, out of range", 4..=18, |t| {
        let topic = filled(t, 1);
        for offset in [1, 2, 3, 4, -1, i64::MAX] {
            t.note(&format!("offset {offset}"));
            t.ask(&request(vec![of(&topic, vec![partition(0, offset)])]));
        }
    }),
    case("the first batch is whole, whatever the limits", 4..=18, |t| {
        let topic = filled(t, 2);
        produce(&topic, 1, &Batch::new().value("d", 1_000));
        let small = |index| partition(index, 0).with_partition_max_bytes(1);
        let request = request(vec![of(&topic, vec![small(0), small(1)])]).with_max_bytes(1);
        t.ask(&request);
    }),
    case("no such partition", 4..=18, |t| {
        let topic = filled(t, 1);
        let partitions = vec![partition(7, 0), partition(0, 3), partition(-1, 0)];
        t.ask(&request(vec![of(&topic, partitions)]));
    }),
    case("no such topic", 4..=18, |t| {
        let topic = Topic { name: t.name("topic"), id: Uuid::from_u128(0x1234) };
        t.ask(&all_of(&topic));
    }),
    case("no topic id", 13..=18, |t| {
        let topic = filled(t, 1);
        t.ask(&all_of(&Topic { id: Uuid::nil(), ..topic }));
    }),
    case("no topics", 4..=18, |t| {
        t.ask(&request(vec![]));
    }),
    case("leader epochs: none, the current one, a later one", 9..=18, |t| {
        let topic = filled(t, 1);
        for epoch in [-1, 0, 1] {
            t.note(&format!("epoch {epoch}"));
            let partition = partition(0, 0).with_current_leader_epoch(epoch);
            t.ask(&request(vec![of(&topic, vec![partition])]));
        }
    }),
    case("a last fetched epoch that never was", 12..=18, |t| {
        let topic = filled(t, 1);
        for epoch in [0, 5] {
            t.note(&format!("epoch {epoch}"));
            let partition = partition(0, 1).with_last_fetched_epoch(epoch);
            t.ask(&request(vec![of(&topic, vec![partition])]));
        }
    }),
    case("zstd is for v10 on", 4..=18, |t| {
        let topic = t.topic_with(1, &[("compression.type", "zstd")]);
        produce(&topic, 0, &Batch::new().value("a", 1_000));
        t.ask(&all_of(&topic));
    }),
    case("a session: opened, nothing new, something new, forgotten, closed", 7..=18, |t| {
        let topic = filled(t, 2);
        let wanted = vec![of(&topic, vec![partition(0, 3), partition(1, 0)])];
        let id = t.ask(&session(0, 0, wanted)).session_id;
        t.note("nothing new").ask(&session(id, 1, vec![]));
        produce(&topic, 1, &Batch::new().value("d", 1_003));
        t.note("something new").ask(&session(id, 2, vec![]));
        let forgotten = ForgottenTopic::default()
            .with_topic(topic_name(&topic.name))
            .with_topic_id(topic.id)
            .with_partitions(vec![1]);
        let forget = session(id, 3, vec![]).with_forgotten_topics_data(vec![forgotten]);
        t.note("forgotten").ask(&forget);
        t.note("closed").ask(&session(id, -1, vec![of(&topic, vec![partition(0, 0)])]));
        t.note("no more").ask(&session(id, 4, vec![]));
    }),
    case("a session's errors", 7..=18, |t| {
        let topic = filled(t, 1);
        let wanted = || vec![of(&topic, vec![partition(0, 0)])];
        let id = t.ask(&session(0, 0, wanted())).session_id;
        t.note("a wrong epoch").ask(&session(id, 2, wanted()));
        t.note("an unknown id").ask(&session(id ^ 0x5555, 1, wanted()));
        t.note("no id").ask(&session(0, 1, wanted()));
        t.note("still there").ask(&session(id, 1, vec![]));
    }),
    case("an unknown topic in a session", 7..=18, |t| {
        let topic = filled(t, 1);
        let unknown = Topic { name: t.name("topic"), id: Uuid::from_u128(0x1234) };
        let wanted = vec![of(&topic, vec![partition(0, 3)]), of(&unknown, vec![partition(0, 0)])];
        let id = t.ask(&session(0, 0, wanted)).session_id;
        t.ask(&session(id, 1, vec![]));
    }),
    case("a session by names goes on by ids", 13..=18, |t| {
        let topic = filled(t, 1);
        let wanted = || vec![of(&topic, vec![partition(0, 3)])];
        let id = t.ask_at(12, &session(0, 0, wanted())).session_id;
        t.ask(&session(id, 1, wanted()));
        let id = t.ask(&session(0, 0, wanted())).session_id;
        t.ask_at(12, &session(id, 1, wanted()));
    }),
    case("a session that is replaced, one that is not, one that is no more", 7..=18, |t| {
        let topic = filled(t, 1);
        let wanted = || vec![of(&topic, vec![partition(0, 3)])];
        let id = t.ask(&session(0, 0, wanted())).session_id;
        t.note("another in its place").ask(&session(id, 0, wanted()));
        t.note("the old one").ask(&session(id, 1, vec![]));
        t.note("one that never was").ask(&session(id ^ 0x5555, -1, wanted()));
    }),
    case("an error in a session is told every time", 7..=18, |t| {
        let topic = filled(t, 1);
        let id = t.ask(&session(0, 0, vec![of(&topic, vec![partition(0, 77)])])).session_id;
        t.ask(&session(id, 1, vec![]));
    }),
    case("limits of nothing", 4..=18, |t| {
        let topic = filled(t, 1);
        let small = partition(0, 0).with_partition_max_bytes(0);
        t.note("0 bytes of a partition").ask(&request(vec![of(&topic, vec![small])]));
        t.note("0 bytes of all").ask(&all_of(&topic).with_max_bytes(0));
    }),
    case("a partition twice", 4..=18, |t| {
        let topic = filled(t, 1);
        t.ask(&request(vec![of(&topic, vec![partition(0, 0), partition(0, 2)])]));
    }),
    case("two topics, in the order of the request", 4..=18, |t| {
        let (one, other) = (filled(t, 1), filled(t, 1));
        let request =
            request(vec![of(&other, vec![partition(0, 2)]), of(&one, vec![partition(0, 2)])]);
        t.ask(&request);
    }),
    case("a compressed batch", 10..=18, |t| {
        let topic = t.topic(1);
        for codec in 1..=4 {
            produce(&topic, 0, &Batch::new().value("a", 1_000).attributes(codec));
        }
        t.ask(&all_of(&topic));
    }),
];

#[test]
fn fetch() {
    check("fetch", 1, CASES);
}
