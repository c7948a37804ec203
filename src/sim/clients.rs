//! The clients: producers with and without idempotence, consumers, an admin. They remember what they were told and tell
//! `History`; what they do next is drawn from the seed. Members of groups are in `members`.

use super::{
    checks::{self, Attempt, History},
    members::Members,
    node::{Node, Told},
    random::Random,
};
use crate::{
    broker::logs::Name,
    cluster::{Record, names::CONSUMER_OFFSETS, record::PartitionState},
    controller::{
        MorePartitions, NewTopic, TopicRef,
        machine::{Answer, Command},
    },
    ids::{LeaderEpoch, NodeId, TopicId},
    partition::{Acks, Appended, replica::Refused},
    wire::{Batch, Builder, ErrorCode, batch},
};
use std::collections::{BTreeMap, VecDeque};

/// Topics that are synced per request begin with `s`.
pub const TOPICS: [&str; 4] = ["s0", "s1", "u0", "u1"];
const PARTITIONS: usize = 3;
/// A client has at most five requests in flight.
const IN_FLIGHT_MAX: usize = 5;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Waiting,
    InFlight(u64),
    Done,
}

struct Sent {
    attempt: u64,
    batch: Batch,
    state: State,
    /// How often it was sent.
    times: u32,
}

/// What one idempotent producer has for one partition.
struct Queue {
    topic: &'static str,
    producer_id: i64,
    next_sequence: i32,
    /// Some batch of it was acknowledged. Before that it has one batch in flight: of a producer it does not know the broker
    /// takes any sequence, as Kafka does, so that a first batch that is refused and a second that is not leave a gap.
    is_known: bool,
    batches: VecDeque<Sent>,
}

pub struct Clients {
    pub history: History,
    pub members: Members,
    queues: BTreeMap<(usize, Name), Queue>,
    /// Appends that are sent once: by call, the attempt.
    plain: BTreeMap<u64, u64>,
    /// Deletions of records that wait, by call.
    deletions: BTreeMap<u64, Name>,
    /// What the admin waits for: the call and what it asked.
    admin: Option<(u64, Asked)>,
    next_call: u64,
    next_attempt: u64,
    /// Grows with everything that may have taken news from a coordinator.
    pub disturbances: u64,
}

#[derive(Debug, Clone)]
enum Asked {
    Create(String),
    Delete(String, Option<TopicId>),
    Grow,
}

impl Clients {
    pub fn new() -> Clients {
        Clients {
            history: History::default(),
            members: Members::new(),
            queues: BTreeMap::new(),
            plain: BTreeMap::new(),
            deletions: BTreeMap::new(),
            admin: None,
            next_call: 1,
            next_attempt: 1,
            disturbances: 0,
        }
    }

    fn call(&mut self) -> u64 {
        self.next_call += 1;
        self.next_call
    }

    /// One client does something; says what.
    pub fn act(&mut self, node: &mut Node, random: &mut Random) -> String {
        let (topic, index) = some_partition(node, random);
        let is_bare = node.process.image.topic_count() < 3 && self.admin.is_none();
        match random.below(100) {
            _ if is_bare => self.administer(node, random, topic),
            0..12 => self.produce_plain(node, random, (topic, index)),
            12..50 => {
                let producer = random.below(2);
                self.produce_idempotent(node, random, producer, (topic, index))
            }
            50..62 => self.fetch(node, random, (topic, index)),
            62..65 => self.administer(node, random, topic),
            65..70 => self.delete_records(node, random, (topic, index)),
            _ => {
                let call = self.call();
                self.members.act(node, random, &mut self.history, call)
            }
        }
    }

    fn batch(&mut self, node: &Node, random: &mut Random) -> (u64, Batch) {
        let attempt = self.next_attempt;
        self.next_attempt += 1;
        let mut builder = Builder::plain();
        for at in 0..=random.below(3) {
            let size = if random.chance(50) { 6000 } else { random.below(100) };
            let value = vec![attempt as u8 ^ at as u8; size];
            let key = (attempt << (8 * at.min(1)) | at as u64).to_be_bytes();
            let key = if at == 0 { attempt.to_be_bytes() } else { key };
            builder.push(node.now.wall_ms, Some(&key), Some(&value));
        }
        (attempt, builder.build().unwrap())
    }

    fn produce_plain(
        &mut self,
        node: &mut Node,
        random: &mut Random,
        to: (&'static str, i32),
    ) -> String {
        let (attempt, batch) = self.batch(node, random);
        let (acks, call) = match random.below(3) {
            0 => (Acks::Leader, 0),
            1 => (Acks::Leader, self.call()),
            _ => (Acks::All, self.call()),
        };
        match send(node, &mut self.history, to, (attempt, &batch), acks, call) {
            Ok(_) => {
                if call > 0 {
                    self.plain.insert(call, attempt);
                }
                format!("plain {attempt} to {to:?}, {acks:?}, call {call}")
            }
            Err(code) => format!("plain to {to:?}: {code:?}"),
        }
    }

    fn produce_idempotent(
        &mut self,
        node: &mut Node,
        random: &mut Random,
        producer: usize,
        to: (&'static str, i32),
    ) -> String {
        let Ok(name) = node.process.find(to.0, to.1).map(|it| it.name) else {
            return format!("no {to:?} to produce to");
        };
        if !self.queues.contains_key(&(producer, name)) {
            let producer_id = node.producer_id();
            self.history.producer_id(producer_id);
            let queue = Queue {
                topic: to.0,
                producer_id,
                next_sequence: 0,
                is_known: false,
                batches: VecDeque::new(),
            };
            self.queues.insert((producer, name), queue);
        }
        let (attempt, batch) = self.batch(node, random);
        let call = self.call();
        let queue = self.queues.get_mut(&(producer, name)).expect("inserted above");
        let in_flight_max = if queue.is_known { IN_FLIGHT_MAX } else { 1 };
        if queue.next().is_none() && queue.batches.len() < in_flight_max {
            queue.push(attempt, &batch);
        }
        let Some(at) = queue.next() else { return "the window is full".to_owned() };
        if queue.batches.iter().skip(at).any(|it| matches!(it.state, State::InFlight(_))) {
            return "waits before it tries again".to_owned();
        }
        let sent = &mut queue.batches[at];
        let what = (sent.attempt, &sent.batch);
        let acks = if random.chance(800) { Acks::All } else { Acks::Leader };
        match send(node, &mut self.history, to, what, acks, call) {
            Ok(_) => {
                sent.state = State::InFlight(call);
                sent.times += 1;
                let sequence = sent.batch.header.base_sequence;
                let (attempt, id) = (sent.attempt, queue.producer_id);
                format!("producer {id} {attempt} sequence {sequence} to {to:?}, call {call}")
            }
            Err(code) => format!("producer to {to:?}: {code:?}"),
        }
    }

    fn fetch(&mut self, node: &mut Node, random: &mut Random, to: (&'static str, i32)) -> String {
        let Ok(hosted) = node.process.find(to.0, to.1) else {
            return format!("no {to:?} to fetch from");
        };
        let view = hosted.view();
        let from = random.below(view.log_end as usize + 2) as i64;
        let max_bytes = random.below(20_000);
        match checks::fetch(hosted, from, max_bytes) {
            Ok((batches, next)) => {
                assert!(next <= view.high_watermark.max(from), "{to:?}: above the high watermark");
                let name = hosted.name;
                for batch in &batches {
                    assert!(batch.header.last_offset() < view.high_watermark);
                    let attempt = checks::attempt_of(batch);
                    assert_eq!(self.history.attempts[&attempt].to, name, "{attempt} in {to:?}");
                    // Who has read a record may rely on it.
                    self.history.acknowledged(attempt, batch.header.base_offset);
                }
                format!("fetch {to:?} from {from} to {next}")
            }
            Err(ErrorCode::OffsetOutOfRange) => {
                let start = match hosted.is_deleting() {
                    true => self.history.partitions[&hosted.name].deletion_asked,
                    false => view.log_start,
                };
                assert!(from < start || from > view.log_end, "{from} is in {view:?}");
                format!("fetch {to:?} from {from}: out of range")
            }
            Err(code) => {
                assert!(!view.leading, "{to:?}: {code:?}");
                format!("fetch {to:?}: {code:?}")
            }
        }
    }

    fn delete_records(
        &mut self,
        node: &mut Node,
        random: &mut Random,
        to: (&'static str, i32),
    ) -> String {
        let Ok(view) = node.process.find(to.0, to.1).map(|it| it.view()) else {
            return format!("no {to:?} to delete from");
        };
        let before = random.below(view.log_end as usize + 2) as i64;
        let call = self.call();
        let name = node.delete_records(to, before, call).expect("it is there");
        self.history.deletion_asked(name, before);
        self.deletions.insert(call, name);
        format!("delete {to:?} below {before}, call {call}")
    }

    fn administer(&mut self, node: &mut Node, random: &mut Random, topic: &'static str) -> String {
        if self.admin.is_some() {
            return "the admin waits".to_owned();
        }
        let call = self.call();
        let exists = node.process.image.topic(topic).is_some();
        let name = if node.process.image.topic(CONSUMER_OFFSETS).is_none() {
            CONSUMER_OFFSETS
        } else {
            topic
        };
        let (command, asked) = if name == CONSUMER_OFFSETS || !exists || random.chance(50) {
            (create(name, random), Asked::Create(name.to_owned()))
        } else if random.chance(300) {
            let count = node.process.image.topic(name).map_or(0, |it| it.partitions.len()) + 1;
            let more =
                MorePartitions { name: name.to_owned(), count: count as i32, assignments: None };
            if count > PARTITIONS {
                return "there are partitions enough".to_owned();
            }
            let topics = vec![more];
            (Command::CreatePartitions { topics, validate_only: false }, Asked::Grow)
        } else {
            let which = TopicRef { name: Some(name.to_owned()), topic_id: None };
            (
                Command::DeleteTopics(vec![which]),
                Asked::Delete(name.to_owned(), node.committed().topic(name).map(|it| it.id)),
            )
        };
        let what = format!("admin {command:?}");
        let is_gone = matches!(command, Command::DeleteTopics(_));
        node.ask_controller(call, command);
        // So soon that the broker sees one change of both.
        if is_gone && random.chance(300) {
            let call = self.call();
            node.ask_controller(call, create(name, random));
        }
        self.admin = Some((call, asked));
        what
    }

    /// A partition gets another leader epoch, and perhaps no leader for a while, as in a cluster.
    pub fn elect(&mut self, node: &mut Node, random: &mut Random) -> String {
        let (topic, index) = some_partition(node, random);
        let leader = random.chance(700).then_some(NodeId(1));
        match elect(node, (topic, index), leader) {
            true => format!("elects {leader:?} for {topic}-{index}"),
            false => "elects nobody".to_owned(),
        }
    }

    /// Takes what was answered.
    pub fn receive(&mut self, node: &mut Node) {
        for (call, told) in std::mem::take(&mut node.told) {
            match told {
                Told::Produced(answer) => self.produced(call, answer),
                Told::Deleted(answer) => {
                    if let (Some(name), Ok(start)) = (self.deletions.remove(&call), answer) {
                        self.history.records_deleted(name, start);
                    }
                }
                Told::Admin(answer) => self.administered(node, call, answer),
                Told::Group(answer) => {
                    let loads = node.process.shard.as_ref().map_or(0, |shard| shard.loads);
                    let life = self.disturbances * 1000 + loads;
                    self.members.receive(&mut self.history, life, call, answer);
                }
            }
        }
    }

    fn produced(&mut self, call: u64, answer: Result<Appended, Refused>) {
        if let Some(attempt) = self.plain.remove(&call) {
            if let Ok(appended) = answer {
                self.history.acknowledged(attempt, appended.base_offset);
            }
            return;
        }
        for queue in self.queues.values_mut() {
            let at = queue.batches.iter().position(|it| it.state == State::InFlight(call));
            let Some(at) = at else { continue };
            let sent = &mut queue.batches[at];
            match answer {
                Ok(appended) => {
                    self.history.counts.duplicates += u64::from(sent.times > 1);
                    sent.state = State::Done;
                    queue.is_known = true;
                    let last =
                        appended.base_offset + i64::from(sent.batch.header.last_offset_delta);
                    assert_eq!(appended.last_offset, last, "{}: its last offset", sent.attempt);
                    self.history.acknowledged(sent.attempt, appended.base_offset);
                }
                Err(refused) => {
                    sent.state = State::Waiting;
                    let out_of_order = refused.code == ErrorCode::OutOfOrderSequenceNumber;
                    assert!(
                        !(out_of_order && at == 0),
                        "{} of producer {} comes next and is out of order",
                        sent.attempt,
                        queue.producer_id
                    );
                }
            }
            while queue.batches.front().is_some_and(|it| it.state == State::Done) {
                queue.batches.pop_front();
            }
            return;
        }
    }

    fn administered(&mut self, node: &Node, call: u64, answer: Answer) {
        let Some((_, asked)) = self.admin.take_if(|(waits, _)| *waits == call) else {
            return;
        };
        let image = &node.process.image;
        match (asked, answer) {
            (Asked::Create(name), Answer::Created(results)) => match &results[0].1 {
                Ok(created) => {
                    let shown = image.topic(&name).map(|topic| topic.id);
                    assert_eq!(shown, Some(created.topic_id), "{name} was created");
                }
                Err(refusal) => assert_eq!(refusal.code, ErrorCode::TopicAlreadyExists, "{name}"),
            },
            (Asked::Delete(name, id), Answer::Deleted(results)) => {
                let shown = image.topic(&name).map(|topic| topic.id);
                assert!(results[0].1.is_err() || shown.is_none() || shown != id, "{name} is gone");
            }
            (Asked::Grow, Answer::Grown(_)) => {}
            (asked, answer) => panic!("{answer:?} answers {asked:?}"),
        }
    }

    /// The node is gone: nobody knows what became of what was in flight.
    pub fn lost(&mut self) {
        self.disturbances += 1;
        self.plain.clear();
        self.deletions.clear();
        self.admin = None;
        for queue in self.queues.values_mut() {
            for sent in &mut queue.batches {
                if matches!(sent.state, State::InFlight(_)) {
                    sent.state = State::Waiting;
                }
            }
        }
        self.members.lost();
    }

    /// What was acknowledged may be gone from topics that are not synced: their producers begin anew.
    pub fn power_cut(&mut self) {
        self.queues.retain(|_, queue| queue.topic.starts_with('s'));
    }

    /// Calls without an answer.
    pub fn outstanding(&self) -> Vec<u64> {
        let queued = self.queues.values().flat_map(|queue| &queue.batches);
        let idempotent = queued.filter_map(|it| match it.state {
            State::InFlight(call) => Some(call),
            _ => None,
        });
        let admin = self.admin.iter().map(|(call, _)| *call);
        let members = self.members.outstanding();
        let once = self.plain.keys().chain(self.deletions.keys()).copied();
        once.chain(idempotent).chain(admin).chain(members).collect()
    }

    /// Sends what idempotent producers still have; false when they have nothing.
    pub fn retry(&mut self, node: &mut Node) -> bool {
        let mut sent_any = false;
        let keys: Vec<(usize, Name)> = self.queues.keys().copied().collect();
        for key in keys {
            let call = self.call();
            let queue = self.queues.get_mut(&key).expect("a key of it");
            let now = node.process.find(queue.topic, key.1.1).map(|it| it.name);
            if now != Ok(key.1) {
                self.queues.remove(&key);
                continue;
            }
            let to = (queue.topic, key.1.1);
            if let Some(at) = queue.next() {
                let sent = &mut queue.batches[at];
                let what = (sent.attempt, &sent.batch);
                send(node, &mut self.history, to, what, Acks::All, call).expect("it is there");
                sent.state = State::InFlight(call);
                sent_any = true;
            }
        }
        sent_any
    }
}

impl Queue {
    /// The first batch that has to be sent.
    fn next(&self) -> Option<usize> {
        self.batches.iter().position(|it| it.state == State::Waiting)
    }

    fn push(&mut self, attempt: u64, batch: &Batch) {
        let header = batch::Header {
            producer_id: self.producer_id,
            producer_epoch: 0,
            base_sequence: self.next_sequence,
            ..batch.header
        };
        self.next_sequence += header.records_count;
        let batch = Batch::assemble(header, &batch.payload()).unwrap();
        self.batches.push_back(Sent { attempt, batch, state: State::Waiting, times: 0 });
    }
}

/// One that exists, most of the time.
pub fn some_partition(node: &Node, random: &mut Random) -> (&'static str, i32) {
    let image = &node.process.image;
    let mut all: Vec<(&'static str, i32)> = Vec::new();
    for topic in TOPICS {
        let count = image.topic(topic).map_or(0, |it| it.partitions.len() as i32);
        all.extend((0..count).map(|index| (topic, index)));
    }
    if all.is_empty() || random.chance(100) {
        return (*random.pick(&TOPICS), random.below(PARTITIONS) as i32);
    }
    *random.pick(&all)
}

fn send(
    node: &mut Node,
    history: &mut History,
    to: (&str, i32),
    (attempt, batch): (u64, &Batch),
    acks: Acks,
    call: u64,
) -> Result<Name, ErrorCode> {
    let checked = batch::check(9, batch.bytes.clone(), usize::MAX).map_err(|flaw| flaw.code)?;
    let name = node.produce(to, checked, acks, call)?;
    history.attempts.insert(attempt, Attempt { bytes: batch.bytes.clone(), to: name });
    Ok(name)
}

/// Topics whose name begins with s are synced for each request.
fn create(name: &str, random: &mut Random) -> Command {
    let mut new = NewTopic::named(name);
    new.partitions = if name == CONSUMER_OFFSETS { 1 } else { 1 + random.below(2) as i32 };
    if name.starts_with('s') {
        new.configs.push(("flush.messages".to_owned(), Some("1".to_owned())));
    }
    Command::CreateTopics { topics: vec![(TopicId(random.uuid()), new)], validate_only: false }
}

/// Gives a partition of a topic a leader, or none, in the next epoch; false when there is no such partition.
pub fn elect(node: &mut Node, (topic, index): (&str, i32), leader: Option<NodeId>) -> bool {
    let image = crate::cluster::Image::clone(&node.committed());
    let Some(topic) = image.topic(topic) else { return false };
    let Some(state) = topic.partitions.get(index as usize) else { return false };
    let state = PartitionState {
        leader,
        leader_epoch: LeaderEpoch(state.leader_epoch.0 + 1),
        partition_epoch: state.partition_epoch + 1,
        ..state.clone()
    };
    node.commit(vec![Record::Partition { topic_id: topic.id, partition: index, state }]);
    true
}
