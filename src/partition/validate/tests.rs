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
    let checked =
        crate::wire::batch::check(13, bytes.into(), usize::MAX).expect("still a good batch");
    assert_eq!(checked.header.crc, summary.crc);
    checked
}

fn refused(batch: Batch, config: &LogConfig) -> (ErrorCode, Vec<i32>) {
    let error = validate(batch, config, NOW).unwrap_err();
    assert_eq!(error.base_offset, -1);
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
    let unpacked = |max_message_bytes| LogConfig {
        max_message_bytes,
        compression: Wanted::Uncompressed,
        ..config()
    };
    let packed = packed(&sent, Compression::Zstd);
    assert!(validate(packed.clone(), &unpacked(size), NOW).is_ok());
    assert_eq!(refused(packed, &unpacked(size - 1)).0, ErrorCode::MessageTooLarge);
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
        assert_eq!(crate::partition::lookup::payload(&kept).unwrap(), sent.payload(), "{codec:?}");
        assert_eq!(kept.header.records_count, 2);
        let again = stored(kept.clone(), &config);
        assert_eq!(again, kept, "{codec:?} is not compressed twice");
        let plain = LogConfig { compression: Wanted::Uncompressed, ..self::config() };
        assert_eq!(stored(kept, &plain), sent, "{codec:?} and back");
    }
}

const CODECS: [Compression; 4] =
    [Compression::Gzip, Compression::Snappy, Compression::Lz4, Compression::Zstd];

/// The batch with its records in another codec.
fn packed(batch: &Batch, codec: Compression) -> Batch {
    let payload = compress(codec, None, &batch.payload()).unwrap();
    let attributes = codec.set_in(batch.header.attributes);
    Batch::assemble(Header { attributes, ..batch.header }, &payload).unwrap()
}

/// The batch as it is and in every codec.
fn in_every_codec(batch: &Batch) -> Vec<Batch> {
    let plain = std::iter::once(batch.clone());
    plain.chain(CODECS.map(|codec| packed(batch, codec))).collect()
}

/// Records by offset delta, each with the bytes of its body behind that.
fn raw(records: &[(i8, &[u8])]) -> Batch {
    let mut payload = Vec::new();
    for (delta, rest) in records {
        payload.push((rest.len() as u8 + 3) << 1);
        payload.extend([0, 0, (delta << 1 ^ delta >> 7) as u8]);
        payload.extend_from_slice(rest);
    }
    let count = records.len() as i32;
    let header = Header {
        records_count: count,
        last_offset_delta: count - 1,
        base_timestamp: NOW,
        max_timestamp: NOW,
        ..batch(&[(NOW, None)]).header
    };
    Batch::assemble(header, &payload).unwrap()
}

/// A null key, the value "v", no headers.
const REST: &[u8] = &[1, 2, b'v', 0];

#[test]
fn records_fill_the_bytes_they_say_they_have() {
    for good in in_every_codec(&raw(&[(0, REST), (1, &[1, 1, 2, 2, b'h', 1])])) {
        assert_eq!(stored(good.clone(), &config()), good);
    }
    let cases: [(&str, &[u8]); 6] = [
        ("a key beyond the end", &[60, b'k', 2, b'v', 0]),
        ("a value beyond the end", &[1, 40, b'v', 0]),
        ("a byte too many", &[1, 2, b'v', 0, 0]),
        ("-1 headers", &[1, 2, b'v', 1]),
        ("a header that is not there", &[1, 2, b'v', 2]),
        ("a header without a key", &[1, 2, b'v', 2, 1, 1]),
    ];
    for (what, rest) in cases {
        for batch in in_every_codec(&raw(&[(0, REST), (1, rest), (2, REST)])) {
            let codec = batch.header.compression();
            let expected = (ErrorCode::InvalidRecord, vec![]);
            assert_eq!(refused(batch, &config()), expected, "{what}, {codec:?}");
        }
    }
}

/// Kafka writes the batch anew when offsets are not 0, 1, 2 and so on, which fails when it has skipped keys and values.
#[test]
fn offsets_of_compressed_records_are_consecutive() {
    for deltas in [[0, 2, 1], [0, 0, 0], [5, 6, 7], [-1, 0, 1]] {
        let sent = raw(&deltas.map(|delta| (delta, REST)));
        assert_eq!(stored(sent.clone(), &config()), sent, "{deltas:?} uncompressed");
        for codec in CODECS {
            let error = validate(packed(&sent, codec), &config(), NOW).unwrap_err();
            let told = (error.code, error.log_start);
            assert_eq!(told, (ErrorCode::UnknownServerError, 0), "{deltas:?} {codec:?}");
        }
    }
}

#[test]
fn what_does_not_decompress_is_refused() {
    let sent = batch(&[(NOW, Some("k"))]);
    for codec in CODECS {
        let lying = with(&sent, |header| header.attributes = codec as i16);
        assert_eq!(refused(lying.clone(), &config()).0, ErrorCode::UnknownServerError, "{codec:?}");
        let other = LogConfig { compression: Wanted::Gzip(-1), ..config() };
        assert_eq!(refused(lying, &other).0, ErrorCode::UnknownServerError, "{codec:?}");
    }
}

#[test]
fn the_largest_timestamp_is_that_of_the_records() {
    for good in in_every_codec(&batch(&[(NOW, None), (NOW + 5, None), (NOW - 5, None)])) {
        for promised in [-1, NOW, NOW + 4, NOW + 6, NOW + 9 * HOUR] {
            let sent = with(&good, |header| header.max_timestamp = promised);
            assert_eq!(stored(sent, &config()), good, "{promised}");
        }
    }
    let late = batch(&[(NOW, None), (NOW + 2 * HOUR, None)]);
    for late in in_every_codec(&with(&late, |header| header.max_timestamp = NOW)) {
        let expected = (ErrorCode::InvalidTimestamp, vec![1]);
        assert_eq!(refused(late, &config()), expected, "whatever the header promises");
    }
    let before_1970 = with(&batch(&[(-2, None)]), |header| header.max_timestamp = -2);
    assert_eq!(stored(before_1970, &config()).header.max_timestamp, -1);
}

#[test]
fn much_is_not_decompressed_at_once_and_too_much_not_at_all() {
    let zeros = |bytes: usize| {
        let value = vec![0; bytes];
        let mut builder = Builder::plain();
        builder.push(NOW, None, Some(&value));
        packed(&builder.build().unwrap(), Compression::Zstd)
    };
    let little = zeros(DECOMPRESSED_AT_ONCE_MAX - 100);
    assert!(at_once(&little, &config(), NOW).is_some_and(|done| done.is_ok()));
    let more = zeros(DECOMPRESSED_AT_ONCE_MAX + 1);
    assert!(more.bytes.len() < 1000 && at_once(&more, &config(), NOW).is_none());
    assert!(validate(more, &config(), NOW).is_ok());
    let error = validate(zeros(DECOMPRESSED_BATCH_MAX + 1), &config(), NOW).unwrap_err();
    assert_eq!((error.code, error.log_start), (ErrorCode::MessageTooLarge, -1));

    let large = with(&batch(&[(NOW, None)]), |header| header.attributes = 1);
    let large = Batch::assemble(large.header, &[0; COMPRESSED_AT_ONCE_MAX]).unwrap();
    assert!(at_once(&large, &config(), NOW).is_none(), "large before it is decompressed");
    let other = LogConfig { compression: Wanted::Gzip(-1), ..config() };
    assert!(at_once(&batch(&[(NOW, None)]), &other, NOW).is_none(), "to be compressed");
}

#[test]
fn faulty_records_are_described() {
    let config = LogConfig { message_timestamp_before_max_ms: 7, ..config() };
    let error = validate(batch(&[(NOW, None), (NOW - 8, None)]), &config, NOW).unwrap_err();
    let fault = Fault::Timestamp { timestamp: NOW - 8, from: NOW - 7, to: NOW + HOUR };
    assert_eq!(error.record_errors, [RecordError { batch_index: 1, offset_delta: 1, fault }]);
    let many = vec![(NOW - 8, None); RECORD_ERRORS_MAX + 1];
    let error = validate(batch(&many), &config, NOW).unwrap_err();
    assert_eq!(error.record_errors.len(), RECORD_ERRORS_MAX);
}

#[test]
fn the_count_is_that_of_the_records() {
    for sent in in_every_codec(&batch(&[(NOW, None), (NOW, None)])) {
        for count in [1, 3, i32::MAX] {
            let counting = with(&sent, |header| {
                header.records_count = count;
                header.last_offset_delta = count - 1;
            });
            assert_eq!(refused(counting, &config()).0, ErrorCode::InvalidRecord, "{count}");
        }
    }
    let sent = batch(&[(NOW, None), (NOW, None)]);
    let cut = Batch::assemble(sent.header, &sent.payload()[..10]).unwrap();
    assert_eq!(refused(cut, &config()).0, ErrorCode::InvalidRecord);
}
