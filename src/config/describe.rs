//! What DescribeConfigs says of a topic, of this broker, of a group (Kafka's `ConfigHelper`), without the wire format.
//!
//! An entry's source is that of its first synonym, the value in effect; without synonyms it is the default, which for
//! settings with several names behind them (`retention.ms`) is so even when one of those is set. As in Kafka.

use super::{
    Config, client_metrics, dynamic,
    dynamic::Level,
    group,
    setting::{Setting, Type},
    settings, topic,
};
use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
};

/// Where a value comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    Topic = 1,
    DynamicBroker = 2,
    DynamicDefaultBroker = 3,
    StaticBroker = 4,
    Default = 5,
    BrokerLogger = 6,
    ClientMetrics = 7,
    Group = 8,
}

/// A setting's name: one of the tables', or one that Kafka does not know either.
pub type Name = Cow<'static, str>;

/// One value of those that could be in effect, the one that is first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Synonym {
    pub name: Name,
    /// None: null, or not to be shown.
    pub value: Option<String>,
    pub source: Source,
}

/// A setting as it is described.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub name: Name,
    /// None: null, or not to be shown.
    pub value: Option<String>,
    pub source: Source,
    /// None: not known.
    pub kind: Option<Type>,
    pub read_only: bool,
    pub sensitive: bool,
    pub synonyms: Vec<Synonym>,
    pub documentation: Option<&'static str>,
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
            let (name, value) = (setting.name.into(), value.clone());
            synonyms.push(Synonym { name, value, source: Source::Topic });
        }
        if let Some(first) = topic_setting.behind.first() {
            synonyms.extend(broker_synonyms(config, first.name.into(), false));
        }
        Entry { read_only: false, ..entry(setting, value, synonyms) }
    };
    topic::table::all().filter(shown).map(describe).collect()
}

/// Every setting of this broker, in name order.
pub fn broker(config: &Config) -> Vec<Entry> {
    let given = |s: &Setting| config.values.given(s.name).is_some();
    let known = settings::all().filter(|s| !s.internal || given(s)).map(|setting| {
        let value = config.values.get(setting.name).map(str::to_owned);
        let synonyms = broker_synonyms(config, setting.name.into(), setting.sensitive());
        entry(setting, value, synonyms)
    });
    let levels = [Level::Broker, Level::Cluster].map(|level| config.values.all_dynamic(level));
    let dynamic: BTreeSet<&str> = levels.into_iter().flatten().map(|(name, _)| name).collect();
    let others = dynamic.into_iter().filter(|name| settings::find(name).is_none());
    let mut entries: Vec<Entry> = known.chain(others.map(|name| other(config, name))).collect();
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    entries
}

/// What is set for the cluster as a whole, in name order.
pub fn cluster(config: &Config) -> Vec<Entry> {
    let describe = |(name, text): (&str, &str)| {
        let mut entry = match settings::find(name) {
            Some(setting) => {
                let synonyms = broker_synonyms(config, setting.name.into(), setting.sensitive());
                entry(setting, Some(text.to_owned()), synonyms)
            }
            None => other(config, name),
        };
        entry.value = Some(text.to_owned()).filter(|_| !entry.sensitive);
        entry.source = Source::DynamicDefaultBroker;
        entry.synonyms.retain(|synonym| synonym.source == Source::DynamicDefaultBroker);
        entry
    };
    config.values.all_dynamic(Level::Cluster).map(describe).collect()
}

/// Every setting of a group that sets `overrides`, in name order.
pub fn group(config: &Config, overrides: &BTreeMap<String, String>) -> Vec<Entry> {
    let describe = |it: &'static group::GroupSetting| {
        let value = group::effective(config, overrides, it);
        let own = overrides.contains_key(it.setting.name);
        let source = if own { Source::Group } else { Source::Default };
        let synonym = Synonym { name: it.setting.name.into(), value: value.clone(), source };
        Entry { read_only: false, ..entry(&it.setting, value, vec![synonym]) }
    };
    group::all().map(describe).collect()
}

/// Every logger of this broker with its level, in name order.
pub fn loggers(config: &Config) -> Vec<Entry> {
    let describe = |(name, level): (&'static str, String)| Entry {
        name: name.into(),
        value: Some(level),
        source: Source::BrokerLogger,
        kind: None,
        read_only: false,
        sensitive: false,
        synonyms: Vec::new(),
        documentation: None,
    };
    config.loggers.all().into_iter().map(describe).collect()
}

/// Every setting of a client metrics subscription that sets `overrides`, in name order.
pub fn client_metrics(overrides: &BTreeMap<String, String>) -> Vec<Entry> {
    let describe = |setting: &'static Setting| {
        let own = overrides.get(setting.name).and_then(|text| setting.read(text).ok());
        let source = Source::ClientMetrics;
        let synonym = |value: &String| Synonym {
            name: setting.name.into(),
            value: Some(value.clone()),
            source,
        };
        let synonyms = own.as_ref().map(synonym).into_iter().collect();
        let value = own.or_else(|| setting.default.map(str::to_owned));
        Entry { read_only: false, ..entry(setting, value, synonyms) }
    };
    client_metrics::all().map(describe).collect()
}

fn entry(setting: &'static Setting, value: Option<String>, synonyms: Vec<Synonym>) -> Entry {
    let sensitive = setting.sensitive();
    Entry {
        name: setting.name.into(),
        value: value.filter(|_| !sensitive),
        source: synonyms.first().map_or(Source::Default, |synonym| synonym.source),
        kind: Some(setting.kind),
        read_only: !setting.dynamic,
        sensitive,
        synonyms,
        documentation: Some(setting.doc),
    }
}

/// A broker setting that is not in the table: for one listener alone, a throttle, or somebody's own, which may be secret.
fn other(config: &Config, name: &str) -> Entry {
    let known = dynamic::find(name).or_else(|| dynamic::find(dynamic::under_listener(name)?));
    let sensitive = known.is_none_or(Setting::sensitive);
    let synonyms = broker_synonyms(config, Cow::Owned(name.to_owned()), sensitive);
    Entry {
        name: Cow::Owned(name.to_owned()),
        value: config.values.get(name).map(str::to_owned).filter(|_| !sensitive),
        source: synonyms.first().map_or(Source::Default, |synonym| synonym.source),
        kind: known.map(|setting| setting.kind),
        read_only: true,
        sensitive,
        synonyms,
        documentation: None,
    }
}

/// What the broker has for `name` and the names behind it: what was set for this broker, for the cluster, what was given, the
/// defaults; and nothing before the first value of `name` itself.
fn broker_synonyms(config: &Config, name: Name, sensitive: bool) -> Vec<Synonym> {
    let values = &config.values;
    let mut synonyms = Vec::new();
    let names = names_of(&name);
    for source in
        [Source::DynamicBroker, Source::DynamicDefaultBroker, Source::StaticBroker, Source::Default]
    {
        for name in &names {
            let value = match source {
                Source::DynamicBroker => values.dynamic(Level::Broker, name),
                Source::DynamicDefaultBroker => values.dynamic(Level::Cluster, name),
                Source::StaticBroker => values.given(name),
                _ => values.default_of(name),
            };
            let Some(value) = value else { continue };
            let value = Some(value.to_owned()).filter(|_| !sensitive);
            synonyms.push(Synonym { name: name.clone(), value, source });
        }
    }
    let before = synonyms.iter().position(|synonym| synonym.name == name);
    synonyms.split_off(before.unwrap_or(synonyms.len()))
}

/// All names of a setting, the one that wins first.
fn names_of(name: &Name) -> Vec<Name> {
    let names = NAMES.iter().find(|names| names.contains(&&**name) && *name != SCHEDULER);
    match (names, dynamic::under_listener(name)) {
        (Some(names), _) => names.iter().map(|name| Cow::Borrowed(*name)).collect(),
        (None, Some(setting)) => vec![name.clone(), Cow::Owned(setting.to_owned())],
        (None, None) => vec![name.clone()],
    }
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
