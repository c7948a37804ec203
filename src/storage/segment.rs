//! Logical segments: the units in which a log is rolled, trimmed and measured, wherever its bytes lie.
//!
//! The stores own their lists of segments; here are the numbers of one and the rule when the next begins.

use super::{LogOptions, Summary};
use crate::ids::Offset;

/// The numbers of one logical segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// The base offset of its first batch, or where the log ended when it began.
    pub base: Offset,
    /// Bytes of its batches.
    pub bytes: u64,
    /// `max_timestamp` of its first batch that has one, in milliseconds; -1: none. The segment's age counts from here.
    pub first_timestamp: i64,
    /// At least the largest timestamp of its batches; -1: none. After a truncation it may be larger.
    pub max_timestamp: i64,
}

impl Segment {
    pub fn new(base: Offset) -> Segment {
        Segment { base, bytes: 0, first_timestamp: -1, max_timestamp: -1 }
    }

    /// Whether `batch` must begin a new segment (Kafka's `LogSegment.shouldRoll`, in record time).
    pub fn rolls_before(&self, batch: &Summary, options: &LogOptions) -> bool {
        let full = self.bytes + u64::from(batch.size) > options.segment_bytes;
        let old = self.first_timestamp >= 0
            && batch.max_timestamp.saturating_sub(self.first_timestamp) > options.segment_ms;
        let far = batch.last_offset - self.base > i64::from(i32::MAX);
        self.bytes > 0 && (full || old || far)
    }

    /// Counts a batch.
    pub fn add(&mut self, batch: &Summary) {
        self.bytes += u64::from(batch.size);
        if self.first_timestamp < 0 {
            self.first_timestamp = batch.max_timestamp;
        }
        self.max_timestamp = self.max_timestamp.max(batch.max_timestamp);
    }
}
