//! Look-ups by time: whole segments are passed over by their largest timestamp, blocks by the sparse index, and one block
//! of batches is scanned.
//!
//! Largest timestamps are upper bounds: a block may turn out to have nothing, then the search goes on behind it.

use super::Shared;
use super::db::{Family, refused};
use super::keys::{self, Kind};
use super::log::Log;
use super::reader::Entries;
use super::values;
use crate::ids::{LogId, Offset};
use crate::storage::{StorageError, Summary};
use std::ops::Range;

/// Offsets and the largest timestamp there can be among them.
#[derive(Debug, Clone)]
struct Span {
    offsets: Range<Offset>,
    bound: i64,
}

pub fn first_at_or_after(
    shared: &Shared,
    log: &Log,
    timestamp: i64,
    wanted: Range<Offset>,
) -> Result<Option<Summary>, StorageError> {
    let look = Look::new(shared, log, wanted);
    for segment in look.segments(log)? {
        if segment.bound < timestamp {
            continue;
        }
        let mut from = segment.offsets.start.max(look.wanted.start);
        if from == segment.offsets.start {
            from = look.first_block(&segment.offsets, timestamp)?;
        }
        let mut found = None;
        look.blocks(&segment, from, &mut |block| {
            if block.bound >= timestamp {
                found = look.scan(&block.offsets, &mut |batch| batch.max_timestamp >= timestamp)?;
            }
            Ok(found.is_none())
        })?;
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

pub fn with_max_timestamp(
    shared: &Shared,
    log: &Log,
    wanted: Range<Offset>,
) -> Result<Option<Summary>, StorageError> {
    let look = Look::new(shared, log, wanted);
    let mut segments = look.segments(log)?;
    segments.sort_by_key(|segment| std::cmp::Reverse(segment.bound));
    let mut best: Option<Summary> = None;
    let better = |best: &Option<Summary>, timestamp: i64, offset: Offset| match best {
        None => timestamp >= 0,
        Some(best) => {
            timestamp > best.max_timestamp
                || timestamp == best.max_timestamp && offset < best.base_offset
        }
    };
    for segment in segments {
        if !better(&best, segment.bound, segment.offsets.start) {
            continue;
        }
        let from = segment.offsets.start.max(look.wanted.start);
        look.blocks(&segment, from, &mut |block| {
            if better(&best, block.bound, block.offsets.start) {
                look.scan(&block.offsets, &mut |batch| {
                    if better(&best, batch.max_timestamp, batch.base_offset) {
                        best = Some(*batch);
                    }
                    false
                })?;
            }
            Ok(true)
        })?;
    }
    Ok(best)
}

struct Look<'a> {
    shared: &'a Shared,
    log: LogId,
    first_base: Offset,
    wanted: Range<Offset>,
}

impl<'a> Look<'a> {
    fn new(shared: &'a Shared, log: &Log, mut wanted: Range<Offset>) -> Look<'a> {
        let start = log.state.lock().start;
        wanted.start = wanted.start.max(start.log_start);
        Look { shared, log: log.id, first_base: start.first_base, wanted }
    }

    /// The logical segments that have wanted offsets, in order.
    fn segments(&self, log: &Log) -> Result<Vec<Span>, StorageError> {
        let (active, end) = {
            let state = log.state.lock();
            (state.totals.active, state.end)
        };
        let from = keys::many(Kind::Segment, self.log, self.first_base);
        let to = keys::many(Kind::Segment, self.log, active.base);
        let mut closed = self.shared.db.iterate(Family::State, &from, &to);
        closed.seek_for_prev(keys::many(Kind::Segment, self.log, self.wanted.start));
        if !closed.valid() {
            closed.status().map_err(refused)?;
            closed.seek_to_first();
        }
        let mut spans: Vec<Span> = Vec::new();
        while let Some((segment, _)) = closed.value().and_then(values::decode_closed_segment) {
            if let Some(last) = spans.last_mut() {
                last.offsets.end = segment.base;
            }
            spans.push(Span { offsets: segment.base..active.base, bound: segment.max_timestamp });
            closed.next();
        }
        closed.status().map_err(refused)?;
        spans
            .push(Span { offsets: active.base..end.max(active.base), bound: active.max_timestamp });
        spans.retain(|span| {
            span.offsets.start < self.wanted.end && span.offsets.end > self.wanted.start
        });
        Ok(spans)
    }

    /// Where the first block of a segment begins that can have `timestamp`.
    fn first_block(&self, segment: &Range<Offset>, timestamp: i64) -> Result<Offset, StorageError> {
        let (mut low, mut high) = (segment.start, segment.end);
        let to = keys::many(Kind::Block, self.log, segment.end);
        let from = keys::many(Kind::Block, self.log, segment.start);
        let mut index = self.shared.db.iterate(Family::State, &from, &to);
        while low < high {
            let middle = low + (high - low) / 2;
            index.seek(keys::many(Kind::Block, self.log, middle + 1));
            index.status().map_err(refused)?;
            match index.item().and_then(|(key, value)| decode(key, value)) {
                Some((end, _, so_far)) if so_far < timestamp => low = end,
                _ => high = middle,
            }
        }
        Ok(low)
    }

    /// Calls `each` with the blocks of a segment from `from` on, until it returns false.
    fn blocks(
        &self,
        segment: &Span,
        from: Offset,
        each: &mut dyn FnMut(Span) -> Result<bool, StorageError>,
    ) -> Result<(), StorageError> {
        let key = keys::many(Kind::Block, self.log, from.saturating_add(1));
        let to = keys::many(Kind::Block, self.log, segment.offsets.end);
        let mut index = self.shared.db.iterate(Family::State, &key, &to);
        index.seek_to_first();
        let mut start = from;
        while let Some((end, bound, _)) = index.item().and_then(|(key, value)| decode(key, value)) {
            if start >= self.wanted.end || !each(Span { offsets: start..end, bound })? {
                return Ok(());
            }
            start = end;
            index.next();
        }
        index.status().map_err(refused)?;
        let rest = start..segment.offsets.end.min(self.wanted.end);
        if !rest.is_empty() {
            each(Span { offsets: rest, bound: segment.bound })?;
        }
        Ok(())
    }

    /// The first wanted batch that begins among these offsets and is `right`.
    fn scan(
        &self,
        offsets: &Range<Offset>,
        right: &mut dyn FnMut(&Summary) -> bool,
    ) -> Result<Option<Summary>, StorageError> {
        let end = offsets.end.min(self.wanted.end);
        let from = offsets.start.max(self.wanted.start);
        let mut entries = Entries::new(&self.shared.db, self.log, self.first_base, end, from);
        while let Some((summary, _)) = entries.next()? {
            if right(&summary) {
                return Ok(Some(summary));
            }
        }
        Ok(None)
    }
}

/// A key of the time index: the end of its block, and its two timestamps.
fn decode(key: &[u8], value: &[u8]) -> Option<(Offset, i64, i64)> {
    let (max_timestamp, so_far) = values::decode_block(value)?;
    Some((keys::offset_of(key)?, max_timestamp, so_far))
}
