//! Batches of one log in memory, in order: all of them in `mem`, the most recent ones in `rocks`.
//!
//! Bytes lie on a tape, or in a file that the entry keeps open. Not here: log start and end, and what is synced.

use super::slab::{Pool, Spot, Tape};
use super::{FileRange, Read, ReadRequest, Slice, Summary};
use crate::ids::Offset;
use bytes::Bytes;
use std::{collections::VecDeque, fs::File, sync::Arc};

/// Where the bytes of a batch lie.
#[derive(Debug, Clone)]
pub enum Place {
    Tape(Spot),
    File { file: Arc<File>, at: u64 },
}

/// One batch.
#[derive(Debug, Clone)]
struct Entry {
    summary: Summary,
    place: Place,
}

pub struct Chain {
    entries: VecDeque<Entry>,
    tape: Tape,
}

impl Chain {
    pub fn new(pool: Arc<Pool>) -> Chain {
        Chain { entries: VecDeque::new(), tape: Tape::new(pool) }
    }

    /// Copies a batch to the end: `head`, then `body`.
    pub fn push(&mut self, summary: Summary, head: &[u8], body: &[u8]) {
        let spot = self.tape.push(head, body);
        self.entries.push_back(Entry { summary, place: Place::Tape(spot) });
    }

    /// Notes a batch at the end whose bytes lie in a file.
    pub fn push_file(&mut self, summary: Summary, file: Arc<File>, at: u64) {
        self.entries.push_back(Entry { summary, place: Place::File { file, at } });
    }

    /// The base offset of the first batch held.
    pub fn first(&self) -> Option<Offset> {
        self.entries.front().map(|entry| entry.summary.base_offset)
    }

    /// Summaries from the batch that contains `from`, or the first one after it.
    pub fn summaries(&self, from: Offset) -> impl Iterator<Item = &Summary> {
        self.entries.range(self.index(from)..).map(|entry| &entry.summary)
    }

    /// The batch that begins at `base_offset`, where it lies in memory.
    pub fn batch(&mut self, base_offset: Offset) -> Option<Bytes> {
        let entry = self.entries.get(self.index(base_offset))?;
        let summary = entry.summary;
        match entry.place {
            Place::Tape(spot) if summary.base_offset == base_offset => {
                Some(self.tape.get(spot, summary.size as usize))
            }
            _ => None,
        }
    }

    /// Whole batches from the one that contains `request.from`, or the first one after it; neighbours come as one slice.
    pub fn read(&mut self, request: ReadRequest) -> Read {
        let mut read = Read { next_offset: request.from, ..Read::default() };
        let mut in_memory = 0;
        let mut run: Option<(Place, u32)> = None;
        for index in self.index(request.from)..self.entries.len() {
            let Entry { summary, place } = &self.entries[index];
            let size = summary.size as usize;
            let first = read.bytes == 0;
            let fits = read.bytes.saturating_add(size) <= request.max_bytes;
            if summary.base_offset >= request.end || !(fits || first && request.at_least_one) {
                break;
            }
            if matches!(place, Place::Tape(_)) {
                if !first && in_memory + size > request.memory_max {
                    break;
                }
                in_memory += size;
            }
            read.bytes += size;
            read.next_offset = summary.last_offset + 1;
            run = match run {
                Some((start, len))
                    if follows(&start, len, place) && len.checked_add(summary.size).is_some() =>
                {
                    Some((start, len + summary.size))
                }
                before => {
                    let next = (place.clone(), summary.size);
                    if let Some((start, len)) = before {
                        read.slices.push(slice(&mut self.tape, start, len));
                    }
                    Some(next)
                }
            };
        }
        if let Some((start, len)) = run {
            read.slices.push(slice(&mut self.tape, start, len));
        }
        read
    }

    /// Removes every batch whose last offset is at or above `to`; they come back newest first.
    pub fn truncate(&mut self, to: Offset) -> Vec<Summary> {
        let mut removed = Vec::new();
        while self.entries.back().is_some_and(|entry| entry.summary.last_offset >= to) {
            removed.extend(self.entries.pop_back().map(|entry| entry.summary));
        }
        removed
    }

    /// Lets go of the batches that lie wholly below `start`.
    pub fn trim(&mut self, start: Offset) {
        while self.entries.front().is_some_and(|entry| entry.summary.last_offset < start) {
            self.entries.pop_front();
        }
        self.release();
    }

    /// Lets go of the oldest batch; its size.
    pub fn pop_front(&mut self) -> Option<u32> {
        let size = self.entries.pop_front()?.summary.size;
        self.release();
        Some(size)
    }

    fn release(&mut self) {
        match self.entries.front().map(|entry| &entry.place) {
            Some(Place::Tape(spot)) => self.tape.trim(Some(*spot)),
            Some(Place::File { .. }) => {}
            None => self.tape.trim(None),
        }
    }

    fn index(&self, from: Offset) -> usize {
        self.entries.partition_point(|entry| entry.summary.last_offset < from)
    }
}

fn follows(start: &Place, len: u32, next: &Place) -> bool {
    match (start, next) {
        (Place::Tape(spot), Place::Tape(next)) => spot.is_followed_by(len, *next),
        (Place::File { file, at }, Place::File { file: next_file, at: next_at }) => {
            Arc::ptr_eq(file, next_file) && at + u64::from(len) == *next_at
        }
        _ => false,
    }
}

fn slice(tape: &mut Tape, start: Place, len: u32) -> Slice {
    match start {
        Place::Tape(spot) => Slice::Bytes(tape.get(spot, len as usize)),
        Place::File { file, at } => Slice::File(FileRange { file, at, len: len as usize }),
    }
}
