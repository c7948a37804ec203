//! Tiered storage. Nothing here has effect.

use crate::config::setting::{
    Check::{Any, AtLeast},
    Setting,
    Type::{Boolean, Double, Int, Long, Text},
    off,
};

pub const SETTINGS: &[Setting] = &[
    off("remote.fetch.max.wait.ms", Int, Some("500"), AtLeast(1)).dynamic(),
    off("remote.list.offsets.request.timeout.ms", Long, Some("30000"), AtLeast(1)).dynamic(),
    off("remote.log.index.file.cache.total.size.bytes", Long, Some("1073741824"), AtLeast(1))
        .dynamic(),
    off("remote.log.manager.copier.thread.pool.size", Int, Some("10"), AtLeast(1)).dynamic(),
    off(
        "remote.log.manager.copy.max.bytes.per.second",
        Long,
        Some("9223372036854775807"),
        AtLeast(1),
    )
    .dynamic(),
    off("remote.log.manager.copy.quota.window.num", Int, Some("11"), AtLeast(1)),
    off("remote.log.manager.copy.quota.window.size.seconds", Int, Some("1"), AtLeast(1)),
    off("remote.log.manager.expiration.thread.pool.size", Int, Some("10"), AtLeast(1)).dynamic(),
    off(
        "remote.log.manager.fetch.max.bytes.per.second",
        Long,
        Some("9223372036854775807"),
        AtLeast(1),
    )
    .dynamic(),
    off("remote.log.manager.fetch.quota.window.num", Int, Some("11"), AtLeast(1)),
    off("remote.log.manager.fetch.quota.window.size.seconds", Int, Some("1"), AtLeast(1)),
    off("remote.log.manager.task.interval.ms", Long, Some("30000"), AtLeast(1)),
    off("remote.log.manager.task.retry.backoff.max.ms", Long, Some("30000"), AtLeast(1)).internal(),
    off("remote.log.manager.task.retry.backoff.ms", Long, Some("500"), AtLeast(1)).internal(),
    off("remote.log.manager.task.retry.jitter", Double, Some("0.2"), Any).internal(),
    off("remote.log.manager.thread.pool.size", Int, Some("2"), AtLeast(1)),
    off("remote.log.metadata.custom.metadata.max.bytes", Int, Some("128"), AtLeast(0)),
    off(
        "remote.log.metadata.manager.class.name",
        Text,
        Some(
            "org.apache.kafka.server.log.remote.metadata.storage.TopicBasedRemoteLogMetadataManager",
        ),
        Any,
    ),
    off("remote.log.metadata.manager.class.path", Text, None, Any),
    off("remote.log.metadata.manager.impl.prefix", Text, Some("rlmm.config."), Any),
    off("remote.log.metadata.manager.listener.name", Text, None, Any),
    off("remote.log.reader.max.pending.tasks", Int, Some("100"), AtLeast(1)),
    off("remote.log.reader.threads", Int, Some("10"), AtLeast(1)).dynamic(),
    off("remote.log.storage.manager.class.name", Text, None, Any),
    off("remote.log.storage.manager.class.path", Text, None, Any),
    off("remote.log.storage.manager.impl.prefix", Text, Some("rsm.config."), Any),
    off("remote.log.storage.system.enable", Boolean, Some("false"), Any),
];
