//! What the store counts while a log grows: its active logical segment and the current block of its time index.
//!
//! The writer counts appends, recovery counts again from the recovery point; both write the same keys.

use super::{keys, values};
use crate::ids::LogId;
use crate::storage::segment::Segment;
use crate::storage::{LogOptions, Summary};

/// Batches of a block of the time index.
pub const BLOCK_ENTRIES: u32 = 1024;
/// Bytes of a block of the time index.
const BLOCK_BYTES: u64 = 1 << 20;

/// Batches since the last key of the time index, or since the segment began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block {
    pub entries: u32,
    pub bytes: u64,
    /// At least the largest timestamp of its batches; -1: none.
    pub max_timestamp: i64,
}

impl Block {
    pub const EMPTY: Block = Block { entries: 0, bytes: 0, max_timestamp: -1 };
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Totals {
    pub active: Segment,
    /// Bytes the log had before the active segment, ever since it was created.
    pub position: u64,
    pub block: Block,
}

impl Totals {
    pub fn new(base: i64, position: u64) -> Totals {
        Totals { active: Segment::new(base), position, block: Block::EMPTY }
    }

    /// Bytes the log has had, ever since it was created.
    pub fn end_position(&self) -> u64 {
        self.position + self.active.bytes
    }

    /// Counts a batch; whether a segment was closed before it. `put` gets keys and values of `state`.
    pub fn add(
        &mut self,
        log: LogId,
        batch: &Summary,
        options: &LogOptions,
        put: &mut dyn FnMut(&[u8], &[u8]),
    ) -> bool {
        let rolls = self.active.rolls_before(batch, options);
        if rolls {
            self.roll(log, batch.base_offset, put);
        } else if self.block.entries >= BLOCK_ENTRIES || self.block.bytes >= BLOCK_BYTES {
            let key = keys::many(keys::Kind::Block, log, batch.base_offset);
            put(&key, &values::block(self.block.max_timestamp, self.active.max_timestamp));
            self.block = Block::EMPTY;
        }
        self.active.add(batch);
        self.block.entries += 1;
        self.block.bytes += u64::from(batch.size);
        self.block.max_timestamp = self.block.max_timestamp.max(batch.max_timestamp);
        rolls
    }

    /// Closes the active segment; the next one begins at `base`.
    pub fn roll(&mut self, log: LogId, base: i64, put: &mut dyn FnMut(&[u8], &[u8])) {
        let key = keys::many(keys::Kind::Segment, log, self.active.base);
        put(&key, &values::closed_segment(&self.active, self.position));
        *self = Totals::new(base, self.end_position());
    }
}
