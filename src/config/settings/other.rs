//! Metrics, quotas, policies and what fits nowhere else.

use crate::config::setting::{
    Check::{Any, AtLeast},
    Setting,
    Type::{Class, Int, List, Long, Text},
    off,
};

pub const SETTINGS: &[Setting] = &[
    off("alter.config.policy.class.name", Class, None, Any),
    off("background.threads", Int, Some("10"), AtLeast(1)).dynamic(),
    off("client.quota.callback.class", Class, None, Any),
    off("create.topic.policy.class.name", Class, None, Any),
    off("delete.records.purgatory.purge.interval.requests", Int, Some("1"), Any),
    off("kafka.metrics.polling.interval.secs", Int, Some("10"), AtLeast(1)),
    off("kafka.metrics.reporters", List, Some(""), Any),
    off("metric.reporters", List, Some("org.apache.kafka.common.metrics.JmxReporter"), Any)
        .dynamic(),
    off("metrics.num.samples", Int, Some("2"), AtLeast(1)),
    off("metrics.recording.level", Text, Some("INFO"), Any),
    off("metrics.sample.window.ms", Long, Some("30000"), AtLeast(1)),
    off("producer.purgatory.purge.interval.requests", Int, Some("1000"), Any),
    off("quota.window.num", Int, Some("11"), AtLeast(1)),
    off("quota.window.size.seconds", Int, Some("1"), AtLeast(1)),
    off("telemetry.max.bytes", Int, Some("1048576"), AtLeast(1)),
];
