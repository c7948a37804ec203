//! Which idempotent producers wrote to this partition, and what each may write next (KIP-98; Kafka's
//! `ProducerStateManager` and `ProducerAppendInfo`).
//!
//! Owned by the replica. It is a function of the log: a snapshot plus the summaries of the batches after it rebuild it, so
//! live state and recovery go through the same `record`. Not here: transactions, and the checks of a batch that need no
//! memory of earlier ones (`validate`).

use crate::{limits::PRODUCERS_PER_PARTITION_MAX, storage::Summary, wire::ErrorCode};
use bytes::{Buf, BufMut, Bytes, BytesMut};
use std::collections::HashMap;

/// Who appends; it decides what is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// A Produce request: epoch and sequence are checked.
    Client,
    /// A coordinator's journal: no sequences, the epoch alone is checked.
    Coordinator,
}

/// What the producer's past says about a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Checked {
    /// It comes next.
    New,
    /// One of the producer's last five batches, at its place in the log.
    Duplicate { base_offset: i64, last_offset: i64, timestamp: i64 },
}

/// A batch of which a retry is recognised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Written {
    last_sequence: i32,
    /// Last offset minus base offset; the sequences span as much.
    delta: i32,
    last_offset: i64,
    /// The largest timestamp of the batch.
    timestamp: i64,
}

impl Written {
    fn first_sequence(&self) -> i32 {
        sequence_before(self.last_sequence, self.delta)
    }
}

/// Batches per producer whose retry is recognised: a client has at most five requests in flight.
const RECENT_MAX: usize = 5;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Producer {
    epoch: i16,
    last_timestamp: i64,
    /// Oldest first; the first `recent_len` are set.
    recent: [Written; RECENT_MAX],
    recent_len: usize,
}

impl Producer {
    fn recent(&self) -> &[Written] {
        &self.recent[..self.recent_len]
    }

    fn push(&mut self, written: Written) {
        if self.recent_len == RECENT_MAX {
            self.recent.copy_within(1.., 0);
            self.recent_len -= 1;
        }
        self.recent[self.recent_len] = written;
        self.recent_len += 1;
    }
}

/// What clients may know of a producer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Active {
    pub id: i64,
    pub epoch: i16,
    pub last_sequence: i32,
    /// Of the records it wrote last, in milliseconds since the epoch.
    pub last_timestamp: i64,
}

/// The producers of one partition, by producer id.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Producers {
    by_id: HashMap<i64, Producer>,
}

impl Producers {
    pub fn is_empty(&self) -> bool {
        self.by_id.is_empty()
    }

    /// Whether `batch` may be appended. Errors: INVALID_PRODUCER_EPOCH, OUT_OF_ORDER_SEQUENCE_NUMBER.
    pub fn check(&self, batch: &Summary, origin: Origin) -> Result<Checked, ErrorCode> {
        // A producer nobody remembers may begin with any sequence: its state has expired, or the topic is a new one.
        let Some(producer) = self.by_id.get(&batch.producer_id) else { return Ok(Checked::New) };
        if origin == Origin::Client
            && let Some(written) = duplicate(producer, batch)
        {
            return Ok(Checked::Duplicate {
                base_offset: written.last_offset - i64::from(written.delta),
                last_offset: written.last_offset,
                timestamp: written.timestamp,
            });
        }
        if batch.producer_epoch < producer.epoch {
            return Err(ErrorCode::InvalidProducerEpoch);
        }
        if origin == Origin::Coordinator {
            return Ok(Checked::New);
        }
        let expected = match producer.recent().last() {
            Some(last) if batch.producer_epoch == producer.epoch => {
                sequence_after(last.last_sequence, 1)
            }
            _ => 0,
        };
        if batch.first_sequence == expected {
            Ok(Checked::New)
        } else {
            Err(ErrorCode::OutOfOrderSequenceNumber)
        }
    }

    /// Remembers an appended batch; nothing when it has no producer.
    pub fn record(&mut self, batch: &Summary) {
        if batch.producer_id < 0 {
            return;
        }
        let delta = delta(batch);
        let producer = self
            .by_id
            .entry(batch.producer_id)
            .or_insert(Producer { epoch: batch.producer_epoch, ..Producer::default() });
        if producer.epoch != batch.producer_epoch {
            *producer = Producer { epoch: batch.producer_epoch, ..Producer::default() };
        }
        producer.last_timestamp = batch.max_timestamp;
        producer.push(Written {
            last_sequence: sequence_after(batch.first_sequence, delta),
            delta,
            last_offset: batch.last_offset,
            timestamp: batch.max_timestamp,
        });
        if self.by_id.len() > PRODUCERS_PER_PARTITION_MAX {
            self.forget_oldest(PRODUCERS_PER_PARTITION_MAX / 10);
        }
    }

    /// All of them, in id order.
    pub fn active(&self) -> Vec<Active> {
        let active = self.by_id.iter().map(|(id, producer)| Active {
            id: *id,
            epoch: producer.epoch,
            last_sequence: producer.recent().last().map_or(-1, |written| written.last_sequence),
            last_timestamp: producer.last_timestamp,
        });
        let mut active: Vec<Active> = active.collect();
        active.sort_unstable_by_key(|producer| producer.id);
        active
    }

    /// Forgets producers that have written nothing for `expiration_ms` (`producer.id.expiration.ms`), by record time as
    /// Kafka counts it.
    pub fn expire(&mut self, wall_ms: i64, expiration_ms: i64) {
        self.by_id
            .retain(|_, producer| wall_ms.saturating_sub(producer.last_timestamp) < expiration_ms);
    }

    /// Which ones go depends on the log alone, so recovery forgets the same.
    fn forget_oldest(&mut self, count: usize) {
        let last_offset =
            |producer: &Producer| producer.recent().last().map_or(-1, |w| w.last_offset);
        let mut ends: Vec<i64> = self.by_id.values().map(last_offset).collect();
        let (_, cut, _) = ends.select_nth_unstable(count);
        let cut = *cut;
        self.by_id.retain(|_, producer| last_offset(producer) >= cut);
    }
}

fn duplicate<'a>(producer: &'a Producer, batch: &Summary) -> Option<&'a Written> {
    if producer.epoch != batch.producer_epoch {
        return None;
    }
    let last_sequence = sequence_after(batch.first_sequence, delta(batch));
    producer.recent().iter().find(|written| {
        written.last_sequence == last_sequence && written.first_sequence() == batch.first_sequence
    })
}

/// Offsets between the first and the last record of a batch; what `validate` and the log let through fits.
fn delta(batch: &Summary) -> i32 {
    i32::try_from(batch.last_offset - batch.base_offset).unwrap_or(i32::MAX)
}

/// Sequences run from 0 to `i32::MAX` and wrap.
fn sequence_after(sequence: i32, steps: i32) -> i32 {
    (sequence.wrapping_add(steps)) & i32::MAX
}

fn sequence_before(sequence: i32, steps: i32) -> i32 {
    (sequence.wrapping_sub(steps)) & i32::MAX
}

/// A snapshot that cannot be used; replaying the log replaces it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SnapshotError {
    #[error("producer snapshot of version {0} is not known")]
    Version(u16),
    #[error("producer snapshot is damaged")]
    Damaged,
}

/// The snapshot's layout, big-endian:
///
/// | bytes | |
/// |---|---|
/// | 2 | version, 1 |
/// | 4 | number of producers |
/// | per producer | in id order |
/// | 8, 2, 8 | producer id, epoch, last timestamp |
/// | 1 | number of batches, at most 5, oldest first |
/// | per batch 4, 4, 8, 8 | last sequence, offset delta, last offset, timestamp |
/// | 4 | CRC-32C of all before |
const SNAPSHOT_VERSION: u16 = 1;
const PRODUCER_BYTES: usize = 19;
const WRITTEN_BYTES: usize = 24;

impl Producers {
    pub fn encode(&self) -> Bytes {
        let mut producers: Vec<(&i64, &Producer)> = self.by_id.iter().collect();
        producers.sort_unstable_by_key(|(id, _)| **id);
        let most = PRODUCER_BYTES + RECENT_MAX * WRITTEN_BYTES;
        let mut out = BytesMut::with_capacity(10 + producers.len() * most);
        out.put_u16(SNAPSHOT_VERSION);
        out.put_u32(producers.len() as u32);
        for (id, producer) in producers {
            out.put_i64(*id);
            out.put_i16(producer.epoch);
            out.put_i64(producer.last_timestamp);
            out.put_u8(producer.recent_len as u8);
            for written in producer.recent() {
                out.put_i32(written.last_sequence);
                out.put_i32(written.delta);
                out.put_i64(written.last_offset);
                out.put_i64(written.timestamp);
            }
        }
        let crc = crc32c::crc32c(&out);
        out.put_u32(crc);
        out.freeze()
    }

    pub fn decode(snapshot: &[u8]) -> Result<Producers, SnapshotError> {
        let (mut body, mut crc) = snapshot
            .len()
            .checked_sub(4)
            .map(|end| snapshot.split_at(end))
            .ok_or(SnapshotError::Damaged)?;
        if crc.get_u32() != crc32c::crc32c(body) {
            return Err(SnapshotError::Damaged);
        }
        let version = body.try_get_u16().map_err(|_| SnapshotError::Damaged)?;
        if version != SNAPSHOT_VERSION {
            return Err(SnapshotError::Version(version));
        }
        let count = body.try_get_u32().map_err(|_| SnapshotError::Damaged)?;
        let mut by_id = HashMap::with_capacity((count as usize).min(body.len() / PRODUCER_BYTES));
        for _ in 0..count {
            let (id, producer) = decode_producer(&mut body).ok_or(SnapshotError::Damaged)?;
            by_id.insert(id, producer);
        }
        if body.is_empty() { Ok(Producers { by_id }) } else { Err(SnapshotError::Damaged) }
    }
}

fn decode_producer(body: &mut &[u8]) -> Option<(i64, Producer)> {
    let id = body.try_get_i64().ok()?;
    let mut producer = Producer {
        epoch: body.try_get_i16().ok()?,
        last_timestamp: body.try_get_i64().ok()?,
        ..Producer::default()
    };
    let batches = body.try_get_u8().ok()?;
    if usize::from(batches) > RECENT_MAX {
        return None;
    }
    for _ in 0..batches {
        producer.push(Written {
            last_sequence: body.try_get_i32().ok()?,
            delta: body.try_get_i32().ok()?,
            last_offset: body.try_get_i64().ok()?,
            timestamp: body.try_get_i64().ok()?,
        });
    }
    Some((id, producer))
}

#[cfg(test)]
mod tests;
