//! Produce: v3-13. Not here: what is inside of batches (`../../produce_records.rs`), and null records, which
//! Kafka does not answer at all.

use bytes::Bytes;
use kafka_protocol::messages::{FetchRequest, ProduceRequest, TransactionalId};
use uuid::Uuid;

use super::fetch::all_of;
use super::{Case, case, check};
use crate::batch::{Batch, now_ms};
use crate::client::text;
use crate::fixtures::{Topic, produce_request};
use crate::produce::rechecked;

/// One batch for partition 0.
fn of(topic: &Topic, batch: &Batch) -> ProduceRequest {
    produce_request(topic, 0, Some(batch.build()))
}

fn one() -> Batch {
    Batch::new().value("a", 1_000)
}

fn from_producer(sequence: i32) -> Batch {
    one().producer(1_000_000, 0, sequence)
}

/// What is in partition 0 now.
fn log(t: &mut super::Run, topic: &Topic) {
    t.ask_at::<FetchRequest>(12, &all_of(topic));
}

const CASES: &[Case] = &[
    case("two batches, one after the other", 3..=13, |t| {
        let topic = t.topic(1);
        t.ask(&of(&topic, &one()));
        t.ask(&of(&topic, &Batch::new().value("b", 1_001).value("c", 1_002)));
        log(t, &topic);
    }),
    case("acks=1 and acks=all", 3..=13, |t| {
        let topic = t.topic(1);
        t.ask(&of(&topic, &one()).with_acks(1));
        t.ask(&of(&topic, &one()).with_acks(-1));
    }),
    case("acks=0: no answer, a closed connection on an error", 3..=13, |t| {
        let topic = t.topic(1);
        t.try_ask(&of(&topic, &one()).with_acks(0));
        t.try_ask(&produce_request(&topic, 7, Some(one().build())).with_acks(0));
        log(t, &topic);
    }),
    case("acks that do not exist", 3..=13, |t| {
        let topic = t.topic(1);
        t.ask(&of(&topic, &one()).with_acks(2));
        t.ask(&of(&topic, &one()).with_acks(-2));
    }),
    case("no such partition", 3..=13, |t| {
        let topic = t.topic(1);
        t.ask(&produce_request(&topic, 1, Some(one().build())));
        t.ask(&produce_request(&topic, -1, Some(one().build())));
    }),
    case("no such topic: none is created", 3..=13, |t| {
        let topic = Topic { name: t.name("topic"), id: Uuid::from_u128(0x1234) };
        t.ask(&of(&topic, &one()));
        t.ask(&of(&topic, &one()));
    }),
    case("an illegal topic name", 3..=12, |t| {
        let topic = Topic { name: "a b".to_owned(), id: Uuid::nil() };
        t.ask(&of(&topic, &one()));
    }),
    case("no topic id", 13..=13, |t| {
        let topic = t.topic(1);
        t.ask(&of(&Topic { id: Uuid::nil(), ..topic }, &one()));
    }),
    case("a good and a bad partition, in the order of the request", 3..=13, |t| {
        let topic = t.topic(3);
        let mut request = produce_request(&topic, 2, Some(one().build()));
        for partition in [7, 0] {
            let more = produce_request(&topic, partition, Some(one().build()));
            let data = more.topic_data[0].partition_data.clone();
            request.topic_data[0].partition_data.extend(data);
        }
        t.sorted(&["partition_responses"]).ask(&request);
    }),
    case("no topics", 3..=13, |t| {
        t.ask(&ProduceRequest::default().with_acks(-1).with_timeout_ms(1_000));
    }),
    case("no batch, two batches", 3..=13, |t| {
        let topic = t.topic(1);
        t.ask(&produce_request(&topic, 0, Some(Bytes::new())));
        let two = [one().build(), one().build()].concat();
        t.ask(&produce_request(&topic, 0, Some(two.into())));
        log(t, &topic);
    }),
    case("message formats of old", 3..=13, |t| {
        let topic = t.topic(1);
        for magic in [0, 1, 3] {
            t.note(&format!("magic {magic}"));
            t.try_ask(&of(&topic, &Batch { magic, ..one() }));
        }
    }),
    case("a batch without records, a control batch", 3..=13, |t| {
        let topic = t.topic(1);
        t.ask(&of(&topic, &Batch::new()));
        t.ask(&of(&topic, &one().attributes(1 << 5)));
    }),
    case("a wrong checksum", 3..=13, |t| {
        let topic = t.topic(1);
        let mut batch = one().build().to_vec();
        batch[17] ^= 1;
        t.ask(&produce_request(&topic, 0, Some(batch.into())));
        log(t, &topic);
    }),
    case("a batch cut short", 3..=13, |t| {
        let topic = t.topic(1);
        let batch = one().build();
        t.ask(&produce_request(&topic, 0, Some(batch.slice(..batch.len() - 1))));
        t.ask(&produce_request(&topic, 0, Some(batch.slice(..40))));
        t.ask(&produce_request(&topic, 0, Some(batch.slice(..5))));
    }),
    case("the leader epoch in a batch is not looked at, its base offset must be 0", 3..=13, |t| {
        let topic = t.topic(1);
        t.ask(&of(&topic, &Batch { leader_epoch: 77, ..one() }));
        t.ask(&of(&topic, &Batch { base_offset: 5, ..one() }));
        log(t, &topic);
    }),
    case("a batch larger than max.message.bytes", 3..=13, |t| {
        let topic = t.topic_with(1, &[("max.message.bytes", "100")]);
        t.ask(&of(&topic, &Batch::new().value(&"x".repeat(200), 1_000)));
        t.ask(&of(&topic, &one()));
    }),
    case("compression, zstd from v7 on", 3..=13, |t| {
        let topic = t.topic(1);
        for codec in 1..=5 {
            t.note(&format!("codec {codec}"));
            t.try_ask(&of(&topic, &one().attributes(codec)));
        }
        log(t, &topic);
    }),
    case("LogAppendTime: the broker's time, in the answer and in the log", 3..=13, |t| {
        let topic = t.topic_with(1, &[("message.timestamp.type", "LogAppendTime")]);
        t.ask(&of(&topic, &one()));
        log(t, &topic);
    }),
    case("a record two hours in the future", 3..=13, |t| {
        let topic = t.topic(1);
        t.ask(&of(&topic, &Batch::new().value("a", now_ms() + 7_200_000)));
    }),
    case("a record older than message.timestamp.before.max.ms", 3..=13, |t| {
        let topic = t.topic_with(1, &[("message.timestamp.before.max.ms", "1000")]);
        t.ask(&of(&topic, &Batch::new().value("a", now_ms()).value("b", 1_000)));
    }),
    case("no key in a compacted topic: the records are named from v8 on", 3..=13, |t| {
        let topic = t.topic_with(1, &[("cleanup.policy", "compact")]);
        let batch = Batch::new().record(Some("k"), Some("a"), 1_000).value("b", 1_000);
        t.ask(&of(&topic, &batch.value("c", 1_000)));
        t.ask(&of(&topic, &Batch::new().record(Some("k"), None, 1_000)));
        log(t, &topic);
    }),
    case("an idempotent producer: a duplicate, a gap, a new epoch, an old epoch", 3..=13, |t| {
        let topic = t.topic(1);
        for sequence in [0, 1] {
            t.ask(&of(&topic, &from_producer(sequence)));
        }
        t.note("the first once more").ask(&of(&topic, &from_producer(0)));
        t.note("a gap").ask(&of(&topic, &from_producer(3)));
        let next = |sequence| one().producer(1_000_000, 1, sequence);
        t.note("a new epoch does not begin at 0").ask(&of(&topic, &next(5)));
        t.note("a new epoch").ask(&of(&topic, &next(0)));
        t.note("the old epoch").ask(&of(&topic, &from_producer(2)));
        log(t, &topic);
    }),
    case("a duplicate of the sixth batch back", 3..=13, |t| {
        let topic = t.topic(1);
        for sequence in 0..6 {
            t.ask(&of(&topic, &from_producer(sequence)));
        }
        t.note("the fifth back").ask(&of(&topic, &from_producer(1)));
        t.note("the sixth back").ask(&of(&topic, &from_producer(0)));
    }),
    case("fewer replicas in sync than min.insync.replicas", 3..=13, |t| {
        let topic = t.topic_with(1, &[("min.insync.replicas", "2")]);
        for acks in [-1, 1] {
            t.note(&format!("acks {acks}")).ask(&of(&topic, &one()).with_acks(acks));
        }
    }),
    case("the topic of the groups", 3..=12, |t| {
        t.group();
        let topic = Topic { name: "__consumer_offsets".to_owned(), id: Uuid::nil() };
        t.ask(&of(&topic, &one()));
    }),
    case("a transactional id, and a batch of no transaction", 3..=12, |t| {
        let topic = t.topic(1);
        let id = t.name("transactional-id");
        t.ask(&of(&topic, &one()).with_transactional_id(Some(TransactionalId(text(&id)))));
    }),
    case("sizes that cannot be", 3..=13, |t| {
        let topic = t.topic(1);
        for size in [0, -1, i32::MIN, 1_000_000] {
            let mut batch = one().build().to_vec();
            batch[8..12].copy_from_slice(&i32::to_be_bytes(size));
            t.note(&format!("size {size}"));
            t.ask(&produce_request(&topic, 0, Some(batch.into())));
        }
    }),
    case("counts that do not fit the records", 3..=13, |t| {
        let topic = t.topic(1);
        for (at, number) in [(57, 3), (57, 0), (57, -1), (23, 5), (23, -1)] {
            let mut batch = one().build().to_vec();
            batch[at..at + 4].copy_from_slice(&i32::to_be_bytes(number));
            t.note(&format!("{number} at byte {at}"));
            t.ask(&produce_request(&topic, 0, Some(rechecked(batch))));
        }
    }),
    case("an unknown producer may begin anywhere", 3..=13, |t| {
        let topic = t.topic(1);
        t.ask(&of(&topic, &from_producer(17)));
    }),
    case("a producer id without a sequence", 3..=13, |t| {
        let topic = t.topic(1);
        t.ask(&of(&topic, &one().producer(1_000_000, 0, -1)));
        t.ask(&of(&topic, &one().producer(1_000_000, -1, 0)));
    }),
];

#[test]
fn produce() {
    check("produce", 0, CASES);
}
