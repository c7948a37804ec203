//! The keys on disk. All integers are big-endian, so that byte order is number order.
//!
//! Family `log`, one key a batch:
//!   `log id u32 ‖ base offset u64`
//!
//! Family `state`, one byte of kind first:
//!   `c`                                the last log id given out
//!   `l ‖ log id u32`                   the log exists
//!   `s ‖ log id u32`                   its start
//!   `p ‖ log id u32`                   its recovery point
//!   `f ‖ log id u32`                   the floor of its end
//!   `h ‖ log id u32`                   its high watermark
//!   `e ‖ log id u32`                   its leader epochs
//!   `d ‖ log id u32`                   its damaged ranges
//!   `n ‖ log id u32 ‖ offset u64`      a producer snapshot
//!   `g ‖ log id u32 ‖ base u64`        a closed logical segment
//!   `t ‖ log id u32 ‖ end u64`         a block of the time index
//!
//! Keys are kept for ever: a kind is never reused for something else. Families `meta`, `raft_log` and `raft_meta` hold the
//! callers' keys as they are.

use crate::ids::{LogId, Offset};

/// What a key of `state` is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    LastLog = b'c',
    Exists = b'l',
    Start = b's',
    Point = b'p',
    Floor = b'f',
    HighWatermark = b'h',
    Epochs = b'e',
    Damaged = b'd',
    Snapshot = b'n',
    Segment = b'g',
    Block = b't',
}

impl Kind {
    /// Everything a log has one of.
    pub const SINGLE: [Kind; 7] = [
        Kind::Exists,
        Kind::Start,
        Kind::Point,
        Kind::Floor,
        Kind::HighWatermark,
        Kind::Epochs,
        Kind::Damaged,
    ];
    /// Everything a log has many of, by offset.
    pub const MANY: [Kind; 3] = [Kind::Snapshot, Kind::Segment, Kind::Block];
}

/// The key of a batch.
pub fn batch(log: LogId, base_offset: Offset) -> [u8; 12] {
    let mut key = [0; 12];
    key[..4].copy_from_slice(&log.0.to_be_bytes());
    key[4..].copy_from_slice(&base_offset.max(0).to_be_bytes());
    key
}

/// The base offset in the key of a batch.
pub fn base_offset(key: &[u8]) -> Option<Offset> {
    Some(i64::from_be_bytes(key.get(4..)?.try_into().ok()?))
}

/// Past the last key of a log's batches.
pub fn batches_end(log: LogId) -> [u8; 12] {
    let mut key = [0xff; 12];
    key[..4].copy_from_slice(&log.0.to_be_bytes());
    key
}

/// The last log id given out.
pub fn last_log() -> [u8; 1] {
    [Kind::LastLog as u8]
}

/// The one key of a kind and log.
pub fn single(kind: Kind, log: LogId) -> [u8; 5] {
    let mut key = [kind as u8; 5];
    key[1..].copy_from_slice(&log.0.to_be_bytes());
    key
}

/// One of many keys of a kind and log.
pub fn many(kind: Kind, log: LogId, offset: Offset) -> [u8; 13] {
    let mut key = [kind as u8; 13];
    key[1..5].copy_from_slice(&log.0.to_be_bytes());
    key[5..].copy_from_slice(&offset.max(0).to_be_bytes());
    key
}

/// Past the last of many keys of a kind and log.
pub fn many_end(kind: Kind, log: LogId) -> [u8; 13] {
    let mut key = [0xff; 13];
    key[..5].copy_from_slice(&single(kind, log));
    key
}

/// The log in a key of `state`.
pub fn log_of(key: &[u8]) -> Option<LogId> {
    Some(LogId(u32::from_be_bytes(key.get(1..5)?.try_into().ok()?)))
}

/// The offset in one of many keys of a kind and log.
pub fn offset_of(key: &[u8]) -> Option<Offset> {
    Some(i64::from_be_bytes(key.get(5..)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn keys_round_trip_and_sort(log in any::<u32>(), a in 0..i64::MAX, b in 0..i64::MAX) {
            let log = LogId(log);
            prop_assert_eq!(base_offset(&batch(log, a)), Some(a));
            prop_assert_eq!(batch(log, a).cmp(&batch(log, b)), a.cmp(&b));
            prop_assert!(batch(log, a) < batches_end(log));
            for kind in Kind::MANY {
                let key = many(kind, log, a);
                prop_assert_eq!((log_of(&key), offset_of(&key)), (Some(log), Some(a)));
                prop_assert_eq!(key.cmp(&many(kind, log, b)), a.cmp(&b));
                prop_assert!(key < many_end(kind, log));
            }
            for kind in Kind::SINGLE {
                prop_assert_eq!(log_of(&single(kind, log)), Some(log));
            }
        }
    }

    #[test]
    fn keys_are_what_is_on_disk_already() {
        assert_eq!(batch(LogId(258), 3), [0, 0, 1, 2, 0, 0, 0, 0, 0, 0, 0, 3]);
        assert_eq!(single(Kind::Start, LogId(7)), *b"s\0\0\0\x07");
        assert_eq!(many(Kind::Block, LogId(7), 1), *b"t\0\0\0\x07\0\0\0\0\0\0\0\x01");
    }
}
