//! A consumer of librdkafka's that reads partitions of its own choice.

use super::{Life, World, settings::consumer_settings};
use crate::{
    payload,
    random::Random,
    recorder::{Process, now},
};
use judge::history::{Action, Isolation, Partition, Phase, Polled, Position, Record, Role};
use rdkafka::{
    ClientContext, Message, Offset, TopicPartitionList,
    consumer::{BaseConsumer, Consumer, ConsumerContext},
    message::BorrowedMessage,
};
use std::{sync::Arc, time::Duration};

/// Records of one poll.
const POLL_RECORDS_MAX: usize = 500;

/// Records handed out, by partition, in their order.
#[derive(Default)]
pub struct Batch(Vec<Polled>, usize);

impl Batch {
    pub fn push(&mut self, from: &str, index: u32, record: Record) {
        self.1 += 1;
        let here = |polled: &&mut Polled| polled.from.index == index && polled.from.topic == from;
        match self.0.iter_mut().find(here) {
            Some(polled) => polled.records.push(record),
            None => {
                self.0.push(Polled { from: Partition::new(from, index), records: vec![record] });
            }
        }
    }

    pub fn push_message(&mut self, message: &BorrowedMessage<'_>) {
        let record = Record {
            offset: message.offset(),
            key: payload::decode_key(message.key()),
            value: message.payload().map_or(0, payload::decode),
        };
        self.push(message.topic(), message.partition() as u32, record);
    }

    pub fn len(&self) -> usize {
        self.1
    }

    pub fn into_action(self) -> Action {
        Action::Poll { records: self.0 }
    }
}

/// Errors go to the poll that meets them.
pub struct Silent;
impl ClientContext for Silent {}
impl ConsumerContext for Silent {}

pub fn live(world: &Arc<World>, random: &mut Random, life: Life) {
    let isolation = random.pick(&[Isolation::ReadUncommitted, Isolation::ReadCommitted]);
    let mut settings = consumer_settings(world, &format!("{}-none", world.prefix));
    settings.set(
        "isolation.level",
        match isolation {
            Isolation::ReadUncommitted => "read_uncommitted",
            Isolation::ReadCommitted => "read_committed",
        },
    );
    settings.set("fetch.message.max.bytes", random.pick(&["3000", "50000", "1048576"]));
    let consumer: BaseConsumer<Silent> = match settings.create_with_context(Silent) {
        Ok(consumer) => consumer,
        Err(error) => {
            world.recorder.complain(format!("no consumer: {error}"));
            return world.sleep(Duration::from_secs(1));
        }
    };
    let process = world.recorder.process(Role::Consumer { group: None, isolation });
    assign(world, random, &consumer, &process);
    while !life.is_over(world) {
        if random.once_in(64) {
            assign(world, random, &consumer, &process);
        }
        poll(world, &consumer, &process, Duration::from_millis(random.between(50, 400)));
    }
    drop(consumer);
    process.happened(Action::Crash);
}

/// About half of all partitions.
fn assign(world: &World, random: &mut Random, consumer: &BaseConsumer<Silent>, process: &Process) {
    let mut partitions = world.partitions();
    random.shuffle(&mut partitions);
    partitions.truncate(partitions.len().div_ceil(2));
    let from = partitions.into_iter().map(|partition| {
        let start = world.start_offset(&partition, random);
        Position(partition, start)
    });
    assign_exactly(world, consumer, process, from.collect());
}

pub fn assign_exactly(
    world: &World,
    consumer: &BaseConsumer<Silent>,
    process: &Process,
    from: Vec<Position>,
) {
    let mut list = TopicPartitionList::new();
    for Position(Partition { topic, index }, offset) in &from {
        let added = list.add_partition_offset(topic, *index as i32, Offset::Offset(*offset));
        if let Err(error) = added {
            world.recorder.complain(format!("cannot assign {topic}-{index}: {error}"));
        }
    }
    process.happened(Action::Assign { from });
    if let Err(error) = consumer.assign(&list) {
        world.recorder.complain(format!("cannot assign: {error}"));
    }
}

/// One poll of the history: what librdkafka hands out within `time`. Gives the number of records.
pub fn poll(
    world: &World,
    consumer: &BaseConsumer<Silent>,
    process: &Process,
    time: Duration,
) -> usize {
    let op = process.invoke(Action::Poll { records: vec![] });
    let (until, mut batch) = (now() + time, Batch::default());
    while batch.len() < POLL_RECORDS_MAX {
        let left = until.saturating_duration_since(now());
        if left.is_zero() {
            break;
        }
        match consumer.poll(left) {
            Some(Ok(message)) => batch.push_message(&message),
            Some(Err(error)) => world.recorder.error(format!("poll: {error}")),
            None => {}
        }
    }
    let records = batch.len();
    process.complete(op, Phase::Ok, batch.into_action());
    records
}
