//! The simulated node: its disk, the ideal quorum, and the process that runs until it is killed.
//!
//! Owns everything a broker owns. What survives a crash is what `Node` has beside `process`; a process begins with what the
//! disk and the quorum hold, by the steps of `Broker::start` and `Reconciler::apply`, one at a time. Clients are elsewhere.

use super::{
    hosted::{Hosted, Message, Who},
    random::Random,
    shard::{Mail, Shard},
};
use crate::{
    broker::logs::{self, Name},
    cluster::{
        Image, Record, Topic,
        names::CONSUMER_OFFSETS,
        record::{PartitionState, Resource},
    },
    config::{Config, topic::LogConfig},
    controller::{
        Registration,
        machine::{Answer, Command, Controller, Settings},
    },
    group::{self, command},
    ids::{LogId, NodeId, Offset, TopicId},
    machine::{BatchKind, Caller, Input, Machine, Mono, Now, Outcome, runner::CallError},
    partition::{
        Acks, Appended, Assigned,
        producers::Origin,
        replica::Refused,
        validate::{self, Validated},
    },
    storage::{Done, LogStore, StorageError, mem::Mem},
    wire::{Batch, ErrorCode},
};
use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    sync::Arc,
};

const NODE: NodeId = NodeId(1);

/// What a client is told.
pub enum Told {
    Produced(Result<Appended, Refused>),
    Deleted(Result<Offset, ErrorCode>),
    Group(Result<command::Reply, CallError>),
    Admin(Answer),
}

/// A step of carrying out an image.
enum Work {
    RetireShard,
    Create(Arc<Topic>, i32),
    Open(Arc<Topic>, i32),
    /// Until all that was opened is ready; then it is registered.
    Register,
    Assign(Name, Assigned),
    Publish(Arc<Image>),
    Stop(Name),
    Stopped(Name),
    Forget(Name),
    Delete(LogId),
    TopicsDeleted(Vec<(String, TopicId)>),
    Applied(i64),
    Orphans,
    RegisterBroker,
    Serve,
}

/// A broker's process.
pub struct Process {
    pub controller: Controller,
    committed: Arc<Image>,
    /// What handlers see.
    pub image: Arc<Image>,
    work: VecDeque<Work>,
    /// What is being carried out.
    loading: Arc<Image>,
    logs: HashMap<Name, LogId>,
    opening: BTreeMap<Name, Hosted>,
    pub partitions: BTreeMap<Name, Hosted>,
    stopping: BTreeMap<Name, Hosted>,
    pub shard: Option<Shard>,
    target: i64,
    applied: i64,
    waiting: Vec<(i64, u64, Answer)>,
    producer_ids: std::ops::Range<i64>,
    /// Clients can connect.
    pub serving: bool,
    /// Why it can serve no longer: the process is about to end.
    pub poisoned: Option<String>,
}

pub struct Node {
    pub config: Config,
    pub mem: Arc<Mem>,
    pub quorum: Vec<Vec<Record>>,
    pub now: Now,
    pub process: Process,
    pub told: Vec<(u64, Told)>,
    pub full: bool,
}

impl Node {
    pub fn new() -> Node {
        let set = [
            ("node.id", "1"),
            ("offsets.topic.num.partitions", "1"),
            ("group.initial.rebalance.delay.ms", "50"),
            // An empty group without offsets expires, and begins again with generation 1.
            ("offsets.retention.check.interval.ms", "2000000000"),
        ];
        let config = Config::build(true, &set).unwrap();
        let now = Now { mono: Mono(0), wall_ms: 1_700_000_000_000 };
        let mem = Arc::new(Mem::with_faults());
        let process = Process::start(&mem, &Vec::new());
        let mut node =
            Node { config, mem, quorum: Vec::new(), now, process, told: Vec::new(), full: false };
        node.elected();
        node
    }

    /// Ends the process where it is and starts another on what is left.
    pub fn crash(&mut self, choose: &mut dyn FnMut(usize) -> usize) {
        self.mem = Arc::new(self.mem.crash(choose));
        self.process = Process::start(&self.mem, &self.quorum);
        self.told.clear();
        self.full = false;
        self.now.mono = Mono(0);
        self.elected();
    }

    fn elected(&mut self) {
        let mut outcome = Outcome::default();
        self.process.controller.step(self.now, Input::Elected { epoch: 0 }, &mut outcome);
        self.commit(outcome.batch.map(|batch| batch.records).unwrap_or_default());
    }

    /// The quorum takes an entry: it is durable at once.
    pub fn commit(&mut self, records: Vec<Record>) {
        if records.is_empty() {
            return;
        }
        let mut image = Image::clone(&self.process.committed);
        for record in &records {
            self.process.controller.apply(record, BatchKind::Plain);
        }
        image.apply_entry(&records);
        self.process.committed = Arc::new(image);
        self.quorum.push(records);
    }

    pub fn committed(&self) -> Arc<Image> {
        self.process.committed.clone()
    }

    /// The disk has no space left, or has some again.
    pub fn set_full(&mut self, full: bool) -> String {
        self.full = full;
        self.mem.set_full(full);
        format!("full: {full}")
    }

    pub fn pass(&mut self, ms: u64) {
        self.now.mono.0 += ms;
        self.now.wall_ms += ms as i64;
    }

    /// How many milliseconds from now something is due.
    pub fn next_deadline(&self) -> Option<u64> {
        let process = &self.process;
        let replicas = process.partitions.values().filter_map(|it| it.replica.next_deadline());
        let shard = process.shard.as_ref().and_then(Shard::next_deadline);
        replicas.chain(shard).map(|Mono(at)| at.saturating_sub(self.now.mono.0)).min()
    }

    // What clients ask.

    /// A batch for a partition; where it was queued, unless it was refused at once.
    pub fn produce(
        &mut self,
        (topic, index): (&str, i32),
        batch: Batch,
        acks: Acks,
        call: u64,
    ) -> Result<Name, ErrorCode> {
        let hosted = self.process.find(topic, index)?;
        let checked = validate::validate(batch, &hosted.config, self.now.wall_ms);
        let Validated { batch, .. } = checked.map_err(|error| error.code)?;
        let who = Who::Client(call);
        hosted.inbox.push_back(Message::Append { batch, acks, origin: Origin::Client, who });
        Ok(hosted.name)
    }

    /// Deletes records; of which partition.
    pub fn delete_records(
        &mut self,
        (topic, index): (&str, i32),
        before: Offset,
        call: u64,
    ) -> Result<Name, ErrorCode> {
        let hosted = self.process.find(topic, index)?;
        hosted.inbox.push_back(Message::DeleteRecords { before, call });
        Ok(hosted.name)
    }

    pub fn ask_group(&mut self, call: u64, command: command::Command) {
        match &mut self.process.shard {
            Some(shard) if shard.is_up() => shard.mailbox.push_back(Mail::Command(call, command)),
            _ => self.told.push((call, Told::Group(Err(CallError::Gone)))),
        }
    }

    pub fn ask_controller(&mut self, call: u64, command: Command) {
        let (offset, answer) = self.decide(command);
        self.process.waiting.push((offset, call, answer));
    }

    fn decide(&mut self, command: Command) -> (i64, Answer) {
        let mut outcome = Outcome::default();
        let input = Input::Command(Caller(1), command);
        self.process.controller.step(self.now, input, &mut outcome);
        self.commit(outcome.batch.map(|batch| batch.records).unwrap_or_default());
        let (_, reply) = outcome.replies.pop().expect("the controller answers at once");
        (reply.offset, reply.answer)
    }

    pub fn producer_id(&mut self) -> i64 {
        if self.process.producer_ids.is_empty() {
            let (_, answer) = self.decide(Command::AllocateProducerIds);
            let Answer::ProducerIds(Ok(ids)) = answer else { panic!("no producer ids") };
            self.process.producer_ids = ids;
        }
        self.process.producer_ids.next().expect("a block is not empty")
    }

    // What the process does.

    /// Whether anything can go on without time passing.
    pub fn has_work(&self) -> bool {
        let process = &self.process;
        process.poisoned.is_none()
            && (!process.work.is_empty()
                || process.target != process.committed.offset
                || process.hosted().any(|it| self.can_go_on(it))
                || self.shard_has_work())
    }

    /// Whether a replica has something to do. One that is being opened takes its first role and no news yet.
    fn can_go_on(&self, hosted: &Hosted) -> bool {
        let is_opening = self.process.opening.contains_key(&hosted.name);
        if is_opening { !hosted.is_idle() } else { hosted.has_work(self.now) }
    }

    fn shard_has_work(&self) -> bool {
        let process = &self.process;
        let Some(shard) = &process.shard else { return false };
        shard.has_work(self.now)
    }

    /// Does one thing; says what.
    pub fn progress(&mut self, random: &mut Random) -> String {
        let now = self.now;
        let mut can: Vec<(u8, Name)> = Vec::new();
        let nobody = (TopicId(uuid::Uuid::nil()), 0);
        let process = &self.process;
        let to_do = !process.work.is_empty() || process.target != process.committed.offset;
        if to_do && process.poisoned.is_none() {
            can.push((0, nobody));
        }
        can.extend(process.hosted().filter(|it| self.can_go_on(it)).map(|it| (1, it.name)));
        if self.shard_has_work() {
            can.push((2, nobody));
        }
        if can.is_empty() {
            return "idle".to_owned();
        }
        let (kind, name) = *random.pick(&can);
        let what = match kind {
            0 => match self.work(random) {
                Ok(what) => what,
                Err(error) => {
                    self.process.poisoned = Some(error.to_string());
                    format!("poisoned: {error}")
                }
            },
            1 => {
                let hosted = self.process.hosted_mut(name).expect("it has work");
                let what = hosted.progress(now, random);
                format!("{}-{} {what}", hosted.topic, hosted.name.1)
            }
            _ => {
                let process = &mut self.process;
                let image = process.image.clone();
                let shard = process.shard.as_mut().expect("it has work");
                let all = process.partitions.values_mut().chain(process.opening.values_mut());
                let partition = all.into_iter().find(|it| it.topic == CONSUMER_OFFSETS);
                match partition {
                    Some(partition) => {
                        format!("groups: {}", shard.progress(partition, &self.config, &image, now))
                    }
                    None => "groups: no partition".to_owned(),
                }
            }
        };
        self.collect();
        what
    }

    /// Takes answers to whom they are for.
    fn collect(&mut self) {
        let process = &mut self.process;
        let all = process.partitions.values_mut().chain(process.opening.values_mut());
        for hosted in all.chain(process.stopping.values_mut()) {
            let deleted = hosted.deleted.drain(..);
            self.told.extend(deleted.map(|(call, answer)| (call, Told::Deleted(answer))));
            for (who, answer) in hosted.answers.drain(..) {
                match (who, &mut process.shard) {
                    (Who::Client(call), _) => self.told.push((call, Told::Produced(answer))),
                    (Who::Journal, Some(shard)) => {
                        shard.journaled(self.now, answer);
                    }
                    (Who::Journal, None) => {}
                }
            }
        }
        if let Some(shard) = &mut process.shard {
            let answers = shard.answers.drain(..);
            self.told.extend(answers.map(|(call, reply)| (call, Told::Group(reply))));
        }
    }

    fn work(&mut self, random: &mut Random) -> Result<String, StorageError> {
        let Some(work) = self.process.work.pop_front() else {
            let image = self.process.committed.clone();
            self.process.plan(image);
            return Ok("sees a new image".to_owned());
        };
        let (config, now, process) = (&self.config, self.now, &mut self.process);
        match work {
            Work::RetireShard => {
                process.shard = None;
                Ok("retires the coordinator".to_owned())
            }
            Work::Create(topic, index) => {
                let options = crate::partition::log_options(&process.log_config(config, &topic));
                if random.chance(30) {
                    // The process dies between the log and its name.
                    self.mem.create(options)?;
                    process.poisoned = Some("died while it created a log".to_owned());
                    return Ok("creates a log and dies".to_owned());
                }
                let name = (topic.id, index);
                let (log, named) = logs::create(&*self.mem, name, options)?;
                finished(named)?;
                process.logs.insert(name, log);
                Ok(format!("creates log {log} for {}-{index}", topic.name))
            }
            Work::Open(topic, index) => {
                let name = (topic.id, index);
                let topic_config = process.log_config(config, &topic);
                let assigned = assigned(&topic.partitions[index as usize]);
                let log = process.logs[&name];
                let of = (name, topic.name.as_str());
                let opened = Hosted::open(&self.mem, of, log, topic_config, assigned, now)?;
                let (start, end) = (opened.view().log_start, opened.view().log_end);
                process.opening.insert(name, opened);
                Ok(format!("opens {}-{index}: {start} to {end}", topic.name))
            }
            Work::Register => {
                if process.opening.values().any(Hosted::has_failed) {
                    return Err(StorageError::Io("a partition cannot be opened".into()));
                }
                if process.opening.values().any(|it| !it.is_idle()) {
                    process.work.push_front(Work::Register);
                    return Ok("waits for partitions".to_owned());
                }
                for (name, mut hosted) in std::mem::take(&mut process.opening) {
                    if hosted.topic == CONSUMER_OFFSETS {
                        process.shard =
                            Some(Shard::load(&mut hosted, config, &process.loading, now)?);
                    }
                    process.partitions.insert(name, hosted);
                }
                Ok("registers partitions".to_owned())
            }
            Work::Assign(name, assigned) => {
                if let Some(hosted) = process.partitions.get_mut(&name) {
                    hosted.inbox.push_back(Message::Assigned(assigned));
                }
                Ok("assigns".to_owned())
            }
            Work::Publish(image) => {
                process.image = image;
                Ok("publishes the image".to_owned())
            }
            Work::Stop(name) => {
                if let Some(mut hosted) = process.partitions.remove(&name) {
                    hosted.inbox.push_back(Message::Stop);
                    process.stopping.insert(name, hosted);
                    process.work.push_front(Work::Stopped(name));
                }
                Ok(format!("stops partition {}", name.1))
            }
            Work::Stopped(name) => {
                if process.stopping.get(&name).is_some_and(|it| !it.stopped) {
                    process.work.push_front(Work::Stopped(name));
                    return Ok("waits for a partition to stop".to_owned());
                }
                process.stopping.remove(&name);
                Ok("stopped".to_owned())
            }
            Work::Forget(name) => {
                if let Some(log) = process.logs.remove(&name) {
                    finished(logs::forget(&*self.mem, name))?;
                    process.work.push_front(Work::Delete(log));
                }
                Ok(format!("forgets partition {}", name.1))
            }
            Work::Delete(log) => {
                finished(self.mem.delete(log))?;
                Ok(format!("deletes log {log}"))
            }
            Work::TopicsDeleted(topics) => {
                if let Some(shard) = process.shard.as_mut().filter(|shard| shard.is_up()) {
                    shard.mailbox.push_back(Mail::Event(group::Event::TopicsDeleted(topics)));
                }
                Ok("tells the coordinator of deleted topics".to_owned())
            }
            Work::Applied(offset) => {
                process.applied = offset;
                let (done, left) = std::mem::take(&mut process.waiting)
                    .into_iter()
                    .partition(|(until, _, _)| *until <= offset);
                process.waiting = left;
                let done: Vec<(i64, u64, Answer)> = done;
                self.told.extend(done.into_iter().map(|(_, call, it)| (call, Told::Admin(it))));
                Ok(format!("applied {offset}"))
            }
            Work::Orphans => {
                let image = process.image.clone();
                let strays = logs::strays(&process.logs, |id| image.topic_by_id(id).is_some());
                process.work.extend(strays.into_iter().map(Work::Forget));
                let orphans = logs::orphans(&*self.mem, &process.logs)?;
                process.work.extend(orphans.into_iter().map(Work::Delete));
                process.work.extend([Work::RegisterBroker, Work::Serve]);
                Ok("looks for orphans".to_owned())
            }
            Work::RegisterBroker => {
                let registration = Registration {
                    node_id: NODE,
                    incarnation_id: random.uuid(),
                    rack: None,
                    listeners: BTreeMap::new(),
                };
                self.decide(Command::RegisterBroker(registration));
                Ok("registers".to_owned())
            }
            Work::Serve => {
                process.serving = true;
                Ok("serves".to_owned())
            }
        }
    }
}

impl Process {
    fn start(mem: &Arc<Mem>, quorum: &[Vec<Record>]) -> Process {
        let mut image = Image::default();
        quorum.iter().flatten().for_each(|record| image.apply(record));
        let settings =
            Settings { config: Arc::new(Config::dev()), fresh_cluster_id: "cluster".to_owned() };
        let mut process = Process {
            controller: Controller::new(image.clone(), settings),
            committed: Arc::new(image.clone()),
            image: Arc::new(Image::default()),
            work: VecDeque::new(),
            loading: Arc::default(),
            logs: logs::named(&**mem).unwrap(),
            opening: BTreeMap::new(),
            partitions: BTreeMap::new(),
            stopping: BTreeMap::new(),
            shard: None,
            target: 0,
            applied: 0,
            waiting: Vec::new(),
            producer_ids: 0..0,
            serving: false,
            poisoned: None,
        };
        process.plan(Arc::new(image));
        process.work.push_back(Work::Orphans);
        process
    }

    /// What it takes from the image that handlers see to `new`, in `Reconciler::apply`'s order.
    fn plan(&mut self, new: Arc<Image>) {
        let changes = new.changes_since(&self.image);
        self.target = new.offset;
        self.loading = new.clone();
        if changes.removed.iter().any(|topic| topic.name == CONSUMER_OFFSETS) {
            self.work.push_back(Work::RetireShard);
        }
        let mut wanted: Vec<(Arc<Topic>, i32)> = Vec::new();
        for topic in &changes.added {
            wanted.extend((0..topic.partitions.len() as i32).map(|index| (topic.clone(), index)));
        }
        let mut assign = Vec::new();
        for (topic, partitions) in &changes.changed {
            for index in partitions {
                if self.partitions.contains_key(&(topic.id, *index)) {
                    let state = assigned(&topic.partitions[*index as usize]);
                    assign.push(Work::Assign((topic.id, *index), state));
                } else {
                    wanted.push((topic.clone(), *index));
                }
            }
        }
        for (topic, index) in wanted {
            if !self.logs.contains_key(&(topic.id, index)) {
                self.work.push_back(Work::Create(topic.clone(), index));
            }
            self.work.push_back(Work::Open(topic, index));
        }
        self.work.push_back(Work::Register);
        self.work.extend(assign);
        if !changes.removed.is_empty() {
            let removed = changes.removed.iter().map(|topic| (topic.name.clone(), topic.id));
            self.work.push_back(Work::TopicsDeleted(removed.collect()));
        }
        self.work.push_back(Work::Publish(new.clone()));
        for topic in &changes.removed {
            for index in 0..topic.partitions.len() as i32 {
                let name = (topic.id, index);
                self.work.extend([Work::Stop(name), Work::Forget(name)]);
            }
        }
        self.work.push_back(Work::Applied(new.offset));
    }

    fn log_config(&self, config: &Config, topic: &Topic) -> LogConfig {
        LogConfig::resolve(config, &self.committed.configs(&Resource::Topic(topic.name.clone())))
    }

    /// Every replica there is.
    pub fn hosted(&self) -> impl Iterator<Item = &Hosted> {
        self.partitions.values().chain(self.opening.values()).chain(self.stopping.values())
    }

    fn hosted_mut(&mut self, name: Name) -> Option<&mut Hosted> {
        let running = self.partitions.get_mut(&name);
        running.or(self.opening.get_mut(&name)).or(self.stopping.get_mut(&name))
    }

    /// The partition a handler finds.
    pub fn find(&mut self, topic: &str, index: i32) -> Result<&mut Hosted, ErrorCode> {
        let unknown = ErrorCode::UnknownTopicOrPartition;
        let id = self.image.topic(topic).ok_or(unknown)?.id;
        self.partitions.get_mut(&(id, index)).ok_or(unknown)
    }
}

/// What the image says of a replica on this node.
fn assigned(state: &PartitionState) -> Assigned {
    Assigned {
        leader_epoch: state.leader_epoch,
        leading: state.leader == Some(NODE),
        isr: state.isr.clone(),
        replicas: state.replicas.clone(),
    }
}

/// The result of a change: the memory store is done when it returns.
fn finished(mut done: Done) -> Result<(), StorageError> {
    done.try_recv().unwrap_or(Err(StorageError::Closed))
}
