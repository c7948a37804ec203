//! What differs from run to run and from broker to broker, made the same: names, ids, addresses, times.
//!
//! A placeholder keeps identity: within one run of a case the same value gets the same one. What says "none" (-1, 0 where
//! it means that, null, an empty string) stays as it is.

use std::collections::BTreeMap;

use uuid::Uuid;

use super::answer::Value;

/// Fields that hold an id, by what it identifies. Only numbers that are ids and strings that are not empty are replaced.
const IDS: &[(&str, &[&str])] = &[
    (
        "node",
        &[
            "broker_id",
            "controller_id",
            "isr_nodes",
            "leader_id",
            "node_id",
            "replica_id",
            "replica_nodes",
            "replicas",
        ],
    ),
    ("member", &["leader", "member_id"]),
    ("cluster", &["cluster_id"]),
    ("producer", &["producer_id"]),
    ("session", &["session_id"]),
];

/// Fields whose value says nothing but that it is there.
const MASKED: &[(&str, &str)] = &[
    ("documentation", "{text}"),
    ("error_message", "{text}"),
    ("batch_index_error_message", "{text}"),
    ("finalized_features_epoch", "{epoch}"),
    ("host", "{host}"),
    ("log_dir", "{dir}"),
    ("port", "{port}"),
    ("total_bytes", "{bytes}"),
    ("usable_bytes", "{bytes}"),
];

/// Milliseconds since 1970 from here on are a clock's: 2020. What tables set themselves is lower.
const CLOCK_MS: i64 = 1_577_836_800_000;
const CLOCK_END_MS: i64 = 4_102_444_800_000;

#[derive(Debug, Clone, Default)]
pub struct Names {
    /// (what is there, what is shown).
    known: Vec<(String, String)>,
    counts: BTreeMap<String, usize>,
    hidden: &'static [&'static str],
}

impl Names {
    /// The placeholder of `actual`; the next of this kind if it is new.
    pub fn learn(&mut self, kind: &str, actual: &str) -> String {
        if let Some((_, shown)) = self.known.iter().find(|(known, _)| known == actual) {
            return shown.clone();
        }
        let count = self.counts.entry(kind.to_owned()).or_default();
        *count += 1;
        let shown = format!("{{{kind}-{count}}}");
        self.show(actual, &shown);
        shown
    }

    /// Shows `actual` like this.
    pub fn show(&mut self, actual: &str, shown: &str) {
        self.known.push((actual.to_owned(), shown.to_owned()));
    }

    /// Whether something of this case is named in it.
    pub fn are_in(&self, value: &Value) -> bool {
        let text = format!("{value:?}");
        self.known.iter().any(|(actual, _)| text.contains(actual))
    }

    /// Fields of the next message whose numbers are not shown.
    pub fn hide(&mut self, fields: &'static [&'static str]) {
        self.hidden = fields;
    }

    pub fn normalise(&mut self, value: &mut Value) {
        self.field("", value);
    }

    fn field(&mut self, name: &str, value: &mut Value) {
        match value {
            Value::Struct(fields) => fields.iter_mut().for_each(|(name, it)| self.field(name, it)),
            Value::List(list) => list.iter_mut().for_each(|it| self.field(name, it)),
            Value::Null => {}
            Value::Plain(text) => {
                if let Some(shown) = self.plain(name, text) {
                    *text = shown;
                }
            }
            Value::Text(text) if text.is_empty() => {}
            Value::Text(text) => match (masked(name), kind(name)) {
                (Some(shown), _) => *value = Value::Plain(shown.to_owned()),
                (_, Some("node")) | (_, None) => *text = self.replaced(text),
                (_, Some(kind)) => *value = Value::Plain(self.learn(kind, text)),
            },
            Value::Bytes(bytes) => {
                if let Ok(text) = std::str::from_utf8(bytes) {
                    *bytes = self.replaced(text).into_bytes();
                }
            }
        }
    }

    /// A number or an id; None leaves it.
    fn plain(&mut self, name: &str, text: &str) -> Option<String> {
        if let Ok(id) = text.parse::<Uuid>() {
            let nil = "nil".to_owned();
            return Some(if id.is_nil() { nil } else { self.learn("id", text) });
        }
        let number: i64 = text.parse().ok()?;
        if (CLOCK_MS..CLOCK_END_MS).contains(&number) {
            return Some("{time}".to_owned());
        }
        if self.hidden.contains(&name) {
            return (number >= 0).then(|| "{number}".to_owned());
        }
        if let Some(shown) = masked(name) {
            return (number >= 0).then(|| shown.to_owned());
        }
        let kind = kind(name)?;
        let is_id = match kind {
            // 0 is what an answer without a node says: `compat/kafka/start` and Ottla count from 1.
            "node" => number > 0,
            "session" => number != 0,
            _ => number >= 0,
        };
        is_id.then(|| self.learn(kind, &format!("{kind} {number}")))
    }

    /// Longest first: a name may begin with another. What is short (a node's number) only if it is all.
    fn replaced(&self, text: &str) -> String {
        if let Some((_, shown)) = self.known.iter().find(|(actual, _)| actual == text) {
            return shown.clone();
        }
        let mut known: Vec<_> = self.known.iter().filter(|(actual, _)| actual.len() > 8).collect();
        known.sort_by_key(|(actual, _)| std::cmp::Reverse(actual.len()));
        known.iter().fold(text.to_owned(), |text, (actual, shown)| text.replace(actual, shown))
    }
}

fn kind(name: &str) -> Option<&'static str> {
    IDS.iter().find(|(_, fields)| fields.contains(&name)).map(|(kind, _)| *kind)
}

fn masked(name: &str) -> Option<&'static str> {
    MASKED.iter().find(|(field, _)| *field == name).map(|(_, shown)| *shown)
}
