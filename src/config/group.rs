//! Settings of a group: what one group may set for itself (Kafka's `GroupConfig`). Stored and described; without effect until
//! the protocols are there that they are for.

use super::{
    Config,
    setting::{
        Check::{AtLeast, OffsetReset, OneOf},
        Setting,
        Type::{Int, Text},
        off,
    },
};
use std::collections::BTreeMap;

/// A group's setting and the broker settings it depends on.
pub struct GroupSetting {
    pub setting: Setting,
    /// Gives the default.
    pub behind: Option<&'static str>,
    least: Option<&'static str>,
    most: Option<&'static str>,
}

/// In name order.
pub fn all() -> impl Iterator<Item = &'static GroupSetting> {
    SETTINGS.iter()
}

fn find(name: &str) -> Option<&'static GroupSetting> {
    SETTINGS.iter().find(|it| it.setting.name == name)
}

/// The value in effect for a group that sets `overrides`, in canonical form.
pub fn effective(
    config: &Config,
    overrides: &BTreeMap<String, String>,
    it: &GroupSetting,
) -> Option<String> {
    let own = overrides.get(it.setting.name).and_then(|text| it.setting.read(text).ok());
    let behind = || it.behind.and_then(|name| config.values.get(name)).or(it.setting.default);
    own.or_else(|| behind().map(str::to_owned))
}

/// Whether a group may set `overrides`; the error is the message that goes with INVALID_CONFIG.
pub fn validate(config: &Config, overrides: &BTreeMap<String, String>) -> Result<(), String> {
    if let Some(name) = overrides.keys().find(|name| find(name).is_none()) {
        return Err(format!("Unknown group config name: {name}"));
    }
    for (name, text) in overrides {
        if let Some(it) = find(name) {
            it.setting.read(text)?;
        }
    }
    let number = |it: &GroupSetting| {
        let value = effective(config, overrides, it);
        value.and_then(|text| text.parse::<i64>().ok()).unwrap_or_default()
    };
    for it in SETTINGS {
        let must = |be: &str, than: &str| Err(format!("{} must be {be} {than}", it.setting.name));
        match (it.least, it.most) {
            (Some(least), _) if number(it) < config.values.long(least) => {
                return must("greater than or equal to", least);
            }
            (_, Some(most)) if number(it) > config.values.long(most) => {
                return must("less than or equal to", most);
            }
            _ => {}
        }
    }
    for kind in ["consumer", "share", "streams"] {
        let (session, heartbeat) =
            (format!("{kind}.session.timeout.ms"), format!("{kind}.heartbeat.interval.ms"));
        let value = |name: &str| find(name).map(number);
        if value(&session) <= value(&heartbeat) {
            return Err(format!("{session} must be greater than {heartbeat}"));
        }
    }
    Ok(())
}

const fn between(
    name: &'static str,
    at_least: i64,
    behind: &'static str,
    least: Option<&'static str>,
    most: Option<&'static str>,
) -> GroupSetting {
    let setting = off(name, Int, None, AtLeast(at_least));
    GroupSetting { setting, behind: Some(behind), least, most }
}

const fn free(setting: Setting) -> GroupSetting {
    GroupSetting { setting, behind: None, least: None, most: None }
}

const SETTINGS: &[GroupSetting] = &[
    between(
        "consumer.heartbeat.interval.ms",
        1,
        "group.consumer.heartbeat.interval.ms",
        Some("group.consumer.min.heartbeat.interval.ms"),
        Some("group.consumer.max.heartbeat.interval.ms"),
    ),
    between(
        "consumer.session.timeout.ms",
        1,
        "group.consumer.session.timeout.ms",
        Some("group.consumer.min.session.timeout.ms"),
        Some("group.consumer.max.session.timeout.ms"),
    ),
    free(off("share.auto.offset.reset", Text, Some("latest"), OffsetReset)),
    between(
        "share.heartbeat.interval.ms",
        1,
        "group.share.heartbeat.interval.ms",
        Some("group.share.min.heartbeat.interval.ms"),
        Some("group.share.max.heartbeat.interval.ms"),
    ),
    free(off(
        "share.isolation.level",
        Text,
        Some("read_uncommitted"),
        OneOf(&["read_committed", "read_uncommitted"]),
    )),
    between(
        "share.record.lock.duration.ms",
        1000,
        "group.share.record.lock.duration.ms",
        Some("group.share.min.record.lock.duration.ms"),
        Some("group.share.max.record.lock.duration.ms"),
    ),
    between(
        "share.session.timeout.ms",
        1,
        "group.share.session.timeout.ms",
        Some("group.share.min.session.timeout.ms"),
        Some("group.share.max.session.timeout.ms"),
    ),
    between(
        "streams.heartbeat.interval.ms",
        1,
        "group.streams.heartbeat.interval.ms",
        Some("group.streams.min.heartbeat.interval.ms"),
        Some("group.streams.max.heartbeat.interval.ms"),
    ),
    between(
        "streams.num.standby.replicas",
        0,
        "group.streams.num.standby.replicas",
        None,
        Some("group.streams.max.standby.replicas"),
    ),
    between(
        "streams.session.timeout.ms",
        1,
        "group.streams.session.timeout.ms",
        Some("group.streams.min.session.timeout.ms"),
        Some("group.streams.max.session.timeout.ms"),
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn check(overrides: &[(&str, &str)]) -> Result<(), String> {
        let overrides = overrides.iter().map(|(name, text)| (name.to_string(), text.to_string()));
        validate(&Config::default(), &overrides.collect())
    }

    #[test]
    fn overrides_are_checked_with_kafkas_words() {
        let refused = [
            ("nope", "1", "Unknown group config name: nope"),
            (
                "consumer.session.timeout.ms",
                "x",
                "Invalid value x for configuration consumer.session.timeout.ms: Not a number of type INT",
            ),
            (
                "consumer.session.timeout.ms",
                "0",
                "Invalid value 0 for configuration consumer.session.timeout.ms: Value must be at least 1",
            ),
            (
                "consumer.session.timeout.ms",
                "1",
                "consumer.session.timeout.ms must be greater than or equal to group.consumer.min.session.timeout.ms",
            ),
            (
                "consumer.session.timeout.ms",
                "999999",
                "consumer.session.timeout.ms must be less than or equal to group.consumer.max.session.timeout.ms",
            ),
            (
                "share.record.lock.duration.ms",
                "1000",
                "share.record.lock.duration.ms must be greater than or equal to group.share.min.record.lock.duration.ms",
            ),
            (
                "streams.num.standby.replicas",
                "9",
                "streams.num.standby.replicas must be less than or equal to group.streams.max.standby.replicas",
            ),
            (
                "share.isolation.level",
                "x",
                "Invalid value x for configuration share.isolation.level: String must be one of: read_committed, read_uncommitted",
            ),
            (
                "share.auto.offset.reset",
                "by_duration:-PT1H",
                "Invalid value by_duration:-PT1H for configuration share.auto.offset.reset: Invalid value \
                 `by_duration:-PT1H` for configuration share.auto.offset.reset. The value must be either \
                 'earliest', 'latest' or of the format 'by_duration:<PnDTnHnMn.nS>'.",
            ),
        ];
        for (name, text, why) in refused {
            assert_eq!(check(&[(name, text)]), Err(why.to_owned()));
        }
        for text in ["earliest", "latest", "by_duration:PT1H", "by_duration:P2DT1H3M4.5S"] {
            assert_eq!(check(&[("share.auto.offset.reset", text)]), Ok(()), "{text}");
        }
        for text in [
            "",
            "none",
            "EARLIEST",
            "by_duration:",
            "by_duration:P",
            "by_duration:PT",
            "by_duration:1S",
        ] {
            assert!(check(&[("share.auto.offset.reset", text)]).is_err(), "{text}");
        }
        assert_eq!(check(&[("consumer.session.timeout.ms", " 50000 ")]), Ok(()));
    }

    #[test]
    fn a_session_is_longer_than_a_heartbeat() {
        let broker = [
            ("group.consumer.min.session.timeout.ms", "1"),
            ("group.consumer.max.heartbeat.interval.ms", "20000"),
        ];
        let config = Config::build(false, &broker).unwrap();
        let set = |session: &str| {
            let name = "consumer.session.timeout.ms".to_owned();
            validate(&config, &BTreeMap::from([(name, session.to_owned())]))
        };
        let why = "consumer.session.timeout.ms must be greater than consumer.heartbeat.interval.ms";
        assert_eq!((set("5000"), set("5001")), (Err(why.to_owned()), Ok(())));
    }
}
