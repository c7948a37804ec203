//! What takes offsets away: truncation, restart elsewhere, a higher log start, deletion. Runs on the writing thread.
//!
//! Order: RocksDB forgets first, durably, then files go. Truncation and restart wait for that here, because names of files
//! may come back; they are rare. A higher log start and deletion leave it to the syncing stage.

use super::db::{Batch, Family, refused};
use super::keys::{self, Kind};
use super::log::{Log, State};
use super::reader::Entries;
use super::syncer::{After, LogSync, unlink_if};
use super::totals::{Block, Totals};
use super::values::{self, Point, Start, Stored};
use super::writer::Writer;
use super::{Shared, files};
use crate::ids::{LogId, Offset};
use crate::storage::StorageError;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

pub fn truncate(writer: &mut Writer, log: &Log, to: Offset) -> Result<(), StorageError> {
    settle(writer)?;
    let shared = writer.shared;
    let mut state = log.state.lock();
    // At the log end too: an epoch may begin there without a batch (Kafka's UnifiedLog.truncateTo).
    let mut batch = shared.db.batch();
    let cut = cut(shared, log.id, &mut state, to, &mut batch)?;
    commit(shared, batch)?;
    state.tail.truncate(to);
    log.set_back(state.start.log_start, state.end);
    cut.apply(shared, log.id).map_err(|error| stopped(shared, error.into()))
}

pub fn restart_at(writer: &mut Writer, log: &Log, start: Offset) -> Result<(), StorageError> {
    settle(writer)?;
    let shared = writer.shared;
    let mut state = log.state.lock();
    let mut batch = shared.db.batch();
    delete_entries(&mut batch, log.id, 0);
    for kind in Kind::MANY {
        delete_many(&mut batch, kind, log.id, 0);
    }
    state.tail.truncate(Offset::MIN);
    state.tail.trim(Offset::MAX);
    state.start = Start { log_start: start, first_base: start, first_position: 0 };
    state.totals = Totals::new(start, 0);
    state.point = Point { offset: start, totals: state.totals };
    state.epochs.clear();
    state.snapshots.clear();
    state.damaged.clear();
    state.high_watermark = start;
    state.set_end(start);
    put_all(&mut batch, log.id, &state);
    commit(shared, batch)?;
    log.set_back(start, start);
    unlink_if(shared, log.id, |_| true).map_err(|error| stopped(shared, error.into()))
}

/// Raises the log start in the next group; what lies wholly below goes when that is durable.
pub fn set_start(writer: &mut Writer, log: &Arc<Log>, start: Offset) -> Result<(), StorageError> {
    writer.commit();
    let shared = writer.shared;
    let mut state = log.state.lock();
    let state = &mut *state;
    if start > state.end {
        return Err(StorageError::OutOfRange(start));
    }
    if start <= state.start.log_start {
        return Ok(());
    }
    let batch = &mut writer.group.batch;
    state.set_start(start);
    if start == state.end && state.totals.active.bytes > 0 {
        let end = state.end;
        let put = &mut |key: &[u8], value: &[u8]| batch.put(Family::State, key, value);
        state.totals.roll(log.id, end, put);
        state.growing = None;
    }
    let first = if state.totals.active.base <= start {
        Totals::new(state.totals.active.base, state.totals.position)
    } else {
        let found = closed_before(shared, log.id, start + 1)?;
        found.map_or(
            Totals::new(state.start.first_base, state.start.first_position),
            |(found, _)| Totals::new(found.active.base, found.position),
        )
    };
    let (from, base) = (state.start.first_base, first.active.base);
    if base > from {
        state.start.first_base = base;
        state.start.first_position = first.position;
        batch.delete_range(Family::Log, &keys::batch(log.id, from), &keys::batch(log.id, base));
        for (kind, end) in [(Kind::Segment, base), (Kind::Block, base.saturating_add(1))] {
            let range = keys::many(kind, log.id, 0)..keys::many(kind, log.id, end);
            batch.delete_range(Family::State, &range.start, &range.end);
        }
        if state.point.offset < base {
            state.point = Point { offset: base, totals: first };
        }
        let empty = base >= state.end;
        writer.group.job.after.push(After::UnlinkBelow { log: log.id, start: base, empty });
    }
    put_all(&mut writer.group.batch, log.id, state);
    let (files, directories) = (Vec::new(), Vec::new());
    let sync = LogSync { log: log.clone(), end: start, files, directories, point: None };
    writer.group.job.logs.push(sync);
    Ok(())
}

/// Forgets a log in the next group.
pub fn delete(writer: &mut Writer, log: LogId) {
    writer.commit();
    let open = writer.shared.logs.write().remove(&log);
    if let Some(open) = open {
        open.deleted.store(true, Ordering::Relaxed);
        open.state.lock().tail.trim(Offset::MAX);
        open.fail(&StorageError::Closed);
    }
    let batch = &mut writer.group.batch;
    delete_entries(batch, log, 0);
    Kind::MANY.iter().for_each(|kind| delete_many(batch, *kind, log, 0));
    Kind::SINGLE.iter().for_each(|kind| batch.delete(Family::State, &keys::single(*kind, log)));
}

/// What is to be cut from the files, once the entries are gone for good.
pub struct Cut {
    /// Files that begin here or above go whole.
    pub end: Offset,
    /// A file that begins below, and where it ends now.
    file: Option<(Offset, u64)>,
}

impl Cut {
    pub fn apply(&self, shared: &Shared, log: LogId) -> io::Result<()> {
        unlink_if(shared, log, |base| base >= self.end)?;
        let Some((base, len)) = self.file else { return Ok(()) };
        match files::list(&shared.dir, log)?.iter().find(|(found, _)| *found == base) {
            Some((_, path)) => shared.io.cut(path, len),
            None => Ok(()),
        }
    }
}

/// Removes every batch whose last offset is at or above `to` from `state` and, with `batch`, from RocksDB.
pub fn cut(
    shared: &Shared,
    log: LogId,
    state: &mut State,
    to: Offset,
    batch: &mut Batch,
) -> Result<Cut, StorageError> {
    let first_base = state.start.first_base;
    let mut entries = Entries::new(&shared.db, log, first_base, Offset::MAX, to);
    let first = entries.next()?.map(|(summary, _)| summary.base_offset);
    let end = first.unwrap_or(to).min(to).max(state.start.log_start).min(state.end);
    // Where the segment ends that becomes, or stays, the active one.
    let mut segment_end = Offset::MAX;
    if state.totals.active.base >= end {
        let fallback = (Totals::new(first_base, state.start.first_position), Some(first_base));
        let (totals, next) = closed_before(shared, log, end)?.unwrap_or(fallback);
        segment_end = next.unwrap_or(state.totals.active.base);
        state.totals = totals;
    }
    let active = &mut state.totals.active;
    let mut file = None;
    let mut entries = Entries::new(&shared.db, log, first_base, Offset::MAX, to);
    while let Some((summary, stored)) = entries.next()? {
        if (active.base..segment_end).contains(&summary.base_offset) {
            active.bytes = active.bytes.saturating_sub(u64::from(summary.size));
        }
        if let Stored::File { base, at } = stored
            && base < end
            && file.is_none()
        {
            file = Some((base, at));
        }
    }
    state.totals.block = Block { max_timestamp: active.max_timestamp, ..Block::EMPTY };
    state.set_end(end);
    if state.point.offset > end {
        state.point = Point { offset: end, totals: state.totals };
    }
    delete_entries(batch, log, first.unwrap_or(end));
    delete_many(batch, Kind::Segment, log, state.totals.active.base);
    delete_many(batch, Kind::Block, log, end.saturating_add(1));
    delete_many(batch, Kind::Snapshot, log, end.saturating_add(1));
    put_all(batch, log, state);
    Ok(Cut { end, file })
}

/// The last closed segment that begins below `end`, as if it were active, and where the next closed one begins.
fn closed_before(
    shared: &Shared,
    log: LogId,
    end: Offset,
) -> Result<Option<(Totals, Option<Offset>)>, StorageError> {
    let from = keys::many(Kind::Segment, log, 0);
    let mut found = shared.db.iterate(Family::State, &from, &keys::many_end(Kind::Segment, log));
    let Some(last) = end.checked_sub(1).filter(|last| *last >= 0) else { return Ok(None) };
    found.seek_for_prev(keys::many(Kind::Segment, log, last));
    found.status().map_err(refused)?;
    let Some((active, position)) = found.value().and_then(values::decode_closed_segment) else {
        return Ok(None);
    };
    found.next();
    let next = found.key().and_then(keys::offset_of);
    Ok(Some((Totals { active, position, block: Block::EMPTY }, next)))
}

/// Everything a log has one of, as it stands.
pub fn put_all(batch: &mut Batch, log: LogId, state: &State) {
    let mut put = |kind, value: &[u8]| batch.put(Family::State, &keys::single(kind, log), value);
    put(Kind::Start, &state.start.encode());
    put(Kind::Point, &state.point.encode());
    put(Kind::Floor, &values::offset(state.floor));
    put(Kind::HighWatermark, &values::offset(state.high_watermark));
    put(Kind::Epochs, &values::epochs(&state.epochs));
    put(Kind::Damaged, &values::damaged(&state.damaged));
}

fn delete_entries(batch: &mut Batch, log: LogId, from: Offset) {
    batch.delete_range(Family::Log, &keys::batch(log, from), &keys::batches_end(log));
}

pub fn delete_many(batch: &mut Batch, kind: Kind, log: LogId, from: Offset) {
    let end = keys::many_end(kind, log);
    batch.delete_range(Family::State, &keys::many(kind, log, from), &end);
}

/// Everything queued so far is written, and what was to be synced is.
fn settle(writer: &mut Writer) -> Result<(), StorageError> {
    writer.commit();
    writer.drain(Vec::new())
}

fn commit(shared: &Shared, batch: Batch) -> Result<(), StorageError> {
    let result = shared.db.write(batch).and_then(|()| shared.db.sync_wal());
    result.map_err(|error| stopped(shared, error))
}

fn stopped(shared: &Shared, error: StorageError) -> StorageError {
    shared.stop(error.clone());
    error
}
