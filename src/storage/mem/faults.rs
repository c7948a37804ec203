//! The disk a faulty memory store pretends to have: what of it is synced, what a crash leaves, and failures on demand.
//!
//! Changes enter a write-ahead log shared by all logs; a sync of any log makes all of it durable up to there. The bytes of
//! batches above `INLINE_BATCH_BYTES_MAX` lie beside it, in pages of their own: only a sync of their own log makes them
//! durable. So a crash loses any tail of the unsynced write-ahead log and, independently, any of the unsynced bytes.

use super::log::{Change, Log};
use super::{Mem, SLAB_BYTES, Spaces, put};
use crate::ids::{LogId, Offset};
use crate::limits::INLINE_BATCH_BYTES_MAX;
use crate::storage::slab::Pool;
use crate::storage::{LogOptions, NewBatch, Put, StorageError};
use bytes::Bytes;
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use std::{ops::Range, sync::Arc};

/// Unsynced changes after which the system syncs them by itself, as it does when its memory fills up.
const UNSYNCED_CHANGES_MAX: usize = 10_000;

/// One entry of the write-ahead log.
#[derive(Debug)]
enum Entry {
    Create(LogId, LogOptions),
    Log(LogId, Change),
    Put(Vec<Put>),
}

/// How far a sync reaches that takes its time.
#[derive(Debug, Clone, Copy)]
pub struct SyncPoint {
    changes: u64,
    end: Offset,
    cuts: u64,
}

#[derive(Default)]
pub struct Disk {
    /// Off: nothing is modelled, nothing grows.
    modelled: bool,
    logs: BTreeMap<LogId, Log>,
    spaces: Spaces,
    last_log: u32,
    unsynced: Vec<Entry>,
    /// Changes synced so far.
    synced: u64,
    /// Base offsets of batches whose bytes are not synced.
    loose: BTreeMap<LogId, BTreeSet<Offset>>,
    /// How often a log was cut.
    cuts: BTreeMap<LogId, u64>,
    fail_write: bool,
    fail_create: bool,
    fail_sync: bool,
    full: bool,
    /// Writing has stopped until restart.
    failed: Option<StorageError>,
}

impl Disk {
    /// Why writing does not go on.
    pub fn failure(&self) -> Option<StorageError> {
        self.failed.clone().or(self.full.then_some(StorageError::OutOfSpace))
    }

    fn stop_writing(&mut self) {
        self.failed = Some(StorageError::Io("injected: write".into()));
    }

    fn may_write(&mut self) -> Result<(), StorageError> {
        if std::mem::take(&mut self.fail_write) {
            self.stop_writing();
        }
        self.failure().map_or(Ok(()), Err)
    }

    fn may_sync(&mut self) -> Result<(), StorageError> {
        if std::mem::take(&mut self.fail_sync) {
            self.failed = Some(StorageError::Io("injected: sync".into()));
        }
        self.failed.clone().map_or(Ok(()), Err)
    }

    /// Without space too: a topic that the cluster agreed on must have its logs, or the node could not serve at all.
    pub fn created(&mut self, log: LogId, options: &LogOptions) -> Result<(), StorageError> {
        self.fail_write |= std::mem::take(&mut self.fail_create);
        match self.may_write() {
            Err(StorageError::OutOfSpace) => {}
            result => result?,
        }
        self.may_sync()?;
        self.write(Entry::Create(log, options.clone()), true);
        Ok(())
    }

    /// Small values are written without space too: deletions depend on them.
    pub fn put(&mut self, puts: &[Put], sync: bool) -> Result<(), StorageError> {
        match self.may_write() {
            Err(StorageError::OutOfSpace) => {}
            result => result?,
        }
        if sync {
            self.may_sync()?;
        }
        self.write(Entry::Put(puts.to_vec()), sync);
        Ok(())
    }

    /// Out of space, only appends fail.
    fn change(&mut self, log: LogId, change: &Change, sync: bool) -> Result<(), StorageError> {
        match self.may_write() {
            Err(StorageError::OutOfSpace) if !matches!(change, Change::Append(_)) => {}
            result => result?,
        }
        if sync {
            self.may_sync()?;
        }
        if self.modelled {
            self.note_loose(log, change);
            self.write(Entry::Log(log, unshared(change)), sync);
        }
        Ok(())
    }

    fn write(&mut self, entry: Entry, sync: bool) {
        if self.modelled {
            self.unsynced.push(entry);
            if sync || self.unsynced.len() >= UNSYNCED_CHANGES_MAX {
                self.sync_changes();
            }
        }
    }

    /// Makes every change, and the bytes of `log`, durable.
    pub fn sync(&mut self, log: LogId) -> Result<(), StorageError> {
        self.may_sync()?;
        self.loose.remove(&log);
        self.sync_changes();
        Ok(())
    }

    /// What a sync of `log`, which ends at `end`, covers if it begins now.
    fn sync_point(&self, log: LogId, end: Offset) -> SyncPoint {
        let cuts = self.cuts.get(&log).copied().unwrap_or_default();
        SyncPoint { changes: self.synced + self.unsynced.len() as u64, end, cuts }
    }

    /// Ends a sync that began at `point`; says whether it covers no more than that. A log that was cut since is synced whole.
    fn sync_to(&mut self, log: LogId, point: SyncPoint) -> Result<bool, StorageError> {
        self.may_sync()?;
        let as_it_was = self.cuts.get(&log).copied().unwrap_or_default() == point.cuts;
        if as_it_was {
            if let Some(loose) = self.loose.get_mut(&log) {
                loose.retain(|base| *base >= point.end);
            }
            self.sync_first(point.changes.saturating_sub(self.synced) as usize);
        } else {
            self.sync(log)?;
        }
        Ok(as_it_was)
    }

    pub fn close(&mut self) {
        if self.failed.is_none() {
            self.loose.clear();
            self.sync_changes();
        }
    }

    fn note_loose(&mut self, log: LogId, change: &Change) {
        let loose = self.loose.entry(log).or_default();
        match change {
            Change::Append(batch) if batch.summary.size as usize > INLINE_BATCH_BYTES_MAX => {
                loose.insert(batch.summary.base_offset);
            }
            Change::Truncate(to) => loose.retain(|base| base < to),
            Change::RestartAt(_) | Change::Delete => loose.clear(),
            _ => {}
        }
        if matches!(change, Change::Truncate(_) | Change::RestartAt(_)) {
            *self.cuts.entry(log).or_default() += 1;
        }
    }

    fn sync_changes(&mut self) {
        self.sync_first(self.unsynced.len());
    }

    fn sync_first(&mut self, changes: usize) {
        let later = self.unsynced.split_off(changes.min(self.unsynced.len()));
        for entry in std::mem::replace(&mut self.unsynced, later) {
            self.synced += 1;
            match entry {
                Entry::Create(id, options) => {
                    self.logs.insert(id, Log::new(options, Arc::new(Pool::new(SLAB_BYTES))));
                    self.last_log = id.0;
                }
                Entry::Log(id, Change::Delete) => {
                    self.logs.remove(&id);
                }
                Entry::Log(id, change) => self.with(id, |log| log.apply(&change)),
                Entry::Put(puts) => puts.iter().for_each(|change| put(&mut self.spaces, change)),
            }
        }
    }

    fn with(&mut self, id: LogId, change: impl FnOnce(&mut Log)) {
        if let Some(log) = self.logs.get_mut(&id) {
            change(log);
        }
    }
}

/// The change without a hold on the frame its bytes came in.
fn unshared(change: &Change) -> Change {
    match change {
        Change::Append(batch) => {
            let body = Bytes::copy_from_slice(&batch.body);
            Change::Append(NewBatch { body, ..batch.clone() })
        }
        change => change.clone(),
    }
}

impl Mem {
    /// A store that can crash and fail. Everything not yet synced is kept twice.
    pub fn with_faults() -> Mem {
        let disk = Disk { modelled: true, ..Disk::default() };
        Mem { disk: Mutex::new(disk), ..Mem::default() }
    }

    /// Cuts the power: this store is closed, and what a disk would hold comes back as a new one, recovered.
    ///
    /// `choose(n)` returns a number from 0 to `n`. It is asked once how many of the `n` unsynced changes are kept, and then
    /// for each log and each batch whose bytes are not synced whether they are (1) or are not (0).
    pub fn crash(&self, choose: &mut dyn FnMut(usize) -> usize) -> Mem {
        self.stop();
        let mut disk = std::mem::take(&mut *self.disk.lock());
        let kept = choose(disk.unsynced.len());
        disk.unsynced.truncate(kept);
        disk.sync_changes();
        for (id, loose) in std::mem::take(&mut disk.loose) {
            let lost: Vec<Offset> = loose.into_iter().filter(|_| choose(1) == 0).collect();
            if let Some(first) = lost.first() {
                disk.with(id, |log| log.apply(&Change::Truncate(*first)));
            }
        }
        let recovered = Mem::with_faults();
        {
            let mut values = recovered.values.lock();
            values.spaces = disk.spaces.clone();
            values.last_log = disk.last_log;
            let mut logs = recovered.logs.write();
            for (id, log) in &mut disk.logs {
                log.recover();
                logs.insert(*id, Arc::new(Mutex::new(log.copy(recovered.pool.clone()))));
            }
            *recovered.disk.lock() = Disk {
                modelled: true,
                logs: disk.logs,
                spaces: disk.spaces,
                last_log: disk.last_log,
                ..Disk::default()
            };
        }
        recovered
    }

    /// Fails the next write; writing stops until a crash or restart.
    pub fn fail_next_write(&self) {
        self.disk.lock().fail_write = true;
    }

    /// Fails the next creation of a log, as `fail_next_write`.
    pub fn fail_next_create(&self) {
        self.disk.lock().fail_create = true;
    }

    /// Fails the next sync; writing stops until a crash or restart.
    pub fn fail_next_sync(&self) {
        self.disk.lock().fail_sync = true;
    }

    /// Fails every write from now on; as a failed one does.
    pub fn fail_writes(&self) {
        self.disk.lock().stop_writing();
        self.publish_failure();
    }

    /// No write and no sync fails that has not failed yet.
    pub fn forget_failures(&self) {
        let mut disk = self.disk.lock();
        (disk.fail_write, disk.fail_sync) = (false, false);
    }

    /// Begins a sync that ends with `sync_to`; what is written meanwhile is not covered.
    pub fn sync_point(&self, log: LogId) -> Option<SyncPoint> {
        let found = self.log(log).ok()?;
        let end = found.lock().end;
        Some(self.disk.lock().sync_point(log, end))
    }

    pub fn sync_to(&self, log: LogId, point: SyncPoint) {
        let Ok(found) = self.log(log) else { return };
        let mut found = found.lock();
        let synced = self.disk.lock().sync_to(log, point);
        match synced {
            Ok(true) => found.synced_to(point.end),
            Ok(false) => found.synced(),
            Err(_) => {
                drop(found);
                self.publish_failure();
            }
        }
    }

    /// A bug: says that everything written is durable.
    pub fn pretend_synced(&self, log: LogId) {
        if let Ok(log) = self.log(log) {
            log.lock().synced();
        }
    }

    /// Takes the space away from one log, if it ends at `end` and is written to; says whether it did.
    pub fn pause(&self, log: LogId, end: Offset) -> bool {
        let Ok(found) = self.log(log) else { return false };
        let mut found = found.lock();
        let pauses = found.end == end && found.writable().is_ok();
        if pauses {
            found.fail(StorageError::OutOfSpace);
        }
        pauses
    }

    /// A bug: in a log that is paused and ends where `range` does, puts a batch in the place of `range`, and says whether it
    /// did. Then the log goes on, its end to be asked for anew.
    pub fn rewrite(&self, log: LogId, range: Range<Offset>, with: NewBatch) -> bool {
        let Ok(found) = self.log(log) else { return false };
        let mut found = found.lock();
        let changes = [Change::Truncate(range.start), Change::Append(with)];
        let rewrites = found.end == range.end && found.writable() == Err(StorageError::OutOfSpace);
        if rewrites {
            for change in changes {
                if self.disk.lock().change(log, &change, true).is_ok() {
                    found.apply(&change);
                }
            }
            found.refuse();
        }
        found.resume();
        rewrites
    }

    /// Takes away the free space, or gives it back.
    pub fn set_full(&self, full: bool) {
        self.disk.lock().full = full;
        for log in self.logs.read().values() {
            match full {
                true => log.lock().fail(StorageError::OutOfSpace),
                false => log.lock().resume(),
            }
        }
    }

    /// What a log was opened or configured with last.
    pub fn options(&self, log: LogId) -> Option<LogOptions> {
        self.log(log).ok().map(|found| found.lock().options.clone())
    }

    /// Takes away the free space; the next append finds out.
    pub fn fill_up(&self) {
        self.disk.lock().full = true;
    }

    /// Marks offsets as damaged below the recovery point.
    pub fn damage(&self, log: LogId, offsets: Range<Offset>) {
        if let Ok(found) = self.log(log) {
            found.lock().damaged.push(offsets.clone());
        }
        self.disk.lock().with(log, |log| log.damaged.push(offsets));
    }

    pub(super) fn note(&self, log: LogId, change: &Change, sync: bool) -> Result<(), StorageError> {
        self.disk.lock().change(log, change, sync)
    }

    /// Tells every log why writing has stopped.
    pub(super) fn publish_failure(&self) {
        let failure = self.disk.lock().failure();
        if let Some(error) = failure {
            for log in self.logs.read().values() {
                log.lock().fail(error.clone());
            }
        }
    }
}
