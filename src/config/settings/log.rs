//! Logs: the defaults of topic settings, and the data directory.

use crate::config::setting::{
    Check::{Any, AtLeast, Between, GzipLevel, OneOf},
    Setting,
    Type::{Boolean, Double, Int, List, Long, Text},
    off, on,
};

pub const SETTINGS: &[Setting] = &[
    on(
        "compression.gzip.level",
        Int,
        Some("-1"),
        GzipLevel,
        "Level used when `compression.type` is gzip; -1 is the default of gzip.",
    )
    .dynamic(),
    on(
        "compression.lz4.level",
        Int,
        Some("9"),
        Between(1, 17),
        "Level used when `compression.type` is lz4.",
    )
    .dynamic(),
    on(
        "compression.type",
        Text,
        Some("producer"),
        OneOf(&["uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"]),
        "How batches are stored: `producer` leaves them as they came.",
    )
    .dynamic(),
    on(
        "compression.zstd.level",
        Int,
        Some("3"),
        Between(-131072, 22),
        "Level used when `compression.type` is zstd.",
    )
    .dynamic(),
    off("log.cleaner.backoff.ms", Long, Some("15000"), AtLeast(0)).dynamic(),
    off("log.cleaner.dedupe.buffer.size", Long, Some("134217728"), Any).dynamic(),
    off("log.cleaner.delete.retention.ms", Long, Some("86400000"), AtLeast(0)).dynamic(),
    off("log.cleaner.enable", Boolean, Some("true"), Any),
    off("log.cleaner.io.buffer.load.factor", Double, Some("0.9"), Any).dynamic(),
    off("log.cleaner.io.buffer.size", Int, Some("524288"), AtLeast(0)).dynamic(),
    off("log.cleaner.io.max.bytes.per.second", Double, Some("1.7976931348623157E308"), Any)
        .dynamic(),
    off("log.cleaner.max.compaction.lag.ms", Long, Some("9223372036854775807"), AtLeast(1))
        .dynamic(),
    off("log.cleaner.min.cleanable.ratio", Double, Some("0.5"), Between(0, 1)).dynamic(),
    off("log.cleaner.min.compaction.lag.ms", Long, Some("0"), AtLeast(0)).dynamic(),
    off("log.cleaner.threads", Int, Some("1"), AtLeast(0)).dynamic(),
    on(
        "log.cleanup.policy",
        List,
        Some("delete"),
        OneOf(&["compact", "delete"]),
        "`delete`, `compact` or both. A compacted topic refuses records without a key.",
    )
    .dynamic(),
    on("log.dir", Text, None, Any, "Older name of `log.dirs`, used when that is not set."),
    off("log.dir.failure.timeout.ms", Long, Some("30000"), AtLeast(1)),
    on(
        "log.dir.reserve.bytes",
        Long,
        Some("268435456"),
        AtLeast(0),
        "Free bytes on the data directory's disk below which writing stops; it resumes when \
         twice as much is free. Ottla's own setting.",
    ),
    on(
        "log.dirs",
        Text,
        Some("./ottla-data"),
        Any,
        "The data directory. Exactly one; unset with `--dev`, which keeps everything in \
         memory.",
    ),
    on(
        "log.flush.interval.messages",
        Long,
        Some("9223372036854775807"),
        AtLeast(1),
        "Records after which a log is synced to disk. 1: nothing is acknowledged before it is \
         synced.",
    )
    .dynamic(),
    on("log.flush.interval.ms", Long, None, Any, "Milliseconds a record may stay unsynced.")
        .dynamic(),
    off("log.flush.offset.checkpoint.interval.ms", Int, Some("60000"), AtLeast(0)),
    on(
        "log.flush.scheduler.interval.ms",
        Long,
        Some("9223372036854775807"),
        Any,
        "Used for `log.flush.interval.ms` when that is not set.",
    ),
    off("log.flush.start.offset.checkpoint.interval.ms", Int, Some("60000"), AtLeast(0)),
    off("log.index.interval.bytes", Int, Some("4096"), AtLeast(0)).dynamic(),
    off("log.index.size.max.bytes", Int, Some("10485760"), AtLeast(4)).dynamic(),
    off("log.initial.task.delay.ms", Long, Some("30000"), AtLeast(0)).internal(),
    off("log.local.retention.bytes", Long, Some("-2"), AtLeast(-2)).dynamic(),
    off("log.local.retention.ms", Long, Some("-2"), AtLeast(-2)).dynamic(),
    on(
        "log.message.timestamp.after.max.ms",
        Long,
        Some("3600000"),
        AtLeast(0),
        "How many milliseconds a record's timestamp may lie in the future.",
    )
    .dynamic(),
    on(
        "log.message.timestamp.before.max.ms",
        Long,
        Some("9223372036854775807"),
        AtLeast(0),
        "How many milliseconds a record's timestamp may lie in the past.",
    )
    .dynamic(),
    on(
        "log.message.timestamp.type",
        Text,
        Some("CreateTime"),
        OneOf(&["CreateTime", "LogAppendTime"]),
        "`CreateTime` keeps the producer's timestamps, `LogAppendTime` stamps records on \
         arrival.",
    )
    .dynamic(),
    off("log.preallocate", Boolean, Some("false"), Any).dynamic(),
    off("log.retention.bytes", Long, Some("-1"), Any).dynamic(),
    off("log.retention.check.interval.ms", Long, Some("300000"), AtLeast(1)),
    off("log.retention.hours", Int, Some("168"), Any),
    off("log.retention.minutes", Int, None, Any),
    off("log.retention.ms", Long, None, Any).dynamic(),
    on(
        "log.roll.hours",
        Int,
        Some("168"),
        AtLeast(1),
        "The same in hours, when `log.roll.ms` is not set.",
    ),
    on(
        "log.roll.jitter.hours",
        Int,
        Some("0"),
        AtLeast(0),
        "The same in hours, when `log.roll.jitter.ms` is not set.",
    ),
    on(
        "log.roll.jitter.ms",
        Long,
        None,
        Any,
        "Milliseconds by which a log may begin a new segment earlier, at random for each segment.",
    )
    .dynamic(),
    on(
        "log.roll.ms",
        Long,
        None,
        Any,
        "Milliseconds after which a log begins a new segment even if it is not full.",
    )
    .dynamic(),
    on(
        "log.segment.bytes",
        Int,
        Some("1073741824"),
        AtLeast(1048576),
        "Bytes after which a log begins a new segment.",
    )
    .dynamic(),
    off("log.segment.delete.delay.ms", Long, Some("60000"), AtLeast(0)).dynamic(),
    on(
        "message.max.bytes",
        Int,
        Some("1048588"),
        AtLeast(0),
        "Largest record batch accepted, in bytes, header included.",
    )
    .dynamic(),
    on(
        "min.insync.replicas",
        Int,
        Some("1"),
        AtLeast(1),
        "In-sync replicas below which a write with acks=all is refused. More than a topic has \
         replicas counts as that many.",
    )
    .dynamic(),
    off("num.recovery.threads.per.data.dir", Int, Some("2"), AtLeast(1)).dynamic(),
    off("unclean.leader.election.enable", Boolean, Some("false"), Any).dynamic(),
    off("unclean.leader.election.interval.ms", Long, Some("300000"), AtLeast(1)).internal(),
];
