//! What plants do to batches, byte by byte. Not here: when.

use crate::{
    ids::{LeaderEpoch, Offset},
    storage::{HEAD_BYTES, NewBatch, Summary},
    wire::{Batch, Compression, batch::Header, records},
};
use bytes::Bytes;

/// A stored batch as a new one, at the same place.
pub fn parse(bytes: &Bytes) -> Option<NewBatch> {
    let header = Header::parse(bytes)?;
    let head = bytes.first_chunk::<HEAD_BYTES>()?;
    let summary = Summary {
        base_offset: header.base_offset,
        last_offset: header.last_offset(),
        max_timestamp: header.max_timestamp,
        leader_epoch: LeaderEpoch(header.partition_leader_epoch),
        attributes: header.attributes,
        producer_id: header.producer_id,
        producer_epoch: header.producer_epoch,
        first_sequence: header.base_sequence,
        size: u32::try_from(bytes.len()).ok()?,
        crc: header.crc,
    };
    Some(NewBatch { summary, head: *head, body: bytes.slice(HEAD_BYTES..) })
}

/// The same records somewhere else.
pub fn moved(batch: &NewBatch, base_offset: Offset) -> NewBatch {
    let mut moved = batch.clone();
    moved.summary.last_offset += base_offset - batch.summary.base_offset;
    moved.summary.base_offset = base_offset;
    moved.head[..8].copy_from_slice(&base_offset.to_be_bytes());
    moved
}

/// Two neighbours, each behind the other; together they take the same place.
pub fn swapped(a: &NewBatch, b: &NewBatch) -> (NewBatch, NewBatch) {
    let first = moved(b, a.summary.base_offset);
    let second = moved(a, first.summary.last_offset + 1);
    (first, second)
}

/// The same place without records, as compaction leaves a batch.
pub fn emptied(batch: &NewBatch) -> Option<NewBatch> {
    let header = Header::parse(&whole(batch))?;
    let attributes = Compression::None.set_in(header.attributes);
    let header = Header { records_count: 0, attributes, ..header };
    parse(&Batch::assemble(header, &[])?.bytes)
}

/// Whether a group coordinator wrote it.
pub fn is_of_coordinator(batch: &NewBatch) -> bool {
    is_coordinators(&whole(batch))
}

/// The same of a stored batch.
pub fn is_coordinators(bytes: &Bytes) -> bool {
    first_key(bytes, |key| matches!(kind(key), Some(Kind::Commit | Kind::Group)))
}

/// Whether it keeps committed offsets, and nothing else.
pub fn is_commit(bytes: &Bytes) -> bool {
    first_key(bytes, |key| kind(key) == Some(Kind::Commit))
}

fn whole(batch: &NewBatch) -> Bytes {
    [&batch.head[..], &batch.body[..]].concat().into()
}

/// What `is` says of the key of the first record. Coordinators neither compress nor number what they write.
fn first_key(bytes: &Bytes, is: impl Fn(&[u8]) -> bool) -> bool {
    let Some(header) = Header::parse(bytes) else { return false };
    if header.has_producer_id() || header.compression() != Some(Compression::None) {
        return false;
    }
    let payload = bytes.slice(crate::wire::batch::HEADER_BYTES..);
    let first = records(&header, &payload).next();
    first.and_then(Result::ok).and_then(|record| record.key).is_some_and(is)
}

#[derive(PartialEq, Eq)]
enum Kind {
    Commit,
    Group,
}

/// What a key of `__consumer_offsets` is about (Kafka's `OffsetCommitKey`, `GroupMetadataKey`).
fn kind(key: &[u8]) -> Option<Kind> {
    let (version, rest) = key.split_first_chunk::<2>()?;
    let rest = after_string(rest)?;
    match i16::from_be_bytes(*version) {
        0 | 1 => (after_string(rest)?.len() == 4).then_some(Kind::Commit),
        2 => rest.is_empty().then_some(Kind::Group),
        _ => None,
    }
}

fn after_string(bytes: &[u8]) -> Option<&[u8]> {
    let (len, rest) = bytes.split_first_chunk::<2>()?;
    rest.get(usize::try_from(i16::from_be_bytes(*len)).ok()?..)
}
