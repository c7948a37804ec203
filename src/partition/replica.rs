//! The machine of one replica: the sibling of `machine::Machine` that *is* a log, with a vocabulary of its own.
//!
//! It decides what is appended at which offset, who is answered when, and what readers may see. It sees batch headers, not
//! records; bodies pass through as reference-counted bytes. It owns role and epoch, in-sync set, ends, high watermark,
//! producers and parked answers. Time comes in as `Now`; what happens to the log goes out as `Effect`s, which the actor
//! carries out in order.
//!
//! Its *position* is what it may acknowledge: the durable end when the topic is synced per request (`flush.messages=1`),
//! else the written end. The high watermark is the least position of the maximal in-sync set.
//!
//! Not here: fetching from a leader and truncation (the follower), in-sync set proposals, transactions.

use crate::{
    config::topic::LogConfig,
    ids::{LeaderEpoch, NodeId, Offset},
    limits::PRODUCER_SNAPSHOT_BATCHES,
    machine::{Caller, Mono, Now},
    partition::{
        View,
        isr::Isr,
        producers::{Checked, Origin, Producers},
    },
    storage::{HEAD_BYTES, NewBatch, Summary},
    wire::{ErrorCode, batch::Batch},
};
use bytes::Bytes;
use std::collections::VecDeque;

/// When an append is answered (`acks` of Produce).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Acks {
    /// As soon as its offset is known: journals, which wait for the high watermark themselves.
    Assigned,
    /// When this replica's position covers it: acks=0 and 1.
    Leader,
    /// When the high watermark covers it: acks=-1.
    All,
}

/// A batch to append, checked and final but for its place: offsets in `summary` count from 0.
#[derive(Debug, Clone)]
pub struct Incoming {
    pub summary: Summary,
    /// The batch after its first `HEAD_BYTES`.
    pub body: Bytes,
}

/// An append.
#[derive(Debug)]
pub struct Append {
    pub caller: Caller,
    pub batch: Incoming,
    pub acks: Acks,
    pub origin: Origin,
    /// How long `Acks::All` waits for other replicas once this one has the batch, in milliseconds.
    pub timeout_ms: i32,
    /// What the answer says: milliseconds since the epoch when the topic has LogAppendTime, else -1.
    pub log_append_time: i64,
}

/// The answer to an append that was, or had been before, written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Appended {
    pub base_offset: Offset,
    /// Inclusive.
    pub last_offset: Offset,
    /// -1 unless the broker or, for a duplicate, the original batch gave the time.
    pub log_append_time: i64,
    pub log_start: Offset,
}

/// The answer to an append that was refused, or of which nobody knows whether it will last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refused {
    pub code: ErrorCode,
    /// -1 when nothing was appended.
    pub base_offset: Offset,
    /// -1 where Kafka says so.
    pub log_start: Offset,
}

/// What the image says of this replica.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assigned {
    pub leader_epoch: LeaderEpoch,
    /// Whether this node leads.
    pub leading: bool,
    pub isr: Vec<NodeId>,
    pub replicas: Vec<NodeId>,
}

/// What the topic's configuration asks of the replica.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    /// `min.insync.replicas` as set; above the replication factor it counts as the factor.
    pub min_insync_replicas: usize,
    /// `flush.messages`: records after which the log is synced; 1 makes the durable end the position.
    pub flush_messages: i64,
    /// `flush.ms`: the longest time a record stays unsynced, in milliseconds.
    pub flush_ms: i64,
    /// `cleanup.policy` has `delete`: records may be deleted on request.
    pub deletes: bool,
    /// `producer.id.expiration.ms`.
    pub producer_id_expiration_ms: i64,
    /// How often producers are looked through (`producer.id.expiration.check.interval.ms`).
    pub producer_id_check_ms: i64,
    /// Batches after which the producers are kept anew.
    pub producer_snapshot_batches: u64,
}

impl Rules {
    /// What a topic's settings say. How often producers are looked through is the broker's, and stays as it starts.
    pub fn of(config: &LogConfig) -> Rules {
        Rules {
            min_insync_replicas: usize::try_from(config.min_insync_replicas).unwrap_or(1),
            flush_messages: config.flush_messages,
            flush_ms: config.flush_ms,
            deletes: config.cleanup_policy.delete,
            producer_id_expiration_ms: config.producer_id_expiration_ms,
            producer_id_check_ms: i64::MAX,
            producer_snapshot_batches: PRODUCER_SNAPSHOT_BATCHES,
        }
    }
}

/// What can happen to a replica.
#[derive(Debug)]
pub enum Input {
    Append(Append),
    /// Where storage stands.
    Stored {
        written: Offset,
        durable: Offset,
    },
    /// Writing has stopped: what is not written will not be.
    Failed,
    /// Writing goes on from `log_end`; `producers` is what the log up to there says.
    Resumed {
        log_end: Offset,
        producers: Producers,
    },
    Assigned(Assigned),
    /// Delete all records below `before`; -1: below the high watermark.
    DeleteRecords {
        caller: Caller,
        before: Offset,
    },
    /// What storage answered to `SetLogStart`.
    LogStartSet {
        caller: Caller,
        result: Result<Offset, ErrorCode>,
    },
    /// Another replica fetched from `offset`.
    FollowerFetched {
        replica: NodeId,
        offset: Offset,
    },
    Configured(Rules),
    /// A clean stop: keep what a start needs.
    Stop,
    /// `next_deadline` has come.
    Tick,
}

/// What a step asks for, to be carried out in order.
#[derive(Debug)]
pub enum Effect {
    /// Record that the epoch begins here; durable before the next effect is carried out.
    SetEpochStart(LeaderEpoch, Offset),
    Store(NewBatch),
    /// Make everything stored so far durable.
    Sync,
    Publish(View),
    Reply(Caller, Result<Appended, Refused>),
    /// Keep the producers of the log up to this offset, which may be less than the replica knows.
    KeepProducers(Offset),
    /// Raise the log start; durable when `LogStartSet` says so.
    SetLogStart(Caller, Offset),
    /// The answer to `DeleteRecords`: the log start.
    Deleted(Caller, Result<Offset, ErrorCode>),
    /// Keep the high watermark for the next start.
    SetHighWatermark(Offset),
    /// Keep the producers, who cover everything below this offset.
    Snapshot(Offset, Bytes),
}

/// What a replica starts from: the log as it was opened.
#[derive(Debug)]
pub struct Recovered {
    pub log_start: Offset,
    pub log_end: Offset,
    pub written: Offset,
    pub durable: Offset,
    pub high_watermark: Offset,
    /// First offset of each leader epoch, ascending.
    pub epochs: Vec<(LeaderEpoch, Offset)>,
    pub producers: Producers,
    /// Storage keeps the producers up to here; 0: it keeps none.
    pub kept: Offset,
}

/// Stands for the high watermark in `DeleteRecords` (`DeleteRecordsRequest.HIGH_WATERMARK`).
const HIGH_WATERMARK: Offset = -1;
/// The high watermark is kept at least this often while it moves.
const KEEP_HIGH_WATERMARK_MS: i64 = 5_000;

/// An answer that waits.
#[derive(Debug)]
struct Parked {
    caller: Caller,
    acks: Acks,
    deadline: Mono,
    appended: Appended,
}

impl Parked {
    fn end(&self) -> Offset {
        self.appended.last_offset + 1
    }
}

/// One replica of one partition.
#[derive(Debug)]
pub struct Replica {
    me: NodeId,
    rules: Rules,
    leader_epoch: LeaderEpoch,
    leading: bool,
    epoch_start: Offset,
    isr: Isr,
    replication_factor: usize,
    epochs: Vec<(LeaderEpoch, Offset)>,
    log_start: Offset,
    log_end: Offset,
    written: Offset,
    durable: Offset,
    high_watermark: Offset,
    failed: bool,
    producers: Producers,
    /// Wait for this replica's position, in offset order.
    unstored: VecDeque<Parked>,
    /// Wait for the high watermark, in offset order; this replica's position covers them.
    unreplicated: VecDeque<Parked>,
    /// At or before the earliest deadline in `unreplicated`.
    reply_by: Option<Mono>,
    published: View,
    unsynced_records: i64,
    sync_by: Option<Mono>,
    kept_high_watermark: Offset,
    keep_by: Option<Mono>,
    expire_by: Option<Mono>,
    batches_since_snapshot: u64,
    /// The producers up to an offset. Storage gets them when the high watermark is there: it keeps few snapshots, and one that
    /// covers batches which are taken back must not be in the place of one that can be used.
    snapshot: Option<(Offset, Bytes)>,
    /// The newest snapshot that storage has.
    kept: Offset,
}

impl Replica {
    /// A replica that knows its log but not its role: it serves nothing until it is assigned one.
    pub fn new(me: NodeId, rules: Rules, log: Recovered) -> Replica {
        let leader_epoch = log.epochs.last().map_or(LeaderEpoch(-1), |(epoch, _)| *epoch);
        let published = View {
            leader_epoch,
            leading: false,
            epoch_start: log.log_end,
            log_start: log.log_start,
            high_watermark: log.high_watermark,
            last_stable: log.high_watermark,
            log_end: log.log_end,
        };
        Replica {
            me,
            rules,
            leader_epoch,
            leading: false,
            epoch_start: log.log_end,
            isr: Isr::new(me, Vec::new(), &[]),
            replication_factor: 0,
            epochs: log.epochs,
            log_start: log.log_start,
            log_end: log.log_end,
            written: log.written,
            durable: log.durable,
            high_watermark: log.high_watermark,
            failed: false,
            producers: log.producers,
            unstored: VecDeque::new(),
            unreplicated: VecDeque::new(),
            reply_by: None,
            published,
            unsynced_records: 0,
            sync_by: None,
            kept_high_watermark: log.high_watermark,
            keep_by: None,
            expire_by: None,
            batches_since_snapshot: 0,
            snapshot: None,
            kept: log.kept,
        }
    }

    /// What readers may know now.
    pub fn view(&self) -> View {
        self.published
    }

    /// Who wrote, as far as duplicates are recognised.
    pub fn producers(&self) -> &Producers {
        &self.producers
    }

    /// First offset of each leader epoch, ascending.
    pub fn epochs(&self) -> &[(LeaderEpoch, Offset)] {
        &self.epochs
    }

    /// Decides.
    pub fn step(&mut self, now: Now, input: Input, out: &mut Vec<Effect>) {
        match input {
            Input::Append(append) => self.append(now, append, out),
            Input::Stored { written, durable } => {
                self.written = written;
                self.durable = durable;
                self.advance(now, out);
            }
            Input::Failed => self.fail(out),
            Input::Resumed { log_end, producers } => self.resume(now, log_end, producers, out),
            Input::Assigned(assigned) => self.assign(now, assigned, out),
            Input::DeleteRecords { caller, before } => self.delete_records(caller, before, out),
            Input::LogStartSet { caller, result } => self.log_start_set(caller, result, out),
            Input::FollowerFetched { replica, offset } => {
                if self.leading && self.isr.acknowledge(replica, offset) {
                    self.advance(now, out);
                }
            }
            Input::Configured(rules) => {
                self.rules = rules;
                if self.unsynced_records >= rules.flush_messages {
                    self.sync(out);
                }
                self.advance(now, out);
            }
            Input::Stop => self.stop(out),
            Input::Tick => self.tick(now, out),
        }
    }

    /// When `step(Tick)` must run next.
    pub fn next_deadline(&self) -> Option<Mono> {
        [self.reply_by, self.sync_by, self.keep_by, self.expire_by].into_iter().flatten().min()
    }

    fn append(&mut self, now: Now, append: Append, out: &mut Vec<Effect>) {
        let Append { caller, batch, acks, origin, timeout_ms, log_append_time } = append;
        let appended = match self.admit(&batch.summary, acks, origin) {
            Err(refused) => return out.push(Effect::Reply(caller, Err(refused))),
            Ok(Checked::Duplicate { base_offset, last_offset, timestamp }) => Appended {
                base_offset,
                last_offset,
                log_append_time: timestamp,
                log_start: self.log_start,
            },
            Ok(Checked::New) => self.store(now, batch, log_append_time, out),
        };
        let deadline = now.mono.after_ms(i64::from(timeout_ms));
        let parked = Parked { caller, acks, deadline, appended };
        if acks == Acks::Assigned {
            // A journal that must be loaded again can tell from the view that this batch is on its way.
            self.publish(out);
        }
        if acks == Acks::Assigned || parked.end() <= self.high_watermark {
            out.push(Effect::Reply(caller, Ok(appended)));
        } else if parked.end() > self.position() {
            // Only a duplicate can come before the last one that waits.
            let at = self.unstored.partition_point(|other| other.end() <= parked.end());
            self.unstored.insert(at, parked);
        } else {
            self.stored(parked, out);
        }
    }

    /// Whether a batch may be appended here and now; Kafka's order of checks.
    fn admit(&self, batch: &Summary, acks: Acks, origin: Origin) -> Result<Checked, Refused> {
        let refuse = |code, log_start| Err(Refused { code, base_offset: -1, log_start });
        if !self.leading {
            return refuse(ErrorCode::NotLeaderOrFollower, -1);
        }
        if self.failed {
            return refuse(ErrorCode::KafkaStorageError, -1);
        }
        if origin == Origin::Client && acks == Acks::All && self.under_min_isr() {
            return refuse(ErrorCode::NotEnoughReplicas, self.log_start);
        }
        if batch.producer_id < 0 {
            return Ok(Checked::New);
        }
        self.producers.check(batch, origin).or_else(|code| refuse(code, self.log_start))
    }

    /// Gives the batch its place and has it written.
    fn store(
        &mut self,
        now: Now,
        batch: Incoming,
        log_append_time: i64,
        out: &mut Vec<Effect>,
    ) -> Appended {
        let Incoming { mut summary, body } = batch;
        let records = summary.last_offset + 1;
        summary.base_offset = self.log_end;
        summary.last_offset += self.log_end;
        summary.leader_epoch = self.leader_epoch;
        self.log_end += records;
        self.producers.record(&summary);
        self.watch_producers(now);
        out.push(Effect::Store(NewBatch { summary, head: head(&summary), body }));
        self.sync_if_due(now, records, out);
        self.batches_since_snapshot += 1;
        if self.batches_since_snapshot >= self.rules.producer_snapshot_batches
            && self.snapshot.is_none()
        {
            self.batches_since_snapshot = 0;
            self.snapshot = Some((self.log_end, self.producers.encode()));
        }
        Appended {
            base_offset: summary.base_offset,
            last_offset: summary.last_offset,
            log_append_time,
            log_start: self.log_start,
        }
    }

    fn watch_producers(&mut self, now: Now) {
        if self.expire_by.is_none() && !self.producers.is_empty() {
            self.expire_by = Some(now.mono.after_ms(self.rules.producer_id_check_ms));
        }
    }

    fn sync_if_due(&mut self, now: Now, records: i64, out: &mut Vec<Effect>) {
        self.unsynced_records = self.unsynced_records.saturating_add(records);
        if self.unsynced_records >= self.rules.flush_messages {
            self.sync(out);
        } else if self.sync_by.is_none() && self.rules.flush_ms < i64::MAX {
            self.sync_by = Some(now.mono.after_ms(self.rules.flush_ms));
        }
    }

    fn sync(&mut self, out: &mut Vec<Effect>) {
        out.push(Effect::Sync);
        self.unsynced_records = 0;
        self.sync_by = None;
    }

    fn keep_snapshot(&mut self, out: &mut Vec<Effect>) {
        if let Some((offset, producers)) =
            self.snapshot.take_if(|(offset, _)| *offset <= self.high_watermark)
        {
            self.kept = offset;
            out.push(Effect::Snapshot(offset, producers));
        }
    }

    /// *Records are to be deleted*: who wrote them is kept first, because the log will not tell it any more. Also when writing
    /// has stopped: for want of space, perhaps.
    fn delete_records(&mut self, caller: Caller, before: Offset, out: &mut Vec<Effect>) {
        match self.deletion(before) {
            Ok(start) if start > self.log_start => {
                if start > self.kept && !self.producers.is_empty() {
                    self.kept = self.high_watermark;
                    out.push(Effect::KeepProducers(self.kept));
                }
                self.sync(out);
                out.push(Effect::SetLogStart(caller, start));
            }
            Ok(_) => out.push(Effect::Deleted(caller, Ok(self.log_start))),
            Err(code) => out.push(Effect::Deleted(caller, Err(code))),
        }
    }

    /// Where the log starts when everything below `before` is deleted; Kafka's order of checks
    /// (`Partition.deleteRecordsOnLeader`).
    fn deletion(&self, before: Offset) -> Result<Offset, ErrorCode> {
        if !self.leading {
            return Err(ErrorCode::NotLeaderOrFollower);
        }
        if !self.rules.deletes {
            return Err(ErrorCode::PolicyViolation);
        }
        let start = if before == HIGH_WATERMARK { self.high_watermark } else { before };
        if (0..=self.high_watermark).contains(&start) {
            Ok(start)
        } else {
            Err(ErrorCode::OffsetOutOfRange)
        }
    }

    fn log_start_set(
        &mut self,
        caller: Caller,
        result: Result<Offset, ErrorCode>,
        out: &mut Vec<Effect>,
    ) {
        if let Ok(start) = result {
            self.raise_log_start(start);
            self.publish(out);
        }
        out.push(Effect::Deleted(caller, result.map(|_| self.log_start)));
    }

    /// The epoch that covers the start stays and begins there (Kafka's LeaderEpochFileCache.truncateFromStart).
    fn raise_log_start(&mut self, start: Offset) {
        self.log_start = self.log_start.max(start);
        let below = self.epochs.partition_point(|(_, first)| *first <= self.log_start);
        self.epochs.drain(..below.saturating_sub(1));
        if let Some((_, first)) = self.epochs.first_mut() {
            *first = self.log_start.max(*first);
        }
    }

    fn position(&self) -> Offset {
        if self.rules.flush_messages == 1 { self.durable } else { self.written }
    }

    fn under_min_isr(&self) -> bool {
        self.isr.maximal_len() < self.rules.min_insync_replicas.min(self.replication_factor)
    }

    /// Moves the high watermark as far as it may go, shows it, and answers whom it or the position now covers.
    fn advance(&mut self, now: Now, out: &mut Vec<Effect>) {
        let position = self.position();
        if self.leading && !self.under_min_isr() {
            self.high_watermark = self.isr.common_end(position).max(self.high_watermark);
        }
        if self.high_watermark != self.kept_high_watermark && self.keep_by.is_none() {
            self.keep_by = Some(now.mono.after_ms(KEEP_HIGH_WATERMARK_MS));
        }
        self.keep_snapshot(out);
        self.publish(out);
        let too_few = self.under_min_isr();
        while self
            .unreplicated
            .front()
            .is_some_and(|first| too_few || first.end() <= self.high_watermark)
        {
            if let Some(parked) = self.unreplicated.pop_front() {
                self.stored(parked, out);
            }
        }
        if self.unreplicated.is_empty() {
            self.reply_by = None;
        }
        while self.unstored.front().is_some_and(|first| first.end() <= position) {
            if let Some(parked) = self.unstored.pop_front() {
                self.stored(parked, out);
            }
        }
    }

    /// This replica's position covers a batch that is waited for.
    fn stored(&mut self, parked: Parked, out: &mut Vec<Effect>) {
        if parked.acks == Acks::Leader || parked.end() <= self.high_watermark {
            out.push(Effect::Reply(parked.caller, Ok(parked.appended)));
        } else if self.under_min_isr() {
            let refused = parked.refused(ErrorCode::NotEnoughReplicasAfterAppend);
            out.push(Effect::Reply(parked.caller, Err(refused)));
        } else {
            self.reply_by =
                Some(self.reply_by.map_or(parked.deadline, |by| by.min(parked.deadline)));
            let at = self.unreplicated.partition_point(|other| other.end() <= parked.end());
            self.unreplicated.insert(at, parked);
        }
    }

    fn publish(&mut self, out: &mut Vec<Effect>) {
        let view = View {
            leader_epoch: self.leader_epoch,
            leading: self.leading,
            epoch_start: self.epoch_start,
            log_start: self.log_start,
            high_watermark: self.high_watermark,
            last_stable: self.high_watermark,
            log_end: self.log_end,
        };
        if view != self.published {
            self.published = view;
            out.push(Effect::Publish(view));
        }
    }

    fn assign(&mut self, now: Now, assigned: Assigned, out: &mut Vec<Effect>) {
        let Assigned { leader_epoch, leading, isr, replicas } = assigned;
        if leader_epoch < self.leader_epoch {
            return;
        }
        self.replication_factor = replicas.len();
        if self.leading && leading && leader_epoch == self.leader_epoch {
            self.isr.change(isr, &replicas);
        } else {
            self.answer_all(ErrorCode::NotLeaderOrFollower, out);
            self.isr = Isr::new(self.me, isr, &replicas);
            self.leader_epoch = leader_epoch;
            self.leading = leading;
            if leading {
                self.begin_epoch(out);
            }
        }
        self.watch_producers(now);
        self.advance(now, out);
    }

    /// *A leader begins an epoch*: where it begins is durable before anyone is served in it.
    fn begin_epoch(&mut self, out: &mut Vec<Effect>) {
        if self.epochs.last().is_none_or(|(epoch, _)| *epoch < self.leader_epoch) {
            // Nothing was written in an epoch that began here.
            self.epochs.retain(|(_, start)| *start < self.log_end);
            self.epochs.push((self.leader_epoch, self.log_end));
            out.push(Effect::SetEpochStart(self.leader_epoch, self.log_end));
        }
        self.epoch_start = self.log_end;
    }

    /// *Writing stopped*: what is written stays readable, nothing else is acknowledged.
    fn fail(&mut self, out: &mut Vec<Effect>) {
        self.failed = true;
        for parked in std::mem::take(&mut self.unstored) {
            out.push(Effect::Reply(
                parked.caller,
                Err(parked.refused(ErrorCode::KafkaStorageError)),
            ));
        }
    }

    /// *Writing goes on* behind what is written: an epoch in which nothing was begins there, and storage forgot it.
    fn resume(&mut self, now: Now, log_end: Offset, producers: Producers, out: &mut Vec<Effect>) {
        self.failed = false;
        self.log_end = log_end;
        self.producers = producers;
        self.snapshot = None;
        self.epochs.retain(|(_, start)| *start < log_end);
        if self.leading && self.epochs.last().is_none_or(|(epoch, _)| *epoch < self.leader_epoch) {
            self.begin_epoch(out);
        }
        self.advance(now, out);
    }

    fn answer_all(&mut self, code: ErrorCode, out: &mut Vec<Effect>) {
        self.reply_by = None;
        for parked in self.unreplicated.drain(..).chain(self.unstored.drain(..)) {
            out.push(Effect::Reply(parked.caller, Err(parked.refused(code))));
        }
    }

    fn stop(&mut self, out: &mut Vec<Effect>) {
        self.answer_all(ErrorCode::NotLeaderOrFollower, out);
        out.push(Effect::SetHighWatermark(self.high_watermark));
        if !self.failed {
            out.push(Effect::Snapshot(self.log_end, self.producers.encode()));
        }
    }

    fn tick(&mut self, now: Now, out: &mut Vec<Effect>) {
        let due = |by: Option<Mono>| by.is_some_and(|by| by <= now.mono);
        if due(self.reply_by) {
            self.time_out(now.mono, out);
        }
        if due(self.sync_by) {
            self.sync(out);
        }
        if due(self.keep_by) {
            self.keep_by = None;
            self.kept_high_watermark = self.high_watermark;
            out.push(Effect::SetHighWatermark(self.high_watermark));
        }
        if due(self.expire_by) {
            self.producers.expire(now.wall_ms, self.rules.producer_id_expiration_ms);
            self.expire_by = None;
            self.watch_producers(now);
        }
    }

    /// Answers those whose time is up; their batches stay and may still be replicated.
    fn time_out(&mut self, mono: Mono, out: &mut Vec<Effect>) {
        self.reply_by = None;
        for parked in std::mem::take(&mut self.unreplicated) {
            if parked.deadline <= mono {
                out.push(Effect::Reply(
                    parked.caller,
                    Err(parked.refused(ErrorCode::RequestTimedOut)),
                ));
            } else {
                let by = self.reply_by.map_or(parked.deadline, |by| by.min(parked.deadline));
                self.reply_by = Some(by);
                self.unreplicated.push_back(parked);
            }
        }
    }
}

impl From<Batch> for Incoming {
    fn from(batch: Batch) -> Incoming {
        let header = &batch.header;
        let summary = Summary {
            base_offset: 0,
            last_offset: i64::from(header.last_offset_delta),
            max_timestamp: header.max_timestamp,
            leader_epoch: LeaderEpoch(header.partition_leader_epoch),
            attributes: header.attributes,
            producer_id: header.producer_id,
            producer_epoch: header.producer_epoch,
            first_sequence: header.base_sequence,
            size: batch.bytes.len() as u32,
            crc: header.crc,
        };
        Incoming { summary, body: batch.bytes.slice(HEAD_BYTES..) }
    }
}

impl Parked {
    fn refused(&self, code: ErrorCode) -> Refused {
        let Appended { base_offset, log_start, .. } = self.appended;
        Refused { code, base_offset, log_start }
    }
}

/// The bytes of a batch that its leader sets: base offset, length of what follows it, leader epoch.
fn head(summary: &Summary) -> [u8; HEAD_BYTES] {
    let mut head = [0; HEAD_BYTES];
    head[..8].copy_from_slice(&summary.base_offset.to_be_bytes());
    head[8..12].copy_from_slice(&(summary.size - LENGTH_FROM).to_be_bytes());
    head[12..].copy_from_slice(&summary.leader_epoch.0.to_be_bytes());
    head
}

/// The length field counts what comes after it.
const LENGTH_FROM: u32 = 12;

#[cfg(test)]
mod tests;
