//! One log of the memory store. Not here: locks, and the modelled disk.

use crate::ids::{LeaderEpoch, LogId, Offset};
use crate::storage::chain::Chain;
use crate::storage::segment::Segment;
use crate::storage::slab::Pool;
use crate::storage::{
    LogOptions, NewBatch, OpenLog, Positions, Read, ReadRequest, StorageError, Summary,
};
use bytes::Bytes;
use std::collections::VecDeque;
use std::{ops::Range, sync::Arc};
use tokio::sync::watch;

/// Producer snapshots kept.
const SNAPSHOTS_KEPT: usize = 2;

/// A change of one log.
#[derive(Debug, Clone)]
pub enum Change {
    Append(NewBatch),
    Truncate(Offset),
    RestartAt(Offset),
    LogStart(Offset),
    HighWatermark(Offset),
    Epoch(LeaderEpoch, Offset),
    Snapshot(Offset, Bytes),
    Delete,
}

pub struct Log {
    pub options: LogOptions,
    pub start: Offset,
    pub end: Offset,
    pub high_watermark: Offset,
    pub epochs: Vec<(LeaderEpoch, Offset)>,
    pub snapshots: VecDeque<(Offset, Bytes)>,
    pub damaged: Vec<Range<Offset>>,
    /// Never empty; the last one is active.
    segments: VecDeque<Segment>,
    chain: Chain,
    positions: watch::Sender<Positions>,
    /// An append has been refused since the last one that was accepted.
    hole: bool,
}

impl Log {
    pub fn new(options: LogOptions, pool: Arc<Pool>) -> Log {
        let positions = Positions { written: 0, durable: 0, failed: None, refused: 0 };
        Log {
            options,
            start: 0,
            end: 0,
            high_watermark: 0,
            epochs: Vec::new(),
            snapshots: VecDeque::new(),
            damaged: Vec::new(),
            segments: VecDeque::from([Segment::new(0)]),
            chain: Chain::new(pool),
            positions: watch::Sender::new(positions),
            hole: false,
        }
    }

    pub fn opened(&mut self) -> OpenLog {
        self.high_watermark = self.high_watermark.clamp(self.start, self.end);
        OpenLog {
            log_start: self.start,
            log_end: self.end,
            high_watermark: self.high_watermark,
            epochs: self.epochs.clone(),
            snapshot: self.snapshots.back().cloned(),
            damaged: self.damaged.clone(),
            positions: self.positions.subscribe(),
        }
    }

    pub fn writable(&self) -> Result<(), StorageError> {
        self.positions.borrow().failed.clone().map_or(Ok(()), Err)
    }

    /// Whether writing goes on and the append leaves no hole behind a refused one.
    pub fn accepts(&self, change: &Change) -> bool {
        let follows = match change {
            Change::Append(batch) if self.hole => batch.summary.base_offset == self.end,
            _ => true,
        };
        follows && self.writable().is_ok()
    }

    pub fn apply(&mut self, change: &Change) {
        match change {
            Change::Append(batch) => self.append(batch),
            Change::Truncate(to) => self.truncate(*to),
            Change::RestartAt(start) => self.restart_at(*start),
            Change::LogStart(start) => self.set_start(*start),
            Change::HighWatermark(offset) => self.high_watermark = *offset,
            Change::Epoch(epoch, start) => self.set_epoch(*epoch, *start),
            Change::Snapshot(offset, bytes) => self.put_snapshot(*offset, bytes.clone()),
            Change::Delete => self.fail(StorageError::Closed),
        }
    }

    /// Counts an append that was not accepted.
    pub fn refuse(&mut self) {
        self.hole = true;
        self.positions.send_modify(|positions| positions.refused += 1);
    }

    /// Writing has stopped. The first reason counts, but what lasts replaces a lack of space.
    pub fn fail(&mut self, error: StorageError) {
        self.positions.send_if_modified(|positions| {
            let news = match &positions.failed {
                None => true,
                Some(StorageError::OutOfSpace) => error != StorageError::OutOfSpace,
                Some(_) => false,
            };
            if news {
                positions.failed = Some(error);
            }
            news
        });
    }

    /// There is space again.
    #[cfg(any(test, feature = "faults"))]
    pub fn resume(&mut self) {
        self.positions.send_if_modified(|positions| {
            positions.failed.take_if(|error| *error == StorageError::OutOfSpace).is_some()
        });
    }

    /// The same log in another store.
    #[cfg(any(test, feature = "faults"))]
    pub fn copy(&mut self, pool: Arc<Pool>) -> Log {
        let mut log = Log::new(self.options.clone(), pool);
        log.restart_at(self.start);
        let summaries: Vec<Summary> = self.chain.summaries(self.start).copied().collect();
        for summary in summaries {
            let bytes = self.chain.batch(summary.base_offset).expect("the chain holds it");
            log.chain.push(summary, &bytes, &[]);
        }
        log.segments = self.segments.clone();
        log.epochs = self.epochs.clone();
        log.snapshots = self.snapshots.clone();
        log.damaged = self.damaged.clone();
        log.high_watermark = self.high_watermark;
        log.end = self.end;
        log.recover();
        log
    }

    /// What opening after a stop makes of it: nothing at or above the end, and everything there is durable.
    #[cfg(any(test, feature = "faults"))]
    pub fn recover(&mut self) {
        self.set_end(self.end);
        self.synced();
    }

    fn append(&mut self, batch: &NewBatch) {
        let summary = &batch.summary;
        assert!(summary.base_offset >= self.end, "appends continue the log");
        if self.segments.back().is_some_and(|active| active.rolls_before(summary, &self.options)) {
            self.segments.push_back(Segment::new(summary.base_offset));
        }
        self.active().add(summary);
        self.chain.push(*summary, &batch.head, &batch.body);
        self.hole = false;
        self.end = summary.last_offset + 1;
        self.positions.send_modify(|positions| positions.written = self.end);
    }

    /// What is written is durable.
    pub fn synced(&mut self) {
        self.synced_to(self.end);
    }

    /// What is written below `end` is durable. Without space no more is written, but it can be synced.
    pub fn synced_to(&mut self, end: Offset) {
        match self.writable() {
            Ok(()) | Err(StorageError::OutOfSpace) => {}
            Err(_) => return,
        }
        let end = end.min(self.end);
        self.positions.send_if_modified(|positions| {
            let before = positions.durable;
            positions.durable = before.max(end);
            positions.durable != before
        });
    }

    fn truncate(&mut self, to: Offset) {
        let removed = self.chain.truncate(to);
        let end = removed.last().map_or(to, |batch| batch.base_offset.min(to)).max(self.start);
        while self.segments.len() > 1 && self.active().base >= end {
            self.segments.pop_back();
        }
        let active = self.active();
        for batch in removed.iter().filter(|batch| batch.base_offset >= active.base) {
            active.bytes -= u64::from(batch.size);
        }
        self.set_end(end.min(self.end));
    }

    fn restart_at(&mut self, start: Offset) {
        self.chain.truncate(Offset::MIN);
        self.chain.trim(start);
        self.segments = VecDeque::from([Segment::new(start)]);
        self.damaged.clear();
        self.epochs.clear();
        self.snapshots.clear();
        self.start = start;
        self.set_end(start);
    }

    /// Raises the log start, never above the log end, and drops the segments wholly below it.
    fn set_start(&mut self, start: Offset) {
        self.start = self.start.max(start);
        if self.start == self.end && self.active().bytes > 0 {
            self.segments.push_back(Segment::new(self.end));
        }
        while self.segments.len() > 1 && self.segments[1].base <= self.start {
            self.segments.pop_front();
        }
        self.chain.trim(self.start);
        // The epoch that covers the start stays (Kafka's LeaderEpochFileCache.truncateFromStart).
        let below = self.epochs.partition_point(|(_, first)| *first <= self.start);
        self.epochs.drain(..below.saturating_sub(1));
        if let Some(oldest) = self.epochs.first_mut() {
            oldest.1 = oldest.1.max(self.start);
        }
        self.damaged.retain(|range| range.end > self.start);
        self.high_watermark = self.high_watermark.max(self.start);
        self.positions.send_if_modified(|positions| {
            let below = positions.durable < start;
            positions.durable = positions.durable.max(start);
            below
        });
    }

    fn set_epoch(&mut self, epoch: LeaderEpoch, start: Offset) {
        self.epochs.retain(|(known, first)| *known < epoch && *first < start);
        self.epochs.push((epoch, start));
    }

    fn put_snapshot(&mut self, offset: Offset, snapshot: Bytes) {
        self.snapshots.retain(|(known, _)| *known != offset);
        self.snapshots.push_back((offset, snapshot));
        self.snapshots.make_contiguous().sort_by_key(|(offset, _)| *offset);
        if self.snapshots.len() > SNAPSHOTS_KEPT {
            self.snapshots.pop_front();
        }
    }

    pub fn read(&mut self, log: LogId, mut request: ReadRequest) -> Result<Read, StorageError> {
        if request.from < self.start || request.from > self.end {
            return Err(StorageError::OutOfRange(request.from));
        }
        if let Some(range) = self.damaged.iter().find(|range| range.end > request.from) {
            if range.start <= request.from {
                return Err(StorageError::Damaged { log, offset: request.from });
            }
            request.end = request.end.min(range.start);
        }
        Ok(self.chain.read(request))
    }

    pub fn batch(&mut self, log: LogId, base_offset: Offset) -> Result<Bytes, StorageError> {
        if self.damaged.iter().any(|range| range.contains(&base_offset)) {
            return Err(StorageError::Damaged { log, offset: base_offset });
        }
        self.chain.batch(base_offset).ok_or(StorageError::OutOfRange(base_offset))
    }

    pub fn between(&self, from: Offset, end: Offset) -> impl Iterator<Item = &Summary> {
        self.chain.summaries(from).take_while(move |batch| batch.base_offset < end)
    }

    pub fn size(&self) -> u64 {
        self.segments.iter().map(|segment| segment.bytes).sum()
    }

    fn active(&mut self) -> &mut Segment {
        self.segments.back_mut().expect("a log always has an active segment")
    }

    /// Lowers (or, restarting, sets) the log end and everything that follows from it.
    fn set_end(&mut self, end: Offset) {
        self.end = end;
        self.hole = false;
        self.epochs.retain(|(_, first)| *first < end);
        self.snapshots.retain(|(offset, _)| *offset <= end);
        self.damaged.retain(|range| range.start < end);
        self.high_watermark = self.high_watermark.clamp(self.start, end);
        let durable = self.positions.borrow().durable;
        self.positions.send_modify(|positions| {
            positions.written = end;
            positions.durable = if end == self.start { end } else { durable.min(end) };
        });
    }
}
