//! Opening a log: a fixed number of keys, and the entries above its recovery point.
//!
//! Those are counted again, and after an unclean stop checked: that their bytes are there, and, unless only the process
//! died, that they are right. At the first that are not the log is cut, and everything derived from it. Below the recovery
//! point nothing is looked at, and nothing cut: damage there is found, marked and reported by the readers. After a repair of
//! the database everything is counted again and checked, and damage below the recovery point marked, not cut.

use super::db::{Batch, Family, refused};
use super::directory::LastStop;
use super::files::{self, Wrong};
use super::keys::{self, Kind};
use super::log::{Log, State};
use super::reader::Entries;
use super::totals::Totals;
use super::values::{self, Point, Start, Stored};
use super::{Shared, trim};
use crate::ids::{LogId, Offset};
use crate::storage::chain::Chain;
use crate::storage::{LogOptions, OpenLog, Positions, StorageError, Summary};
use bytes::Bytes;
use parking_lot::Mutex;
use std::collections::{HashSet, VecDeque};
use std::fs::File;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use tokio::sync::watch;

/// Every log that exists.
pub fn existing(shared: &Shared) -> Result<Vec<LogId>, StorageError> {
    let (first, end) = (keys::single(Kind::Exists, LogId(0)), [Kind::Exists as u8 + 1]);
    let mut found = shared.db.iterate(Family::State, &first, &end);
    found.seek_to_first();
    let mut logs = Vec::new();
    while let Some(key) = found.key() {
        logs.extend(keys::log_of(key));
        found.next();
    }
    found.status().map_err(refused)?;
    Ok(logs)
}

/// Removes the files of logs that were deleted just before an unclean stop.
pub fn remove_strays(shared: &Shared) -> Result<(), StorageError> {
    // After a repair a log may be missing that nobody deleted.
    if shared.dir.last_stop == LastStop::Clean || shared.dir.repaired {
        return Ok(());
    }
    let existing: HashSet<LogId> = existing(shared)?.into_iter().collect();
    for entry in std::fs::read_dir(shared.dir.segments())? {
        let name = entry?.file_name();
        let log = name.to_str().and_then(|name| name.parse().ok()).map(LogId);
        if let Some(log) = log.filter(|log| !existing.contains(log)) {
            shared.io.unlink_all(&shared.dir.segments_of(log))?;
        }
    }
    Ok(())
}

pub fn open(
    shared: &Shared,
    log: LogId,
    options: LogOptions,
) -> Result<(Arc<Log>, OpenLog), StorageError> {
    let mut state = load(shared, log, options)?;
    let cut = replay(shared, log, &mut state)?;
    let mut batch = shared.db.batch();
    let cut = match cut {
        Some(offset) => Some(trim::cut(shared, log, &mut state, offset, &mut batch)?),
        None => None,
    };
    let end = state.end;
    let ahead = state.epochs.last().is_some_and(|(_, start)| *start >= end)
        || state.snapshots.back().is_some_and(|offset| *offset > end);
    state.set_end(end);
    if shared.dir.last_stop != LastStop::Clean || ahead {
        state.point = Point { offset: end, totals: state.totals };
        forget_from(shared, &mut batch, Kind::Snapshot, log, end.saturating_add(1))?;
        trim::put_all(&mut batch, log, &state);
        shared.db.write(batch)?;
    }
    if let Some(cut) = cut {
        shared.db.sync_wal()?;
        cut.apply(shared, log)?;
    }
    let sound = Positions { written: end, durable: end, failed: None, refused: 0 };
    let positions = watch::Sender::new(sound);
    let answer = OpenLog {
        log_start: state.start.log_start,
        log_end: end,
        high_watermark: state.high_watermark,
        epochs: state.epochs.clone(),
        snapshot: newest_snapshot(shared, log, &state)?,
        damaged: state.damaged.clone(),
        positions: positions.subscribe(),
    };
    let state = Mutex::new(state);
    let deleted = AtomicBool::new(false);
    Ok((Arc::new(Log { id: log, state, positions, deleted }), answer))
}

/// The log as its keys say, up to the recovery point.
fn load(shared: &Shared, log: LogId, options: LogOptions) -> Result<State, StorageError> {
    let get = |kind: Kind| shared.db.get(Family::State, &keys::single(kind, log));
    let empty = Start { log_start: 0, first_base: 0, first_position: 0 };
    let start = decode(log, get(Kind::Start)?, values::Start::decode)?.unwrap_or(empty);
    let beginning = Point { offset: 0, totals: Totals::new(0, 0) };
    let point = decode(log, get(Kind::Point)?, values::Point::decode)?.unwrap_or(beginning);
    let floor = decode(log, get(Kind::Floor)?, values::decode_offset)?.unwrap_or(0);
    let high_watermark =
        decode(log, get(Kind::HighWatermark)?, values::decode_offset)?.unwrap_or(0);
    let epochs = decode(log, get(Kind::Epochs)?, values::decode_epochs)?.unwrap_or_default();
    let damaged = decode(log, get(Kind::Damaged)?, values::decode_damaged)?.unwrap_or_default();
    Ok(State {
        options,
        start,
        end: floor.max(start.log_start).max(point.offset),
        floor,
        totals: point.totals,
        point,
        high_watermark,
        epochs,
        snapshots: snapshots(shared, log)?,
        damaged,
        tail: Chain::new(shared.pool.clone()),
        growing: None,
        unsynced: Vec::new(),
        unsynced_directories: Vec::new(),
        hole: false,
        rolled: false,
        since_point: 0,
        generation: 0,
    })
}

/// Counts and checks what lies above the recovery point; the offset of the first batch that is not there, if any.
fn replay(shared: &Shared, log: LogId, state: &mut State) -> Result<Option<Offset>, StorageError> {
    let mut batch = shared.db.batch();
    // Below it everything was synced once: it may be damaged, but it is not to be cut.
    let synced = state.point.offset;
    if shared.dir.repaired {
        let Start { first_base, first_position, .. } = state.start;
        let totals = Totals::new(first_base, first_position);
        (state.point, state.totals) = (Point { offset: first_base, totals }, totals);
    }
    if shared.dir.last_stop != LastStop::Clean {
        let after = state.point.offset.saturating_add(1);
        forget_from(shared, &mut batch, Kind::Segment, log, state.totals.active.base)?;
        forget_from(shared, &mut batch, Kind::Block, log, after)?;
    }
    let from = state.point.offset;
    let mut entries = Entries::new(&shared.db, log, from, Offset::MAX, from);
    let mut checks = Checks::new(shared, log);
    let mut cut = None;
    let mut next = from;
    while let Some((summary, stored)) = entries.next()? {
        // Below the log start bytes may be gone already; nobody asks for them.
        if summary.last_offset >= state.start.log_start
            && let Stored::File { base, at } = stored
            && let Err(wrong) = checks.check(base, at, &summary)
        {
            // A disk that cannot be read now says nothing about what it holds: nothing is cut for that.
            if let Wrong::Unreadable(error) = &wrong
                && !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::UnexpectedEof)
            {
                return Err(StorageError::Io(error.to_string()));
            }
            let offset = summary.base_offset;
            if offset < synced {
                let end = summary.last_offset + 1;
                tracing::error!(%log, from = offset, to = end, file = base, "damaged: {wrong}");
                note_damaged(&mut state.damaged, offset..end);
            } else {
                tracing::warn!(%log, offset, end = state.end, file = base, "cut: {wrong}");
                cut = Some(offset);
            }
        }
        if shared.dir.repaired && summary.base_offset > next {
            tracing::warn!(%log, from = next, to = summary.base_offset, "nothing is there");
        }
        next = summary.last_offset + 1;
        let put = &mut |key: &[u8], value: &[u8]| batch.put(Family::State, key, value);
        state.totals.add(log, &summary, &state.options, put);
        state.end = state.end.max(summary.last_offset + 1);
        if cut.is_some() {
            break;
        }
    }
    checks.sync()?;
    shared.db.write(batch)?;
    if cut.is_some() {
        count_rest(&mut entries, state)?;
    }
    Ok(cut)
}

fn note_damaged(damaged: &mut Vec<Range<Offset>>, range: Range<Offset>) {
    match damaged.last_mut() {
        Some(last) if (last.start..=last.end).contains(&range.start) => {
            last.end = last.end.max(range.end);
        }
        _ => damaged.push(range),
    }
}

/// Counts what is about to be cut, so that cutting can subtract it again.
fn count_rest(entries: &mut Entries, state: &mut State) -> Result<(), StorageError> {
    while let Some((summary, _)) = entries.next()? {
        state.totals.active.bytes += u64::from(summary.size);
        state.end = state.end.max(summary.last_offset + 1);
    }
    Ok(())
}

/// Checks batches in files, and makes those files durable.
struct Checks<'a> {
    shared: &'a Shared,
    log: LogId,
    file: Option<(Offset, Arc<File>)>,
    seen: Vec<Arc<File>>,
}

impl<'a> Checks<'a> {
    fn new(shared: &'a Shared, log: LogId) -> Checks<'a> {
        Checks { shared, log, file: None, seen: Vec::new() }
    }

    fn check(&mut self, base: Offset, at: u64, summary: &Summary) -> Result<(), Wrong> {
        let file = match &self.file {
            Some((known, file)) if *known == base => file.clone(),
            _ => {
                let file = self.shared.files.get(&self.shared.dir, self.log, base)?;
                self.file = Some((base, file.clone()));
                self.seen.push(file.clone());
                file
            }
        };
        match self.shared.dir.last_stop {
            LastStop::Never | LastStop::MachineDied => files::check_all(&file, at, summary),
            LastStop::Clean | LastStop::ProcessDied => files::check_length(&file, at, summary),
        }
    }

    fn sync(&self) -> Result<(), StorageError> {
        if self.seen.is_empty() {
            return Ok(());
        }
        for file in &self.seen {
            self.shared.io.sync_file(file)?;
        }
        self.shared.io.sync_directory(&self.shared.dir.segments_of(self.log))?;
        Ok(self.shared.io.sync_directory(&self.shared.dir.segments())?)
    }
}

/// Deletes what there is of a kind from `from` on, mostly nothing, key by key: as ranges the deletions of all logs would
/// be looked at by every read of the next log, and opening many logs would take quadratic time.
fn forget_from(
    shared: &Shared,
    batch: &mut Batch,
    kind: Kind,
    log: LogId,
    from: Offset,
) -> Result<(), StorageError> {
    let (first, end) = (keys::many(kind, log, from), keys::many_end(kind, log));
    let mut found = shared.db.iterate(Family::State, &first, &end);
    found.seek_to_first();
    while let Some(key) = found.key() {
        batch.delete(Family::State, key);
        found.next();
    }
    found.status().map_err(refused)
}

fn snapshots(shared: &Shared, log: LogId) -> Result<VecDeque<Offset>, StorageError> {
    let (first, end) = (keys::many(Kind::Snapshot, log, 0), keys::many_end(Kind::Snapshot, log));
    let mut found = shared.db.iterate(Family::State, &first, &end);
    found.seek_to_first();
    let mut snapshots = VecDeque::new();
    while let Some(key) = found.key() {
        snapshots.extend(keys::offset_of(key));
        found.next();
    }
    found.status().map_err(refused)?;
    Ok(snapshots)
}

fn newest_snapshot(
    shared: &Shared,
    log: LogId,
    state: &State,
) -> Result<Option<(Offset, Bytes)>, StorageError> {
    let Some(offset) = state.snapshots.back() else { return Ok(None) };
    let value = shared.db.get(Family::State, &keys::many(Kind::Snapshot, log, *offset))?;
    let bytes = value.as_deref().and_then(values::decode_snapshot);
    Ok(bytes.map(|bytes| (*offset, Bytes::copy_from_slice(bytes))))
}

fn decode<T>(
    log: LogId,
    value: Option<Vec<u8>>,
    decode: impl Fn(&[u8]) -> Option<T>,
) -> Result<Option<T>, StorageError> {
    let Some(value) = value else { return Ok(None) };
    let unreadable = || StorageError::Io(format!("log {log} has unreadable state"));
    decode(&value).ok_or_else(unreadable).map(Some)
}
