//! The values on disk. Each begins with its version (1); integers are big-endian.
//!
//! A batch (`log`), 46 bytes and its bytes or its place:
//!   version u8 · kind u8 (0 inline, 1 in a file) · last offset i64 · max timestamp i64 · leader epoch i32 · attributes i16 ·
//!   producer id i64 · producer epoch i16 · first sequence i32 · size u32 · crc u32 ·
//!   inline: the batch · in a file: the file's base offset u64, the position in it u64
//!
//! `state`:
//!   start            version · log start u64 · base of the first segment u64 · bytes of the log before it u64
//!   recovery point   version · offset u64 · totals (the totals up to there)
//!   totals           segment · bytes of the log before it u64 · block entries u32 · block bytes u64 · block max timestamp i64
//!   segment          base u64 · bytes u64 · first timestamp i64 · max timestamp i64
//!   closed segment   version · segment · bytes of the log before it u64
//!   block            version · its max timestamp i64 · max timestamp of the segment so far i64
//!   offset           version · offset u64 (floor, high watermark)
//!   last log         version · log id u32
//!   exists           version
//!   epochs           version · (epoch i32, start u64)*
//!   damaged          version · (start u64, end u64)*
//!   snapshot         version · the caller's bytes

use super::totals::{Block, Totals};
use crate::ids::{LeaderEpoch, Offset};
use crate::storage::Summary;
use crate::storage::segment::Segment;
use std::ops::Range;

/// The version every value begins with.
pub const VERSION: u8 = 1;

/// Bytes of a batch's value before its bytes or place.
const BATCH_FIXED: usize = 46;

/// Where a batch lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stored<'a> {
    Inline(&'a [u8]),
    File { base: Offset, at: u64 },
}

/// The fixed part of a batch's value.
pub fn put_summary(out: &mut Vec<u8>, summary: &Summary, in_file: bool) {
    out.push(VERSION);
    out.push(in_file.into());
    out.extend(summary.last_offset.to_be_bytes());
    out.extend(summary.max_timestamp.to_be_bytes());
    out.extend(summary.leader_epoch.0.to_be_bytes());
    out.extend(summary.attributes.to_be_bytes());
    out.extend(summary.producer_id.to_be_bytes());
    out.extend(summary.producer_epoch.to_be_bytes());
    out.extend(summary.first_sequence.to_be_bytes());
    out.extend(summary.size.to_be_bytes());
    out.extend(summary.crc.to_be_bytes());
}

/// The place of a batch in a file, after its summary.
pub fn put_place(out: &mut Vec<u8>, base: Offset, at: u64) {
    out.extend(base.to_be_bytes());
    out.extend(at.to_be_bytes());
}

/// A batch's value; None: not one.
pub fn batch(base_offset: Offset, value: &[u8]) -> Option<(Summary, Stored<'_>)> {
    let mut read = Reader::new(value)?;
    let kind = read.u8()?;
    let summary = Summary {
        base_offset,
        last_offset: read.i64()?,
        max_timestamp: read.i64()?,
        leader_epoch: LeaderEpoch(read.i32()?),
        attributes: read.i16()?,
        producer_id: read.i64()?,
        producer_epoch: read.i16()?,
        first_sequence: read.i32()?,
        size: read.u32()?,
        crc: read.u32()?,
    };
    debug_assert_eq!(value.len() - read.rest.len(), BATCH_FIXED);
    let stored = match kind {
        0 if read.rest.len() == summary.size as usize => Stored::Inline(read.rest),
        1 => Stored::File { base: read.i64()?, at: read.u64()? },
        _ => return None,
    };
    Some((summary, stored))
}

/// Where a log starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Start {
    pub log_start: Offset,
    /// Base of the first logical segment.
    pub first_base: Offset,
    /// Bytes the log had before it, ever since it was created.
    pub first_position: u64,
}

impl Start {
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![VERSION];
        out.extend(self.log_start.to_be_bytes());
        out.extend(self.first_base.to_be_bytes());
        out.extend(self.first_position.to_be_bytes());
        out
    }

    pub fn decode(value: &[u8]) -> Option<Start> {
        let mut read = Reader::new(value)?;
        Some(Start { log_start: read.i64()?, first_base: read.i64()?, first_position: read.u64()? })
    }
}

/// The recovery point: everything below `offset` was synced when it was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Point {
    pub offset: Offset,
    /// Up to `offset`.
    pub totals: Totals,
}

impl Point {
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![VERSION];
        out.extend(self.offset.to_be_bytes());
        put_segment(&mut out, &self.totals.active);
        out.extend(self.totals.position.to_be_bytes());
        out.extend(self.totals.block.entries.to_be_bytes());
        out.extend(self.totals.block.bytes.to_be_bytes());
        out.extend(self.totals.block.max_timestamp.to_be_bytes());
        out
    }

    pub fn decode(value: &[u8]) -> Option<Point> {
        let mut read = Reader::new(value)?;
        Some(Point {
            offset: read.i64()?,
            totals: Totals {
                active: read.segment()?,
                position: read.u64()?,
                block: Block {
                    entries: read.u32()?,
                    bytes: read.u64()?,
                    max_timestamp: read.i64()?,
                },
            },
        })
    }
}

/// A closed segment and the bytes of the log before it.
pub fn closed_segment(segment: &Segment, position: u64) -> Vec<u8> {
    let mut out = vec![VERSION];
    put_segment(&mut out, segment);
    out.extend(position.to_be_bytes());
    out
}

pub fn decode_closed_segment(value: &[u8]) -> Option<(Segment, u64)> {
    let mut read = Reader::new(value)?;
    Some((read.segment()?, read.u64()?))
}

/// The largest timestamp of a block, and of its segment up to its end.
pub fn block(max_timestamp: i64, so_far: i64) -> Vec<u8> {
    let mut out = vec![VERSION];
    out.extend(max_timestamp.to_be_bytes());
    out.extend(so_far.to_be_bytes());
    out
}

pub fn decode_block(value: &[u8]) -> Option<(i64, i64)> {
    let mut read = Reader::new(value)?;
    Some((read.i64()?, read.i64()?))
}

pub fn offset(offset: Offset) -> Vec<u8> {
    let mut out = vec![VERSION];
    out.extend(offset.to_be_bytes());
    out
}

pub fn decode_offset(value: &[u8]) -> Option<Offset> {
    Reader::new(value)?.i64()
}

pub fn last_log(log: u32) -> Vec<u8> {
    let mut out = vec![VERSION];
    out.extend(log.to_be_bytes());
    out
}

pub fn decode_last_log(value: &[u8]) -> Option<u32> {
    Reader::new(value)?.u32()
}

pub fn epochs(epochs: &[(LeaderEpoch, Offset)]) -> Vec<u8> {
    let mut out = vec![VERSION];
    for (epoch, start) in epochs {
        out.extend(epoch.0.to_be_bytes());
        out.extend(start.to_be_bytes());
    }
    out
}

pub fn decode_epochs(value: &[u8]) -> Option<Vec<(LeaderEpoch, Offset)>> {
    let mut read = Reader::new(value)?;
    let mut epochs = Vec::new();
    while !read.rest.is_empty() {
        epochs.push((LeaderEpoch(read.i32()?), read.i64()?));
    }
    Some(epochs)
}

pub fn damaged(ranges: &[Range<Offset>]) -> Vec<u8> {
    let mut out = vec![VERSION];
    for range in ranges {
        out.extend(range.start.to_be_bytes());
        out.extend(range.end.to_be_bytes());
    }
    out
}

pub fn decode_damaged(value: &[u8]) -> Option<Vec<Range<Offset>>> {
    let mut read = Reader::new(value)?;
    let mut ranges = Vec::new();
    while !read.rest.is_empty() {
        ranges.push(read.i64()?..read.i64()?);
    }
    Some(ranges)
}

pub fn snapshot(bytes: &[u8]) -> Vec<u8> {
    [&[VERSION], bytes].concat()
}

pub fn decode_snapshot(value: &[u8]) -> Option<&[u8]> {
    Some(Reader::new(value)?.rest)
}

fn put_segment(out: &mut Vec<u8>, segment: &Segment) {
    out.extend(segment.base.to_be_bytes());
    out.extend(segment.bytes.to_be_bytes());
    out.extend(segment.first_timestamp.to_be_bytes());
    out.extend(segment.max_timestamp.to_be_bytes());
}

/// Takes integers from the front; None past the end.
struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// Past the version; None: of another version.
    fn new(value: &'a [u8]) -> Option<Reader<'a>> {
        let (version, rest) = value.split_first()?;
        (*version == VERSION).then_some(Reader { rest })
    }

    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(*taken)
    }

    fn u8(&mut self) -> Option<u8> {
        self.take().map(u8::from_be_bytes)
    }

    fn i16(&mut self) -> Option<i16> {
        self.take().map(i16::from_be_bytes)
    }

    fn i32(&mut self) -> Option<i32> {
        self.take().map(i32::from_be_bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_be_bytes)
    }

    fn i64(&mut self) -> Option<i64> {
        self.take().map(i64::from_be_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_be_bytes)
    }

    fn segment(&mut self) -> Option<Segment> {
        Some(Segment {
            base: self.i64()?,
            bytes: self.u64()?,
            first_timestamp: self.i64()?,
            max_timestamp: self.i64()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn segments() -> impl Strategy<Value = Segment> {
        any::<(i64, u64, i64, i64)>().prop_map(|(base, bytes, first_timestamp, max_timestamp)| {
            Segment { base, bytes, first_timestamp, max_timestamp }
        })
    }

    fn summaries() -> impl Strategy<Value = Summary> {
        let numbers = any::<(i64, i64, i64, i32, i16, i64, i16, i32, u32)>();
        (numbers, 0..100u32).prop_map(|(n, size)| Summary {
            base_offset: n.0,
            last_offset: n.1,
            max_timestamp: n.2,
            leader_epoch: LeaderEpoch(n.3),
            attributes: n.4,
            producer_id: n.5,
            producer_epoch: n.6,
            first_sequence: n.7,
            size,
            crc: n.8,
        })
    }

    proptest! {
        #[test]
        fn batches_round_trip(summary in summaries(), base in any::<i64>(), at in any::<u64>()) {
            let bytes = vec![7; summary.size as usize];
            let mut inline = Vec::new();
            put_summary(&mut inline, &summary, false);
            prop_assert_eq!(inline.len(), BATCH_FIXED);
            inline.extend(&bytes);
            let expected = Some((summary, Stored::Inline(&bytes[..])));
            prop_assert_eq!(batch(summary.base_offset, &inline), expected);
            let mut in_file = Vec::new();
            put_summary(&mut in_file, &summary, true);
            put_place(&mut in_file, base, at);
            let expected = Some((summary, Stored::File { base, at }));
            prop_assert_eq!(batch(summary.base_offset, &in_file), expected);
            inline.push(0);
            prop_assert_eq!(batch(summary.base_offset, &inline), None);
        }

        #[test]
        fn state_round_trips(
            segment in segments(),
            n in any::<(i64, i64, u64, u32, u64, i64)>(),
            list in proptest::collection::vec(any::<(i32, i64)>(), 0..5),
        ) {
            let start = Start { log_start: n.0, first_base: n.1, first_position: n.2 };
            prop_assert_eq!(Start::decode(&start.encode()), Some(start));
            let block_totals = Block { entries: n.3, bytes: n.4, max_timestamp: n.5 };
            let totals = Totals { active: segment, position: n.2, block: block_totals };
            let point = Point { offset: n.0, totals };
            prop_assert_eq!(Point::decode(&point.encode()), Some(point));
            let closed = closed_segment(&segment, n.2);
            prop_assert_eq!(decode_closed_segment(&closed), Some((segment, n.2)));
            prop_assert_eq!(decode_block(&block(n.0, n.1)), Some((n.0, n.1)));
            prop_assert_eq!(decode_offset(&offset(n.0)), Some(n.0));
            prop_assert_eq!(decode_last_log(&last_log(n.3)), Some(n.3));
            let some: Vec<_> = list.iter().map(|(e, start)| (LeaderEpoch(*e), *start)).collect();
            prop_assert_eq!(decode_epochs(&epochs(&some)), Some(some));
            let ranges: Vec<_> = list.iter().map(|(a, b)| i64::from(*a)..*b).collect();
            prop_assert_eq!(decode_damaged(&damaged(&ranges)), Some(ranges));
            let kept = snapshot(b"x");
            prop_assert_eq!(decode_snapshot(&kept), Some(&b"x"[..]));
            prop_assert_eq!(decode_offset(&point.encode()[..7]), None);
            let mut newer = offset(n.0);
            newer[0] = VERSION + 1;
            prop_assert_eq!(decode_offset(&newer), None);
        }
    }
}
