//! A replica on the simulated node: what `partition::actor` does, cut into pieces between which the power can fail.
//!
//! The actor takes an input, steps the machine and carries out every effect before it takes the next input. So does this,
//! but each call of `progress` does one thing only.

use super::random::Random;
use crate::{
    broker::logs::Name,
    config::topic::LogConfig,
    ids::{LogId, NodeId, Offset},
    machine::{Caller, Now, clock::Clock},
    partition::{
        Acks, Appended, Assigned, Handle, View,
        actor::{self, Opened},
        handle::{Shared, storage_code},
        producers::Origin,
        replica::{Append, Effect, Incoming, Input, Refused, Replica, Rules},
    },
    storage::{Positions, StorageError, mem::Mem},
    wire::ErrorCode,
};
use arc_swap::ArcSwap;
use bytes::Bytes;
use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};
use tokio::sync::{mpsc, watch};

/// Who waits for an append.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    Client(u64),
    Journal,
}

/// What waits in a replica's mailbox.
pub enum Message {
    Append { batch: Incoming, acks: Acks, origin: Origin, who: Who },
    DeleteRecords { before: Offset, call: u64 },
    Assigned(Assigned),
    Stop,
}

/// What an actor does once a step's effects are carried out.
enum Then {
    /// Look at what else storage said.
    Judge { failed: Option<StorageError>, refused: u64 },
    /// Storage writes again.
    Resume,
}

/// An answer to an append.
pub type Answer = (Who, Result<Appended, Refused>);

/// Few, so that there are snapshots.
const PRODUCER_SNAPSHOT_BATCHES: u64 = 3;

/// This node.
const NODE: NodeId = NodeId(1);

/// One replica and what surrounds it.
pub struct Hosted {
    pub name: Name,
    pub topic: String,
    pub log: LogId,
    pub config: LogConfig,
    pub handle: Handle,
    pub replica: Replica,
    pub inbox: VecDeque<Message>,
    pub answers: Vec<Answer>,
    /// Answers to `DeleteRecords`, by call.
    pub deleted: Vec<(u64, Result<Offset, ErrorCode>)>,
    pub stopped: bool,
    shared: Arc<Shared>,
    publish: watch::Sender<View>,
    positions: watch::Receiver<Positions>,
    effects: VecDeque<Effect>,
    failure: Option<StorageError>,
    then: Option<Then>,
    stopping: bool,
    callers: HashMap<Caller, Who>,
    next_caller: u64,
    failed: bool,
    refused: u64,
    pub last_snapshot: Option<(Offset, Bytes)>,
    /// What storage answered to new log starts.
    log_starts: VecDeque<(Caller, Result<Offset, ErrorCode>)>,
    /// The last one that it took.
    stored_start: Offset,
}

impl Hosted {
    /// Opens the log and gives the replica its role; it serves once it is idle.
    pub fn open(
        mem: &Arc<Mem>,
        (name, topic): (Name, &str),
        log: LogId,
        config: LogConfig,
        assigned: Assigned,
        now: Now,
    ) -> Result<Hosted, StorageError> {
        let opened = actor::recover(&**mem, log, crate::partition::log_options(&config))?;
        let Opened { recovered, positions, snapshot } = opened;
        let (watched, _) = watch::channel(config.clone());
        let shared = Arc::new(Shared {
            topic_id: name.0,
            topic_name: topic.to_owned(),
            index: name.1,
            log,
            store: mem.clone(),
            clock: Clock::start(),
            inspection: crate::partition::Inspection::default(),
            config: watched,
            epochs: ArcSwap::from_pointee(recovered.epochs.clone()),
        });
        let producer_snapshot_batches = PRODUCER_SNAPSHOT_BATCHES;
        let rules = Rules { producer_snapshot_batches, ..Rules::of(&config) };
        let replica = Replica::new(NODE, rules, recovered);
        let (mailbox, _) = mpsc::channel(1);
        let (publish, view) = watch::channel(replica.view());
        let refused = positions.borrow().refused;
        let mut hosted = Hosted {
            name,
            topic: topic.to_owned(),
            log,
            config,
            handle: Handle::new(shared.clone(), mailbox, view),
            replica,
            inbox: VecDeque::new(),
            answers: Vec::new(),
            deleted: Vec::new(),
            stopped: false,
            shared,
            publish,
            positions,
            effects: VecDeque::new(),
            failure: None,
            then: None,
            stopping: false,
            callers: HashMap::new(),
            next_caller: 1,
            failed: false,
            refused,
            last_snapshot: snapshot,
            log_starts: VecDeque::new(),
            stored_start: 0,
        };
        hosted.step(now, Input::Assigned(assigned));
        Ok(hosted)
    }

    /// Between two steps of the machine.
    pub fn is_idle(&self) -> bool {
        self.effects.is_empty() && self.failure.is_none() && self.then.is_none()
    }

    /// Storage has another log start already than readers know.
    pub fn is_deleting(&self) -> bool {
        self.stored_start > self.view().log_start
    }

    /// Storage has stopped writing, as far as the replica knows.
    pub fn has_failed(&self) -> bool {
        self.failed
    }

    /// Writing has stopped until restart.
    pub fn has_io_failure(&self) -> bool {
        matches!(self.positions.borrow().failed, Some(StorageError::Io(_)))
    }

    pub fn view(&self) -> View {
        self.handle.view()
    }

    /// Everything below is synced.
    pub fn durable(&self) -> Offset {
        self.positions.borrow().durable
    }

    pub fn has_work(&self, now: Now) -> bool {
        let due = self.replica.next_deadline().is_some_and(|at| at <= now.mono);
        let news = self.positions.has_changed().unwrap_or(false);
        let waits = !self.inbox.is_empty() || !self.log_starts.is_empty();
        !self.stopped && (!self.is_idle() || news || due || waits)
    }

    /// Does one thing; says what.
    pub fn progress(&mut self, now: Now, random: &mut Random) -> String {
        if let Some(effect) = self.effects.pop_front() {
            let what = match &effect {
                Effect::Store(batch) => format!("store at {}", batch.summary.base_offset),
                Effect::Publish(view) => format!("publish {}", view.high_watermark),
                Effect::Reply(_, Ok(it)) => {
                    format!("reply {}..={}", it.base_offset, it.last_offset)
                }
                Effect::Reply(_, Err(it)) => format!("reply {:?}", it.code),
                Effect::Snapshot(offset, _) => format!("snapshot at {offset}"),
                other => format!("{other:?}"),
            };
            if let Err(error) = self.carry_out(effect) {
                self.failure = Some(error);
            }
            self.end_of_step();
            return what;
        }
        if self.failure.take().is_some() {
            self.fail(now);
            return "fails".to_owned();
        }
        match self.then.take() {
            Some(Then::Judge { failed: Some(_), .. }) => self.fail(now),
            Some(Then::Judge { failed: None, refused })
                if self.failed || refused != self.refused =>
            {
                self.failed = true;
                self.then = Some(Then::Resume);
                self.step(now, Input::Failed);
            }
            Some(Then::Judge { .. }) => {}
            Some(Then::Resume) => return self.resume(now),
            None => return self.input(now, random),
        }
        "judges".to_owned()
    }

    fn input(&mut self, now: Now, random: &mut Random) -> String {
        let due = self.replica.next_deadline().is_some_and(|at| at <= now.mono);
        let news = self.positions.has_changed().unwrap_or(false);
        // Storage answers from a thread of its own: its news may come before or after what else is there.
        if news && (self.inbox.is_empty() && self.log_starts.is_empty() || random.chance(500)) {
            let Positions { written, durable, failed, refused } =
                self.positions.borrow_and_update().clone();
            self.then = Some(Then::Judge { failed, refused });
            self.step(now, Input::Stored { written, durable });
            return format!("stored {written}, durable {durable}");
        }
        if due && (self.inbox.is_empty() && self.log_starts.is_empty() || random.chance(500)) {
            self.step(now, Input::Tick);
            return "tick".to_owned();
        }
        if !self.log_starts.is_empty()
            && (self.inbox.is_empty() || random.chance(500))
            && let Some((caller, result)) = self.log_starts.pop_front()
        {
            self.log_start_set(now, caller, result);
            return format!("log start {result:?}");
        }
        match self.inbox.pop_front() {
            Some(Message::DeleteRecords { before, call }) => {
                self.step(now, Input::DeleteRecords { caller: Caller(call), before });
                format!("delete below {before}, call {call}")
            }
            Some(Message::Append { batch, acks, origin, who }) => {
                let caller = Caller(self.next_caller);
                self.next_caller += 1;
                self.callers.insert(caller, who);
                let append =
                    Append { caller, batch, acks, origin, timeout_ms: 1000, log_append_time: -1 };
                self.step(now, Input::Append(append));
                format!("append for {who:?}")
            }
            Some(Message::Assigned(assigned)) => {
                let what = format!("epoch {}, leading {}", assigned.leader_epoch, assigned.leading);
                self.step(now, Input::Assigned(assigned));
                what
            }
            Some(Message::Stop) => {
                self.stopping = true;
                self.step(now, Input::Stop);
                self.end_of_step();
                "stops".to_owned()
            }
            None => "nothing".to_owned(),
        }
    }

    fn step(&mut self, now: Now, input: Input) {
        let mut effects = Vec::new();
        self.replica.step(now, input, &mut effects);
        self.effects.extend(effects);
    }

    /// *Stopped*: whoever still waits is told so.
    fn end_of_step(&mut self) {
        if !self.stopping || !self.is_idle() || self.stopped {
            return;
        }
        self.stopped = true;
        let mut callers: Vec<(Caller, Who)> = self.callers.drain().collect();
        callers.sort_unstable_by_key(|(caller, _)| *caller);
        let mut left: Vec<Who> = callers.into_iter().map(|(_, who)| who).collect();
        let mut deleting: Vec<u64> = self.log_starts.drain(..).map(|(it, _)| it.0).collect();
        for message in self.inbox.drain(..) {
            match message {
                Message::Append { who, .. } => left.push(who),
                Message::DeleteRecords { call, .. } => deleting.push(call),
                Message::Assigned(_) | Message::Stop => {}
            }
        }
        let code = ErrorCode::NotLeaderOrFollower;
        self.deleted.extend(deleting.into_iter().map(|call| (call, Err(code))));
        let gone = Refused { code, base_offset: -1, log_start: -1 };
        self.answers.extend(left.into_iter().map(|who| (who, Err(gone))));
    }

    fn log_start_set(&mut self, now: Now, caller: Caller, result: Result<Offset, ErrorCode>) {
        self.step(now, Input::LogStartSet { caller, result });
        self.shared.epochs.store(Arc::new(self.replica.epochs().to_vec()));
    }

    fn fail(&mut self, now: Now) {
        if !self.failed {
            self.failed = true;
            self.step(now, Input::Failed);
        }
    }

    fn resume(&mut self, now: Now) -> String {
        let log_end = self.positions.borrow().written;
        let truncated = self.shared.store.truncate(self.log, log_end).try_recv();
        if !matches!(truncated, Ok(Ok(()))) {
            return "cannot resume".to_owned();
        }
        while let Some((caller, result)) = self.log_starts.pop_front() {
            self.log_start_set(now, caller, result);
        }
        let (log_start, snapshot) = (self.replica.view().log_start, self.last_snapshot.clone());
        let replayed = actor::replay(&*self.shared.store, self.log, snapshot, log_start, log_end);
        if let Ok(producers) = replayed {
            self.failed = false;
            self.refused = self.positions.borrow().refused;
            self.step(now, Input::Resumed { log_end, producers });
        }
        format!("resumes at {log_end}")
    }

    fn carry_out(&mut self, effect: Effect) -> Result<(), StorageError> {
        let (store, log) = (&self.shared.store, self.log);
        match effect {
            Effect::Store(batch) => store.append(log, batch),
            Effect::Sync => store.sync(log),
            Effect::Reply(caller, answer) => {
                let who = self.callers.remove(&caller).expect("a caller is answered once");
                self.answers.push((who, answer));
            }
            Effect::Publish(view) => {
                self.publish.send_replace(view);
            }
            Effect::KeepProducers(end) => {
                let (start, snapshot) = (self.replica.view().log_start, self.last_snapshot.clone());
                if let Ok(producers) = actor::replay(&**store, log, snapshot, start, end) {
                    let bytes = producers.encode();
                    drop(store.put_snapshot(log, end, bytes.clone()));
                    self.last_snapshot = Some((end, bytes));
                }
            }
            Effect::SetLogStart(caller, start) => {
                let done = store.set_log_start(log, start).try_recv();
                let result = done.unwrap_or(Err(StorageError::Closed));
                if result.is_ok() {
                    self.stored_start = self.stored_start.max(start);
                }
                self.log_starts.push_back((caller, result.map(|()| start).map_err(storage_code)));
            }
            Effect::Deleted(Caller(call), answer) => self.deleted.push((call, answer)),
            Effect::SetHighWatermark(offset) => store.set_high_watermark(log, offset),
            Effect::Snapshot(offset, bytes) => {
                drop(store.put_snapshot(log, offset, bytes.clone()));
                self.last_snapshot = Some((offset, bytes));
            }
            Effect::SetEpochStart(epoch, start) => {
                let mut done = store.set_epoch_start(log, epoch, start);
                done.try_recv().unwrap_or(Err(StorageError::Closed))?;
                self.shared.epochs.store(Arc::new(self.replica.epochs().to_vec()));
            }
        }
        Ok(())
    }
}
