//! A store that counts what is read from it, and leaves everything else to another one.

use crate::{
    ids::{LeaderEpoch, LogId, Offset},
    storage::{
        Done, LogOptions, LogStore, NewBatch, OpenLog, Put, Read, ReadRequest, Space, StorageError,
        Summary, mem::Mem,
    },
};
use bytes::Bytes;
use parking_lot::Mutex;
use std::ops::Range;

pub(super) struct Counting {
    inner: Mem,
    /// Bytes of each read.
    reads: Mutex<Vec<usize>>,
}

impl Counting {
    pub fn new() -> Counting {
        Counting { inner: Mem::new(), reads: Mutex::default() }
    }

    /// Bytes of each read since the last call.
    pub fn take_reads(&self) -> Vec<usize> {
        std::mem::take(&mut self.reads.lock())
    }
}

impl LogStore for Counting {
    fn create(&self, options: LogOptions) -> Result<LogId, StorageError> {
        self.inner.create(options)
    }

    fn open(&self, log: LogId, options: LogOptions) -> Result<OpenLog, StorageError> {
        self.inner.open(log, options)
    }

    fn logs(&self) -> Result<Vec<LogId>, StorageError> {
        self.inner.logs()
    }

    fn configure(&self, log: LogId, options: LogOptions) {
        self.inner.configure(log, options)
    }

    fn delete(&self, log: LogId) -> Done {
        self.inner.delete(log)
    }

    fn append(&self, log: LogId, batch: NewBatch) {
        self.inner.append(log, batch)
    }

    fn sync(&self, log: LogId) {
        self.inner.sync(log)
    }

    fn truncate(&self, log: LogId, to: Offset) -> Done {
        self.inner.truncate(log, to)
    }

    fn restart_at(&self, log: LogId, start: Offset) -> Done {
        self.inner.restart_at(log, start)
    }

    fn set_log_start(&self, log: LogId, start: Offset) -> Done {
        self.inner.set_log_start(log, start)
    }

    fn set_high_watermark(&self, log: LogId, offset: Offset) {
        self.inner.set_high_watermark(log, offset)
    }

    fn set_epoch_start(&self, log: LogId, epoch: LeaderEpoch, start: Offset) -> Done {
        self.inner.set_epoch_start(log, epoch, start)
    }

    fn put_snapshot(&self, log: LogId, offset: Offset, snapshot: Bytes) -> Done {
        self.inner.put_snapshot(log, offset, snapshot)
    }

    fn read_cached(&self, log: LogId, request: ReadRequest) -> Option<Result<Read, StorageError>> {
        Some(self.read(log, request))
    }

    fn read(&self, log: LogId, request: ReadRequest) -> Result<Read, StorageError> {
        let read = self.inner.read(log, request)?;
        self.reads.lock().push(read.bytes);
        Ok(read)
    }

    fn batch(&self, log: LogId, base_offset: Offset) -> Result<Bytes, StorageError> {
        self.inner.batch(log, base_offset)
    }

    fn summaries(
        &self,
        log: LogId,
        from: Offset,
        end: Offset,
        max: usize,
    ) -> Result<Vec<Summary>, StorageError> {
        self.inner.summaries(log, from, end, max)
    }

    fn first_at_or_after(
        &self,
        log: LogId,
        timestamp: i64,
        from: Offset,
        end: Offset,
    ) -> Result<Option<Summary>, StorageError> {
        self.inner.first_at_or_after(log, timestamp, from, end)
    }

    fn with_max_timestamp(
        &self,
        log: LogId,
        from: Offset,
        end: Offset,
    ) -> Result<Option<Summary>, StorageError> {
        self.inner.with_max_timestamp(log, from, end)
    }

    fn size(&self, log: LogId) -> u64 {
        self.inner.size(log)
    }

    fn get(&self, space: Space, key: &[u8]) -> Result<Option<Bytes>, StorageError> {
        self.inner.get(space, key)
    }

    fn scan(
        &self,
        space: Space,
        keys: Range<Vec<u8>>,
        max: usize,
    ) -> Result<Vec<(Bytes, Bytes)>, StorageError> {
        self.inner.scan(space, keys, max)
    }

    fn put(&self, changes: Vec<Put>, sync: bool) -> Done {
        self.inner.put(changes, sync)
    }

    fn close(&self) -> Result<(), StorageError> {
        self.inner.close()
    }
}
