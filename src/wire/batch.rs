//! A record batch of magic 2 (KIP-98; `DefaultRecordBatch`) as a view: the 61-byte header is parsed and its checksum
//! checked, the records behind it stay as they are.
//!
//! The checksum covers the bytes from the attributes on, so base offset and leader epoch are set without touching it.
//! Not here: reading records (`record`), building batches (`builder`), decompression (`compression`).

use super::{ErrorCode, compression::Compression};
use bytes::{Buf, BufMut, Bytes};

/// Bytes of the header, the records' count included.
pub const HEADER_BYTES: usize = 61;
/// Where the bytes under the checksum begin.
const CHECKSUM_FROM: usize = 21;
/// Base offset and length: what the length does not count.
const LOG_OVERHEAD: usize = 12;

/// Smallest batch length Kafka takes for one (`LegacyRecord.RECORD_OVERHEAD_V0`).
const LENGTH_MIN: i32 = 14;
const MAGIC_AT: usize = 16;
const MAGIC: i8 = 2;

const LOG_APPEND_TIME: i16 = 1 << 3;
const TRANSACTIONAL: i16 = 1 << 4;
const CONTROL: i16 = 1 << 5;
/// The codec, these three and the delete horizon.
const KNOWN_ATTRIBUTES: i16 = 0x7f;

/// The header of a batch, field by field as on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    pub base_offset: i64,
    /// Bytes behind this field.
    pub batch_length: i32,
    pub partition_leader_epoch: i32,
    pub magic: i8,
    pub crc: u32,
    pub attributes: i16,
    pub last_offset_delta: i32,
    /// Milliseconds since the epoch, as is `max_timestamp`; -1 when there is none.
    pub base_timestamp: i64,
    pub max_timestamp: i64,
    /// -1: none.
    pub producer_id: i64,
    pub producer_epoch: i16,
    pub base_sequence: i32,
    pub records_count: i32,
}

impl Header {
    /// Reads a header; None when there are fewer than 61 bytes. Nothing is checked.
    pub fn parse(mut bytes: &[u8]) -> Option<Header> {
        if bytes.len() < HEADER_BYTES {
            return None;
        }
        Some(Header {
            base_offset: bytes.get_i64(),
            batch_length: bytes.get_i32(),
            partition_leader_epoch: bytes.get_i32(),
            magic: bytes.get_i8(),
            crc: bytes.get_u32(),
            attributes: bytes.get_i16(),
            last_offset_delta: bytes.get_i32(),
            base_timestamp: bytes.get_i64(),
            max_timestamp: bytes.get_i64(),
            producer_id: bytes.get_i64(),
            producer_epoch: bytes.get_i16(),
            base_sequence: bytes.get_i32(),
            records_count: bytes.get_i32(),
        })
    }

    /// The header's bytes.
    pub fn encode(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        let mut out = &mut bytes[..];
        out.put_i64(self.base_offset);
        out.put_i32(self.batch_length);
        out.put_i32(self.partition_leader_epoch);
        out.put_i8(self.magic);
        out.put_u32(self.crc);
        out.put_i16(self.attributes);
        out.put_i32(self.last_offset_delta);
        out.put_i64(self.base_timestamp);
        out.put_i64(self.max_timestamp);
        out.put_i64(self.producer_id);
        out.put_i16(self.producer_epoch);
        out.put_i32(self.base_sequence);
        out.put_i32(self.records_count);
        bytes
    }

    /// Bytes of the whole batch as the header says; 0 for a length that is none.
    pub fn size(&self) -> usize {
        usize::try_from(self.batch_length).map_or(0, |length| LOG_OVERHEAD + length)
    }

    /// Inclusive.
    pub fn last_offset(&self) -> i64 {
        self.base_offset.saturating_add(self.last_offset_delta.into())
    }

    /// Inclusive; -1 without a producer. Sequences go on with 0 after `i32::MAX`.
    pub fn last_sequence(&self) -> i32 {
        if self.base_sequence < 0 {
            return -1;
        }
        self.base_sequence.wrapping_add(self.last_offset_delta) & i32::MAX
    }

    /// None for the codec ids that do not exist; `check` lets none through.
    pub fn compression(&self) -> Option<Compression> {
        Compression::from_attributes(self.attributes)
    }

    pub fn has_producer_id(&self) -> bool {
        self.producer_id >= 0
    }

    pub fn is_log_append_time(&self) -> bool {
        self.attributes & LOG_APPEND_TIME != 0
    }

    pub fn is_transactional(&self) -> bool {
        self.attributes & TRANSACTIONAL != 0
    }

    pub fn is_control(&self) -> bool {
        self.attributes & CONTROL != 0
    }

    pub(super) fn new(attributes: Attributes) -> Header {
        let mut bits = 0;
        if attributes.transactional {
            bits |= TRANSACTIONAL;
        }
        if attributes.control {
            bits |= CONTROL;
        }
        Header {
            base_offset: 0,
            batch_length: 0,
            partition_leader_epoch: -1,
            magic: MAGIC,
            crc: 0,
            attributes: bits,
            last_offset_delta: -1,
            base_timestamp: -1,
            max_timestamp: -1,
            producer_id: -1,
            producer_epoch: -1,
            base_sequence: -1,
            records_count: 0,
        }
    }
}

/// What a new batch is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Attributes {
    pub transactional: bool,
    pub control: bool,
}

/// One whole batch whose header and checksum are right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    pub header: Header,
    /// The batch from its base offset to its last record.
    pub bytes: Bytes,
}

impl Batch {
    /// The records, compressed as the attributes say.
    pub fn payload(&self) -> Bytes {
        self.bytes.slice(HEADER_BYTES..)
    }

    /// Puts a header in front of records; length and checksum are computed. None when it gets too long.
    pub fn assemble(mut header: Header, payload: &[u8]) -> Option<Batch> {
        let size = HEADER_BYTES + payload.len();
        header.batch_length = i32::try_from(size - LOG_OVERHEAD).ok()?;
        header.crc = 0;
        let mut bytes = Vec::with_capacity(size);
        bytes.extend_from_slice(&header.encode());
        bytes.extend_from_slice(payload);
        header.crc = crc32c::crc32c(&bytes[CHECKSUM_FROM..]);
        bytes[..HEADER_BYTES].copy_from_slice(&header.encode());
        Some(Batch { header, bytes: bytes.into() })
    }

    /// The batch as a topic in LogAppendTime keeps it: every record gets the broker's time. Copies the batch.
    pub fn with_log_append_time(&self, now_ms: i64) -> Batch {
        let header = self.header;
        self.with_timestamp(Header {
            attributes: header.attributes | LOG_APPEND_TIME,
            max_timestamp: now_ms,
            ..header
        })
    }

    /// The batch with its producer's times and its largest timestamp put right, as Kafka does when the producer's header is
    /// wrong. Copies the batch when it was.
    pub fn with_create_time(&self, max_timestamp: i64) -> Batch {
        let header = self.header;
        self.with_timestamp(Header {
            attributes: header.attributes & !LOG_APPEND_TIME,
            max_timestamp,
            ..header
        })
    }

    fn with_timestamp(&self, mut header: Header) -> Batch {
        if header == self.header {
            return self.clone();
        }
        header.attributes &= KNOWN_ATTRIBUTES;
        Batch::assemble(header, &self.bytes[HEADER_BYTES..]).expect("as long as it was")
    }
}

/// Splits stored batches, one after another; ends at the first bytes that are no whole batch. Checksums are not checked.
pub fn batches(mut bytes: Bytes) -> impl Iterator<Item = Batch> {
    std::iter::from_fn(move || {
        let header = Header::parse(&bytes)?;
        let size = header.size();
        if header.magic != MAGIC || size < HEADER_BYTES || bytes.len() < size {
            return None;
        }
        Some(Batch { header, bytes: bytes.split_to(size) })
    })
}

/// Why a batch is refused before its records are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flaw {
    pub code: ErrorCode,
    /// Whether Kafka finds it in the log, and then tells where that starts.
    pub tells_log_start: bool,
}

/// Checks what one partition of a Produce request brings: exactly one whole batch of magic 2 that a client may write, of at
/// most `bytes_max` (`max.message.bytes`). Bytes behind it that are too few for another batch are dropped. The order of
/// checks is Kafka's: `ProduceRequest.validateRecords`, `UnifiedLog.analyzeAndValidateRecords`,
/// `LogValidator.validateBatch`. `version` is that of the request. Records are not looked at (see `record`).
pub fn check(version: i16, bytes: Bytes, bytes_max: usize) -> Result<Batch, Flaw> {
    let flaw = |code| Flaw { code, tells_log_start: false };
    let in_log = |code| Err(Flaw { code, tells_log_start: true });
    let size = next_batch(&bytes).map_err(flaw)?.ok_or(flaw(ErrorCode::InvalidRecord))?;
    if bytes[MAGIC_AT] != MAGIC as u8 {
        return Err(flaw(ErrorCode::InvalidRecord));
    }
    let header = Header::parse(&bytes[..size]).ok_or(flaw(ErrorCode::CorruptMessage))?;
    let compression = header.compression();
    match compression {
        Some(Compression::Zstd) if version < 7 => {
            return Err(flaw(ErrorCode::UnsupportedCompressionType));
        }
        // Kafka asks for the codec before v7 only, to refuse zstd; later it fails in the log.
        None if version < 7 => return Err(flaw(ErrorCode::UnknownServerError)),
        _ => {}
    }
    if next_batch(&bytes[size..]).map_err(flaw)?.is_some() {
        return Err(flaw(ErrorCode::InvalidRecord));
    }
    if header.base_offset != 0 {
        return in_log(ErrorCode::InvalidRecord);
    }
    if size > bytes_max {
        return Err(flaw(ErrorCode::MessageTooLarge));
    }
    if header.crc != crc32c::crc32c(&bytes[CHECKSUM_FROM..size]) {
        return Err(flaw(ErrorCode::CorruptMessage));
    }
    if compression.is_none() {
        return in_log(ErrorCode::UnknownServerError);
    }
    let count = i64::from(header.last_offset_delta) + 1;
    if count <= 0 || count != i64::from(header.records_count) || header.is_control() {
        return in_log(ErrorCode::InvalidRecord);
    }
    if header.has_producer_id() && header.base_sequence < 0 {
        return in_log(ErrorCode::InvalidRecord);
    }
    Ok(Batch { header, bytes: bytes.slice(..size) })
}

/// The size of the batch at the start of `bytes`, of any magic; None when they are too few for a whole one
/// (`ByteBufferLogInputStream`).
fn next_batch(bytes: &[u8]) -> Result<Option<usize>, ErrorCode> {
    let Some((head, _)) = bytes.split_first_chunk::<LOG_OVERHEAD>() else { return Ok(None) };
    let [.., l0, l1, l2, l3] = *head;
    let length = i32::from_be_bytes([l0, l1, l2, l3]);
    if length < LENGTH_MIN {
        return Err(ErrorCode::CorruptMessage);
    }
    match bytes.get(MAGIC_AT) {
        None => Ok(None),
        Some(magic) if !(0..=MAGIC).contains(&(*magic as i8)) => Err(ErrorCode::CorruptMessage),
        Some(_) => {
            let size = LOG_OVERHEAD + length as usize;
            Ok((size <= bytes.len()).then_some(size))
        }
    }
}

#[cfg(test)]
mod tests;
