//! What DescribeConfigs says of a topic, of this broker, of a group (Kafka's `ConfigHelper`), without the wire format.
//!
//! An entry's source is that of its first synonym, the value in effect; without synonyms it is the default, which for
//! settings with several names behind them (`retention.ms`) is so even when one of those is set. As in Kafka.

use super::{
    Config,
    setting::{Check, Setting, Type, off},
    settings, topic,
};
use std::collections::BTreeMap;

/// Where a value comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    Topic = 1,
    StaticBroker = 4,
    Default = 5,
    Group = 8,
}

/// One value of those that could be in effect, the one that is first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Synonym {
    pub name: &'static str,
    /// None: null, or not to be shown.
    pub value: Option<String>,
    pub source: Source,
}

/// A setting as it is described.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub name: &'static str,
    /// None: null, or not to be shown.
    pub value: Option<String>,
    pub source: Source,
    pub kind: Type,
    pub read_only: bool,
    pub sensitive: bool,
    pub synonyms: Vec<Synonym>,
    pub documentation: &'static str,
}

/// Every setting of a topic that sets `overrides`, in name order.
pub fn topic(config: &Config, overrides: &BTreeMap<String, String>) -> Vec<Entry> {
    let shown = |s: &&topic::table::TopicSetting| {
        !s.setting.internal || overrides.contains_key(s.setting.name)
    };
    let describe = |topic_setting: &'static topic::table::TopicSetting| {
        let setting = &topic_setting.setting;
        let value = topic::effective(&config.values, overrides, setting.name);
        let mut synonyms = Vec::new();
        if overrides.contains_key(setting.name) {
            synonyms.push(Synonym {
                name: setting.name,
                value: value.clone(),
                source: Source::Topic,
            });
        }
        let first = topic_setting.behind.first().and_then(|first| settings::find(first.name));
        synonyms.extend(first.into_iter().flat_map(|first| broker_synonyms(config, first)));
        Entry { read_only: false, ..entry(setting, value, synonyms) }
    };
    topic::table::all().filter(shown).map(describe).collect()
}

/// Every setting of this broker, in name order.
pub fn broker(config: &Config) -> Vec<Entry> {
    let given = |s: &Setting| config.values.given(s.name).is_some();
    let mut shown: Vec<_> = settings::all().filter(|s| !s.internal || given(s)).collect();
    shown.sort_by_key(|setting| setting.name);
    let describe = |setting: &'static Setting| {
        let default = settings::default_of(setting, config.dev);
        let value = config.values.given(setting.name).or(default).map(str::to_owned);
        entry(setting, value, broker_synonyms(config, setting))
    };
    shown.into_iter().map(describe).collect()
}

/// Every setting of a group, in name order. None can be set in this version.
pub fn group(config: &Config) -> Vec<Entry> {
    let describe = |(setting, behind): &'static (Setting, Option<&str>)| {
        let broker = behind.and_then(|name| config.values.get(name)).or(setting.default);
        let value = broker.map(str::to_owned);
        let synonym = Synonym { name: setting.name, value: value.clone(), source: Source::Default };
        Entry { read_only: false, ..entry(setting, value, vec![synonym]) }
    };
    GROUP.iter().map(describe).collect()
}

/// Every setting of a client metrics subscription, in name order. None can be set in this version.
pub fn client_metrics() -> Vec<Entry> {
    let describe = |setting: &'static Setting| {
        let value = setting.default.map(str::to_owned);
        Entry { read_only: false, ..entry(setting, value, Vec::new()) }
    };
    CLIENT_METRICS.iter().map(describe).collect()
}

fn entry(setting: &'static Setting, value: Option<String>, synonyms: Vec<Synonym>) -> Entry {
    let sensitive = setting.sensitive();
    Entry {
        name: setting.name,
        value: value.filter(|_| !sensitive),
        source: synonyms.first().map_or(Source::Default, |synonym| synonym.source),
        kind: setting.kind,
        read_only: !setting.dynamic,
        sensitive,
        synonyms,
        documentation: setting.doc,
    }
}

/// What the broker has for `setting` and the names behind it: what was given before the defaults, and nothing before the
/// first value of `setting` itself.
fn broker_synonyms(config: &Config, setting: &'static Setting) -> Vec<Synonym> {
    let name = setting.name;
    let names = NAMES.iter().find(|names| names.contains(&name) && name != SCHEDULER);
    let known: Vec<&Setting> = match names {
        Some(names) => names.iter().filter_map(|name| settings::find(name)).collect(),
        None => vec![setting],
    };
    let synonym = |setting: &Setting, value: Option<&str>, source| {
        let value = Some(value?.to_owned()).filter(|_| !setting.sensitive());
        Some(Synonym { name: setting.name, value, source })
    };
    let values = &config.values;
    let given = known.iter().filter_map(|s| synonym(s, values.given(s.name), Source::StaticBroker));
    let defaults = known
        .iter()
        .filter_map(|s| synonym(s, settings::default_of(s, config.dev), Source::Default));
    given.chain(defaults).skip_while(|synonym| synonym.name != name).collect()
}

/// Stands behind `log.flush.interval.ms`, but not the other way round.
const SCHEDULER: &str = "log.flush.scheduler.interval.ms";

/// Settings with several names, the one that wins first (Kafka's `DynamicBrokerConfig.brokerConfigSynonyms`).
const NAMES: &[&[&str]] = &[
    &["log.roll.ms", "log.roll.hours"],
    &["log.roll.jitter.ms", "log.roll.jitter.hours"],
    &["log.flush.interval.ms", SCHEDULER],
    &["log.retention.ms", "log.retention.minutes", "log.retention.hours"],
];

/// Settings of a group (Kafka's `GroupConfig`), with the broker setting that gives the default.
const GROUP: &[(Setting, Option<&str>)] = &[
    (
        off("consumer.heartbeat.interval.ms", Type::Int, None, Check::Any),
        Some("group.consumer.heartbeat.interval.ms"),
    ),
    (
        off("consumer.session.timeout.ms", Type::Int, None, Check::Any),
        Some("group.consumer.session.timeout.ms"),
    ),
    (off("share.auto.offset.reset", Type::Text, Some("latest"), Check::Any), None),
    (
        off("share.heartbeat.interval.ms", Type::Int, None, Check::Any),
        Some("group.share.heartbeat.interval.ms"),
    ),
    (off("share.isolation.level", Type::Text, Some("read_uncommitted"), Check::Any), None),
    (
        off("share.record.lock.duration.ms", Type::Int, None, Check::Any),
        Some("group.share.record.lock.duration.ms"),
    ),
    (
        off("share.session.timeout.ms", Type::Int, None, Check::Any),
        Some("group.share.session.timeout.ms"),
    ),
    (
        off("streams.heartbeat.interval.ms", Type::Int, None, Check::Any),
        Some("group.streams.heartbeat.interval.ms"),
    ),
    (
        off("streams.num.standby.replicas", Type::Int, None, Check::Any),
        Some("group.streams.num.standby.replicas"),
    ),
    (
        off("streams.session.timeout.ms", Type::Int, None, Check::Any),
        Some("group.streams.session.timeout.ms"),
    ),
];

/// Settings of a client metrics subscription (Kafka's `ClientMetricsConfigs`).
const CLIENT_METRICS: &[Setting] = &[
    off("interval.ms", Type::Int, Some("300000"), Check::Any),
    off("match", Type::List, Some(""), Check::Any),
    off("metrics", Type::List, Some(""), Check::Any),
];
