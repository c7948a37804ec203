//! Fetch sessions (KIP-227): Fetch v7-18.

use kafka_protocol::messages::fetch_request::{FetchTopic, ForgottenTopic};
use kafka_protocol::messages::{FetchRequest, FetchResponse};
use uuid::Uuid;

use crate::batch::{Batch, read};
use crate::client::{Client, call};
use crate::codes::{
    FETCH_SESSION_ID_NOT_FOUND, FETCH_SESSION_TOPIC_ID_ERROR, INCONSISTENT_TOPIC_ID,
    INVALID_FETCH_SESSION_EPOCH, NONE, OFFSET_OUT_OF_RANGE, UNKNOWN_TOPIC_ID,
    UNKNOWN_TOPIC_OR_PARTITION,
};
use crate::delete_topics::{by_name, gone};
use crate::fetch::{of, partition, request};
use crate::fixtures::{Topic, create_named, produce, topic, topic_name};

fn session(id: i32, epoch: i32, topics: Vec<FetchTopic>) -> FetchRequest {
    request(topics).with_session_id(id).with_session_epoch(epoch)
}

/// (partition, records) of everything answered, in this order.
fn answered(response: &FetchResponse) -> Vec<(i32, usize)> {
    let partitions = response.responses.iter().flat_map(|topic| &topic.partitions);
    partitions
        .map(|data| (data.partition_index, read(data.records.clone().unwrap()).len()))
        .collect()
}

fn open(version: i16, topics: Vec<FetchTopic>) -> FetchResponse {
    let response = call(version, &session(0, 0, topics));
    assert_eq!(response.error_code, NONE, "v{version}");
    assert_ne!(response.session_id, 0, "v{version}: a session");
    response
}

/// In a session only what changed is answered; a partition stays asked for until it is forgotten.
#[test]
fn the_life_of_a_session() {
    for version in 7..=18 {
        let topic = topic("session", 2);
        produce(&topic, 0, &Batch::of(&["a"]));
        let first = open(version, vec![of(&topic, vec![partition(0, 0), partition(1, 0)])]);
        assert_eq!(answered(&first), [(0, 1), (1, 0)], "v{version}: the first answer is full");

        let id = first.session_id;
        let next = |epoch, topics| {
            let response = call(version, &session(id, epoch, topics));
            assert_eq!((response.error_code, response.session_id), (NONE, id), "v{version}");
            answered(&response)
        };
        assert_eq!(next(1, vec![of(&topic, vec![partition(0, 1)])]), [], "v{version}: nothing new");
        produce(&topic, 1, &Batch::of(&["b"]));
        assert_eq!(next(2, vec![]), [(1, 1)], "v{version}: only what has records");
        assert_eq!(next(3, vec![of(&topic, vec![partition(1, 1)])]), [], "v{version}");
        produce(&topic, 0, &Batch::of(&["c"]));

        let forget = ForgottenTopic::default()
            .with_topic(topic_name(&topic.name))
            .with_topic_id(topic.id)
            .with_partitions(vec![0]);
        let request = session(id, 4, vec![]).with_forgotten_topics_data(vec![forget]);
        let response = call(version, &request);
        assert_eq!((response.error_code, answered(&response)), (NONE, vec![]), "v{version}");
        produce(&topic, 1, &Batch::of(&["d"]));
        assert_eq!(next(5, vec![]), [(1, 1)], "v{version}: 0 is forgotten");

        let again = vec![of(&topic, vec![partition(0, 1)])];
        assert_eq!(next(6, again).len(), 2, "v{version}: and asked for again");

        let closed = call(version, &session(id, -1, vec![of(&topic, vec![partition(0, 0)])]));
        assert_eq!((closed.error_code, closed.session_id), (NONE, 0), "v{version}: closed");
        assert_eq!(answered(&closed), [(0, 2)], "v{version}: its answer is full");
        let gone = call(version, &session(id, 7, vec![]));
        assert_eq!(gone.error_code, FETCH_SESSION_ID_NOT_FOUND, "v{version}");
    }
}

/// Errors of a session are top-level; nothing else is answered, the id least of all.
#[test]
fn unknown_ids_and_wrong_epochs() {
    let topic = topic("session-errors", 1);
    let wanted = || vec![of(&topic, vec![partition(0, 0)])];
    for version in [7, 12, 13, 18] {
        let id = open(version, wanted()).session_id;
        let cases = [
            (id, 2, INVALID_FETCH_SESSION_EPOCH),
            (id, 7, INVALID_FETCH_SESSION_EPOCH),
            (id ^ 0x5555, 1, FETCH_SESSION_ID_NOT_FOUND),
            (id ^ 0x5555, 77, FETCH_SESSION_ID_NOT_FOUND),
            (0, 1, FETCH_SESSION_ID_NOT_FOUND),
        ];
        for (id, epoch, expected) in cases {
            let response = call(version, &session(id, epoch, wanted()));
            assert_eq!(response.error_code, expected, "v{version} id {id} epoch {epoch}");
            assert_eq!(response.session_id, 0, "v{version} id {id} epoch {epoch}");
            assert!(response.responses.is_empty(), "v{version} id {id} epoch {epoch}");
        }
        let good = call(version, &session(id, 1, vec![]));
        assert_eq!((good.error_code, good.session_id), (NONE, id), "v{version}: not harmed");
    }
}

/// Id 0 with epoch -1: no session. An unknown id with epoch 0 or -1: the old one is given up, whatever it was.
#[test]
fn full_requests() {
    let topic = topic("session-full", 1);
    let wanted = || vec![of(&topic, vec![partition(0, 0)])];
    let none = call(12, &session(0, -1, wanted()));
    assert_eq!((none.error_code, none.session_id), (NONE, 0));
    assert_eq!(answered(&none), [(0, 0)]);

    let close_unknown = call(12, &session(123_456, -1, wanted()));
    assert_eq!((close_unknown.error_code, close_unknown.session_id), (NONE, 0));

    let old = open(12, wanted()).session_id;
    let renewed = call(12, &session(old, 0, wanted()));
    assert_eq!(renewed.error_code, NONE);
    assert!(![0, old].contains(&renewed.session_id), "a new id: {}", renewed.session_id);
    let gone = call(12, &session(old, 1, vec![]));
    assert_eq!(gone.error_code, FETCH_SESSION_ID_NOT_FOUND);
}

/// A session belongs to no connection.
#[test]
fn over_several_connections() {
    let topic = topic("session-connections", 1);
    let id = open(12, vec![of(&topic, vec![partition(0, 0)])]).session_id;
    for epoch in 1..4 {
        let response = Client::connect().call(12, &session(id, epoch, vec![]));
        assert_eq!((response.error_code, response.session_id), (NONE, id), "epoch {epoch}");
    }
}

/// An error is answered every time, not only when it changes.
#[test]
fn errors_are_repeated() {
    let topic = topic("session-repeat", 1);
    let topics = vec![of(&topic, vec![partition(0, 5), partition(9, 0)])];
    let codes = |response: &FetchResponse| -> Vec<i16> {
        let mut codes: Vec<_> = response
            .responses
            .iter()
            .flat_map(|t| t.partitions.iter().map(|it| it.error_code))
            .collect();
        codes.sort_unstable();
        codes
    };
    let first = open(12, topics);
    assert_eq!(codes(&first), [OFFSET_OUT_OF_RANGE, UNKNOWN_TOPIC_OR_PARTITION]);
    for epoch in 1..3 {
        let next = call(12, &session(first.session_id, epoch, vec![]));
        assert_eq!(
            codes(&next),
            [OFFSET_OUT_OF_RANGE, UNKNOWN_TOPIC_OR_PARTITION],
            "epoch {epoch}"
        );
    }
}

/// A session is by names or by ids; changing over is an error.
#[test]
fn names_and_ids_do_not_mix() {
    let topic: Topic = topic("session-mixed", 1);
    let wanted = || vec![of(&topic, vec![partition(0, 0)])];
    for (first, second) in [(12, 13), (13, 12)] {
        let id = open(first, wanted()).session_id;
        let response = call(second, &session(id, 1, wanted()));
        assert_eq!(response.error_code, FETCH_SESSION_TOPIC_ID_ERROR, "v{first} then v{second}");
        assert_eq!(response.session_id, 0);
    }
}

/// An unknown topic id stays in the session: it may become known.
#[test]
fn an_unknown_topic_id_in_a_session() {
    let unknown = Topic { name: String::new(), id: Uuid::from_u128(0xabc) };
    let first = open(13, vec![of(&unknown, vec![partition(0, 0)])]);
    let code = |response: &FetchResponse| response.responses[0].partitions[0].error_code;
    assert_eq!(code(&first), UNKNOWN_TOPIC_ID);
    let next = call(13, &session(first.session_id, 1, vec![]));
    assert_eq!((next.error_code, code(&next)), (NONE, UNKNOWN_TOPIC_ID));
}

fn delete(topic: &Topic) {
    let deleted = call(5, &by_name(&topic.name).with_topics(vec![]));
    assert_eq!(deleted.responses[0].error_code, NONE);
    gone(&topic.name);
}

fn code(response: &FetchResponse) -> i16 {
    assert_eq!(response.error_code, NONE);
    response.responses[0].partitions[0].error_code
}

/// A session remembers what its ids were called: a topic that goes is not unknown, and one in its place is another.
#[test]
fn a_topic_that_is_deleted_and_created_again() {
    for (version, replaced, outside) in
        [(12, NONE, NONE), (13, INCONSISTENT_TOPIC_ID, UNKNOWN_TOPIC_ID)]
    {
        let topic: Topic = topic("session-deleted", 1);
        let wanted = || vec![of(&topic, vec![partition(0, 0)])];
        let id = open(version, wanted()).session_id;
        delete(&topic);
        let next = |epoch| code(&call(version, &session(id, epoch, vec![])));
        assert_eq!(next(1), UNKNOWN_TOPIC_OR_PARTITION, "v{version}");
        assert_eq!(next(2), UNKNOWN_TOPIC_OR_PARTITION, "v{version}");
        create_named(&topic.name, 1, &[]);
        assert_eq!(next(3), replaced, "v{version}");
        assert_eq!(code(&call(version, &request(wanted()))), outside, "v{version}, no session");
    }
}

/// Who waits for records of a topic that is deleted is told at once.
#[test]
fn a_topic_that_is_deleted_meanwhile() {
    for version in [4, 12, 13, 18] {
        let topic: Topic = topic("session-deleted", 1);
        let wanted = || vec![of(&topic, vec![partition(0, 0)])];
        let parked = |request: FetchRequest| {
            let mut client = Client::connect();
            let waits = request.with_max_wait_ms(10_000).with_min_bytes(1);
            let correlation = client.send(version, &waits);
            (client, correlation)
        };
        let mut waiting = vec![parked(request(wanted()))];
        if version >= 7 {
            let id = open(version, wanted()).session_id;
            waiting.push(parked(session(id, 1, vec![])));
        }
        // They wait by now: this request, which waits too, was sent after them.
        call(version, &request(wanted()).with_max_wait_ms(300).with_min_bytes(1));
        delete(&topic);
        for (mut client, correlation) in waiting {
            let response = client.receive::<FetchRequest>(version, correlation);
            assert_eq!(code(&response), UNKNOWN_TOPIC_OR_PARTITION, "v{version}");
        }
    }
}
