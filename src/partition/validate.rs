//! What a client's batch must fulfil in this topic, and what the broker changes in it (Kafka's `LogValidator`).
//!
//! The header decides wherever it can: records are decoded only in compacted topics, when the header shows a timestamp out
//! of range, when `message.timestamp.before.max.ms` is set, or when `compression.type` names another codec. Records are
//! never encoded again; a codec change copies them verbatim. Of uncompressed records the lengths are checked, so that no
//! consumer stumbles over a wrong count. What concerns the batch's header alone was checked by `wire::batch`.

use crate::{
    config::topic::{Compression as Wanted, LogConfig, TimestampType},
    limits::RECORD_ERRORS_MAX,
    partition::{AppendError, lookup, replica::Incoming},
    wire::{
        ErrorCode, Record,
        batch::{Batch, HEADER_BYTES, Header},
        compression::{Compression, compress},
        is_whole, records,
    },
};

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
    pub message: &'static str,
}

/// Checks a batch that came at `now_ms` (milliseconds since the epoch). A `log_start` of the error that is not -1 stands
/// for the partition's. Errors: MESSAGE_TOO_LARGE, INVALID_RECORD, INVALID_TIMESTAMP, RECORD_LIST_TOO_LARGE.
pub fn validate(batch: Batch, config: &LogConfig, now_ms: i64) -> Result<Validated, AppendError> {
    check_size(&batch, config)?;
    if batch.header.compression() == Some(Compression::None)
        && !is_whole(&batch.header, &batch.bytes[HEADER_BYTES..])
    {
        return Err(refuse(ErrorCode::InvalidRecord, 0));
    }
    let codec = target(&batch.header, config);
    let mut batch = if must_decode(&batch.header, config, now_ms) || codec.is_some() {
        decode(batch, config, codec, now_ms)?
    } else {
        batch
    };
    let mut log_append_time = -1;
    if config.message_timestamp_type == TimestampType::LogAppendTime {
        batch = batch.with_log_append_time(now_ms);
        log_append_time = now_ms;
    }
    if batch.bytes.len() > config.segment_bytes.max(0) as usize {
        return Err(refuse(ErrorCode::RecordListTooLarge, -1));
    }
    Ok(Validated { batch: batch.into(), log_append_time })
}

/// Whether `validate` takes memory and time beyond the batch's size: it decompresses, or compresses.
pub fn inspects(header: &Header, config: &LogConfig, now_ms: i64) -> bool {
    let compressed = header.compression() != Some(Compression::None);
    target(header, config).is_some() || (compressed && must_decode(header, config, now_ms))
}

fn check_size(batch: &Batch, config: &LogConfig) -> Result<(), AppendError> {
    if batch.bytes.len() > config.max_message_bytes.max(0) as usize {
        return Err(refuse(ErrorCode::MessageTooLarge, -1));
    }
    Ok(())
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

fn must_decode(header: &Header, config: &LogConfig, now_ms: i64) -> bool {
    let by_client = config.message_timestamp_type == TimestampType::CreateTime;
    config.cleanup_policy.compact
        || header.is_log_append_time()
        || by_client
            && (config.message_timestamp_before_max_ms != i64::MAX
                || is_late(header.max_timestamp, config, now_ms))
}

fn is_late(timestamp: i64, config: &LogConfig, now_ms: i64) -> bool {
    timestamp.saturating_sub(now_ms) > config.message_timestamp_after_max_ms
}

fn is_early(timestamp: i64, config: &LogConfig, now_ms: i64) -> bool {
    now_ms.saturating_sub(timestamp) > config.message_timestamp_before_max_ms
}

/// Looks at every record, and gives the batch the largest timestamp and the codec it should have.
fn decode(
    batch: Batch,
    config: &LogConfig,
    codec: Option<(Compression, Option<i32>)>,
    now_ms: i64,
) -> Result<Batch, AppendError> {
    let invalid = || refuse(ErrorCode::InvalidRecord, 0);
    let header = batch.header;
    let payload = lookup::payload(&batch).ok_or_else(invalid)?;
    let mut faults = Vec::new();
    let mut code = ErrorCode::InvalidRecord;
    let mut max_timestamp = -1;
    for (batch_index, record) in (0..).zip(records(&header, &payload)) {
        let record = record.map_err(|_| invalid())?;
        max_timestamp = record.timestamp.max(max_timestamp);
        if let Some((fault, message)) = fault(&header, &record, config, now_ms) {
            if fault == ErrorCode::InvalidTimestamp {
                code = fault;
            }
            if faults.len() < RECORD_ERRORS_MAX {
                faults.push(RecordError { batch_index, message });
            }
        }
    }
    if !faults.is_empty() {
        let message = match code {
            ErrorCode::InvalidTimestamp => "records of the batch have an invalid timestamp",
            _ => "records of the batch are invalid",
        };
        return Err(AppendError {
            record_errors: faults,
            message: Some(message),
            ..refuse(code, 0)
        });
    }
    let mut batch = batch;
    if config.message_timestamp_type == TimestampType::CreateTime {
        batch = batch.with_create_time(max_timestamp);
    }
    match codec {
        None => Ok(batch),
        Some((codec, level)) => {
            let packed = compress(codec, level, &payload).map_err(|_| invalid())?;
            let attributes = codec.set_in(batch.header.attributes);
            let header = Header { attributes, ..batch.header };
            let batch = Batch::assemble(header, &packed).ok_or_else(invalid)?;
            check_size(&batch, config)?;
            Ok(batch)
        }
    }
}

/// What is wrong with a record, in Kafka's order.
fn fault(
    header: &Header,
    record: &Record<'_>,
    config: &LogConfig,
    now_ms: i64,
) -> Option<(ErrorCode, &'static str)> {
    let by_client = config.message_timestamp_type == TimestampType::CreateTime;
    let timestamp = record.timestamp;
    if config.cleanup_policy.compact && record.key.is_none() {
        Some((ErrorCode::InvalidRecord, "a compacted topic takes no record without a key"))
    } else if by_client && timestamp != -1 {
        let bad = is_early(timestamp, config, now_ms) || is_late(timestamp, config, now_ms);
        bad.then_some((ErrorCode::InvalidTimestamp, "the timestamp is out of the topic's range"))
    } else if header.is_log_append_time() {
        Some((ErrorCode::InvalidTimestamp, "a producer must not set LogAppendTime"))
    } else {
        None
    }
}

fn refuse(code: ErrorCode, log_start: i64) -> AppendError {
    AppendError { code, record_errors: Vec::new(), message: None, base_offset: -1, log_start }
}

#[cfg(test)]
mod tests;
