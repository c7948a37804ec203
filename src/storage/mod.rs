//! Logs and small values in one data directory. Knows no topic, group or request: batches are opaque bytes with a summary.
//!
//! `LogStore` is the contract; `rocks` keeps it on disk, `mem` in memory. One contract suite runs over both.
//!
//! Calls that change a log return at once: they queue on the store's one writing thread, which keeps their order per log,
//! group-commits for all logs and publishes each log's `Positions`. What is queued is bounded by the callers' byte permits.

#[cfg_attr(not(feature = "rocksdb"), allow(dead_code, reason = "only rocks has batches in files"))]
mod chain;
#[cfg(test)]
pub(crate) mod contract;
pub mod mem;
#[cfg(feature = "rocksdb")]
pub mod rocks;
mod segment;
mod slab;

use crate::ids::{LeaderEpoch, LogId, Offset};
use bytes::Bytes;
use std::{fs::File, ops::Range, sync::Arc};
use tokio::sync::{oneshot, watch};

/// What the store keeps about a batch beside its bytes; enough for offsets, retention, recovery and producer state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Summary {
    pub base_offset: Offset,
    /// Inclusive.
    pub last_offset: Offset,
    /// Milliseconds since the epoch; -1 when the batch has none.
    pub max_timestamp: i64,
    pub leader_epoch: LeaderEpoch,
    /// The batch's attributes as on the wire.
    pub attributes: i16,
    /// -1: none.
    pub producer_id: i64,
    pub producer_epoch: i16,
    pub first_sequence: i32,
    /// Bytes of the batch, header included.
    pub size: u32,
    /// CRC-32C of its bytes from `CHECKSUM_FROM` on, as the batch itself carries it.
    pub crc: u32,
}

/// Where in a batch the bytes under its checksum begin.
pub const CHECKSUM_FROM: usize = 21;
/// The bytes of a batch that the broker sets: base offset, length, leader epoch.
pub const HEAD_BYTES: usize = 16;

/// A batch to append. `head` replaces the first bytes, so that a batch can be stored from the frame it came in.
#[derive(Debug, Clone)]
pub struct NewBatch {
    pub summary: Summary,
    /// The first 16 bytes: base offset, length, leader epoch; big-endian.
    pub head: [u8; HEAD_BYTES],
    /// Everything after `head`. The store copies or writes it; it does not keep the frame alive once `written` covers it.
    pub body: Bytes,
}

/// Where a log stands. Ends are exclusive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Positions {
    /// Accepted by the operating system: survives the death of the process.
    pub written: Offset,
    /// Synced: survives a power cut.
    pub durable: Offset,
    /// Writing has stopped; reads go on. Set once, except that `OutOfSpace` clears itself when space is back.
    pub failed: Option<StorageError>,
    /// Appends refused so far, because writing had stopped. After a refusal the next append is accepted only at `written`,
    /// so that nothing lands behind a hole: whoever sees this grow takes `written` as the log end again.
    pub refused: u64,
}

/// When a logical segment rolls, and how the log treats its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogOptions {
    /// `segment.bytes`.
    pub segment_bytes: u64,
    /// `segment.ms`, in milliseconds of record time as Kafka counts it.
    pub segment_ms: i64,
    /// `segment.jitter.ms`: a segment may roll so much earlier.
    pub segment_jitter_ms: i64,
    /// Random, drawn by whoever opens the log; with it every segment has its own jitter.
    pub jitter_seed: u64,
}

/// A log as it stands after opening.
#[derive(Debug)]
pub struct OpenLog {
    pub log_start: Offset,
    pub log_end: Offset,
    /// As stored last, clamped to [log start, log end].
    pub high_watermark: Offset,
    /// First offset of each leader epoch, ascending; nothing at or above the log end.
    pub epochs: Vec<(LeaderEpoch, Offset)>,
    /// The newest producer snapshot at or below the log end.
    pub snapshot: Option<(Offset, Bytes)>,
    /// Ranges whose bytes are damaged below the recovery point: never cut, never served.
    pub damaged: Vec<Range<Offset>>,
    pub positions: watch::Receiver<Positions>,
}

/// Bytes of an answer: in memory, or a range of a file that is read as the socket drains.
#[derive(Debug, Clone)]
pub enum Slice {
    Bytes(Bytes),
    File(FileRange),
}

/// A range that lies in a file. The file stays open, so retention can unlink it meanwhile.
#[derive(Debug, Clone)]
pub struct FileRange {
    pub file: Arc<File>,
    pub at: u64,
    pub len: usize,
}

impl Slice {
    pub fn len(&self) -> usize {
        match self {
            Slice::Bytes(bytes) => bytes.len(),
            Slice::File(range) => range.len,
        }
    }
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Whole batches in log order.
#[derive(Debug, Clone, Default)]
pub struct Read {
    pub slices: Vec<Slice>,
    /// Bytes in `slices`.
    pub bytes: usize,
    /// The offset after the last batch read; the offset asked for when nothing was.
    pub next_offset: Offset,
}

/// What to read.
#[derive(Debug, Clone, Copy)]
pub struct ReadRequest {
    /// The batch that contains this offset comes first, whole.
    pub from: Offset,
    /// Batches from here on are not read (high watermark or last stable offset).
    pub end: Offset,
    pub max_bytes: usize,
    /// Return the first batch even above `max_bytes` (KIP-74).
    pub at_least_one: bool,
    /// Bytes that may be returned in memory as opposed to file ranges; the first batch is exempt when inline.
    pub memory_max: usize,
}

/// A file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Volume {
    pub total_bytes: u64,
    /// What this process may still write.
    pub usable_bytes: u64,
}

/// Why storage could not do it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StorageError {
    /// Below the log start or above the log end.
    #[error("offset {0} is out of range")]
    OutOfRange(Offset),
    /// Inside a damaged range; other offsets stay readable.
    #[error("log {log} is damaged at offset {offset}")]
    Damaged { log: LogId, offset: Offset },
    /// The reserve of free space is reached; writing resumes by itself.
    #[error("no space left in the data directory")]
    OutOfSpace,
    /// The operating system or RocksDB refused; writing has stopped until restart.
    #[error("{0}")]
    Io(String),
    /// No such log, or it was deleted.
    #[error("log {0} does not exist")]
    NoSuchLog(LogId),
    /// The store has been closed.
    #[error("the store is closed")]
    Closed,
}

/// Where small values live. One column family each on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Space {
    /// Of the node: which log belongs to which partition, counters.
    Meta,
    /// Raft log entries.
    RaftLog,
    /// Raft vote, committed index, snapshots.
    RaftMeta,
}

/// A change of small values.
#[derive(Debug, Clone)]
pub enum Put {
    Set(Space, Vec<u8>, Bytes),
    Delete(Space, Vec<u8>),
    /// Half-open.
    DeleteRange(Space, Range<Vec<u8>>),
}

/// Completion of a queued change. Dropped when the store closes first: treat as `Closed`.
pub type Done = oneshot::Receiver<Result<(), StorageError>>;

/// The contract of storage. Methods marked *blocking* may touch the disk: async callers run them on the blocking pool.
pub trait LogStore: Send + Sync + 'static {
    /// Notes which cluster's data this is; a directory that is another cluster's is refused. *Blocking.*
    fn belongs_to(&self, _cluster_id: &str) -> Result<(), StorageError> {
        Ok(())
    }
    /// Every log has been opened, or deleted: what a power cut left is recovered, and need not be looked at again after the
    /// process alone has died. *Blocking.*
    fn recovered(&self) -> Result<(), StorageError> {
        Ok(())
    }
    /// Creates an empty log that starts at 0, even when there is no space for appends; durable when it returns. *Blocking.*
    fn create(&self, options: LogOptions) -> Result<LogId, StorageError>;
    /// Opens (and after an unclean stop recovers) a log. Once per log and process. *Blocking.*
    fn open(&self, log: LogId, options: LogOptions) -> Result<OpenLog, StorageError>;
    /// Every log that exists, opened or not. *Blocking.*
    fn logs(&self) -> Result<Vec<LogId>, StorageError>;
    /// Applies changed options from the next append on.
    fn configure(&self, log: LogId, options: LogOptions);
    /// Deletes a log and everything of it; the tombstone is durable before bytes go. Open file ranges stay readable.
    fn delete(&self, log: LogId) -> Done;

    /// Appends at the log end: base offsets must continue it (gaps are allowed upwards, as compaction leaves them).
    /// `written` covers the batch when it is accepted; `durable` only after a `sync`.
    fn append(&self, log: LogId, batch: NewBatch);
    /// Makes everything appended to `log` so far durable; `durable` says when.
    fn sync(&self, log: LogId);
    /// Removes every batch whose last offset is at or above `to`; positions, epochs and snapshots above go with them. Synced.
    fn truncate(&self, log: LogId, to: Offset) -> Done;
    /// Empties the log and starts it again at `start` (a follower below its leader's log start). Synced.
    fn restart_at(&self, log: LogId, start: Offset) -> Done;
    /// Raises the log start; synced before anything is unlinked. Batches that span it stay.
    fn set_log_start(&self, log: LogId, start: Offset) -> Done;

    /// Keeps the high watermark for the next start; not synced.
    fn set_high_watermark(&self, log: LogId, offset: Offset);
    /// Records that `epoch` begins at `start`; durable no later than the first batch of that epoch.
    fn set_epoch_start(&self, log: LogId, epoch: LeaderEpoch, start: Offset) -> Done;
    /// Keeps a producer snapshot that covers everything below `offset`; the last two are kept.
    fn put_snapshot(&self, log: LogId, offset: Offset, snapshot: Bytes) -> Done;

    /// Reads what is in memory, without touching the disk; None: ask `read`.
    fn read_cached(&self, log: LogId, request: ReadRequest) -> Option<Result<Read, StorageError>>;
    /// *Blocking.*
    fn read(&self, log: LogId, request: ReadRequest) -> Result<Read, StorageError>;
    /// The bytes of one whole batch (for look-ups within it). *Blocking.*
    fn batch(&self, log: LogId, base_offset: Offset) -> Result<Bytes, StorageError>;
    /// Summaries of the batches from the one that contains `from`, below `end`, at most `max`. *Blocking.*
    fn summaries(
        &self,
        log: LogId,
        from: Offset,
        end: Offset,
        max: usize,
    ) -> Result<Vec<Summary>, StorageError>;
    /// The first batch in [`from`, `end`) whose largest timestamp is at or above `timestamp`. *Blocking.*
    fn first_at_or_after(
        &self,
        log: LogId,
        timestamp: i64,
        from: Offset,
        end: Offset,
    ) -> Result<Option<Summary>, StorageError>;
    /// The first batch in [`from`, `end`) with the largest timestamp of all. *Blocking.*
    fn with_max_timestamp(
        &self,
        log: LogId,
        from: Offset,
        end: Offset,
    ) -> Result<Option<Summary>, StorageError>;
    /// Bytes of the log's logical segments.
    fn size(&self, log: LogId) -> u64;
    /// The file system the data directory is on; None in memory. *Blocking.*
    fn volume(&self) -> Result<Option<Volume>, StorageError> {
        Ok(None)
    }

    /// Reads one small value. *Blocking.*
    fn get(&self, space: Space, key: &[u8]) -> Result<Option<Bytes>, StorageError>;
    /// Reads small values in key order, at most `max`. *Blocking.*
    fn scan(
        &self,
        space: Space,
        keys: Range<Vec<u8>>,
        max: usize,
    ) -> Result<Vec<(Bytes, Bytes)>, StorageError>;
    /// Changes small values, all or none; with `sync` durable when done.
    fn put(&self, changes: Vec<Put>, sync: bool) -> Done;

    /// Writes what is queued, syncs, marks the directory clean. Nothing is accepted afterwards. *Blocking.*
    fn close(&self) -> Result<(), StorageError>;
}
