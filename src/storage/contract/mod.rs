//! The contract of `LogStore`, as tests over every implementation, and what they are built from.
//!
//! `cases` are the single rules; `model` compares a store with a plain vector under random changes, restarts and crashes.

pub mod cases;
mod model;
#[cfg(feature = "rocksdb")]
pub mod on_disk;

use super::mem::Mem;
use super::{
    CHECKSUM_FROM, Done, HEAD_BYTES, LogOptions, LogStore, NewBatch, Positions, ReadRequest, Slice,
    StorageError, Summary,
};
use crate::ids::{LeaderEpoch, LogId, Offset};
use bytes::Bytes;
use std::os::unix::fs::FileExt;
use tokio::sync::watch;

/// A store that can be stopped and started.
pub trait Bench {
    fn store(&self) -> &dyn LogStore;
    /// Closes the store and opens it again.
    fn restart(&mut self);
    /// Cuts the power and opens what is left. `choose(n)` is a number from 0 to `n`.
    fn crash(&mut self, choose: &mut dyn FnMut(usize) -> usize);
}

/// The memory store over its modelled disk.
pub struct InMemory(Mem);

impl InMemory {
    pub fn new() -> InMemory {
        InMemory(Mem::with_faults())
    }
}

impl Bench for InMemory {
    fn store(&self) -> &dyn LogStore {
        &self.0
    }

    fn restart(&mut self) {
        self.0.close().unwrap();
        self.0 = self.0.crash(&mut |n| n);
    }

    fn crash(&mut self, choose: &mut dyn FnMut(usize) -> usize) {
        self.0 = self.0.crash(choose);
    }
}

pub const OPTIONS: LogOptions = LogOptions {
    segment_bytes: 1 << 20,
    segment_ms: 1 << 40,
    segment_jitter_ms: 0,
    jitter_seed: 0,
};

/// A batch of `records` records and `payload` bytes, with a true checksum.
pub fn batch(base_offset: Offset, records: i64, timestamp: i64, payload: usize) -> NewBatch {
    let size = 61 + payload;
    let epoch = LeaderEpoch(0);
    let mut bytes = Vec::with_capacity(size);
    bytes.extend(base_offset.to_be_bytes());
    bytes.extend((size as i32 - 12).to_be_bytes());
    bytes.extend(epoch.0.to_be_bytes());
    bytes.push(2);
    bytes.extend([0; 4]);
    bytes.extend(0i16.to_be_bytes());
    bytes.extend((records as i32 - 1).to_be_bytes());
    bytes.extend(timestamp.to_be_bytes());
    bytes.extend(timestamp.to_be_bytes());
    bytes.extend((-1i64).to_be_bytes());
    bytes.extend((-1i16).to_be_bytes());
    bytes.extend((-1i32).to_be_bytes());
    bytes.extend((records as i32).to_be_bytes());
    bytes.extend((0..payload).map(|at| (at as i64 + base_offset) as u8));
    let crc = crc32c::crc32c(&bytes[CHECKSUM_FROM..]);
    bytes[17..21].copy_from_slice(&crc.to_be_bytes());
    let summary = Summary {
        base_offset,
        last_offset: base_offset + records - 1,
        max_timestamp: timestamp,
        leader_epoch: epoch,
        attributes: 0,
        producer_id: -1,
        producer_epoch: -1,
        first_sequence: -1,
        size: size as u32,
        crc,
    };
    let head = bytes[..HEAD_BYTES].try_into().unwrap();
    NewBatch { summary, head, body: Bytes::from(bytes).slice(HEAD_BYTES..) }
}

/// The bytes a reader must get.
pub fn whole(batch: &NewBatch) -> Vec<u8> {
    [&batch.head[..], &batch.body[..]].concat()
}

/// What a socket would send.
pub fn bytes_of(slices: &[Slice]) -> Vec<u8> {
    let mut all = Vec::new();
    for slice in slices {
        match slice {
            Slice::Bytes(bytes) => all.extend_from_slice(bytes),
            Slice::File(range) => {
                let mut piece = vec![0; range.len];
                range.file.read_exact_at(&mut piece, range.at).unwrap();
                all.extend(piece);
            }
        }
    }
    all
}

/// Reads everything.
pub fn all(end: Offset, from: Offset) -> ReadRequest {
    ReadRequest { from, end, max_bytes: 1 << 30, at_least_one: true, memory_max: 1 << 30 }
}

/// Waits for what a position says, or for writing to have stopped.
pub fn reach(
    positions: &mut watch::Receiver<Positions>,
    reached: impl Fn(&Positions) -> bool,
) -> Positions {
    block_on(positions.wait_for(|now| now.failed.is_some() || reached(now))).unwrap().clone()
}

/// Waits for a change.
pub fn finish(done: Done) -> Result<(), StorageError> {
    block_on(done).unwrap_or(Err(StorageError::Closed))
}

fn block_on<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

/// Opens a log with the usual options.
pub fn open(store: &dyn LogStore, log: LogId) -> super::OpenLog {
    store.open(log, OPTIONS).unwrap()
}
