//! ListTransactions: v0-2, DescribeTransactions: v0, DescribeProducers: v0, of a broker whose clients begin none.

use kafka_protocol::messages::describe_producers_request::TopicRequest;
use kafka_protocol::messages::{
    DescribeProducersRequest, DescribeTransactionsRequest, FindCoordinatorRequest,
    ListTransactionsRequest, ProducerId, TransactionalId,
};

use super::{Case, Run, case, check};
use crate::batch::Batch;
use crate::broker::is_foreign;
use crate::client::{call, text};
use crate::codes::NONE;
use crate::fixtures::{produce, topic_name, until};

/// Kafka creates its topic for transactions when someone looks for a coordinator, and loads it then.
fn warm_up() {
    if !is_foreign() {
        return;
    }
    let find = FindCoordinatorRequest::default().with_key_type(1).with_key(text("differential"));
    until("the coordinator of transactions", || call(3, &find).error_code == NONE);
    let ids = vec![TransactionalId(text("differential"))];
    let describe = DescribeTransactionsRequest::default().with_transactional_ids(ids);
    let loading = [14, 15, 16];
    until("its transactions", || {
        !loading.contains(&call(0, &describe).transaction_states[0].error_code)
    });
}

fn producers(name: &str, partitions: &[i32]) -> DescribeProducersRequest {
    let topic = TopicRequest::default()
        .with_name(topic_name(name))
        .with_partition_indexes(partitions.to_vec());
    DescribeProducersRequest::default().with_topics(vec![topic])
}

fn list(t: &mut Run, request: &ListTransactionsRequest) {
    t.only_ours("transaction_states").ask(request);
}

const LIST: &[Case] = &[
    case("all", 0..=2, |t| {
        warm_up();
        list(t, &ListTransactionsRequest::default());
    }),
    case("by state, by producer", 0..=2, |t| {
        warm_up();
        let states = ["Ongoing", "x"].map(text).into();
        list(t, &ListTransactionsRequest::default().with_state_filters(states));
        let producers = vec![ProducerId(1_000_000)];
        list(t, &ListTransactionsRequest::default().with_producer_id_filters(producers));
    }),
    case("by pattern", 2..=2, |t| {
        warm_up();
        for pattern in ["differential-nobody.*", "(", ""] {
            let pattern = Some(text(pattern));
            t.ask(
                &ListTransactionsRequest::default()
                    .with_transactional_id_pattern(pattern)
                    .with_state_filters(vec![text("Dead")]),
            );
        }
    }),
];

const DESCRIBE: &[Case] = &[case("unknown ones, an empty one, none", 0..=0, |t| {
    warm_up();
    let unknown = t.name("transactional-id");
    for ids in [&[&*unknown][..], &[""], &[]] {
        let ids = ids.iter().map(|id| TransactionalId(text(id))).collect();
        t.ask(&DescribeTransactionsRequest::default().with_transactional_ids(ids));
    }
})];

const PRODUCERS: &[Case] = &[
    case("an idempotent producer", 0..=0, |t| {
        let topic = t.topic(2);
        let batch = |sequence| Batch::new().value("a", 1_000).producer(1_000_000, 0, sequence);
        for sequence in 0..3 {
            produce(&topic, 0, &batch(sequence));
        }
        t.ask(&producers(&topic.name, &[0, 1]));
    }),
    case("no such partition, no such topic, no topics", 0..=0, |t| {
        let (topic, unknown) = (t.topic(1), t.name("topic"));
        t.ask(&producers(&topic.name, &[7, -1]));
        t.ask(&producers(&unknown, &[0]));
        t.ask(&producers("a b", &[0]));
        t.ask(&DescribeProducersRequest::default());
    }),
];

#[test]
fn list_transactions() {
    check("list_transactions", 66, LIST);
}

#[test]
fn describe_transactions() {
    check("describe_transactions", 65, DESCRIBE);
}

#[test]
fn describe_producers() {
    check("describe_producers", 61, PRODUCERS);
}
