//! InitProducerId: v0-5, and what an idempotent producer's sequence numbers do (KIP-98).
//!
//! Not here: transactional ids.

use kafka_protocol::messages::{InitProducerIdRequest, InitProducerIdResponse};

use crate::batch::Batch;
use crate::broker;
use crate::client::call;
use crate::codes::{
    COORDINATOR_LOAD_IN_PROGRESS, DUPLICATE_SEQUENCE_NUMBER, INVALID_PRODUCER_EPOCH,
    INVALID_RECORD, INVALID_REQUEST, NONE, OUT_OF_ORDER_SEQUENCE_NUMBER,
};
use crate::fetch::fetch_all;
use crate::fixtures::{Topic, produce, produce_raw, topic, until};

/// A Kafka that has just started answers COORDINATOR_LOAD_IN_PROGRESS until it has its first block of ids.
fn init(version: i16) -> InitProducerIdResponse {
    let request = InitProducerIdRequest::default()
        .with_transactional_id(None)
        .with_transaction_timeout_ms(60_000);
    let mut response = call(version, &request);
    until("the first ids", || {
        if response.error_code == COORDINATOR_LOAD_IN_PROGRESS && broker::is_foreign() {
            response = call(version, &request);
        }
        response.error_code != COORDINATOR_LOAD_IN_PROGRESS
    });
    response
}

/// A new producer id.
pub fn producer() -> i64 {
    *init(4).producer_id
}

#[test]
fn every_version_gives_a_new_id() {
    let mut ids = Vec::new();
    for version in 0..=5 {
        let response = init(version);
        assert_eq!(response.error_code, NONE, "v{version}");
        assert_eq!(response.producer_epoch, 0, "v{version}");
        assert!(*response.producer_id >= 0, "v{version}");
        ids.push(*response.producer_id);
    }
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 6, "no id twice: {ids:?}");
}

/// Without a transactional id the timeout does not matter, nor what the producer was before.
#[test]
fn what_does_not_matter() {
    for timeout in [0, -1, i32::MAX] {
        let request = InitProducerIdRequest::default()
            .with_transactional_id(None)
            .with_transaction_timeout_ms(timeout);
        assert_eq!(call(4, &request).error_code, NONE, "{timeout}");
    }
    let request = InitProducerIdRequest::default()
        .with_transactional_id(None)
        .with_producer_id(5.into())
        .with_producer_epoch(3);
    let response = call(4, &request);
    assert_eq!((response.error_code, response.producer_epoch), (NONE, 0));
}

#[test]
fn half_a_producer_id() {
    for (id, epoch) in [(5, -1), (-1, 3)] {
        let request = InitProducerIdRequest::default()
            .with_transactional_id(None)
            .with_producer_id(id.into())
            .with_producer_epoch(epoch);
        assert_eq!(call(4, &request).error_code, INVALID_REQUEST, "{id} {epoch}");
    }
}

/// Sends one record; gives (error, base offset).
fn send(topic: &Topic, id: i64, epoch: i16, sequence: i32) -> (i16, i64) {
    let batch = Batch::of(&[&format!("{epoch}/{sequence}")]).producer(id, epoch, sequence);
    let answer = produce_raw(topic, 0, batch.build());
    (answer.error_code, answer.base_offset)
}

#[test]
fn duplicates_of_the_last_five_batches() {
    let topic = topic("sequence-duplicates", 1);
    let id = producer();
    let batches: Vec<_> = (0..7).map(|n| Batch::of(&["a", "b"]).producer(id, 0, n * 2)).collect();
    for (offset, batch) in (0..).step_by(2).zip(&batches) {
        assert_eq!(produce(&topic, 0, batch), offset);
    }
    for (index, batch) in batches.iter().enumerate() {
        let answer = produce_raw(&topic, 0, batch.build());
        let expected = if index >= 2 {
            (NONE, i64::try_from(index).unwrap() * 2)
        } else {
            (OUT_OF_ORDER_SEQUENCE_NUMBER, -1)
        };
        assert_eq!((answer.error_code, answer.base_offset), expected, "batch {index}");
    }
    assert_eq!(fetch_all(&topic, 0).len(), 7, "nothing was appended twice");
}

/// The same first sequence number with another last one is no duplicate.
#[test]
fn half_a_duplicate() {
    let topic = topic("sequence-half", 1);
    let id = producer();
    produce(&topic, 0, &Batch::of(&["a", "b"]).producer(id, 0, 0));
    produce(&topic, 0, &Batch::of(&["c"]).producer(id, 0, 2));
    let longer = produce_raw(&topic, 0, Batch::of(&["c", "d"]).producer(id, 0, 2).build());
    assert_eq!(longer.error_code, OUT_OF_ORDER_SEQUENCE_NUMBER, "{longer:?}");
    let shorter = produce_raw(&topic, 0, Batch::of(&["a"]).producer(id, 0, 0).build());
    assert!(
        [OUT_OF_ORDER_SEQUENCE_NUMBER, DUPLICATE_SEQUENCE_NUMBER].contains(&shorter.error_code),
        "{shorter:?}"
    );
}

#[test]
fn gaps_and_epochs() {
    let topic = topic("sequence-gaps", 1);
    let id = producer();
    let refused = |code| (code, -1);
    assert_eq!(send(&topic, id, 1, 5), (NONE, 0), "nothing is known: any first number is taken");
    assert_eq!(send(&topic, id, 1, 6), (NONE, 1));
    assert_eq!(send(&topic, id, 1, 8), refused(OUT_OF_ORDER_SEQUENCE_NUMBER));
    assert_eq!(send(&topic, id, 1, 4), refused(OUT_OF_ORDER_SEQUENCE_NUMBER));
    assert_eq!(send(&topic, id, 0, 7), refused(INVALID_PRODUCER_EPOCH), "an older epoch");
    assert_eq!(
        send(&topic, id, 2, 3),
        refused(OUT_OF_ORDER_SEQUENCE_NUMBER),
        "a new epoch starts at 0"
    );
    assert_eq!(send(&topic, id, 2, 0), (NONE, 2));
    assert_eq!(send(&topic, id, 1, 7), refused(INVALID_PRODUCER_EPOCH));
    assert_eq!(send(&topic, id, 2, 1), (NONE, 3));
}

/// After i32::MAX comes 0.
#[test]
fn sequence_numbers_wrap() {
    let topic = topic("sequence-wrap", 1);
    let id = producer();
    assert_eq!(send(&topic, id, 0, i32::MAX - 1), (NONE, 0));
    let over = Batch::of(&["a", "b", "c"]).producer(id, 0, i32::MAX);
    assert_eq!(produce(&topic, 0, &over), 1);
    assert_eq!(produce(&topic, 0, &over), 1, "its duplicate is known");
    assert_eq!(send(&topic, id, 0, 2), (NONE, 4));
    assert_eq!(send(&topic, id, 0, 2), (NONE, 4));
}

/// Producers do not see each other, nor one partition another.
#[test]
fn per_producer_and_partition() {
    let topic = topic("sequence-each", 2);
    let (a, b) = (producer(), producer());
    assert_eq!(send(&topic, a, 0, 0), (NONE, 0));
    assert_eq!(send(&topic, b, 0, 0), (NONE, 1));
    assert_eq!(produce(&topic, 1, &Batch::of(&["x"]).producer(a, 0, 0)), 0);
    assert_eq!(produce(&topic, 0, &Batch::of(&["not idempotent"])), 2);
    assert_eq!(send(&topic, a, 0, 1), (NONE, 3));
    assert_eq!(send(&topic, b, 0, 1), (NONE, 4));
}

#[test]
fn a_producer_id_without_a_sequence_number() {
    let topic = topic("sequence-none", 1);
    let id = producer();
    assert_eq!(send(&topic, id, 0, -1).0, INVALID_RECORD);
    assert_eq!(send(&topic, id, -1, 0).0, NONE, "but an epoch of -1 is one like others");
}

/// A transactional id may not be empty.
#[test]
fn an_empty_transactional_id() {
    let request = InitProducerIdRequest::default()
        .with_transactional_id(Some(crate::client::text("").into()))
        .with_transaction_timeout_ms(60_000);
    for version in 0..=5 {
        assert_eq!(call(version, &request).error_code, INVALID_REQUEST, "v{version}");
    }
}
