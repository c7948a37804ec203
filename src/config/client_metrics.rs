//! Settings of a client metrics subscription (Kafka's `ClientMetricsConfigs`, KIP-714). Stored and described; no client is
//! asked for metrics, because nobody would receive them.

use super::{
    pattern,
    setting::{
        self,
        Check::Any,
        Setting,
        Type::{Int, List},
        off,
    },
};
use std::collections::BTreeMap;

/// Why a subscription is refused: what is wrong with the request, or with a value (INVALID_CONFIG).
#[derive(Debug, PartialEq, Eq)]
pub enum Refusal {
    Request(String),
    Value(String),
}

/// In name order.
pub fn all() -> impl Iterator<Item = &'static Setting> {
    SETTINGS.iter()
}

/// Whether a subscription may be `texts`.
pub fn validate(texts: &BTreeMap<String, String>) -> Result<(), Refusal> {
    let find = |name: &str| SETTINGS.iter().find(|setting| setting.name == name);
    if let Some(name) = texts.keys().find(|name| find(name).is_none()) {
        return Err(Refusal::Request(format!("Unknown client metrics configuration: {name}")));
    }
    for (name, text) in texts {
        let Some(setting) = find(name) else { continue };
        let value = setting.read(text).map_err(Refusal::Value)?;
        if name == "interval.ms" && !(100..=3_600_000).contains(&value.parse().unwrap_or(0)) {
            return Err(Refusal::Request(format!(
                "Invalid value {value} for interval.ms, interval must be between 100 and 3600000 (1 hour)"
            )));
        }
    }
    let patterns = texts.get("match").map_or("", String::as_str);
    match setting::list(patterns).map(str::trim).find(|pattern| !is_pattern(pattern)) {
        Some(bad) => Err(Refusal::Value(format!("Illegal client matching pattern: {bad}"))),
        None => Ok(()),
    }
}

fn is_pattern(text: &str) -> bool {
    let Some((what, pattern)) = text.split_once('=') else { return false };
    MATCHED.contains(&what.trim())
        && !pattern.is_empty()
        && !pattern.contains('=')
        && pattern::is_java(pattern.trim())
}

/// What clients can be told apart by.
const MATCHED: &[&str] = &[
    "client_id",
    "client_instance_id",
    "client_software_name",
    "client_software_version",
    "client_source_address",
    "client_source_port",
];

const SETTINGS: &[Setting] = &[
    off("interval.ms", Int, Some("300000"), Any),
    off("match", List, Some(""), Any),
    off("metrics", List, Some(""), Any),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subscriptions_are_checked_with_kafkas_words() {
        let check = |name: &str, text: &str| {
            validate(&BTreeMap::from([(name.to_owned(), text.to_owned())]))
        };
        let range = |value: &str| {
            Refusal::Request(format!(
                "Invalid value {value} for interval.ms, interval must be between 100 and 3600000 (1 hour)"
            ))
        };
        let value = |text: &str| Refusal::Value(text.to_owned());
        let pattern = |text: &str| value(&format!("Illegal client matching pattern: {text}"));
        let cases = [
            (
                "nope",
                "1",
                Some(Refusal::Request("Unknown client metrics configuration: nope".into())),
            ),
            (
                "interval.ms",
                "x",
                Some(value(
                    "Invalid value x for configuration interval.ms: Not a number of type INT",
                )),
            ),
            ("interval.ms", "99", Some(range("99"))),
            ("interval.ms", "3600001", Some(range("3600001"))),
            ("interval.ms", "100", None),
            ("metrics", "*", None),
            ("metrics", "", None),
            ("match", "", None),
            ("match", "client_id=a, client_software_name = b", None),
            ("match", "x", Some(pattern("x"))),
            ("match", "x=y", Some(pattern("x=y"))),
            ("match", "client_id=", Some(pattern("client_id="))),
            ("match", "client_id=a=b", Some(pattern("client_id=a=b"))),
            ("match", "client_id=a,client_id= [ ", Some(pattern("client_id= ["))),
            ("match", "client_id=*", Some(pattern("client_id=*"))),
        ];
        for (name, text, refusal) in cases {
            assert_eq!(check(name, text).err(), refusal, "{name}={text}");
        }
    }
}
