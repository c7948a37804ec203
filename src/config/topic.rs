//! Topic settings: what a topic may set for itself, and what is in effect when it does not.
//!
//! `table` has every setting of Kafka 4.1's `LogConfig` with the broker settings it falls back to. Checks and their texts
//! are Kafka's (`LogConfig.validate`). Not here: what the settings do (`partition`).

pub mod table;
#[cfg(test)]
mod tests;

use super::{Config, setting, values::Values};
use std::collections::BTreeMap;
use table::TopicSetting;

/// `message.timestamp.type`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimestampType {
    CreateTime,
    LogAppendTime,
}

/// `compression.type`, with the level of the codec.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// Batches stay as their producer made them.
    Producer,
    Uncompressed,
    /// 1 to 9; -1: the codec's default.
    Gzip(i32),
    Snappy,
    Lz4(i32),
    Zstd(i32),
}

/// `cleanup.policy`: either, both or neither.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CleanupPolicy {
    pub compact: bool,
    pub delete: bool,
}

/// A topic's settings in effect. Field names are Kafka's settings with underscores, their units Kafka's.
#[derive(Debug, Clone, PartialEq)]
pub struct LogConfig {
    pub cleanup_policy: CleanupPolicy,
    pub compression: Compression,
    pub delete_retention_ms: i64,
    pub file_delete_delay_ms: i64,
    /// Records after which the log is synced; 1: before each acknowledgement.
    pub flush_messages: i64,
    pub flush_ms: i64,
    pub max_compaction_lag_ms: i64,
    pub max_message_bytes: i32,
    pub message_timestamp_after_max_ms: i64,
    pub message_timestamp_before_max_ms: i64,
    pub message_timestamp_type: TimestampType,
    pub min_cleanable_dirty_ratio: f64,
    pub min_compaction_lag_ms: i64,
    pub min_insync_replicas: i32,
    /// The broker's: no topic has one of its own.
    pub producer_id_expiration_ms: i64,
    /// Negative: unlimited.
    pub retention_bytes: i64,
    /// -1: unlimited.
    pub retention_ms: i64,
    /// `internal.segment.bytes` when that is set.
    pub segment_bytes: i32,
    pub segment_jitter_ms: i64,
    pub segment_ms: i64,
    pub unclean_leader_election_enable: bool,
}

impl LogConfig {
    /// The settings of a topic that sets `overrides`. Overrides that `validate` would refuse are passed over.
    pub fn resolve(config: &Config, overrides: &BTreeMap<String, String>) -> LogConfig {
        LogConfig::of(&config.values, overrides)
    }

    pub(super) fn of(values: &Values, overrides: &BTreeMap<String, String>) -> LogConfig {
        let text = |name: &str| effective(values, overrides, name).unwrap_or_default();
        let long = |name: &str| text(name).parse::<i64>().unwrap_or_default();
        let int = |name: &str| text(name).parse::<i32>().unwrap_or_default();
        let policy = text("cleanup.policy");
        let has = |wanted: &str| setting::list(&policy).any(|item| item == wanted);
        LogConfig {
            cleanup_policy: CleanupPolicy { compact: has("compact"), delete: has("delete") },
            compression: match text("compression.type").as_str() {
                "uncompressed" => Compression::Uncompressed,
                "gzip" => Compression::Gzip(int("compression.gzip.level")),
                "snappy" => Compression::Snappy,
                "lz4" => Compression::Lz4(int("compression.lz4.level")),
                "zstd" => Compression::Zstd(int("compression.zstd.level")),
                _ => Compression::Producer,
            },
            delete_retention_ms: long("delete.retention.ms"),
            file_delete_delay_ms: long("file.delete.delay.ms"),
            flush_messages: long("flush.messages"),
            flush_ms: long("flush.ms"),
            max_compaction_lag_ms: long("max.compaction.lag.ms"),
            max_message_bytes: int("max.message.bytes"),
            message_timestamp_after_max_ms: long("message.timestamp.after.max.ms"),
            message_timestamp_before_max_ms: long("message.timestamp.before.max.ms"),
            message_timestamp_type: match text("message.timestamp.type").as_str() {
                "LogAppendTime" => TimestampType::LogAppendTime,
                _ => TimestampType::CreateTime,
            },
            min_cleanable_dirty_ratio: text("min.cleanable.dirty.ratio").parse().unwrap_or(0.5),
            min_compaction_lag_ms: long("min.compaction.lag.ms"),
            min_insync_replicas: int("min.insync.replicas"),
            producer_id_expiration_ms: values.int("producer.id.expiration.ms").into(),
            retention_bytes: long("retention.bytes"),
            retention_ms: long("retention.ms"),
            segment_bytes: match effective(values, overrides, "internal.segment.bytes") {
                Some(bytes) => bytes.parse().unwrap_or(i32::MAX),
                None => int("segment.bytes"),
            },
            segment_jitter_ms: long("segment.jitter.ms"),
            segment_ms: long("segment.ms"),
            unclean_leader_election_enable: text("unclean.leader.election.enable") == "true",
        }
    }
}

/// Whether a topic of such brokers may set `overrides`; the error is the message that goes with INVALID_CONFIG.
pub fn validate(config: &Config, overrides: &BTreeMap<String, String>) -> Result<(), String> {
    if let Some(name) = overrides.keys().find(|name| table::find(name).is_none()) {
        return Err(format!("Unknown topic config name: {name}"));
    }
    for (name, text) in overrides {
        if let Some(topic_setting) = table::find(name) {
            topic_setting.setting.read(text)?;
        }
    }
    let values = &config.values;
    let lag = |name| {
        let text = effective(values, overrides, name);
        text.and_then(|text| text.parse::<i64>().ok()).unwrap_or_default()
    };
    let (least, most) = (lag("min.compaction.lag.ms"), lag("max.compaction.lag.ms"));
    if least > most {
        return Err(format!(
            "conflict topic config setting min.compaction.lag.ms ({least}) > max.compaction.lag.ms ({most})"
        ));
    }
    if effective(values, overrides, "remote.storage.enable").as_deref() == Some("true") {
        return Err("Tiered Storage functionality is disabled in the broker. Topic cannot be configured with \
                    remote log storage."
            .into());
    }
    Ok(())
}

/// Whether a topic may be configured otherwise under `a` than under `b`, whatever it sets itself.
pub fn defaults_differ(a: &Config, b: &Config) -> bool {
    let expiration_ms = |it: &Config| it.topic_defaults.producer_id_expiration_ms;
    expiration_ms(a) != expiration_ms(b)
        || table::all().any(|it| default_of(it, &a.values) != default_of(it, &b.values))
}

/// The value of a topic setting in canonical form; None: null.
pub(super) fn effective(
    values: &Values,
    overrides: &BTreeMap<String, String>,
    name: &str,
) -> Option<String> {
    let topic_setting = table::find(name)?;
    let own = overrides.get(name).and_then(|text| topic_setting.setting.read(text).ok());
    own.or_else(|| default_of(topic_setting, values))
}

/// The first of the broker settings behind it that is set, in the topic setting's unit.
fn default_of(topic_setting: &TopicSetting, values: &Values) -> Option<String> {
    let Some(first) = topic_setting.behind.first() else {
        return topic_setting.setting.default.map(str::to_owned);
    };
    let found =
        topic_setting.behind.iter().find_map(|behind| Some((behind, values.get(behind.name)?)));
    let (behind, value) = found.or_else(|| Some((first, topic_setting.setting.default?)))?;
    if behind.factor == 1 {
        return Some(value.to_owned());
    }
    // Negative: unlimited, as `log.retention.hours=-1`.
    let number = value.parse::<i64>().unwrap_or_default();
    Some(if number < 0 { -1 } else { number.saturating_mul(behind.factor) }.to_string())
}
