//! What a client's batch must fulfil in this topic, and what the broker changes in it (Kafka's `LogValidator`).
//!
//! Every record is looked at, decompressed when it must be: that its fields fill exactly the bytes it says it has, its key
//! where the topic is compacted, its timestamp. The header gets the largest timestamp there is when it says another. Records
//! are never encoded again; a codec change copies them verbatim. What concerns the batch's header alone, its size included,
//! was checked by `wire::batch`.
//!
//! Two things differ from Kafka. It does not compare a compressed record's length with its fields, and stores what no
//! consumer can read; and what comes out of a batch is limited here (`DECOMPRESSED_BATCH_MAX`).

use crate::{
    config::topic::{Compression as Wanted, LogConfig, TimestampType},
    limits::{
        COMPRESSED_AT_ONCE_MAX, DECOMPRESSED_AT_ONCE_MAX, DECOMPRESSED_BATCH_MAX, RECORD_ERRORS_MAX,
    },
    partition::{AppendError, replica::Incoming},
    wire::{
        ErrorCode, Record,
        batch::{Batch, HEADER_BYTES, Header},
        compression::{CodecError, Compression, compress, decompress},
        records,
    },
};
use bytes::Bytes;

/// A batch as it will be written.
#[derive(Debug)]
pub struct Validated {
    pub batch: Incoming,
    /// Milliseconds since the epoch in a topic with LogAppendTime, else -1.
    pub log_append_time: i64,
}

/// A faulty record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordError {
    /// Its place in the batch, from 0.
    pub batch_index: i32,
    /// What the record says of its place.
    pub offset_delta: i32,
    pub fault: Fault,
}

/// What is wrong with a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// It has no key, and the topic is compacted.
    Key,
    /// It is not of a time the topic takes: `from` to `to`, both inclusive, in milliseconds since the epoch.
    Timestamp { timestamp: i64, from: i64, to: i64 },
    /// Its producer set LogAppendTime, which is the broker's to set.
    AppendTime,
}

/// Checks a batch that came at `now_ms` (milliseconds since the epoch). Takes up to `DECOMPRESSED_BATCH_MAX` of memory, and
/// the time to fill it. A `log_start` of the error that is not -1 stands for the partition's. Errors: UNKNOWN_SERVER_ERROR
/// (what does not decompress, as in Kafka), INVALID_RECORD, INVALID_TIMESTAMP, MESSAGE_TOO_LARGE, RECORD_LIST_TOO_LARGE.
pub fn validate(batch: Batch, config: &LogConfig, now_ms: i64) -> Result<Validated, AppendError> {
    within(batch, config, now_ms, DECOMPRESSED_BATCH_MAX).map_err(|invalid| match invalid {
        Invalid::Refused(error) => error,
        Invalid::TooMuch => refuse(ErrorCode::MessageTooLarge, -1),
    })
}

/// `validate`, when that takes little memory and time beyond the batch's own; None when it does not.
pub fn at_once(
    batch: &Batch,
    config: &LogConfig,
    now_ms: i64,
) -> Option<Result<Validated, AppendError>> {
    let header = &batch.header;
    let compressed = header.compression() != Some(Compression::None);
    if target(header, config).is_some() || compressed && batch.bytes.len() > COMPRESSED_AT_ONCE_MAX
    {
        return None;
    }
    match within(batch.clone(), config, now_ms, DECOMPRESSED_AT_ONCE_MAX) {
        Ok(validated) => Some(Ok(validated)),
        Err(Invalid::Refused(error)) => Some(Err(error)),
        Err(Invalid::TooMuch) => None,
    }
}

enum Invalid {
    Refused(AppendError),
    /// More comes out of the batch than it may.
    TooMuch,
}

impl From<AppendError> for Invalid {
    fn from(error: AppendError) -> Invalid {
        Invalid::Refused(error)
    }
}

fn within(
    batch: Batch,
    config: &LogConfig,
    now_ms: i64,
    decompressed_max: usize,
) -> Result<Validated, Invalid> {
    let header = batch.header;
    let payload = payload(&batch, decompressed_max)?;
    let seen = look(&header, &payload, config, now_ms)?;
    let mut batch = match config.message_timestamp_type {
        TimestampType::CreateTime => batch.with_create_time(seen.max_timestamp),
        TimestampType::LogAppendTime => batch.with_log_append_time(now_ms),
    };
    match target(&header, config) {
        Some((codec, level)) => batch = recompress(&batch, &payload, codec, level, config)?,
        // Kafka would number the records anew, and cannot without their keys and values.
        None if header.compression() != Some(Compression::None) && !seen.consecutive => {
            return Err(refuse(ErrorCode::UnknownServerError, 0).into());
        }
        None => {}
    }
    if batch.bytes.len() > config.segment_bytes.max(0) as usize {
        return Err(refuse(ErrorCode::RecordListTooLarge, -1).into());
    }
    let log_append_time = match config.message_timestamp_type {
        TimestampType::CreateTime => -1,
        TimestampType::LogAppendTime => now_ms,
    };
    Ok(Validated { batch: batch.into(), log_append_time })
}

/// The records, decompressed.
fn payload(batch: &Batch, decompressed_max: usize) -> Result<Bytes, Invalid> {
    match batch.header.compression() {
        Some(Compression::None) => Ok(batch.payload()),
        Some(codec) => {
            decompress(codec, &batch.bytes[HEADER_BYTES..], decompressed_max).map_err(|error| {
                match error {
                    CodecError::TooLarge(_) => Invalid::TooMuch,
                    CodecError::Corrupt(..) => refuse(ErrorCode::UnknownServerError, 0).into(),
                }
            })
        }
        None => Err(refuse(ErrorCode::UnknownServerError, 0).into()),
    }
}

/// What the records of a good batch have in common.
struct Seen {
    /// -1 when none has a timestamp.
    max_timestamp: i64,
    /// Whether their offsets are 0, 1, 2 and so on.
    consecutive: bool,
}

/// Looks at every record.
fn look(
    header: &Header,
    payload: &[u8],
    config: &LogConfig,
    now_ms: i64,
) -> Result<Seen, AppendError> {
    let mut seen = Seen { max_timestamp: -1, consecutive: true };
    let mut record_errors = Vec::new();
    let mut code = ErrorCode::InvalidRecord;
    for (batch_index, record) in (0..).zip(records(header, payload)) {
        let record = record.map_err(|_| refuse(ErrorCode::InvalidRecord, 0))?;
        let offset_delta = record.offset_delta;
        seen.max_timestamp = record.timestamp.max(seen.max_timestamp);
        seen.consecutive &= offset_delta == batch_index;
        if let Some(fault) = fault(header, &record, config, now_ms) {
            if fault != Fault::Key {
                code = ErrorCode::InvalidTimestamp;
            }
            if record_errors.len() < RECORD_ERRORS_MAX {
                record_errors.push(RecordError { batch_index, offset_delta, fault });
            }
        }
    }
    if record_errors.is_empty() {
        Ok(seen)
    } else {
        Err(AppendError { record_errors, ..refuse(code, 0) })
    }
}

/// What is wrong with a record, in Kafka's order; like Kafka's, its arithmetic wraps.
fn fault(header: &Header, record: &Record<'_>, config: &LogConfig, now_ms: i64) -> Option<Fault> {
    let by_client = config.message_timestamp_type == TimestampType::CreateTime;
    let timestamp = record.timestamp;
    if config.cleanup_policy.compact && record.key.is_none() {
        Some(Fault::Key)
    } else if by_client && timestamp != -1 {
        let (before, after) =
            (config.message_timestamp_before_max_ms, config.message_timestamp_after_max_ms);
        let age = now_ms.wrapping_sub(timestamp);
        (age > before || age.wrapping_neg() > after).then(|| Fault::Timestamp {
            timestamp,
            from: now_ms.wrapping_sub(before),
            to: now_ms.wrapping_add(after),
        })
    } else {
        header.is_log_append_time().then_some(Fault::AppendTime)
    }
}

/// The codec to change to, with its level; None when the batch stays as it is.
fn target(header: &Header, config: &LogConfig) -> Option<(Compression, Option<i32>)> {
    let (codec, level) = match config.compression {
        Wanted::Producer => return None,
        Wanted::Uncompressed => (Compression::None, None),
        Wanted::Gzip(level) => (Compression::Gzip, (level != -1).then_some(level)),
        Wanted::Snappy => (Compression::Snappy, None),
        Wanted::Lz4(level) => (Compression::Lz4, Some(level)),
        Wanted::Zstd(level) => (Compression::Zstd, Some(level)),
    };
    (header.compression() != Some(codec)).then_some((codec, level))
}

/// The batch in another codec.
fn recompress(
    batch: &Batch,
    payload: &[u8],
    codec: Compression,
    level: Option<i32>,
    config: &LogConfig,
) -> Result<Batch, AppendError> {
    let failed = || refuse(ErrorCode::UnknownServerError, 0);
    let packed = compress(codec, level, payload).map_err(|_| failed())?;
    let attributes = codec.set_in(batch.header.attributes);
    let header = Header { attributes, ..batch.header };
    let batch = Batch::assemble(header, &packed).ok_or_else(failed)?;
    if batch.bytes.len() > config.max_message_bytes.max(0) as usize {
        return Err(refuse(ErrorCode::MessageTooLarge, -1));
    }
    Ok(batch)
}

fn refuse(code: ErrorCode, log_start: i64) -> AppendError {
    AppendError { code, record_errors: Vec::new(), base_offset: -1, log_start }
}

#[cfg(test)]
mod tests;
