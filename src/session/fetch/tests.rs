//! Sessions, request by request.

use super::*;
use crate::limits;
use std::cell::Cell;
use uuid::Uuid;

const ORDERS: &str = "orders";

fn key(topic: &str, partition: i32) -> Key {
    Key { topic: TopicKey::Name(topic.into()), partition }
}

fn at(topic: &str, partition: i32, fetch_offset: i64) -> (Key, Params) {
    let params = Params {
        fetch_offset,
        max_bytes: 100,
        current_leader_epoch: -1,
        last_fetched_epoch: -1,
        log_start_offset: -1,
    };
    (key(topic, partition), params)
}

fn request(session_id: i32, session_epoch: i32, wanted: &[(Key, Params)]) -> Request {
    Request {
        version: 11,
        session_id,
        session_epoch,
        privileged: false,
        wanted: wanted.to_vec(),
        forgotten: Vec::new(),
    }
}

const NOTHING: Outcome = Outcome {
    has_records: false,
    high_watermark: 5,
    log_start_offset: 0,
    must_tell: false,
    failed: false,
};
const RECORDS: Outcome = Outcome { has_records: true, ..NOTHING };
const ERROR: Outcome =
    Outcome { high_watermark: -1, log_start_offset: -1, must_tell: true, failed: true, ..NOTHING };

/// A cache, and one client of it.
struct Client {
    cache: Cache,
    now_ms: u64,
    /// The id the next session gets.
    next_id: Cell<u32>,
}

impl Client {
    fn of(slots: usize) -> Client {
        Client { cache: Cache::new(slots), now_ms: 0, next_id: Cell::new(41) }
    }

    /// What is read, as `topic-partition@offset`, and the verdict when every partition gives `outcome(its place)`.
    fn ask(&self, request: Request, outcome: impl Fn(usize) -> Outcome) -> (Vec<String>, Verdict) {
        let context = self.cache.begin(self.now_ms, request);
        let read = context.wanted().iter().map(|(key, params)| match &key.topic {
            TopicKey::Name(name) => format!("{name}-{}@{}", key.partition, params.fetch_offset),
            TopicKey::Id(id, _) => format!("{id}-{}@{}", key.partition, params.fetch_offset),
        });
        let outcomes: Vec<_> = (0..context.wanted().len()).map(|at| (at, outcome(at))).collect();
        (
            read.collect(),
            context.finish(&self.cache, self.now_ms, &outcomes, || {
                self.next_id.replace(self.next_id.get() + 1)
            }),
        )
    }

    fn error(&self, request: Request) -> (i16, i32) {
        let (read, verdict) = self.ask(request, |_| NOTHING);
        assert_eq!(read, [""; 0]);
        (verdict.error.unwrap().code(), verdict.session_id)
    }

    /// Begins a session of `partitions` partitions; its id, or 0.
    fn session(&self, privileged: bool, partitions: i32) -> i32 {
        let wanted: Vec<_> = (0..partitions).map(|partition| at(ORDERS, partition, 0)).collect();
        let request = Request { privileged, ..request(0, 0, &wanted) };
        self.ask(request, |_| NOTHING).1.session_id
    }

    fn lives(&self, session_id: i32) -> bool {
        self.cache.slots.lock().get(session_id).is_some()
    }
}

#[test]
fn only_what_changed_is_told() {
    let client = Client::of(10);
    let (_, full) = client.ask(request(0, 0, &[at("a", 0, 0), at("b", 0, 0)]), |_| NOTHING);
    assert_eq!(full, Verdict { session_id: 41, error: None, named: vec![true, true] });
    let higher = Outcome { high_watermark: 6, ..NOTHING };
    let trimmed = Outcome { log_start_offset: 3, ..higher };
    let diverging = Outcome { must_tell: true, ..trimmed };
    for (epoch, outcome, told) in [
        (1, NOTHING, false),
        (2, higher, true),
        (3, higher, false),
        (4, trimmed, true),
        (5, trimmed, false),
        (6, diverging, true),
        (7, trimmed, false),
        (8, ERROR, true),
        (9, ERROR, true),
        (10, trimmed, true),
        (11, trimmed, false),
        (12, Outcome { has_records: true, ..trimmed }, true),
        (13, trimmed, false),
    ] {
        let outcomes = |at| if at == 0 { outcome } else { NOTHING };
        let (read, verdict) = client.ask(request(41, epoch, &[]), outcomes);
        if epoch <= 12 {
            assert_eq!(read, ["a-0@0", "b-0@0"]);
            assert_eq!(verdict.named, [told, false], "epoch {epoch}");
        } else {
            assert_eq!(read, ["b-0@0", "a-0@0"], "what gave records goes last");
        }
        assert_eq!((verdict.session_id, verdict.error), (41, None));
    }
}

#[test]
fn partitions_that_gave_records_take_their_turn_last() {
    let client = Client::of(10);
    client.ask(request(0, 0, &[at("a", 0, 0), at("b", 0, 0), at("c", 0, 0)]), |_| NOTHING);
    client.ask(request(41, 1, &[]), |at| if at == 0 { RECORDS } else { NOTHING });
    let (read, _) = client.ask(request(41, 2, &[at("b", 0, 7)]), |_| NOTHING);
    assert_eq!(read, ["b-0@7", "c-0@0", "a-0@0"]);
}

#[test]
fn partitions_are_added_changed_and_forgotten() {
    let client = Client::of(10);
    client.ask(request(0, 0, &[at("a", 0, 0), at("b", 0, 0)]), |_| NOTHING);
    let (read, verdict) = client.ask(request(41, 1, &[at("c", 1, 9), at("a", 0, 4)]), |_| NOTHING);
    assert_eq!(read, ["a-0@4", "b-0@0", "c-1@9"]);
    assert_eq!(verdict.named, [false, false, true], "a new partition is told once");
    let forgotten = vec![key("b", 0), key("c", 1), key("none", 0)];
    let (read, _) = client.ask(Request { forgotten, ..request(41, 2, &[]) }, |_| NOTHING);
    assert_eq!(read, ["a-0@4"]);
    let forgotten = vec![key("a", 0)];
    let (read, verdict) =
        client.ask(Request { forgotten, ..request(41, 3, &[at("a", 0, 5)]) }, |_| NOTHING);
    assert_eq!(read, ["a-0@5"], "a session that is empty ends, and what is asked is read once");
    assert_eq!(verdict.session_id, 0);
    assert_eq!(client.error(request(41, 4, &[])), (70, 0));
}

#[test]
fn unknown_sessions_and_wrong_epochs() {
    let client = Client::of(10);
    client.ask(request(0, 0, &[at("a", 0, 0)]), |_| NOTHING);
    assert_eq!(client.error(request(42, 1, &[])), (70, 0));
    assert_eq!(client.error(request(0, 1, &[at("a", 0, 0)])), (70, 0));
    assert_eq!(client.error(request(41, 2, &[])), (71, 0));
    assert_eq!(client.error(request(41, -2, &[])), (71, 0));
    assert_eq!(client.error(Request { version: 13, ..request(41, 1, &[]) }), (106, 0));
    let (_, verdict) = client.ask(request(41, 1, &[]), |_| NOTHING);
    assert_eq!((verdict.error, verdict.session_id), (None, 41), "errors change nothing");
    assert_eq!(client.error(request(41, 1, &[])), (71, 0), "a repeated request");
}

#[test]
fn epochs_wrap_to_1() {
    let client = Client::of(10);
    client.ask(request(0, 0, &[at("a", 0, 0)]), |_| NOTHING);
    let session = client.cache.slots.lock().get(41).unwrap();
    session.lock().epoch = i32::MAX;
    assert_eq!(client.ask(request(41, i32::MAX, &[]), |_| NOTHING).1.error, None);
    assert_eq!(client.ask(request(41, 1, &[]), |_| NOTHING).1.error, None);
}

#[test]
fn a_session_that_moved_on_meanwhile_is_an_error() {
    let client = Client::of(10);
    client.ask(request(0, 0, &[at("a", 0, 0)]), |_| NOTHING);
    let slow = client.cache.begin(0, request(41, 1, &[]));
    client.ask(request(41, 2, &[]), |_| NOTHING);
    let verdict = slow.finish(&client.cache, 0, &[(0, RECORDS)], || 0);
    assert_eq!(verdict.error.unwrap().code(), 71);
    assert_eq!((verdict.session_id, verdict.named), (41, vec![false]));
}

#[test]
fn full_requests_end_the_session_they_name() {
    let client = Client::of(10);
    client.ask(request(0, 0, &[at("a", 0, 0)]), |_| NOTHING);
    let (_, verdict) = client.ask(request(41, 0, &[at("a", 0, 0)]), |_| NOTHING);
    assert_eq!(verdict.session_id, 42);
    assert!(!client.lives(41));
    let (read, verdict) = client.ask(request(42, -1, &[at("a", 0, 3)]), |_| NOTHING);
    assert_eq!((read, verdict.session_id), (vec!["a-0@3".to_owned()], 0));
    assert!(!client.lives(42));
}

#[test]
fn a_partition_named_twice_counts_once() {
    let client = Client::of(10);
    for epoch in [0, -1] {
        let wanted = [at("a", 0, 1), at("b", 0, 2), at("a", 0, 3)];
        let (read, _) = client.ask(request(0, epoch, &wanted), |_| NOTHING);
        assert_eq!(read, ["a-0@3", "b-0@2"]);
    }
}

#[test]
fn topic_ids_and_names_do_not_mix() {
    let client = Client::of(10);
    let id = Uuid::from_u128(1);
    let by_id = (Key { topic: TopicKey::Id(id, None), partition: 0 }, at("", 0, 0).1);
    client.ask(Request { version: 13, ..request(0, 0, &[by_id]) }, |_| NOTHING);
    assert_eq!(client.error(request(41, 1, &[])), (106, 0));
    let (read, _) = client.ask(Request { version: 18, ..request(41, 1, &[]) }, |_| NOTHING);
    assert_eq!(read, [format!("{id}-0@0")]);
}

/// What a topic was called outlives the topic, as long as the session asks for it.
#[test]
fn the_names_of_ids_are_kept() {
    let client = Client::of(10);
    let by_id =
        |id| (Key { topic: TopicKey::Id(Uuid::from_u128(id), None), partition: 0 }, at("", 0, 0).1);
    let ask = |session_id, epoch, wanted: &[(Key, Params)], names: &[(usize, &str)]| {
        let request = Request { version: 13, ..request(session_id, epoch, wanted) };
        let mut context = client.cache.begin(0, request);
        context.learn(names.iter().copied());
        let outcomes: Vec<_> = (0..context.wanted().len()).map(|place| (place, NOTHING)).collect();
        context.finish(&client.cache, 0, &outcomes, || 41);
        let name = |(key, _): &(Key, Params)| match &key.topic {
            TopicKey::Id(_, name) => name.as_deref().map(str::to_owned),
            TopicKey::Name(_) => None,
        };
        context.wanted().iter().map(name).collect::<Vec<_>>()
    };
    let known = |name: &str| Some(name.to_owned());
    ask(0, 0, &[by_id(1), by_id(2)], &[(0, "a")]);
    assert_eq!(ask(41, 1, &[], &[]), [known("a"), None]);
    ask(41, 2, &[by_id(1), by_id(3)], &[(1, "b"), (0, "other")]);
    assert_eq!(ask(41, 3, &[], &[]), [known("a"), known("b"), None]);
    let forgotten = [1, 2].map(|id| by_id(id).0).to_vec();
    client.cache.begin(0, Request { version: 13, forgotten, ..request(41, 4, &[]) });
    let session = client.cache.slots.lock().get(41).unwrap();
    assert_eq!(session.lock().bytes(), by_id(3).0.bytes(), "names go with their partitions");
}

#[test]
fn ids_are_never_0_and_never_taken() {
    let client = Client::of(10);
    for (random, id) in [(0, 1), (0, 2), (1 << 31, 3), (u32::MAX, i32::MAX), (u32::MAX, 4)] {
        let context = client.cache.begin(0, request(0, 0, &[at("a", 0, 0)]));
        let verdict = context.finish(&client.cache, 0, &[(0, NOTHING)], || random);
        assert_eq!(verdict.session_id, id);
    }
}

#[test]
fn silent_sessions_make_room_after_two_minutes() {
    let mut client = Client::of(2);
    let first = client.session(false, 5);
    client.now_ms = 60_000;
    let second = client.session(false, 5);
    client.now_ms = 120_000;
    assert_eq!(client.session(false, 100), 0, "nobody has been silent for long enough");
    client.now_ms = 120_001;
    assert_ne!(client.session(false, 1), 0);
    assert!(!client.lives(first) && client.lives(second));
}

#[test]
fn settled_sessions_make_room_for_larger_ones() {
    let mut client = Client::of(2);
    let small = client.session(false, 2);
    let large = client.session(false, 4);
    client.now_ms = 120_001;
    for session in [small, large] {
        client.ask(request(session, 1, &[]), |_| NOTHING);
    }
    assert_eq!(client.session(false, 2), 0, "no larger than any");
    let middle = client.session(false, 3);
    assert_ne!(middle, 0);
    assert!(!client.lives(small) && client.lives(large));
    assert_eq!(client.session(false, 3), 0, "the young one may not be evicted, the large one is");
}

#[test]
fn sessions_of_brokers_go_last() {
    let mut client = Client::of(2);
    let broker = client.session(true, 1);
    let consumer = client.session(false, 9);
    assert_eq!(client.session(false, 100), 0);
    let other_broker = client.session(true, 1);
    assert!(client.lives(broker) && client.lives(other_broker) && !client.lives(consumer));
    assert_eq!(client.session(true, 100), 0, "both are young");
    client.now_ms = 120_001;
    for session in [broker, other_broker] {
        client.ask(request(session, 1, &[]), |_| NOTHING);
    }
    assert_eq!(client.session(false, 100), 0);
    assert_ne!(client.session(true, 2), 0);
}

#[test]
fn no_slots_no_sessions() {
    assert_eq!(Client::of(0).session(false, 3), 0);
}

#[test]
fn memory_is_bounded() {
    let mut slots = Slots::new(10);
    let session = || Arc::new(Mutex::new(Incremental::new(false, 1)));
    let all = limits::FETCH_SESSIONS_BYTES_MAX;
    let first = slots.create(0, false, 1, all - 1, session(), 1).unwrap();
    let second = slots.create(0, false, 1, 1, session(), 2).unwrap();
    assert_eq!(slots.create(0, false, 1, 1, session(), 3), None, "no room to begin");
    assert!(!slots.touch(0, second, 1, 2), "nor to grow: the session ends");
    assert!(slots.get(second).is_none());
    assert!(slots.touch(0, first, 1, 10));
    assert!(slots.create(0, false, 1, all - 10, session(), 4).is_some());

    let mut session = Incremental::new(false, 1);
    session.add(key("name", 0), at("", 0, 0).1, NOTHING);
    session.update(&[at("longer name", 1, 0), at("name", 0, 1)], &[]);
    assert_eq!(session.bytes(), 2 * limits::FETCH_SESSION_PARTITION_BYTES + 15);
    session.update(&[], &[key("longer name", 1)]);
    assert_eq!(session.bytes(), limits::FETCH_SESSION_PARTITION_BYTES + 4);
}
