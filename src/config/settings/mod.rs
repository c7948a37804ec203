//! Every broker setting Kafka 4.1 knows, and the one that is ours, by area. What each means to Ottla is said here and
//! nowhere else: DescribeConfigs and the warnings at start come from these tables.
//!
//! Names, types, defaults, ranges, dynamic and internal flags are those of `KafkaConfig.configDef` in Kafka 4.1.1. Other
//! defaults than Kafka's: `node.id` and `process.roles` (required there), `log.dirs`, `log.dir`; and `DEV` for `--dev`.

mod cluster;
mod group;
mod log;
mod network;
mod other;
mod remote;
mod security;
mod transaction;

use super::setting::Setting;

/// What `--dev` changes, beside keeping everything in memory: (name, default).
pub const DEV: &[(&str, Option<&str>)] = &[
    ("group.initial.rebalance.delay.ms", Some("0")),
    ("group.min.session.timeout.ms", Some("1")),
    ("listeners", Some("PLAINTEXT://127.0.0.1:9092")),
    ("log.dirs", None),
    ("offsets.topic.num.partitions", Some("1")),
    ("share.coordinator.state.topic.num.partitions", Some("1")),
    ("transaction.state.log.num.partitions", Some("1")),
];

/// Each in name order.
const AREAS: &[&[Setting]] = &[
    cluster::SETTINGS,
    group::SETTINGS,
    log::SETTINGS,
    network::SETTINGS,
    other::SETTINGS,
    remote::SETTINGS,
    security::SETTINGS,
    transaction::SETTINGS,
];

/// Longer names are compared by their beginning: no setting's name is as long.
const NAME_BYTES_COMPARED: usize = 100;

/// By area.
pub fn all() -> impl Iterator<Item = &'static Setting> {
    AREAS.iter().copied().flatten()
}

pub fn find(name: &str) -> Option<&'static Setting> {
    let at = |area: &[Setting]| area.binary_search_by_key(&name, |setting| setting.name).ok();
    AREAS.iter().copied().find_map(|area| Some(&area[at(area)?]))
}

/// Its default, with or without `--dev`.
pub fn default_of(setting: &Setting, dev: bool) -> Option<&'static str> {
    let changed = DEV.iter().find(|(name, _)| dev && *name == setting.name);
    changed.map_or(setting.default, |(_, default)| *default)
}

/// The known name that is closest to `name`, unless none is close.
pub fn nearest(name: &str) -> Option<&'static str> {
    let name = &name.as_bytes()[..name.len().min(NAME_BYTES_COMPARED)];
    let (distance, known) =
        all().map(|known| (distance(name, known.name.as_bytes()), known.name)).min()?;
    (distance <= 1 + name.len() / 3).then_some(known)
}

/// Levenshtein's: insertions, deletions and replacements that make `a` into `b`.
fn distance(a: &[u8], b: &[u8]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}
