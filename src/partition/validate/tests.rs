//! What a topic takes, and what it makes of a batch.

use super::*;
use crate::{config::topic::CleanupPolicy, storage::Summary, wire::Builder};

const NOW: i64 = 1_000_000_000;
const HOUR: i64 = 3_600_000;

fn config() -> LogConfig {
    crate::config::Config::default().topic_defaults
}

fn batch(records: &[(i64, Option<&str>)]) -> Batch {
    let mut builder = Builder::plain();
    for (timestamp, key) in records {
        builder.push(*timestamp, key.map(str::as_bytes), Some(b"value"));
    }
    builder.build().unwrap()
}

/// The batch with some of its header changed, and a right checksum.
fn with(batch: &Batch, change: impl FnOnce(&mut Header)) -> Batch {
    let mut header = batch.header;
    change(&mut header);
    Batch::assemble(header, &batch.payload()).unwrap()
}

/// The batch as it would be stored.
fn stored(batch: Batch, config: &LogConfig) -> Batch {
    let prefix = batch.bytes.slice(..crate::storage::HEAD_BYTES);
    let Incoming { body, summary } = validate(batch, config, NOW).unwrap().batch;
    let mut bytes = prefix.to_vec();
    bytes.extend_from_slice(&body);
    bytes[8..12].copy_from_slice(&(summary.size - 12).to_be_bytes());
    let checked = crate::wire::batch::check(13, bytes.into()).expect("still a good batch");
    assert_eq!(checked.header.crc, summary.crc);
    checked
}

fn refused(batch: Batch, config: &LogConfig) -> (ErrorCode, Vec<i32>) {
    let error = validate(batch, config, NOW).unwrap_err();
    assert_eq!(error.base_offset, -1);
    assert_eq!(error.message.is_some(), !error.record_errors.is_empty());
    (error.code, error.record_errors.iter().map(|fault| fault.batch_index).collect())
}

#[test]
fn a_good_batch_stays_as_it_is() {
    let sent = batch(&[(NOW, None), (NOW - 1, Some("k"))]);
    let validated = validate(sent.clone(), &config(), NOW).unwrap();
    assert_eq!(validated.log_append_time, -1);
    assert_eq!(stored(sent.clone(), &config()), sent);
    let Summary { last_offset, max_timestamp, size, .. } = validated.batch.summary;
    assert_eq!((last_offset, max_timestamp), (1, NOW));
    assert_eq!(size as usize, sent.bytes.len());
}

#[test]
fn sizes_are_limited() {
    let sent = batch(&[(NOW, None)]);
    let size = sent.bytes.len() as i32;
    let at_most = |max_message_bytes| LogConfig { max_message_bytes, ..config() };
    assert!(validate(sent.clone(), &at_most(size), NOW).is_ok());
    assert_eq!(refused(sent.clone(), &at_most(size - 1)).0, ErrorCode::MessageTooLarge);
    let segments = |segment_bytes| LogConfig { segment_bytes, ..config() };
    assert!(validate(sent.clone(), &segments(size), NOW).is_ok());
    assert_eq!(refused(sent, &segments(size - 1)).0, ErrorCode::RecordListTooLarge);
}

#[test]
fn timestamps_lie_within_the_topics_range() {
    let config = LogConfig {
        message_timestamp_after_max_ms: HOUR,
        message_timestamp_before_max_ms: 2 * HOUR,
        ..config()
    };
    let good = [NOW + HOUR, NOW - 2 * HOUR, -1].map(|timestamp| (timestamp, None));
    assert!(validate(batch(&good), &config, NOW).is_ok());
    let bad = [NOW, NOW + HOUR + 1, NOW - 2 * HOUR - 1, i64::MIN].map(|at| (at, None));
    assert_eq!(refused(batch(&bad), &config), (ErrorCode::InvalidTimestamp, vec![1, 2, 3]));
    let late = batch(&[(NOW, None), (NOW + 2 * HOUR, None)]);
    let unlimited = LogConfig { message_timestamp_before_max_ms: i64::MAX, ..config };
    assert_eq!(refused(late.clone(), &unlimited), (ErrorCode::InvalidTimestamp, vec![1]));
    let server = TimestampType::LogAppendTime;
    let by_broker = LogConfig { message_timestamp_type: server, ..unlimited };
    assert!(validate(late, &by_broker, NOW).is_ok(), "the broker's time replaces them");
}

#[test]
fn a_header_that_promises_too_late_a_time_is_put_right() {
    let sent = with(&batch(&[(NOW, None)]), |header| header.max_timestamp = NOW + 2 * HOUR);
    assert_eq!(stored(sent, &config()).header.max_timestamp, NOW);
}

#[test]
fn log_append_time_is_the_brokers() {
    let by_broker = LogConfig { message_timestamp_type: TimestampType::LogAppendTime, ..config() };
    let sent = batch(&[(5, None), (6, None)]);
    assert_eq!(validate(sent.clone(), &by_broker, NOW).unwrap().log_append_time, NOW);
    let kept = stored(sent.clone(), &by_broker);
    assert!(kept.header.is_log_append_time());
    assert_eq!(kept.header.max_timestamp, NOW);
    assert_eq!(kept.payload(), sent.payload());
    let pretended = sent.with_log_append_time(NOW);
    let expected = (ErrorCode::InvalidTimestamp, vec![0, 1]);
    assert_eq!(refused(pretended.clone(), &by_broker), expected, "a producer must not set it");
    assert!(!stored(pretended, &config()).header.is_log_append_time());
    assert_eq!(refused(sent.with_log_append_time(-1), &config()), expected);
}

#[test]
fn compacted_topics_need_keys() {
    let compact = CleanupPolicy { compact: true, delete: true };
    let config = LogConfig { cleanup_policy: compact, ..config() };
    assert!(validate(batch(&[(NOW, Some("")), (NOW, Some("k"))]), &config, NOW).is_ok());
    let sent = batch(&[(NOW, None), (NOW, Some("k")), (NOW, None)]);
    assert_eq!(refused(sent.clone(), &config), (ErrorCode::InvalidRecord, vec![0, 2]));
    let gzipped = LogConfig { compression: Wanted::Gzip(-1), ..self::config() };
    let sent = stored(sent, &gzipped);
    assert_eq!(refused(sent, &config), (ErrorCode::InvalidRecord, vec![0, 2]), "compressed");
    let late = batch(&[(NOW, None), (NOW + 2 * HOUR, Some("k"))]);
    assert_eq!(refused(late, &config), (ErrorCode::InvalidTimestamp, vec![0, 1]));
}

#[test]
fn the_topics_codec_wins_and_records_stay_as_they_were() {
    let sent = batch(&[(NOW, Some("k")), (NOW + 1, None)]);
    let all = [
        (Wanted::Gzip(9), Compression::Gzip),
        (Wanted::Snappy, Compression::Snappy),
        (Wanted::Lz4(9), Compression::Lz4),
        (Wanted::Zstd(3), Compression::Zstd),
        (Wanted::Uncompressed, Compression::None),
        (Wanted::Producer, Compression::None),
    ];
    for (wanted, codec) in all {
        let config = LogConfig { compression: wanted, ..config() };
        let kept = stored(sent.clone(), &config);
        assert_eq!(kept.header.compression(), Some(codec));
        assert_eq!(lookup::payload(&kept).unwrap(), sent.payload(), "{codec:?}");
        assert_eq!(kept.header.records_count, 2);
        let again = stored(kept.clone(), &config);
        assert_eq!(again, kept, "{codec:?} is not compressed twice");
        let plain = LogConfig { compression: Wanted::Uncompressed, ..self::config() };
        assert_eq!(stored(kept, &plain), sent, "{codec:?} and back");
    }
}

#[test]
fn what_has_to_be_decoded_must_be_decodable() {
    let sent = batch(&[(NOW, Some("k"))]);
    let lying = with(&sent, |header| header.attributes = Compression::Gzip as i16);
    assert!(validate(lying.clone(), &config(), NOW).is_ok(), "nobody looked");
    let zstd = LogConfig { compression: Wanted::Zstd(3), ..config() };
    assert_eq!(refused(lying, &zstd).0, ErrorCode::InvalidRecord);
}

#[test]
fn the_count_is_that_of_the_records() {
    let sent = batch(&[(NOW, None), (NOW, None)]);
    for count in [1, 3, i32::MAX] {
        let counting = with(&sent, |header| {
            header.records_count = count;
            header.last_offset_delta = count - 1;
        });
        assert_eq!(refused(counting, &config()).0, ErrorCode::InvalidRecord, "{count}");
    }
    let cut = Batch::assemble(sent.header, &sent.payload()[..10]).unwrap();
    assert_eq!(refused(cut, &config()).0, ErrorCode::InvalidRecord);
}
