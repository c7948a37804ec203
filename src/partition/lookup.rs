//! Finding offsets: by time, by the largest timestamp, by leader epoch.
//!
//! Storage finds the batch by its summary; only that batch is decoded. Everything here that takes a store is blocking.

use crate::{
    ids::{LeaderEpoch, LogId, Offset},
    limits::DECOMPRESSED_BATCH_MAX,
    storage::{LogStore, StorageError},
    wire::{
        Record,
        batch::{Batch, HEADER_BYTES, Header},
        compression::{Compression, decompress},
        records,
    },
};
use bytes::Bytes;

/// A record that was looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    pub offset: Offset,
    /// Milliseconds since the epoch.
    pub timestamp: i64,
    /// Of the batch it is in.
    pub leader_epoch: LeaderEpoch,
}

/// Where a record is looked for: in [`from`, `end`), of which everything below `next` has been seen.
#[derive(Debug, Clone, Copy)]
pub(super) struct Within {
    pub from: Offset,
    pub next: Offset,
    pub end: Offset,
}

/// How far a search has come.
#[derive(Debug)]
pub(super) enum Step {
    Done(Option<Found>),
    /// Not found below this offset.
    Next(Offset),
}

/// Looks for the first record with a timestamp at or above `timestamp`, into one batch at most.
pub(super) fn at_or_after(
    store: &dyn LogStore,
    log: LogId,
    timestamp: i64,
    within: Within,
) -> Result<Step, StorageError> {
    let Within { from, next, end } = within;
    if next >= end {
        return Ok(Step::Done(None));
    }
    let Some(summary) = store.first_at_or_after(log, timestamp, next, end)? else {
        return Ok(Step::Done(None));
    };
    let found = first(store, log, summary.base_offset, |record| {
        record.offset >= from && record.timestamp >= timestamp
    })?;
    Ok(match found {
        Some(found) => Step::Done((found.offset < end).then_some(found)),
        // The record lies below the log start, or the producer's header promised too much.
        None => Step::Next(summary.last_offset + 1),
    })
}

/// The first record with the largest timestamp in [`from`, `end`); None when no record there has one.
pub(super) fn with_max_timestamp(
    store: &dyn LogStore,
    log: LogId,
    from: Offset,
    end: Offset,
) -> Result<Option<Found>, StorageError> {
    match store.with_max_timestamp(log, from, end)? {
        Some(summary) if summary.max_timestamp >= 0 => {
            first(store, log, summary.base_offset, |record| {
                record.timestamp == summary.max_timestamp
            })
        }
        _ => Ok(None),
    }
}

/// The first record of the batch at `base_offset` that `wanted` accepts; none in a batch that cannot be decoded.
fn first(
    store: &dyn LogStore,
    log: LogId,
    base_offset: Offset,
    wanted: impl Fn(&Record<'_>) -> bool,
) -> Result<Option<Found>, StorageError> {
    let bytes = store.batch(log, base_offset)?;
    let Some(header) = Header::parse(&bytes) else { return Ok(None) };
    let Some(payload) = payload(&Batch { header, bytes }) else { return Ok(None) };
    let record = records(&header, &payload).map_while(Result::ok).find(wanted);
    Ok(record.map(|record| Found {
        offset: record.offset,
        timestamp: record.timestamp,
        leader_epoch: LeaderEpoch(header.partition_leader_epoch),
    }))
}

/// The batch's records, decompressed; None when they are damaged or too large.
pub(super) fn payload(batch: &Batch) -> Option<Bytes> {
    match batch.header.compression()? {
        Compression::None => Some(batch.payload()),
        codec => decompress(codec, &batch.bytes[HEADER_BYTES..], DECOMPRESSED_BATCH_MAX).ok(),
    }
}

/// The largest epoch up to `requested` and where it ends (`LeaderEpochFileCache.endOffsetFor`): the log end for the latest
/// epoch, else the start of the next one. (-1, -1) when `requested` is -1 or above the latest; an epoch before the
/// first is answered with itself and the start of the first.
pub(super) fn epoch_end(
    epochs: &[(LeaderEpoch, Offset)],
    requested: i32,
    log_end: Offset,
) -> (i32, Offset) {
    let after = epochs.partition_point(|(epoch, _)| epoch.0 <= requested);
    let floor = after.checked_sub(1).map(|at| epochs[at].0.0);
    match epochs.get(after) {
        _ if requested == -1 => (-1, -1),
        Some((_, start)) => (floor.unwrap_or(requested), *start),
        None if floor == Some(requested) => (requested, log_end),
        None => (-1, -1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_epoch_ends_where_the_next_one_begins() {
        let epochs: Vec<_> =
            [(1, 10), (3, 20), (7, 50)].map(|(epoch, start)| (LeaderEpoch(epoch), start)).into();
        let table = [
            (-2, (-2, 10)),
            (-1, (-1, -1)),
            (0, (0, 10)),
            (1, (1, 20)),
            (2, (1, 20)),
            (3, (3, 50)),
            (6, (3, 50)),
            (7, (7, 60)),
            (8, (-1, -1)),
        ];
        for (requested, expected) in table {
            assert_eq!(epoch_end(&epochs, requested, 60), expected, "epoch {requested}");
        }
        assert_eq!(epoch_end(&[], 0, 0), (-1, -1));
    }
}
