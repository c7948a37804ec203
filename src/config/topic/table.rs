//! Every topic setting of Kafka 4.1 (`LogConfig`), in name order, with the broker settings it falls back to
//! (`ServerTopicConfigSynonyms`).

use crate::config::setting::{
    Check::{Any, AtLeast, Between, GzipLevel, OneOf, ThrottledReplicas},
    Setting,
    Type::{Boolean, Double, Int, List, Long, Text},
    off, on,
};

/// A topic setting and the broker settings behind it, the first that is set counts.
pub struct TopicSetting {
    pub setting: Setting,
    pub behind: &'static [Behind],
}

/// A broker setting, and what its number is multiplied with to get the topic setting's unit.
pub struct Behind {
    pub name: &'static str,
    pub factor: i64,
}

/// In name order.
pub fn all() -> impl Iterator<Item = &'static TopicSetting> {
    SETTINGS.iter()
}

pub fn find(name: &str) -> Option<&'static TopicSetting> {
    let at = SETTINGS.binary_search_by_key(&name, |topic_setting| topic_setting.setting.name);
    at.ok().map(|at| &SETTINGS[at])
}

const HOURS: i64 = 60 * MINUTES;
const MINUTES: i64 = 60_000;
const FOREVER: Option<&str> = Some("9223372036854775807");
const WEEK: Option<&str> = Some("604800000");
const CODECS: &[&str] = &["uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"];

const fn topic(setting: Setting, behind: &'static [Behind]) -> TopicSetting {
    TopicSetting { setting, behind }
}

const fn same(name: &'static str) -> Behind {
    Behind { name, factor: 1 }
}

const fn times(factor: i64, name: &'static str) -> Behind {
    Behind { name, factor }
}

const SETTINGS: &[TopicSetting] = &[
    topic(
        on(
            "cleanup.policy",
            List,
            Some("delete"),
            OneOf(&["compact", "delete"]),
            "`delete`, `compact` or both. A compacted topic refuses records without a key.",
        ),
        &[same("log.cleanup.policy")],
    ),
    topic(
        on(
            "compression.gzip.level",
            Int,
            Some("-1"),
            GzipLevel,
            "Level used when `compression.type` is gzip; -1 is the default of gzip.",
        ),
        &[same("compression.gzip.level")],
    ),
    topic(
        on(
            "compression.lz4.level",
            Int,
            Some("9"),
            Between(1, 17),
            "Level used when `compression.type` is lz4.",
        ),
        &[same("compression.lz4.level")],
    ),
    topic(
        on(
            "compression.type",
            Text,
            Some("producer"),
            OneOf(CODECS),
            "How batches are stored: `producer` leaves them as they came.",
        ),
        &[same("compression.type")],
    ),
    topic(
        on(
            "compression.zstd.level",
            Int,
            Some("3"),
            Between(-131072, 22),
            "Level used when `compression.type` is zstd.",
        ),
        &[same("compression.zstd.level")],
    ),
    topic(
        off("delete.retention.ms", Long, Some("86400000"), AtLeast(0)),
        &[same("log.cleaner.delete.retention.ms")],
    ),
    topic(
        off("file.delete.delay.ms", Long, Some("60000"), AtLeast(0)),
        &[same("log.segment.delete.delay.ms")],
    ),
    topic(
        on(
            "flush.messages",
            Long,
            FOREVER,
            AtLeast(1),
            "Records after which the log is synced to disk. 1: nothing is acknowledged before \
             it is synced.",
        ),
        &[same("log.flush.interval.messages")],
    ),
    topic(
        on("flush.ms", Long, FOREVER, AtLeast(0), "Milliseconds a record may stay unsynced."),
        &[same("log.flush.interval.ms"), same("log.flush.scheduler.interval.ms")],
    ),
    topic(off("follower.replication.throttled.replicas", List, Some(""), ThrottledReplicas), &[]),
    topic(
        off("index.interval.bytes", Int, Some("4096"), AtLeast(0)),
        &[same("log.index.interval.bytes")],
    ),
    topic(
        on(
            "internal.segment.bytes",
            Int,
            None,
            Any,
            "Segment size without its lower limit, for tests.",
        )
        .internal(),
        &[],
    ),
    topic(off("leader.replication.throttled.replicas", List, Some(""), ThrottledReplicas), &[]),
    topic(
        off("local.retention.bytes", Long, Some("-2"), AtLeast(-2)),
        &[same("log.local.retention.bytes")],
    ),
    topic(
        off("local.retention.ms", Long, Some("-2"), AtLeast(-2)),
        &[same("log.local.retention.ms")],
    ),
    topic(
        off("max.compaction.lag.ms", Long, FOREVER, AtLeast(1)),
        &[same("log.cleaner.max.compaction.lag.ms")],
    ),
    topic(
        on(
            "max.message.bytes",
            Int,
            Some("1048588"),
            AtLeast(0),
            "Largest record batch accepted, in bytes, header included.",
        ),
        &[same("message.max.bytes")],
    ),
    topic(
        on(
            "message.timestamp.after.max.ms",
            Long,
            Some("3600000"),
            AtLeast(0),
            "How many milliseconds a record's timestamp may lie in the future.",
        ),
        &[same("log.message.timestamp.after.max.ms")],
    ),
    topic(
        on(
            "message.timestamp.before.max.ms",
            Long,
            FOREVER,
            AtLeast(0),
            "How many milliseconds a record's timestamp may lie in the past.",
        ),
        &[same("log.message.timestamp.before.max.ms")],
    ),
    topic(
        on(
            "message.timestamp.type",
            Text,
            Some("CreateTime"),
            OneOf(&["CreateTime", "LogAppendTime"]),
            "`CreateTime` keeps the producer's timestamps, `LogAppendTime` stamps records on \
             arrival.",
        ),
        &[same("log.message.timestamp.type")],
    ),
    topic(
        off("min.cleanable.dirty.ratio", Double, Some("0.5"), Between(0, 1)),
        &[same("log.cleaner.min.cleanable.ratio")],
    ),
    topic(
        off("min.compaction.lag.ms", Long, Some("0"), AtLeast(0)),
        &[same("log.cleaner.min.compaction.lag.ms")],
    ),
    topic(
        on(
            "min.insync.replicas",
            Int,
            Some("1"),
            AtLeast(1),
            "In-sync replicas below which a write with acks=all is refused. More than the \
             topic has replicas counts as that many.",
        ),
        &[same("min.insync.replicas")],
    ),
    topic(off("preallocate", Boolean, Some("false"), Any), &[same("log.preallocate")]),
    topic(off("remote.log.copy.disable", Boolean, Some("false"), Any), &[]),
    topic(off("remote.log.delete.on.disable", Boolean, Some("false"), Any), &[]),
    topic(off("remote.storage.enable", Boolean, Some("false"), Any), &[]),
    topic(off("retention.bytes", Long, Some("-1"), Any), &[same("log.retention.bytes")]),
    topic(
        off("retention.ms", Long, WEEK, AtLeast(-1)),
        &[
            same("log.retention.ms"),
            times(MINUTES, "log.retention.minutes"),
            times(HOURS, "log.retention.hours"),
        ],
    ),
    topic(
        on(
            "segment.bytes",
            Int,
            Some("1073741824"),
            AtLeast(1048576),
            "Bytes after which the log begins a new segment.",
        ),
        &[same("log.segment.bytes")],
    ),
    topic(
        off("segment.index.bytes", Int, Some("10485760"), AtLeast(4)),
        &[same("log.index.size.max.bytes")],
    ),
    topic(
        on(
            "segment.jitter.ms",
            Long,
            Some("0"),
            AtLeast(0),
            "Milliseconds by which a segment may end earlier than `segment.ms` says, at random.",
        ),
        &[same("log.roll.jitter.ms"), times(HOURS, "log.roll.jitter.hours")],
    ),
    topic(
        on(
            "segment.ms",
            Long,
            WEEK,
            AtLeast(1),
            "Milliseconds after which the log begins a new segment even if it is not full.",
        ),
        &[same("log.roll.ms"), times(HOURS, "log.roll.hours")],
    ),
    topic(
        off("unclean.leader.election.enable", Boolean, Some("false"), Any),
        &[same("unclean.leader.election.enable")],
    ),
];
