//! A consumer of librdkafka's in a group: reads what the group gives it, commits, and asks what is committed.

use super::{Life, World, reader::Batch, settings::consumer_settings};
use crate::{
    random::Random,
    recorder::{Process, now},
};
use judge::history::{Action, Committed, Isolation, Partition, Phase, Position, Role};
use rdkafka::{
    ClientContext, Message, Offset, TopicPartitionList,
    consumer::{BaseConsumer, CommitMode, Consumer, ConsumerContext, Rebalance},
    message::BorrowedMessage,
};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

const POLL_RECORDS_MAX: usize = 300;

pub struct Member {
    process: Process,
    group: String,
    state: Mutex<State>,
    /// Whether it commits what it has read before partitions are taken from it.
    commits_on_revoke: bool,
}

#[derive(Default)]
struct State {
    poll: Option<Poll>,
    /// The next record to be read; of partitions that it owns and has read from.
    positions: BTreeMap<Partition, i64>,
    owned: Vec<Partition>,
}

struct Poll {
    op: u64,
    batch: Batch,
}

impl Member {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begin_poll(&self) {
        let op = self.process.invoke(Action::Poll { records: vec![] });
        self.state().poll = Some(Poll { op, batch: Batch::default() });
    }

    fn end_poll(&self) {
        let Some(Poll { op, batch }) = self.state().poll.take() else { return };
        self.process.complete(op, Phase::Ok, batch.into_action());
    }

    fn read(&self, message: &BorrowedMessage<'_>) -> usize {
        let mut state = self.state();
        let from = Partition::new(message.topic(), message.partition() as u32);
        state.positions.insert(from, message.offset() + 1);
        let Some(poll) = &mut state.poll else { return 0 };
        poll.batch.push_message(message);
        poll.batch.len()
    }

    fn commit(&self, consumer: &BaseConsumer<Member>) {
        let offsets: Vec<Position> = {
            let state = self.state();
            state.positions.iter().map(|(at, next)| Position(at.clone(), *next)).collect()
        };
        if offsets.is_empty() {
            return;
        }
        let mut list = TopicPartitionList::new();
        for Position(at, next) in &offsets {
            let offset = Offset::Offset(*next);
            list.add_partition_offset(&at.topic, at.index as i32, offset).expect("a valid offset");
        }
        let action = || Action::Commit { group: self.group.clone(), offsets: offsets.clone() };
        let op = self.process.invoke(action());
        let phase = match consumer.commit(&list, CommitMode::Sync) {
            Ok(()) => Phase::Ok,
            Err(error) => {
                // An attempt before the one that was refused may have got through.
                self.process.recorder().error(format!("commit: {error}"));
                Phase::Unknown
            }
        };
        self.process.complete(op, phase, action());
    }
}

impl ClientContext for Member {}

impl ConsumerContext for Member {
    fn pre_rebalance(&self, consumer: &BaseConsumer<Member>, rebalance: &Rebalance<'_>) {
        // It is called while the client is asked for records.
        self.end_poll();
        let (assigned, revoked) = match rebalance {
            Rebalance::Assign(list) => (partitions(list), vec![]),
            Rebalance::Revoke(list) => (vec![], partitions(list)),
            // The client lets go of everything.
            Rebalance::Error(error) => {
                self.process.recorder().error(format!("rebalance: {error}"));
                (vec![], self.state().owned.clone())
            }
        };
        if !revoked.is_empty() && self.commits_on_revoke && !consumer.assignment_lost() {
            self.commit(consumer);
        }
        {
            let mut state = self.state();
            state.owned.retain(|owned| !revoked.contains(owned));
            state.owned.extend(assigned.iter().cloned());
            state.positions.retain(|at, _| !revoked.contains(at) && !assigned.contains(at));
        }
        self.process.happened(Action::Rebalance { assigned, revoked });
        self.begin_poll();
    }
}

pub fn live(world: &Arc<World>, random: &mut Random, life: Life, group: &str, strategy: &str) {
    let group = format!("{}-{group}", world.prefix);
    let mut settings = consumer_settings(world, &group);
    settings.set("partition.assignment.strategy", strategy);
    let isolation = Isolation::ReadCommitted;
    let role = Role::Consumer { group: Some(group.clone()), isolation };
    let process = world.recorder.process(role);
    let member = Member {
        process: process.clone(),
        group: group.clone(),
        state: Mutex::default(),
        commits_on_revoke: random.once_in(2),
    };
    let consumer: BaseConsumer<Member> = match settings.create_with_context(member) {
        Ok(consumer) => consumer,
        Err(error) => {
            world.recorder.complain(format!("no consumer: {error}"));
            return world.sleep(Duration::from_secs(1));
        }
    };
    let topics: Vec<String> = world.topics.iter().map(|topic| topic.name.clone()).collect();
    process.happened(Action::Subscribe { topics: topics.clone() });
    if let Err(error) = consumer.subscribe(&topics.iter().map(String::as_str).collect::<Vec<_>>()) {
        world.recorder.complain(format!("cannot subscribe: {error}"));
    }
    while !life.is_over(world) {
        poll(world, &consumer, Duration::from_millis(random.between(50, 300)));
        if random.once_in(3) {
            consumer.context().commit(&consumer);
        }
        if random.once_in(10) {
            ask(world, &consumer, &process, &group, world.partitions());
        }
    }
    // Half of them leave, the others vanish, and the group must find out.
    if random.once_in(2) {
        consumer.context().begin_poll();
        consumer.unsubscribe();
        let until = now() + Duration::from_millis(500);
        while now() < until && consumer.assignment().is_ok_and(|list| list.count() > 0) {
            let _ = consumer.poll(Duration::from_millis(50));
        }
        consumer.context().end_poll();
    }
    // With its end comes a last rebalance.
    let member = consumer.context().clone();
    drop(consumer);
    member.end_poll();
    process.happened(Action::Crash);
}

fn poll(world: &World, consumer: &BaseConsumer<Member>, time: Duration) {
    let member = consumer.context();
    member.begin_poll();
    let until = now() + time;
    let mut records = 0;
    while records < POLL_RECORDS_MAX {
        let left = until.saturating_duration_since(now());
        if left.is_zero() {
            break;
        }
        match consumer.poll(left) {
            Some(Ok(message)) => records = member.read(&message),
            Some(Err(error)) => world.recorder.error(format!("poll in a group: {error}")),
            None => {}
        }
    }
    member.end_poll();
}

/// Asks the broker what is committed.
pub fn ask<C: ConsumerContext>(
    world: &World,
    consumer: &BaseConsumer<C>,
    process: &Process,
    group: &str,
    partitions: Vec<Partition>,
) {
    let mut list = TopicPartitionList::new();
    for partition in &partitions {
        list.add_partition(&partition.topic, partition.index as i32);
    }
    let action = |offsets| Action::Committed { group: group.to_owned(), offsets };
    let unknown = || partitions.iter().map(|at| Committed(at.clone(), None)).collect();
    let op = process.invoke(action(unknown()));
    let answer = consumer.committed_offsets(list, Duration::from_secs(5));
    match answer.and_then(|list| list.elements().iter().map(committed).collect()) {
        Ok(offsets) => process.complete(op, Phase::Ok, action(offsets)),
        Err(error) => {
            world.recorder.error(format!("committed: {error}"));
            process.complete(op, Phase::Unknown, action(unknown()));
        }
    }
}

fn committed(
    element: &rdkafka::topic_partition_list::TopicPartitionListElem<'_>,
) -> Result<Committed, rdkafka::error::KafkaError> {
    element.error()?;
    let offset = match element.offset() {
        Offset::Offset(offset) => Some(offset),
        _ => None,
    };
    Ok(Committed(Partition::new(element.topic(), element.partition() as u32), offset))
}

fn partitions(list: &TopicPartitionList) -> Vec<Partition> {
    let elements = list.elements();
    elements.iter().map(|e| Partition::new(e.topic(), e.partition() as u32)).collect()
}
