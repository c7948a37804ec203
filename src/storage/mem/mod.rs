//! The store in memory: the default of `--dev`, and the store of every test that crashes a broker.
//!
//! Changes are applied at once in the calling thread, under the lock of their log; nothing here ever waits. What is synced
//! and what is not has no meaning without a disk, except to tests: `faults` models the disk underneath, and can lose it.

mod log;

#[cfg(any(test, feature = "faults"))]
mod faults;
#[cfg(test)]
mod tests;

#[cfg(any(test, feature = "faults"))]
pub use faults::SyncPoint;

use super::slab::Pool;
use super::{
    Done, LogOptions, LogStore, NewBatch, OpenLog, Put, Read, ReadRequest, Space, StorageError,
    Summary,
};
use crate::ids::{LeaderEpoch, LogId, Offset};
use bytes::Bytes;
use log::{Change, Log};
use parking_lot::{Mutex, RwLock};
use std::collections::{BTreeMap, HashMap};
use std::{ops::Range, sync::Arc};
use tokio::sync::oneshot;

/// Bytes of a full slab.
const SLAB_BYTES: usize = 4 << 20;

pub struct Mem {
    logs: RwLock<HashMap<LogId, Arc<Mutex<Log>>>>,
    values: Mutex<Values>,
    pool: Arc<Pool>,
    #[cfg(any(test, feature = "faults"))]
    disk: Mutex<faults::Disk>,
}

/// Small values, in key order.
type Spaces = HashMap<Space, BTreeMap<Vec<u8>, Bytes>>;

#[derive(Default)]
struct Values {
    spaces: Spaces,
    last_log: u32,
    closed: bool,
}

impl Default for Mem {
    fn default() -> Mem {
        Mem {
            logs: RwLock::default(),
            values: Mutex::default(),
            pool: Arc::new(Pool::new(SLAB_BYTES)),
            #[cfg(any(test, feature = "faults"))]
            disk: Mutex::default(),
        }
    }
}

impl Mem {
    pub fn new() -> Mem {
        Mem::default()
    }

    fn log(&self, log: LogId) -> Result<Arc<Mutex<Log>>, StorageError> {
        self.logs.read().get(&log).cloned().ok_or(StorageError::NoSuchLog(log))
    }

    /// Changes a log, unless writing has stopped. Space that is to be freed may be freed without space.
    fn change(&self, log: LogId, change: Change, sync: bool) -> Result<(), StorageError> {
        let found = self.log(log)?;
        let mut found = found.lock();
        match found.writable() {
            Err(StorageError::OutOfSpace) => {}
            result => result?,
        }
        if let Change::LogStart(start) = change
            && start > found.end
        {
            return Err(StorageError::OutOfRange(start));
        }
        self.note(log, &change, sync)?;
        found.apply(&change);
        Ok(())
    }

    /// Writes a change of a log to the modelled disk.
    #[cfg(not(any(test, feature = "faults")))]
    fn note(&self, _log: LogId, _change: &Change, _sync: bool) -> Result<(), StorageError> {
        Ok(())
    }

    /// Stops all writing for good.
    fn stop(&self) {
        self.values.lock().closed = true;
        for log in self.logs.read().values() {
            log.lock().fail(StorageError::Closed);
        }
    }
}

impl LogStore for Mem {
    fn create(&self, options: LogOptions) -> Result<LogId, StorageError> {
        let mut values = self.values.lock();
        if values.closed {
            return Err(StorageError::Closed);
        }
        values.last_log += 1;
        let id = LogId(values.last_log);
        #[cfg(any(test, feature = "faults"))]
        self.disk.lock().created(id, &options)?;
        self.logs.write().insert(id, Arc::new(Mutex::new(Log::new(options, self.pool.clone()))));
        Ok(id)
    }

    fn open(&self, log: LogId, options: LogOptions) -> Result<OpenLog, StorageError> {
        let found = self.log(log)?;
        let mut found = found.lock();
        found.options = options;
        Ok(found.opened())
    }

    fn logs(&self) -> Result<Vec<LogId>, StorageError> {
        Ok(self.logs.read().keys().copied().collect())
    }

    fn configure(&self, log: LogId, options: LogOptions) {
        if let Ok(log) = self.log(log) {
            log.lock().options = options;
        }
    }

    fn delete(&self, log: LogId) -> Done {
        let result = self.change(log, Change::Delete, true);
        if result.is_ok() {
            self.logs.write().remove(&log);
        }
        done(result)
    }

    fn append(&self, log: LogId, batch: NewBatch) {
        let Ok(found) = self.log(log) else { return };
        let mut found = found.lock();
        let change = Change::Append(batch);
        if found.accepts(&change) && self.note(log, &change, false).is_ok() {
            found.apply(&change);
        } else {
            found.refuse();
            #[cfg(any(test, feature = "faults"))]
            {
                drop(found);
                self.publish_failure();
            }
        }
    }

    fn sync(&self, log: LogId) {
        let Ok(found) = self.log(log) else { return };
        let mut found = found.lock();
        #[cfg(any(test, feature = "faults"))]
        if self.disk.lock().sync(log).is_err() {
            drop(found);
            return self.publish_failure();
        }
        found.synced();
    }

    fn truncate(&self, log: LogId, to: Offset) -> Done {
        done(self.change(log, Change::Truncate(to), true))
    }

    fn restart_at(&self, log: LogId, start: Offset) -> Done {
        done(self.change(log, Change::RestartAt(start), true))
    }

    fn set_log_start(&self, log: LogId, start: Offset) -> Done {
        done(self.change(log, Change::LogStart(start), true))
    }

    fn set_high_watermark(&self, log: LogId, offset: Offset) {
        // Kept for the next start only: when writing has stopped there is nobody to tell.
        let _ = self.change(log, Change::HighWatermark(offset), false);
    }

    fn set_epoch_start(&self, log: LogId, epoch: LeaderEpoch, start: Offset) -> Done {
        done(self.change(log, Change::Epoch(epoch, start), false))
    }

    fn put_snapshot(&self, log: LogId, offset: Offset, snapshot: Bytes) -> Done {
        let snapshot = Bytes::copy_from_slice(&snapshot);
        done(self.change(log, Change::Snapshot(offset, snapshot), false))
    }

    fn read_cached(&self, log: LogId, request: ReadRequest) -> Option<Result<Read, StorageError>> {
        Some(self.read(log, request))
    }

    fn read(&self, log: LogId, request: ReadRequest) -> Result<Read, StorageError> {
        self.log(log)?.lock().read(log, request)
    }

    fn batch(&self, log: LogId, base_offset: Offset) -> Result<Bytes, StorageError> {
        self.log(log)?.lock().batch(log, base_offset)
    }

    fn summaries(
        &self,
        log: LogId,
        from: Offset,
        end: Offset,
        max: usize,
    ) -> Result<Vec<Summary>, StorageError> {
        Ok(self.log(log)?.lock().between(from, end).take(max).copied().collect())
    }

    fn first_at_or_after(
        &self,
        log: LogId,
        timestamp: i64,
        from: Offset,
        end: Offset,
    ) -> Result<Option<Summary>, StorageError> {
        let log = self.log(log)?;
        let log = log.lock();
        Ok(log.between(from, end).find(|batch| batch.max_timestamp >= timestamp).copied())
    }

    fn with_max_timestamp(
        &self,
        log: LogId,
        from: Offset,
        end: Offset,
    ) -> Result<Option<Summary>, StorageError> {
        let log = self.log(log)?;
        let log = log.lock();
        let mut best: Option<&Summary> = None;
        for batch in log.between(from, end) {
            if batch.max_timestamp > best.map_or(-1, |best| best.max_timestamp) {
                best = Some(batch);
            }
        }
        Ok(best.copied())
    }

    fn size(&self, log: LogId) -> u64 {
        self.log(log).map_or(0, |log| log.lock().size())
    }

    fn get(&self, space: Space, key: &[u8]) -> Result<Option<Bytes>, StorageError> {
        let values = self.values.lock();
        Ok(values.spaces.get(&space).and_then(|space| space.get(key)).cloned())
    }

    fn scan(
        &self,
        space: Space,
        keys: Range<Vec<u8>>,
        max: usize,
    ) -> Result<Vec<(Bytes, Bytes)>, StorageError> {
        if keys.is_empty() {
            return Ok(Vec::new());
        }
        let values = self.values.lock();
        let Some(space) = values.spaces.get(&space) else { return Ok(Vec::new()) };
        let found = space.range(keys).take(max);
        Ok(found.map(|(key, value)| (Bytes::copy_from_slice(key), value.clone())).collect())
    }

    fn put(&self, changes: Vec<Put>, _sync: bool) -> Done {
        let mut values = self.values.lock();
        if values.closed {
            return done(Err(StorageError::Closed));
        }
        #[cfg(any(test, feature = "faults"))]
        if let Err(error) = self.disk.lock().put(&changes, _sync) {
            return done(Err(error));
        }
        changes.iter().for_each(|change| put(&mut values.spaces, change));
        done(Ok(()))
    }

    fn close(&self) -> Result<(), StorageError> {
        self.stop();
        #[cfg(any(test, feature = "faults"))]
        self.disk.lock().close();
        Ok(())
    }
}

fn put(spaces: &mut Spaces, change: &Put) {
    match change {
        Put::Set(space, key, value) => {
            let value = Bytes::copy_from_slice(value);
            spaces.entry(*space).or_default().insert(key.clone(), value);
        }
        Put::Delete(space, key) => {
            spaces.entry(*space).or_default().remove(key);
        }
        Put::DeleteRange(space, keys) => {
            spaces.entry(*space).or_default().retain(|key, _| !keys.contains(key));
        }
    }
}

fn done(result: Result<(), StorageError>) -> Done {
    let (sender, receiver) = oneshot::channel();
    let _ = sender.send(result);
    receiver
}
