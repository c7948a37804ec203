//! The life of a transaction: AddPartitionsToTxn v0-3, AddOffsetsToTxn v0-4, TxnOffsetCommit v0-5, EndTxn v0-5, and what
//! Produce, Fetch and InitProducerId say meanwhile.

use kafka_protocol::messages::add_partitions_to_txn_request::AddPartitionsToTxnTopic;
use kafka_protocol::messages::txn_offset_commit_request::{
    TxnOffsetCommitRequestPartition, TxnOffsetCommitRequestTopic,
};
use kafka_protocol::messages::{
    AddOffsetsToTxnRequest, AddPartitionsToTxnRequest, EndTxnRequest, FindCoordinatorRequest,
    InitProducerIdRequest, InitProducerIdResponse, ProducerId, TransactionalId,
    TxnOffsetCommitRequest,
};

use super::{Case, Run, case, check};
use crate::batch::Batch;
use crate::client::{call, text};
use crate::codes::NONE;
use crate::fixtures::{Topic, produce_request, topic_name, until};
use crate::members::group_id;

/// One transactional producer.
struct Producer {
    id: TransactionalId,
    producer_id: ProducerId,
    epoch: i16,
}

fn init(id: &TransactionalId) -> InitProducerIdRequest {
    InitProducerIdRequest::default()
        .with_transactional_id(Some(id.clone()))
        .with_transaction_timeout_ms(60_000)
        .with_producer_id(ProducerId(-1))
        .with_producer_epoch(-1)
}

fn transactional_id(t: &mut Run) -> TransactionalId {
    let name = t.name("transactional-id");
    let find = FindCoordinatorRequest::default().with_key_type(1).with_key(text(&name));
    until("the coordinator", || call(3, &find).error_code == NONE);
    TransactionalId(text(&name))
}

/// Epoch 0: the coordinator is asked until it has loaded.
fn producer(t: &mut Run) -> Producer {
    let id = transactional_id(t);
    let mut answer = InitProducerIdResponse::default();
    until("an id", || {
        answer = call(4, &init(&id));
        answer.error_code == NONE
    });
    Producer { id, producer_id: answer.producer_id, epoch: answer.producer_epoch }
}

impl Producer {
    fn add(&self, topic: &str, partitions: &[i32]) -> AddPartitionsToTxnRequest {
        let topic = AddPartitionsToTxnTopic::default()
            .with_name(topic_name(topic))
            .with_partitions(partitions.to_vec());
        AddPartitionsToTxnRequest::default()
            .with_v3_and_below_transactional_id(self.id.clone())
            .with_v3_and_below_producer_id(self.producer_id)
            .with_v3_and_below_producer_epoch(self.epoch)
            .with_v3_and_below_topics(vec![topic])
    }

    fn end(&self, committed: bool) -> EndTxnRequest {
        EndTxnRequest::default()
            .with_transactional_id(self.id.clone())
            .with_producer_id(self.producer_id)
            .with_producer_epoch(self.epoch)
            .with_committed(committed)
    }

    fn add_offsets(&self, group: &str) -> AddOffsetsToTxnRequest {
        AddOffsetsToTxnRequest::default()
            .with_transactional_id(self.id.clone())
            .with_producer_id(self.producer_id)
            .with_producer_epoch(self.epoch)
            .with_group_id(group_id(group))
    }

    fn commit(&self, group: &str, topic: &str) -> TxnOffsetCommitRequest {
        let partition = TxnOffsetCommitRequestPartition::default()
            .with_partition_index(0)
            .with_committed_offset(7)
            .with_committed_metadata(Some(text("")));
        let topic = TxnOffsetCommitRequestTopic::default()
            .with_name(topic_name(topic))
            .with_partitions(vec![partition]);
        TxnOffsetCommitRequest::default()
            .with_transactional_id(self.id.clone())
            .with_group_id(group_id(group))
            .with_producer_id(self.producer_id)
            .with_producer_epoch(self.epoch)
            .with_topics(vec![topic])
    }

    fn batch(&self, sequence: i32) -> Batch {
        let batch = Batch::new().value("a", 1_000).attributes(1 << 4);
        batch.producer(*self.producer_id, self.epoch, sequence)
    }

    fn produce(&self, t: &mut Run, topic: &Topic, sequence: i32) {
        let request = produce_request(topic, 0, Some(self.batch(sequence).build()));
        t.ask_at(11, &request.with_transactional_id(Some(self.id.clone())));
    }
}

const INIT: &[Case] = &[
    case("an id, the next epoch of it", 0..=5, |t| {
        producer(t);
        let id = producer(t).id;
        t.ask(&init(&id));
        t.ask(&init(&id));
    }),
    case("timeouts that cannot be", 0..=5, |t| {
        let id = producer(t).id;
        for timeout in [0, -1, 900_001] {
            t.note(&format!("{timeout} ms")).ask(&init(&id).with_transaction_timeout_ms(timeout));
        }
    }),
    case("with the id and epoch it has, with others", 3..=5, |t| {
        let it = producer(t);
        let known = init(&it.id).with_producer_id(it.producer_id);
        t.ask(&known.clone().with_producer_epoch(it.epoch));
        t.note("an old epoch").ask(&init(&it.id));
        t.ask(&known.with_producer_epoch(7));
        let other = init(&it.id).with_producer_id(ProducerId(1 << 40)).with_producer_epoch(0);
        t.note("another id").ask(&other);
    }),
];

const ADD: &[Case] = &[
    case("partitions, the same once more", 0..=3, |t| {
        let (topic, it) = (t.topic(2), producer(t));
        t.sorted(&["results_by_partition"]).ask(&it.add(&topic.name, &[0, 1]));
        t.ask(&it.add(&topic.name, &[0]));
    }),
    case("unknown topics and partitions: none is added", 0..=3, |t| {
        let (topic, unknown, it) = (t.topic(1), t.name("topic"), producer(t));
        t.sorted(&["results_by_partition"]).ask(&it.add(&topic.name, &[0, 7]));
        t.ask(&it.add(&unknown, &[0]));
    }),
    case("an old epoch, an unknown transactional id, none", 0..=3, |t| {
        let (topic, mut it) = (t.topic(1), producer(t));
        it.epoch = -1;
        t.note("an old epoch").ask(&it.add(&topic.name, &[0]));
        it.epoch = 7;
        t.note("a later epoch").ask(&it.add(&topic.name, &[0]));
        it.producer_id = ProducerId(1 << 40);
        t.note("another producer").ask(&it.add(&topic.name, &[0]));
        it.id = transactional_id(t);
        t.note("an unknown id").ask(&it.add(&topic.name, &[0]));
        it.id = TransactionalId(text(""));
        t.note("no id").ask(&it.add(&topic.name, &[0]));
    }),
];

const END: &[Case] = &[
    case("nothing to end", 0..=5, |t| {
        let it = producer(t);
        for committed in [true, false] {
            t.note(&format!("committed {committed}")).ask(&it.end(committed));
        }
    }),
    case("an old epoch, an unknown transactional id", 0..=5, |t| {
        let mut it = producer(t);
        it.epoch = 7;
        t.note("a later epoch").ask(&it.end(true));
        it.producer_id = ProducerId(1 << 40);
        t.note("another producer").ask(&it.end(true));
        it.id = transactional_id(t);
        t.note("an unknown id").ask(&it.end(true));
    }),
];

const OFFSETS: &[Case] = &[
    case("a group in a transaction", 0..=4, |t| {
        let (group, it) = (t.group(), producer(t));
        t.ask(&it.add_offsets(&group));
        t.ask(&it.add_offsets(&group));
    }),
    case("an old epoch, an unknown transactional id, no group", 0..=4, |t| {
        let (group, mut it) = (t.group(), producer(t));
        t.note("no group").ask(&it.add_offsets(""));
        it.epoch = 7;
        t.note("a later epoch").ask(&it.add_offsets(&group));
        it.id = transactional_id(t);
        t.note("an unknown id").ask(&it.add_offsets(&group));
    }),
];

const PRODUCE: &[Case] = &[
    case("a batch without its partition added", 11..=11, |t| {
        let (topic, it) = (t.topic(1), producer(t));
        it.produce(t, &topic, 0);
    }),
    case("added, then written", 11..=11, |t| {
        let (topic, it) = (t.topic(1), producer(t));
        call(3, &it.add(&topic.name, &[0]));
        it.produce(t, &topic, 0);
        it.produce(t, &topic, 1);
        t.note("not of the transaction");
        let plain = it.batch(2).attributes(0);
        t.ask_at(11, &produce_request(&topic, 0, Some(plain.build())));
    }),
];

/// The first not at v4: which of two codes Kafka says then depends on what it verifies at the same time.
const COMMIT: &[Case] = &[
    case("a group that was not added", 0..=3, |t| {
        let (topic, group, it) = (t.topic(1), t.group(), producer(t));
        t.ask(&it.commit(&group, &topic.name));
    }),
    case("a group that was added", 0..=4, |t| {
        let (topic, group, it) = (t.topic(1), t.group(), producer(t));
        call(3, &it.add_offsets(&group));
        t.ask(&it.commit(&group, &topic.name));
    }),
];

#[test]
fn init_transactional() {
    check("init_transactional", 24, INIT);
}

#[test]
fn add_partitions_to_txn() {
    check("add_partitions_to_txn", 24, ADD);
}

#[test]
fn end_txn() {
    check("end_txn", 26, END);
}

#[test]
fn add_offsets_to_txn() {
    check("add_offsets_to_txn", 25, OFFSETS);
}

#[test]
fn produce_transactional() {
    check("produce_transactional", 24, PRODUCE);
}

#[test]
fn txn_offset_commit() {
    check("txn_offset_commit", 28, COMMIT);
}
