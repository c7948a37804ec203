//! The task of one replica: it feeds the machine with messages, storage positions and time, and carries out what the
//! machine asks for. Owns the machine and who waits for which answer.
//!
//! A replica ends with `stop`, or when all its handles are gone. That it panicked is told by its `JoinHandle`, and to those
//! who wait by answers that never come (`Pending` makes them NOT_LEADER_OR_FOLLOWER).

use crate::{
    config::topic::LogConfig,
    ids::{LogId, NodeId, Offset, PartitionIndex, TopicId, fresh_uuid},
    limits::{MAILBOX_DRAIN_MAX, MAILBOX_MAX, REPLAY_BATCHES_MAX},
    machine::{Caller, Mono, clock::Clock},
    partition::{
        Acks, Appended, Assigned, Handle, Inspection, View,
        handle::{Shared, storage_code},
        producers::{Active, Origin, Producers},
        replica::{Append, Effect, Incoming, Input, Recovered, Refused, Replica, Rules},
    },
    storage::{Done, LogOptions, LogStore, OpenLog, Positions, StorageError},
    wire::ErrorCode,
};
use arc_swap::ArcSwap;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use std::{collections::VecDeque, sync::Arc};
use tokio::{
    sync::{mpsc, oneshot, watch},
    task::JoinHandle,
};

/// What a replica needs to begin.
pub struct SpawnParams {
    pub store: Arc<dyn LogStore>,
    /// Exists, and is not open.
    pub log: LogId,
    pub topic_id: TopicId,
    pub topic_name: String,
    pub index: PartitionIndex,
    /// This node.
    pub node: NodeId,
    pub config: LogConfig,
    /// What the image says of it.
    pub assigned: Assigned,
    /// `producer.id.expiration.check.interval.ms`.
    pub producer_id_check_ms: i64,
    pub clock: Clock,
    /// The same for all partitions of a broker.
    pub inspection: Inspection,
}

/// Opens the log, recovers the replica and runs it. When this returns, it serves in the role it was assigned. The task ends
/// well only after `Handle::stop` or when no handle is left.
pub async fn spawn(
    params: SpawnParams,
) -> Result<(Handle, JoinHandle<Result<(), String>>), StorageError> {
    let producer_id_check_ms = params.producer_id_check_ms;
    let rules = Rules { producer_id_check_ms, ..Rules::of(&params.config) };
    let jitter_seed = fresh_uuid().as_u128() as u64;
    let (store, log) = (params.store, params.log);
    let options = LogOptions { jitter_seed, ..log_options(&params.config) };
    let opening = store.clone();
    let opened = tokio::task::spawn_blocking(move || recover(&*opening, log, options)).await;
    let Opened { recovered, positions, snapshot: last_snapshot } = opened
        .unwrap_or_else(|panic| Err(StorageError::Io(format!("opening log {log}: {panic}"))))?;
    let (config, new_config) = watch::channel(params.config);
    let shared = Arc::new(Shared {
        topic_id: params.topic_id,
        topic_name: params.topic_name,
        index: params.index,
        log,
        store,
        clock: params.clock,
        inspection: params.inspection,
        config,
        epochs: ArcSwap::from_pointee(recovered.epochs.clone()),
    });
    let replica = Replica::new(params.node, rules, recovered);
    let refused = positions.borrow().refused;
    let (mailbox, inbox) = mpsc::channel(MAILBOX_MAX);
    let (publish, view) = watch::channel(replica.view());
    let handle = Handle::new(shared.clone(), mailbox, view);
    let mut actor = Actor {
        shared,
        rules,
        jitter_seed,
        replica,
        positions,
        new_config,
        publish,
        waiting: Waiting::default(),
        deleting: Waiting::default(),
        log_starts: VecDeque::new(),
        effects: Vec::new(),
        failed: false,
        refused,
        snapshot: None,
        last_snapshot,
    };
    actor.step(Input::Assigned(params.assigned)).await;
    if actor.failed {
        let failed = actor.positions.borrow().failed.clone();
        return Err(failed.unwrap_or(StorageError::Closed));
    }
    Ok((handle, tokio::spawn(actor.run(inbox))))
}

/// What reaches a replica through its mailbox.
#[derive(Debug)]
pub(crate) enum Message {
    Append {
        batch: Incoming,
        acks: Acks,
        origin: Origin,
        timeout_ms: i32,
        log_append_time: i64,
        reply: oneshot::Sender<Result<Appended, Refused>>,
    },
    DeleteRecords {
        before: Offset,
        reply: oneshot::Sender<Result<Offset, ErrorCode>>,
    },
    /// Who writes here?
    Producers(oneshot::Sender<Vec<Active>>),
    Assigned(Assigned),
    Stop(oneshot::Sender<()>),
}

struct Actor {
    shared: Arc<Shared>,
    rules: Rules,
    /// Of this log's segments, as long as it is open.
    jitter_seed: u64,
    replica: Replica,
    positions: watch::Receiver<Positions>,
    new_config: watch::Receiver<LogConfig>,
    publish: watch::Sender<View>,
    waiting: Waiting<Result<Appended, Refused>>,
    deleting: Waiting<Result<Offset, ErrorCode>>,
    /// Log starts on their way to storage, which answers in order.
    log_starts: VecDeque<(Caller, Offset, Done)>,
    /// Empty between steps; kept for its memory.
    effects: Vec<Effect>,
    /// Storage has stopped writing.
    failed: bool,
    /// Appends that storage had refused when the machine was last told where the log ends.
    refused: u64,
    /// The last snapshot on its way to storage.
    snapshot: Option<Done>,
    /// The newest that storage has, and the machine relies on.
    last_snapshot: Option<(Offset, Bytes)>,
}

impl Actor {
    async fn run(mut self, mut inbox: mpsc::Receiver<Message>) -> Result<(), String> {
        let mut messages = Vec::new();
        let mut alarm = Alarm::default();
        loop {
            // However full the mailbox is, time goes on.
            let now = self.shared.clock.now().mono;
            if self.replica.next_deadline().is_some_and(|deadline| deadline <= now) {
                self.step(Input::Tick).await;
            }
            alarm.set(self.replica.next_deadline(), self.shared.clock);
            tokio::select! {
                biased;
                changed = self.positions.changed() => match changed {
                    Ok(()) => self.positions_changed().await,
                    Err(_) => return Err("the log was closed".into()),
                },
                (caller, result) = log_start_set(&mut self.log_starts) => {
                    self.log_start_set(caller, result).await;
                }
                Ok(()) = self.new_config.changed() => self.configure().await,
                taken = inbox.recv_many(&mut messages, MAILBOX_DRAIN_MAX) => {
                    for message in messages.drain(..) {
                        if let Some(done) = self.message(message).await {
                            self.stop().await;
                            let _ = done.send(());
                            return Ok(());
                        }
                    }
                    if taken == 0 {
                        self.stop().await;
                        return Ok(());
                    }
                }
                () = alarm.rings() => {
                    alarm.clear();
                    self.step(Input::Tick).await;
                }
            }
        }
    }

    /// Takes one message; when it asks for the end, gives back whom to tell of it.
    async fn message(&mut self, message: Message) -> Option<oneshot::Sender<()>> {
        let input = match message {
            Message::Append { batch, acks, origin, timeout_ms, log_append_time, reply } => {
                let caller = self.waiting.add(reply);
                let append = Append { caller, batch, acks, origin, timeout_ms, log_append_time };
                Input::Append(append)
            }
            Message::DeleteRecords { before, reply } => {
                Input::DeleteRecords { caller: self.deleting.add(reply), before }
            }
            Message::Producers(reply) => {
                let _ = reply.send(self.replica.producers().active());
                return None;
            }
            Message::Assigned(assigned) => Input::Assigned(assigned),
            Message::Stop(done) => return Some(done),
        };
        self.step(input).await;
        None
    }

    async fn configure(&mut self) {
        let (rules, options) = {
            let config = self.new_config.borrow_and_update();
            (Rules::of(&config), log_options(&config))
        };
        let options = LogOptions { jitter_seed: self.jitter_seed, ..options };
        self.shared.store.configure(self.shared.log, options);
        self.rules = Rules { producer_id_check_ms: self.rules.producer_id_check_ms, ..rules };
        self.step(Input::Configured(self.rules)).await;
    }

    async fn positions_changed(&mut self) {
        let Positions { written, durable, failed, refused } =
            self.positions.borrow_and_update().clone();
        self.step(Input::Stored { written, durable }).await;
        match failed {
            Some(error) => self.fail(&error).await,
            None if self.failed || refused != self.refused => self.resume().await,
            None => {}
        }
    }

    /// *Storage stopped writing.*
    async fn fail(&mut self, error: &StorageError) {
        if !self.failed {
            self.failed = true;
            let Shared { topic_name, index, .. } = &*self.shared;
            tracing::error!(topic = %topic_name, partition = index, %error, "writing has stopped");
            self.step(Input::Failed).await;
        }
    }

    /// *Storage writes again.* What it refused is gone, so it is forgotten here too: producers are what the log says.
    async fn resume(&mut self) {
        self.failed = true;
        self.step(Input::Failed).await;
        // Truncating to where the log ends cuts nothing, but it is done after everything queued before it.
        let log_end = self.positions.borrow().written;
        let Shared { store, log, .. } = &*self.shared;
        if !matches!(store.truncate(*log, log_end).await, Ok(Ok(()))) {
            return;
        }
        // A log of which all is deleted keeps no epoch when it is truncated: the machine must know that it is empty.
        while !self.log_starts.is_empty() {
            let (caller, result) = log_start_set(&mut self.log_starts).await;
            self.log_start_set(caller, result).await;
        }
        if let Some(producers) = self.replayed(log_end).await {
            self.failed = false;
            self.refused = self.positions.borrow().refused;
            let Shared { topic_name, index, .. } = &*self.shared;
            tracing::info!(topic = %topic_name, partition = index, log_end, "writing goes on");
            self.step(Input::Resumed { log_end, producers }).await;
        }
    }

    async fn log_start_set(&mut self, caller: Caller, result: Result<Offset, ErrorCode>) {
        self.step(Input::LogStartSet { caller, result }).await;
        self.shared.epochs.store(Arc::new(self.replica.epochs().to_vec()));
    }

    /// What the log up to `log_end` says of producers; None when it cannot be read.
    async fn replayed(&self, log_end: Offset) -> Option<Producers> {
        let (store, log) = (self.shared.store.clone(), self.shared.log);
        let (snapshot, log_start) = (self.last_snapshot.clone(), self.replica.view().log_start);
        let replayed =
            tokio::task::spawn_blocking(move || replay(&*store, log, snapshot, log_start, log_end));
        replayed.await.ok()?.ok()
    }

    /// *What tells of producers is about to go.* If it cannot be read they will be strangers after a restart.
    async fn keep_producers(&mut self, offset: Offset) {
        let Some(producers) = self.replayed(offset).await else { return };
        self.put_snapshot(offset, producers.encode());
    }

    fn put_snapshot(&mut self, offset: Offset, bytes: Bytes) {
        let Shared { store, log, .. } = &*self.shared;
        self.snapshot = Some(store.put_snapshot(*log, offset, bytes.clone()));
        self.last_snapshot = Some((offset, bytes));
    }

    async fn stop(&mut self) {
        self.step(Input::Stop).await;
        if let Some(kept) = self.snapshot.take() {
            let _ = kept.await;
        }
    }

    async fn step(&mut self, input: Input) {
        let mut effects = std::mem::take(&mut self.effects);
        self.replica.step(self.shared.clock.now(), input, &mut effects);
        let mut failure = None;
        for effect in effects.drain(..) {
            // Where an epoch begins could not be kept: nobody may be told that it has begun.
            if let Err(error) = self.carry_out(effect).await {
                failure = Some(error);
                break;
            }
        }
        self.effects = effects;
        if let Some(error) = failure {
            Box::pin(self.fail(&error)).await;
        }
    }

    async fn carry_out(&mut self, effect: Effect) -> Result<(), StorageError> {
        let Shared { store, log, .. } = &*self.shared;
        match effect {
            Effect::Store(batch) => store.append(*log, batch),
            Effect::Sync => store.sync(*log),
            Effect::Reply(caller, answer) => self.waiting.answer(caller, answer),
            Effect::Publish(view) => {
                self.publish.send_replace(view);
            }
            Effect::SetLogStart(caller, start) => {
                self.log_starts.push_back((caller, start, store.set_log_start(*log, start)));
            }
            Effect::Deleted(caller, answer) => self.deleting.answer(caller, answer),
            Effect::SetHighWatermark(offset) => store.set_high_watermark(*log, offset),
            Effect::Snapshot(offset, bytes) => self.put_snapshot(offset, bytes),
            Effect::KeepProducers(offset) => self.keep_producers(offset).await,
            Effect::SetEpochStart(epoch, start) => {
                let done = store.set_epoch_start(*log, epoch, start);
                done.await.unwrap_or(Err(StorageError::Closed))?;
                self.shared.epochs.store(Arc::new(self.replica.epochs().to_vec()));
            }
        }
        Ok(())
    }
}

/// Who waits for an answer, by caller: numbers rise, and most answers come in order.
#[derive(Debug)]
struct Waiting<A> {
    first: u64,
    replies: VecDeque<Option<oneshot::Sender<A>>>,
}

impl<A> Default for Waiting<A> {
    fn default() -> Waiting<A> {
        Waiting { first: 0, replies: VecDeque::new() }
    }
}

impl<A> Waiting<A> {
    fn add(&mut self, reply: oneshot::Sender<A>) -> Caller {
        self.replies.push_back(Some(reply));
        Caller(self.first + self.replies.len() as u64 - 1)
    }

    /// A caller that has gone away is no error.
    fn answer(&mut self, caller: Caller, answer: A) {
        let at = caller.0.wrapping_sub(self.first) as usize;
        if let Some(reply) = self.replies.get_mut(at).and_then(Option::take) {
            let _ = reply.send(answer);
        }
        while let Some(None) = self.replies.front() {
            self.replies.pop_front();
            self.first += 1;
        }
    }
}

/// What storage answers to the log start that has waited longest; never when none waits.
async fn log_start_set(
    waiting: &mut VecDeque<(Caller, Offset, Done)>,
) -> (Caller, Result<Offset, ErrorCode>) {
    let Some((caller, start, done)) = waiting.front_mut() else {
        return std::future::pending().await;
    };
    let result = done.await.unwrap_or(Err(StorageError::Closed));
    let answer = (*caller, result.map(|()| *start).map_err(storage_code));
    waiting.pop_front();
    answer
}

/// Wakes at or before the machine's deadline. Deadlines that move into the future leave it as it is: it rings once too
/// often instead of being set anew for every batch.
#[derive(Default)]
struct Alarm {
    at: Option<Mono>,
    sleep: Option<BoxFuture<'static, ()>>,
}

impl Alarm {
    fn set(&mut self, deadline: Option<Mono>, clock: Clock) {
        let Some(deadline) = deadline else { return };
        if self.at.is_none_or(|at| at > deadline) {
            self.at = Some(deadline);
            self.sleep = Some(Box::pin(async move { clock.sleep_until(Some(deadline)).await }));
        }
    }

    async fn rings(&mut self) {
        match &mut self.sleep {
            Some(sleep) => sleep.await,
            None => std::future::pending().await,
        }
    }

    fn clear(&mut self) {
        (self.at, self.sleep) = (None, None);
    }
}

/// What storage needs to know of a topic's settings. Without a seed: all logs have the same jitter.
pub fn log_options(config: &LogConfig) -> LogOptions {
    LogOptions {
        segment_bytes: u64::try_from(config.segment_bytes).unwrap_or(u64::MAX),
        segment_ms: config.segment_ms,
        segment_jitter_ms: config.segment_jitter_ms,
        jitter_seed: 0,
    }
}

/// An opened log, and what the machine starts from.
pub(crate) struct Opened {
    pub recovered: Recovered,
    pub positions: watch::Receiver<Positions>,
    pub snapshot: Option<(Offset, Bytes)>,
}

/// Opens a log and rebuilds its producers. *Blocking.*
pub(crate) fn recover(
    store: &dyn LogStore,
    log: LogId,
    options: LogOptions,
) -> Result<Opened, StorageError> {
    let opened = store.open(log, options)?;
    let OpenLog { log_start, log_end, high_watermark, epochs, snapshot, positions, .. } = opened;
    let producers = replay(store, log, snapshot.clone(), log_start, log_end)?;
    let snapshot = snapshot.filter(|(_, bytes)| Producers::decode(bytes).is_ok());
    let kept = snapshot.as_ref().map_or(0, |(offset, _)| *offset);
    let Positions { written, durable, .. } = *positions.borrow();
    let recovered =
        Recovered { log_start, log_end, written, durable, high_watermark, epochs, producers, kept };
    Ok(Opened { recovered, positions, snapshot })
}

/// The producers of the log up to `log_end`: those of the snapshot, when it is of any use, and the batches after it. A
/// snapshot from below the log start lacks what was deleted: strangers may go on with any sequence, those it knows may not.
/// *Blocking.*
pub(crate) fn replay(
    store: &dyn LogStore,
    log: LogId,
    snapshot: Option<(Offset, Bytes)>,
    log_start: Offset,
    log_end: Offset,
) -> Result<Producers, StorageError> {
    let (mut next, mut producers) = (log_start, Producers::default());
    let covers = |offset: &Offset| (log_start..=log_end).contains(offset);
    if let Some((offset, bytes)) = snapshot.filter(|(offset, _)| covers(offset)) {
        match Producers::decode(&bytes) {
            Ok(decoded) => (next, producers) = (offset, decoded),
            Err(error) => {
                tracing::warn!(%log, offset, %error, "replaying producers from the log start")
            }
        }
    }
    while next < log_end {
        let batches = store.summaries(log, next, log_end, REPLAY_BATCHES_MAX)?;
        let Some(last) = batches.last() else { break };
        let after = last.last_offset + 1;
        batches.iter().filter(|batch| batch.base_offset >= next).for_each(|b| producers.record(b));
        next = after;
    }
    Ok(producers)
}
