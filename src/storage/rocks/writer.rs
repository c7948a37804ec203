//! The one thread that writes. It takes what is queued as a group, writes segment bytes, commits one RocksDB batch for all
//! logs, publishes `written` once a log, and hands what must be durable to the syncing stage.
//!
//! Appends and what accompanies them share groups. What takes offsets away (`trim`) ends its group first.

use super::Shared;
use super::db::{Batch, Family};
use super::keys::{self, Kind};
use super::log::{Growing, Log, State};
use super::queue::Receiver;
use super::syncer::{After, Job, LogSync};
use super::values::{self, Point};
use super::{files, trim};
use crate::ids::{LeaderEpoch, LogId, Offset};
use crate::limits::{INLINE_BATCH_BYTES_MAX, TAIL_BYTES_MAX};
use crate::storage::{NewBatch, Put, Space, StorageError};
use bytes::Bytes;
use std::collections::{HashMap, VecDeque};
use std::io;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, TryRecvError};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// Bytes of batches after which a group is committed although more is queued.
const GROUP_BYTES: usize = 4 << 20;
/// Commands after which it is.
const GROUP_COMMANDS: usize = 4096;
/// Bytes appended to a log after which its recovery point moves.
const POINT_BYTES: u64 = 64 << 20;
/// The time after which the recovery points of all logs that were appended to move.
const POINT_EVERY: Duration = Duration::from_secs(30);
/// How often free space is looked at while there is too little.
const SPACE_EVERY: Duration = Duration::from_millis(500);
/// The longest time between two looks at free space while there is enough: others fill the disk too.
const SPACE_LOOK_EVERY: Duration = Duration::from_millis(100);
/// What may be written between two looks: this part of the reserve, and one group.
const SPACE_LOOK_SHARE: u64 = 16;
/// What an entry of the in-memory tail costs beside its bytes.
const TAIL_ENTRY_BYTES: usize = 128;
/// Producer snapshots kept.
const SNAPSHOTS_KEPT: usize = 2;

pub type Reply = oneshot::Sender<Result<(), StorageError>>;

pub enum Command {
    Create(LogId, Reply),
    Append(Arc<Log>, NewBatch),
    Sync(Arc<Log>),
    Truncate(Arc<Log>, Offset, Reply),
    RestartAt(Arc<Log>, Offset, Reply),
    LogStart(Arc<Log>, Offset, Reply),
    Delete(LogId, Reply),
    HighWatermark(Arc<Log>, Offset),
    Epoch(Arc<Log>, LeaderEpoch, Offset, Reply),
    Snapshot(Arc<Log>, Offset, Bytes, Reply),
    Put(Vec<Put>, bool, Reply),
    /// A recovery point has become durable.
    Point(Arc<Log>, u64, Point),
    Close(Reply),
    /// Ends the thread and leaves everything as it is.
    Stop,
}

impl Command {
    fn log(&self) -> Option<&Log> {
        match self {
            Command::Append(log, ..)
            | Command::Sync(log)
            | Command::Truncate(log, ..)
            | Command::RestartAt(log, ..)
            | Command::LogStart(log, ..)
            | Command::HighWatermark(log, ..)
            | Command::Epoch(log, ..)
            | Command::Snapshot(log, ..)
            | Command::Point(log, ..) => Some(log),
            Command::Create(..)
            | Command::Delete(..)
            | Command::Put(..)
            | Command::Close(_)
            | Command::Stop => None,
        }
    }
}

/// What is committed together.
pub struct Group<'a> {
    pub batch: Batch<'a>,
    bytes: usize,
    commands: usize,
    appended: HashMap<LogId, Arc<Log>>,
    syncs: HashMap<LogId, Arc<Log>>,
    /// Answered when the group is committed.
    replies: Vec<Reply>,
    /// For the syncing stage.
    pub job: Job,
}

impl<'a> Group<'a> {
    pub fn new(shared: &'a Shared) -> Group<'a> {
        Group {
            batch: shared.db.batch(),
            bytes: 0,
            commands: 0,
            appended: HashMap::new(),
            syncs: HashMap::new(),
            replies: Vec::new(),
            job: Job::default(),
        }
    }
}

pub struct Writer<'a> {
    pub shared: &'a Shared,
    pub group: Group<'a>,
    jobs: mpsc::Sender<Job>,
    /// Logs appended to since their recovery points were last asked to move.
    behind: HashMap<LogId, Weak<Log>>,
    points_at: Instant,
    /// When free space is looked at again, whatever is written.
    look_at: Instant,
    /// Bytes of batches written since it was looked at.
    unseen_bytes: u64,
    /// Segment files created since all were closed last: at least as many as are open for writing.
    created: usize,
    /// The batches in the tails of all logs, oldest first, with what they cost.
    tails: VecDeque<(Weak<Log>, Offset, usize)>,
    tail_bytes: usize,
    value: Vec<u8>,
}

pub fn run(shared: &Shared, commands: &Receiver<Command>, jobs: mpsc::Sender<Job>) {
    let mut writer = Writer {
        shared,
        group: Group::new(shared),
        jobs,
        behind: HashMap::new(),
        points_at: now() + POINT_EVERY,
        look_at: now(),
        unseen_bytes: 0,
        created: 0,
        tails: VecDeque::new(),
        tail_bytes: 0,
        value: Vec::new(),
    };
    loop {
        let mut next = match writer.wait(commands) {
            Ok(command) => Some(command),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => return,
        };
        writer.look_at_space_if_due();
        while let Some(command) = next {
            match command {
                Command::Stop => return writer.commit(),
                Command::Close(reply) => {
                    let _ = reply.send(writer.close());
                    return;
                }
                command => writer.take(command),
            }
            let group = &writer.group;
            let more = group.bytes < GROUP_BYTES
                && group.commands < GROUP_COMMANDS
                && writer.created < shared.files.growing_max;
            next = if more { commands.try_recv().ok() } else { None };
        }
        if writer.created >= shared.files.growing_max {
            writer.close_files();
        }
        writer.commit();
        if writer.points_at <= now() {
            writer.move_points();
        }
    }
}

fn now() -> Instant {
    #[expect(clippy::disallowed_methods, reason = "how long a thread of its own waits")]
    Instant::now()
}

impl Writer<'_> {
    fn wait(&self, commands: &Receiver<Command>) -> Result<Command, TryRecvError> {
        let patience = if self.shared.full.load(Ordering::Relaxed) {
            Some(SPACE_EVERY)
        } else if !self.behind.is_empty() {
            Some(self.points_at.saturating_duration_since(now()))
        } else {
            None
        };
        commands.recv(patience)
    }

    fn look_at_space_if_due(&mut self) {
        let now = now();
        let full = self.shared.full.load(Ordering::Relaxed);
        let due = full || now >= self.look_at;
        if due || self.unseen_bytes >= self.shared.reserve_bytes / SPACE_LOOK_SHARE {
            self.look_at = now + SPACE_LOOK_EVERY;
            self.unseen_bytes = 0;
            self.look_at_space();
        }
    }

    fn look_at_space(&self) {
        match self.shared.io.free_bytes(self.shared.dir.path()) {
            Ok(free) if free < self.shared.reserve_bytes => self.shared.set_full(true),
            Ok(free) if free >= self.shared.reserve_bytes.saturating_mul(2) => {
                self.shared.set_full(false);
            }
            Ok(_) => {}
            Err(error) => tracing::warn!(%error, "the free space cannot be seen"),
        }
    }

    fn take(&mut self, command: Command) {
        self.group.commands += 1;
        if command.log().is_some_and(|log| log.deleted.load(Ordering::Relaxed)) {
            return;
        }
        let failed = self.shared.failure();
        match command {
            Command::Append(log, batch) => {
                let full = self.shared.full.load(Ordering::Relaxed);
                if failed.is_some() || full {
                    log.state.lock().hole = true;
                    return log.refuse();
                }
                if let Err(error) = self.append(&log, &batch) {
                    log.state.lock().hole = true;
                    log.refuse();
                    self.shared.stop(StorageError::Io(error.to_string()));
                }
            }
            Command::Sync(log) => {
                self.group.syncs.insert(log.id, log);
            }
            Command::Create(_, reply)
            | Command::Truncate(_, _, reply)
            | Command::RestartAt(_, _, reply)
            | Command::LogStart(_, _, reply)
            | Command::Delete(_, reply)
            | Command::Epoch(_, _, _, reply)
            | Command::Snapshot(_, _, _, reply)
            | Command::Put(_, _, reply)
                if failed.is_some() =>
            {
                let _ = reply.send(failed.map_or(Ok(()), Err));
            }
            Command::Create(log, reply) => self.create(log, reply),
            Command::Truncate(log, to, reply) => {
                let _ = reply.send(trim::truncate(self, &log, to));
            }
            Command::RestartAt(log, start, reply) => {
                let _ = reply.send(trim::restart_at(self, &log, start));
            }
            Command::LogStart(log, start, reply) => match trim::set_start(self, &log, start) {
                Ok(()) => self.group.job.replies.push(reply),
                Err(error) => {
                    let _ = reply.send(Err(error));
                }
            },
            Command::Delete(log, reply) => {
                trim::delete(self, log);
                self.group.job.after.push(After::UnlinkAll(log));
                self.group.job.replies.push(reply);
            }
            Command::HighWatermark(log, offset) => {
                log.state.lock().high_watermark = offset;
                self.put_single(Kind::HighWatermark, log.id, &values::offset(offset));
            }
            Command::Epoch(log, epoch, start, reply) => {
                let epochs = {
                    let epochs = &mut log.state.lock().epochs;
                    epochs.retain(|(known, first)| *known < epoch && *first < start);
                    epochs.push((epoch, start));
                    values::epochs(epochs)
                };
                self.put_single(Kind::Epochs, log.id, &epochs);
                self.group.replies.push(reply);
            }
            Command::Snapshot(log, offset, bytes, reply) => {
                self.put_snapshot(&log, offset, &bytes);
                self.group.replies.push(reply);
            }
            Command::Put(puts, sync, reply) => {
                puts.iter().for_each(|put| self.put(put));
                if sync {
                    self.group.job.replies.push(reply);
                } else {
                    self.group.replies.push(reply);
                }
            }
            Command::Point(log, generation, point) => {
                let mut state = log.state.lock();
                if state.generation == generation && point.offset >= state.start.first_base {
                    state.point = point;
                    drop(state);
                    self.put_single(Kind::Point, log.id, &point.encode());
                }
            }
            Command::Close(_) | Command::Stop => unreachable!("the loop takes them"),
        }
    }

    pub fn put_single(&mut self, kind: Kind, log: LogId, value: &[u8]) {
        self.group.batch.put(Family::State, &keys::single(kind, log), value);
    }

    fn create(&mut self, log: LogId, reply: Reply) {
        self.put_single(Kind::Exists, log, &[values::VERSION]);
        self.group.batch.put(Family::State, &keys::last_log(), &values::last_log(log.0));
        self.group.job.replies.push(reply);
    }

    fn append(&mut self, log: &Arc<Log>, new: &NewBatch) -> io::Result<()> {
        let summary = &new.summary;
        let mut state = log.state.lock();
        let state = &mut *state;
        if state.hole && summary.base_offset != state.end {
            log.refuse();
            return Ok(());
        }
        assert!(summary.base_offset >= state.end, "appends continue the log");
        let batch = &mut self.group.batch;
        let put = &mut |key: &[u8], value: &[u8]| batch.put(Family::State, key, value);
        if state.totals.add(log.id, summary, &state.options, put) {
            state.growing = None;
            state.rolled = true;
        }
        let in_file = summary.size as usize > INLINE_BATCH_BYTES_MAX;
        self.value.clear();
        values::put_summary(&mut self.value, summary, in_file);
        let cost = if in_file {
            self.created += usize::from(state.growing.is_none());
            let growing = growing(self.shared, log.id, state, summary.base_offset)?;
            let at = growing.len;
            self.shared.io.write_at(&growing.file, at, &new.head, &new.body)?;
            growing.len += u64::from(summary.size);
            values::put_place(&mut self.value, growing.base, at);
            let file = growing.file.clone();
            if !state.unsynced.last().is_some_and(|last| Arc::ptr_eq(last, &file)) {
                state.unsynced.push(file.clone());
            }
            state.tail.push_file(*summary, file, at);
            TAIL_ENTRY_BYTES
        } else {
            self.value.extend_from_slice(&new.head);
            self.value.extend_from_slice(&new.body);
            state.tail.push(*summary, &new.head, &new.body);
            TAIL_ENTRY_BYTES + summary.size as usize
        };
        let key = keys::batch(log.id, summary.base_offset);
        self.group.batch.put(Family::Log, &key, &self.value);
        state.appended(summary);
        self.tails.push_back((Arc::downgrade(log), summary.base_offset, cost));
        self.tail_bytes += cost;
        self.group.bytes += summary.size as usize;
        self.unseen_bytes += u64::from(summary.size);
        self.group.appended.entry(log.id).or_insert_with(|| log.clone());
        Ok(())
    }

    fn put_snapshot(&mut self, log: &Log, offset: Offset, bytes: &[u8]) {
        let key = keys::many(Kind::Snapshot, log.id, offset);
        self.group.batch.put(Family::State, &key, &values::snapshot(bytes));
        let snapshots = &mut log.state.lock().snapshots;
        snapshots.retain(|known| *known != offset);
        let at = snapshots.partition_point(|known| *known < offset);
        snapshots.insert(at, offset);
        while snapshots.len() > SNAPSHOTS_KEPT
            && let Some(oldest) = snapshots.pop_front()
        {
            let key = keys::many(Kind::Snapshot, log.id, oldest);
            self.group.batch.delete(Family::State, &key);
        }
    }

    fn put(&mut self, put: &Put) {
        let family = |space: &Space| Family::of(*space);
        let batch = &mut self.group.batch;
        match put {
            Put::Set(space, key, value) => batch.put(family(space), key, value),
            Put::Delete(space, key) => batch.delete(family(space), key),
            Put::DeleteRange(space, keys) => {
                batch.delete_range(family(space), &keys.start, &keys.end);
            }
        }
    }

    /// Commits the group, publishes what it wrote, and hands on what must be synced.
    pub fn commit(&mut self) {
        let mut group = std::mem::replace(&mut self.group, Group::new(self.shared));
        let result = match self.shared.failure() {
            Some(error) => Err(error),
            None => self.shared.db.write(group.batch),
        };
        if let Err(error) = &result {
            self.shared.stop(error.clone());
        }
        for reply in group.replies {
            let _ = reply.send(result.clone());
        }
        if let Err(error) = result {
            for reply in group.job.replies {
                let _ = reply.send(Err(error.clone()));
            }
            return;
        }
        for log in group.appended.values() {
            let state = log.state.lock();
            let (end, moves) = (state.end, state.rolled || state.since_point >= POINT_BYTES);
            drop(state);
            log.set_written(end);
            self.behind.insert(log.id, Arc::downgrade(log));
            if moves {
                group.syncs.insert(log.id, log.clone());
            }
        }
        for log in group.syncs.values() {
            group.job.logs.push(self.sync_of(log));
        }
        if !(group.job.logs.is_empty()
            && group.job.replies.is_empty()
            && group.job.after.is_empty())
        {
            let _ = self.jobs.send(group.job);
        }
        self.shorten_tails();
    }

    /// Everything of a log up to its end; moves the recovery point when it is time.
    fn sync_of(&mut self, log: &Arc<Log>) -> LogSync {
        let mut state = log.state.lock();
        let due = state.rolled || state.since_point >= POINT_BYTES || self.points_at <= now();
        let point = due.then(|| {
            state.rolled = false;
            state.since_point = 0;
            self.behind.remove(&log.id);
            (state.generation, Point { offset: state.end, totals: state.totals })
        });
        // The file that grows may get more bytes while it is synced.
        let files = std::mem::take(&mut state.unsynced);
        let directories = std::mem::take(&mut state.unsynced_directories);
        LogSync { log: log.clone(), end: state.end, files, directories, point }
    }

    /// Asks for new recovery points of all logs that were appended to.
    fn move_points(&mut self) {
        let logs: Vec<Arc<Log>> = self.behind.values().filter_map(Weak::upgrade).collect();
        let logs = logs.iter().map(|log| self.sync_of(log)).collect();
        let _ = self.jobs.send(Job { logs, ..Job::default() });
        self.behind.clear();
        self.points_at = now() + POINT_EVERY;
    }

    /// Waits until the syncing stage has done all it was given, and `logs` besides.
    pub fn drain(&mut self, logs: Vec<LogSync>) -> Result<(), StorageError> {
        let (reply, done) = oneshot::channel();
        let _ = self.jobs.send(Job { logs, replies: vec![reply], ..Job::default() });
        done.blocking_recv().unwrap_or(Err(StorageError::Closed))
    }

    /// Commits the group and lets go of the segment files of all logs: too many grow at the same time. The next large batch
    /// of each begins a new one. Waits until they are synced, because they are open as long.
    fn close_files(&mut self) {
        self.created = 0;
        for log in self.shared.logs.read().values() {
            let mut state = log.state.lock();
            if state.growing.take().is_some() {
                state.tail.trim(Offset::MAX);
                self.group.syncs.insert(log.id, log.clone());
            }
        }
        self.commit();
        // That a sync failed is known to all already.
        let _ = self.drain(Vec::new());
    }

    fn shorten_tails(&mut self) {
        while self.tail_bytes > TAIL_BYTES_MAX
            && let Some((log, base, cost)) = self.tails.pop_front()
        {
            self.tail_bytes -= cost;
            let Some(log) = log.upgrade() else { continue };
            let tail = &mut log.state.lock().tail;
            // It may have been taken back meanwhile, or trimmed.
            while tail.first().is_some_and(|first| first <= base) {
                tail.pop_front();
            }
        }
    }

    fn close(&mut self) -> Result<(), StorageError> {
        self.commit();
        let logs: Vec<Arc<Log>> = self.shared.logs.read().values().cloned().collect();
        let syncs = logs.iter().map(|log| self.sync_of(log)).collect();
        let result = self.drain(syncs).and_then(|()| self.leave_clean(&logs));
        self.shared.stop(StorageError::Closed);
        result
    }

    fn leave_clean(&mut self, logs: &[Arc<Log>]) -> Result<(), StorageError> {
        for log in logs {
            let state = log.state.lock();
            let point = Point { offset: state.end, totals: state.totals };
            let high_watermark = state.high_watermark;
            drop(state);
            self.put_single(Kind::Point, log.id, &point.encode());
            self.put_single(Kind::HighWatermark, log.id, &values::offset(high_watermark));
        }
        self.commit();
        self.drain(Vec::new())?;
        if let Err(error) = self.shared.db.flush_for_stop() {
            tracing::warn!(%error, "the next start will have to replay the write-ahead log");
        }
        self.shared.dir.end().map_err(|error| StorageError::Io(error.to_string()))
    }
}

/// The file large batches of the active segment go to, a new one if need be.
fn growing<'a>(
    shared: &Shared,
    log: LogId,
    state: &'a mut State,
    base: Offset,
) -> io::Result<&'a mut Growing> {
    if state.growing.is_none() {
        let (file, directories) = files::create(&shared.io, &shared.dir, log, base)?;
        shared.files.keep(log, base, file.clone());
        state.unsynced_directories.extend(directories);
        state.growing = Some(Growing { file, base, len: 0 });
    }
    Ok(state.growing.as_mut().expect("it was just set"))
}
