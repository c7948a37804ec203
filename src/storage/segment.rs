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
            && batch.max_timestamp.saturating_sub(self.first_timestamp)
                > options.segment_ms - self.jitter_ms(options);
        let far = batch.last_offset - self.base > i64::from(i32::MAX);
        self.bytes > 0 && (full || old || far)
    }

    /// What this segment rolls earlier, in [0, min(jitter, `segment.ms`)) (Kafka's `LogConfig.randomSegmentJitter`): the same
    /// whenever it is asked for, as if it had been drawn when the segment began.
    fn jitter_ms(&self, options: &LogOptions) -> i64 {
        let Some(bound @ 1..) =
            u64::try_from(options.segment_jitter_ms.min(options.segment_ms)).ok()
        else {
            return 0;
        };
        // SplitMix64: neighbours come out far apart.
        let mut mixed =
            options.jitter_seed ^ (self.base as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % bound) as i64
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn options(segment_jitter_ms: i64, jitter_seed: u64) -> LogOptions {
        LogOptions { segment_bytes: 1000, segment_ms: 100, segment_jitter_ms, jitter_seed }
    }

    /// How long after its first batch a segment rolls.
    fn age(base: Offset, options: &LogOptions) -> i64 {
        let batch = crate::storage::contract::batch(base, 1, 1_000, 0).summary;
        let mut segment = Segment::new(base);
        segment.add(&batch);
        let rolls = |age: &i64| {
            segment.rolls_before(&Summary { max_timestamp: 1_000 + age, ..batch }, options)
        };
        (0..1_000).find(rolls).unwrap()
    }

    #[test]
    fn every_segment_rolls_as_much_earlier_as_its_jitter_says() {
        assert_eq!(age(7, &options(0, 5)), 101, "none without jitter");
        for (jitter, least) in [(30, 72), (100, 2), (1 << 40, 2)] {
            let ages: Vec<i64> = (0..2_000).map(|base| age(base, &options(jitter, 5))).collect();
            assert_eq!(ages.iter().min(), Some(&least), "{jitter}");
            assert_eq!(ages.iter().max(), Some(&101), "{jitter}");
            let again: Vec<i64> = (0..2_000).map(|base| age(base, &options(jitter, 5))).collect();
            assert_eq!(ages, again);
        }
        let logs: BTreeSet<i64> = (0..50).map(|seed| age(0, &options(100, seed))).collect();
        assert!(logs.len() > 20, "logs that were created together roll at {logs:?}");
    }
}
