//! Builds batches of our own: records of internal topics, and the markers that end transactions.
//!
//! Batches are uncompressed and begin at base offset 0 with no leader epoch, like a producer's: the partition sets both.

use super::{
    batch::{Attributes, Batch, HEADER_BYTES, Header},
    varint::{put_varlong, varlong_len},
};
use bytes::BufMut;

/// A batch being built. Every record gets the next offset.
#[derive(Debug, Clone)]
pub struct Builder {
    header: Header,
    payload: Vec<u8>,
}

impl Builder {
    /// Records in effect as soon as they are committed.
    pub fn plain() -> Builder {
        Builder { header: Header::new(Attributes::default()), payload: Vec::new() }
    }

    /// Records of a transaction, pending until its marker.
    pub fn transactional(producer_id: i64, producer_epoch: i16) -> Builder {
        Self::with_producer(
            Attributes { transactional: true, control: false },
            producer_id,
            producer_epoch,
        )
    }

    /// The marker that ends a transaction, alone in its batch (`EndTransactionMarker`).
    pub fn end_transaction(
        producer_id: i64,
        producer_epoch: i16,
        commit: bool,
        coordinator_epoch: i32,
        timestamp: i64,
    ) -> Builder {
        let mut builder = Self::with_producer(
            Attributes { transactional: true, control: true },
            producer_id,
            producer_epoch,
        );
        let key = [0, 0, 0, u8::from(commit)];
        let mut value = [0; 6];
        value[2..].copy_from_slice(&coordinator_epoch.to_be_bytes());
        builder.push(timestamp, Some(&key), Some(&value));
        builder
    }

    fn with_producer(attributes: Attributes, producer_id: i64, producer_epoch: i16) -> Builder {
        let header = Header { producer_id, producer_epoch, ..Header::new(attributes) };
        Builder { header, payload: Vec::new() }
    }

    /// The first record's sequence, for batches an idempotent producer would send.
    pub fn base_sequence(mut self, base_sequence: i32) -> Builder {
        self.header.base_sequence = base_sequence;
        self
    }

    /// Adds a record; the timestamp is in milliseconds since the epoch. A null value is a tombstone.
    pub fn push(&mut self, timestamp: i64, key: Option<&[u8]>, value: Option<&[u8]>) {
        let header = &mut self.header;
        if header.records_count == 0 {
            header.base_timestamp = timestamp;
        }
        header.max_timestamp = header.max_timestamp.max(timestamp);
        header.records_count += 1;
        header.last_offset_delta += 1;
        let timestamp_delta = timestamp.wrapping_sub(header.base_timestamp);
        let offset_delta = i64::from(header.last_offset_delta);
        // Attributes, deltas, key, value, no headers.
        let len = 2
            + varlong_len(timestamp_delta)
            + varlong_len(offset_delta)
            + bytes_len(key)
            + bytes_len(value);
        let out = &mut self.payload;
        put_varlong(out, len as i64);
        out.put_u8(0);
        put_varlong(out, timestamp_delta);
        put_varlong(out, offset_delta);
        put_bytes(out, key);
        put_bytes(out, value);
        out.put_u8(0);
    }

    pub fn is_empty(&self) -> bool {
        self.header.records_count == 0
    }

    /// Bytes of the batch so far, to compare with `max.message.bytes`.
    pub fn size(&self) -> usize {
        HEADER_BYTES + self.payload.len()
    }

    /// The batch; None when it is longer than a batch can be (2 GiB).
    pub fn build(self) -> Option<Batch> {
        Batch::assemble(self.header, &self.payload)
    }
}

fn bytes_len(bytes: Option<&[u8]>) -> usize {
    bytes.map_or(1, |bytes| varlong_len(bytes.len() as i64) + bytes.len())
}

fn put_bytes(out: &mut Vec<u8>, bytes: Option<&[u8]>) {
    let Some(bytes) = bytes else { return put_varlong(out, -1) };
    put_varlong(out, bytes.len() as i64);
    out.extend_from_slice(bytes);
}
