//! Reading a log: from the in-memory tail, or from RocksDB and, planned but not yet read, from segment files.
//!
//! Bytes in a file are not read here: their header and the file's length are checked, the rest is the socket's.

use super::Shared;
use super::db::{Db, Family, refused};
use super::files::{self, Wrong};
use super::keys::{self, Kind};
use super::log::{Log, State};
use super::values::{self, Stored};
use crate::ids::{LogId, Offset};
use crate::storage::{FileRange, Read, ReadRequest, Slice, StorageError, Summary};
use bytes::{Bytes, BytesMut};
use rocksdb::DBRawIterator;
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

/// The batches of a log in RocksDB, in order.
pub struct Entries<'a> {
    found: DBRawIterator<'a>,
    log: LogId,
    /// Batches wholly below it are skipped.
    from: Offset,
    /// One based below `from` may reach it.
    looks_back: bool,
    started: bool,
}

impl<'a> Entries<'a> {
    /// From the batch that contains `from`, or the first one after it, of those based in [`first`, `end`).
    pub fn new(db: &'a Db, log: LogId, first: Offset, end: Offset, from: Offset) -> Entries<'a> {
        let upper = keys::batch(log, end);
        let found = db.iterate(Family::Log, &keys::batch(log, first), &upper);
        Entries { found, log, from, looks_back: first < from, started: false }
    }

    /// The next batch; what it lends lives until the next call.
    pub fn next(&mut self) -> Result<Option<(Summary, Stored<'_>)>, StorageError> {
        if self.started {
            self.found.next();
        } else if !self.looks_back {
            // Looking back from the first entry of all passes what was deleted of the log before, however much that is.
            self.started = true;
            self.found.seek_to_first();
        } else {
            self.started = true;
            self.found.seek_for_prev(keys::batch(self.log, self.from));
            if !self.found.valid() {
                self.found.status().map_err(refused)?;
                self.found.seek_to_first();
            } else if self.decode()?.0.last_offset < self.from {
                self.found.next();
            }
        }
        if !self.found.valid() {
            self.found.status().map_err(refused)?;
            return Ok(None);
        }
        self.decode().map(Some)
    }

    fn decode(&self) -> Result<(Summary, Stored<'_>), StorageError> {
        let item = self.found.item();
        item.and_then(|(key, value)| values::batch(keys::base_offset(key)?, value))
            .ok_or_else(|| StorageError::Io(format!("log {} has an unreadable entry", self.log)))
    }
}

pub fn read_cached(log: &Log, mut request: ReadRequest) -> Option<Result<Read, StorageError>> {
    let mut state = log.state.lock();
    if let Err(error) = admit(log.id, &state, &mut request) {
        return Some(Err(error));
    }
    let nothing = request.from >= request.end.min(state.end);
    let covered = nothing || state.tail.first().is_some_and(|first| first <= request.from);
    covered.then(|| Ok(state.tail.read(request)))
}

pub fn read(shared: &Shared, log: &Log, mut request: ReadRequest) -> Result<Read, StorageError> {
    if let Some(read) = read_cached(log, request) {
        return read;
    }
    let first_base = {
        let state = log.state.lock();
        admit(log.id, &state, &mut request)?;
        state.start.first_base
    };
    let mut plan = Plan::default();
    let mut read = Read { next_offset: request.from, ..Read::default() };
    let mut in_memory = 0;
    let mut entries = Entries::new(&shared.db, log.id, first_base, request.end, request.from);
    while let Some((summary, stored)) = entries.next()? {
        let size = summary.size as usize;
        let first = read.bytes == 0;
        let fits = read.bytes.saturating_add(size) <= request.max_bytes;
        if !(fits || first && request.at_least_one) {
            break;
        }
        match stored {
            Stored::Inline(bytes) => {
                if !first && in_memory + size > request.memory_max {
                    break;
                }
                in_memory += size;
                plan.bytes(bytes);
            }
            Stored::File { base, at } => match checked(shared, log.id, base, at, &summary) {
                Ok(file) => plan.file(&file, at, size),
                // What was read so far is sound.
                Err(_) if !first => break,
                Err(wrong) => return Err(damaged(shared, log, &summary, base, wrong)),
            },
        }
        read.bytes += size;
        read.next_offset = summary.last_offset + 1;
    }
    // The log start may have passed `from` meanwhile: then what was found is not what was asked for.
    if log.state.lock().start.log_start > request.from {
        return Err(StorageError::OutOfRange(request.from));
    }
    read.slices = plan.finish();
    Ok(read)
}

pub fn batch(shared: &Shared, log: &Log, base_offset: Offset) -> Result<Bytes, StorageError> {
    let first_base = {
        let mut state = log.state.lock();
        refuse_damaged(log.id, &state, base_offset)?;
        if let Some(bytes) = state.tail.batch(base_offset) {
            return Ok(bytes);
        }
        state.start.first_base
    };
    let mut entries = Entries::new(&shared.db, log.id, first_base, Offset::MAX, base_offset);
    let (summary, stored) = match entries.next()? {
        Some(found) if found.0.base_offset == base_offset => found,
        _ => return Err(StorageError::OutOfRange(base_offset)),
    };
    match stored {
        Stored::Inline(bytes) => Ok(Bytes::copy_from_slice(bytes)),
        Stored::File { base, at } => {
            let file = checked(shared, log.id, base, at, &summary)
                .map_err(|wrong| damaged(shared, log, &summary, base, wrong))?;
            let mut bytes = vec![0; summary.size as usize];
            file.read_exact_at(&mut bytes, at)?;
            Ok(bytes.into())
        }
    }
}

pub fn summaries(
    shared: &Shared,
    log: &Log,
    from: Offset,
    end: Offset,
    max: usize,
) -> Result<Vec<Summary>, StorageError> {
    let (first_base, from) = {
        let state = log.state.lock();
        (state.start.first_base, from.max(state.start.log_start))
    };
    let mut entries = Entries::new(&shared.db, log.id, first_base, end, from);
    let mut found = Vec::new();
    while found.len() < max
        && let Some((summary, _)) = entries.next()?
    {
        found.push(summary);
    }
    Ok(found)
}

pub fn scan(
    shared: &Shared,
    family: Family,
    keys: Range<Vec<u8>>,
    max: usize,
) -> Result<Vec<(Bytes, Bytes)>, StorageError> {
    let mut found = Vec::new();
    if keys.is_empty() {
        return Ok(found);
    }
    let mut values = shared.db.iterate(family, &keys.start, &keys.end);
    values.seek_to_first();
    while found.len() < max
        && let Some((key, value)) = values.item()
    {
        found.push((Bytes::copy_from_slice(key), Bytes::copy_from_slice(value)));
        values.next();
    }
    values.status().map_err(refused)?;
    Ok(found)
}

/// Checks the offset asked for; the read ends before the next damaged range.
fn admit(log: LogId, state: &State, request: &mut ReadRequest) -> Result<(), StorageError> {
    if request.from < state.start.log_start || request.from > state.end {
        return Err(StorageError::OutOfRange(request.from));
    }
    refuse_damaged(log, state, request.from)?;
    let next = state.damaged.iter().map(|range| range.start).filter(|start| *start > request.from);
    request.end = request.end.min(next.min().unwrap_or(Offset::MAX));
    Ok(())
}

fn refuse_damaged(log: LogId, state: &State, offset: Offset) -> Result<(), StorageError> {
    match state.damaged.iter().any(|range| range.contains(&offset)) {
        true => Err(StorageError::Damaged { log, offset }),
        false => Ok(()),
    }
}

fn checked(
    shared: &Shared,
    log: LogId,
    base: Offset,
    at: u64,
    summary: &Summary,
) -> Result<Arc<File>, Wrong> {
    let file = shared.files.get(&shared.dir, log, base)?;
    files::check_header(&file, at, summary)?;
    Ok(file)
}

/// Marks a batch whose bytes are not what was written, unless it was taken away while it was read.
fn damaged(
    shared: &Shared,
    log: &Log,
    summary: &Summary,
    file: Offset,
    wrong: Wrong,
) -> StorageError {
    let offset = summary.base_offset;
    let mut state = log.state.lock();
    let key = keys::batch(log.id, offset);
    let still_there = matches!(shared.db.get(Family::Log, &key), Ok(Some(_)));
    let missing = match &wrong {
        Wrong::Unreadable(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return StorageError::Io(wrong.to_string());
        }
        Wrong::Unreadable(_) => true,
        _ => false,
    };
    if !still_there || summary.last_offset < state.start.log_start {
        return StorageError::OutOfRange(offset);
    }
    let mut range = offset..summary.last_offset + 1;
    if missing {
        range.end = range.end.max(end_of_file(shared, log.id, summary, file));
    }
    tracing::error!(log = %log.id, from = range.start, to = range.end, file, "damaged: {wrong}");
    state.damaged.push(range);
    let value = values::damaged(&state.damaged);
    let mut batch = shared.db.batch();
    batch.put(Family::State, &keys::single(Kind::Damaged, log.id), &value);
    if let Err(error) = shared.db.write(batch) {
        tracing::warn!(%error, "the damage could not be noted; the next reader will find it again");
    }
    StorageError::Damaged { log: log.id, offset }
}

/// The offset after the batches, from this one on, that lie in the same file.
fn end_of_file(shared: &Shared, log: LogId, batch: &Summary, file: Offset) -> Offset {
    let from = batch.base_offset;
    let mut entries = Entries::new(&shared.db, log, from, Offset::MAX, from);
    let mut end = from;
    while let Ok(Some((summary, Stored::File { base, .. }))) = entries.next()
        && base == file
    {
        end = summary.last_offset + 1;
    }
    end
}

/// Slices of an answer: inline batches are copied together, neighbours in a file become one range.
#[derive(Default)]
struct Plan {
    slices: Vec<Slice>,
    copied: BytesMut,
}

impl Plan {
    fn bytes(&mut self, bytes: &[u8]) {
        self.copied.extend_from_slice(bytes);
    }

    fn file(&mut self, file: &Arc<File>, at: u64, len: usize) {
        self.flush();
        if let Some(Slice::File(last)) = self.slices.last_mut()
            && Arc::ptr_eq(&last.file, file)
            && last.at + last.len as u64 == at
        {
            last.len += len;
            return;
        }
        self.slices.push(Slice::File(FileRange { file: file.clone(), at, len }));
    }

    fn flush(&mut self) {
        if !self.copied.is_empty() {
            self.slices.push(Slice::Bytes(self.copied.split().freeze()));
        }
    }

    fn finish(mut self) -> Vec<Slice> {
        self.flush();
        self.slices
    }
}
