//! InitProducerId: v0-5. Not here: transactions, which Ottla does not have yet.

use kafka_protocol::messages::{InitProducerIdRequest, ProducerId, TransactionalId};

use super::{Case, case, check};
use crate::broker::is_foreign;
use crate::client::{call, text};
use crate::codes::NONE;
use crate::fixtures::until;

fn request() -> InitProducerIdRequest {
    InitProducerIdRequest::default()
        .with_transactional_id(None)
        .with_transaction_timeout_ms(60_000)
        .with_producer_id(ProducerId(-1))
        .with_producer_epoch(-1)
}

/// Kafka has no ids to give out for a moment after its start; Ottla always has.
fn warm_up() {
    until("producer ids", || call(4, &request()).error_code == NONE);
}

const CASES: &[Case] = &[
    case("an id, another id", 0..=5, |t| {
        warm_up();
        t.ask(&request());
        t.ask(&request());
    }),
    case("the timeout is not looked at", 0..=5, |t| {
        warm_up();
        t.ask(&request().with_transaction_timeout_ms(-1));
    }),
    case("an empty transactional id", 0..=5, |t| {
        t.ask(&request().with_transactional_id(Some(TransactionalId(text("")))));
    }),
    case("a producer that has an id and an epoch", 3..=5, |t| {
        warm_up();
        let request = request().with_producer_id(ProducerId(1_000_000)).with_producer_epoch(3);
        t.ask(&request);
    }),
    case("only one of id and epoch", 3..=5, |t| {
        t.ask(&request().with_producer_id(ProducerId(1_000_000)));
        t.ask(&request().with_producer_epoch(3));
    }),
    case("a transactional id", 0..=5, |t| {
        let id = TransactionalId(text(&t.name("transactional-id")));
        let request = request().with_transactional_id(Some(id));
        until("the coordinator", || !is_foreign() || call(4, &request).error_code == NONE);
        t.hidden(&["producer_epoch"]).ask(&request);
    }),
];

#[test]
fn init_producer_id() {
    check("init_producer_id", 22, CASES);
}
