//! Levels of loggers that change while the broker runs (BROKER_LOGGER, KIP-412): kept in memory, gone with the process.
//!
//! A logger is a `tracing` target; `root` stands for all others. Levels are Kafka's: FATAL is ERROR here. The program that
//! writes the log says how a change is carried out; in a test's program nothing has to happen.

use parking_lot::Mutex;
use std::{collections::BTreeMap, fmt, sync::Arc};

/// The logger without a name.
pub const ROOT: &str = "root";

/// The loggers there are, in name order.
pub const NAMES: &[&str] = &[
    "openraft",
    "ottla",
    "ottla::broker",
    "ottla::controller",
    "ottla::group",
    "ottla::handlers",
    "ottla::net",
    "ottla::partition",
    "ottla::storage",
    ROOT,
];

/// The levels that can be set, in name order.
pub const LEVELS: &[&str] = &["DEBUG", "ERROR", "FATAL", "INFO", "TRACE", "WARN"];

/// Cheap to clone; all clones are the same.
#[derive(Clone)]
pub struct Loggers(Arc<Inner>);

struct Inner {
    /// What was asked for at start, as `RUST_LOG` says it.
    given: String,
    set: Mutex<BTreeMap<&'static str, &'static str>>,
    install: Box<dyn Fn(&str) + Send + Sync>,
}

impl Loggers {
    /// `given` is what is logged now, as `RUST_LOG` says it; `install` is told what to log from now on.
    pub fn new(given: &str, install: impl Fn(&str) + Send + Sync + 'static) -> Loggers {
        let install = Box::new(install);
        Loggers(Arc::new(Inner { given: given.to_owned(), set: Mutex::default(), install }))
    }

    /// Names and the levels in effect, in name order.
    pub fn all(&self) -> Vec<(&'static str, String)> {
        let set = self.0.set.lock();
        NAMES.iter().map(|name| (*name, effective(&self.0.given, &set, name))).collect()
    }

    /// Sets the levels of loggers, or lets them follow the next one above again. Unknown ones are passed over.
    pub fn alter(&self, changes: &[(&str, Option<&str>)]) {
        let mut set = self.0.set.lock();
        for (name, level) in changes {
            let Some(name) = NAMES.iter().find(|known| *known == name) else { continue };
            match level {
                None => set.remove(name),
                Some(level) => match LEVELS.iter().find(|known| *known == level) {
                    Some(level) => set.insert(name, level),
                    None => continue,
                },
            };
        }
        let mut directives = self.0.given.clone();
        for (name, level) in set.iter() {
            let level = if *level == "FATAL" { "ERROR" } else { level };
            let directive = match *name {
                ROOT => level.to_lowercase(),
                name => format!("{name}={}", level.to_lowercase()),
            };
            directives = format!("{directives},{directive}");
        }
        (self.0.install)(directives.trim_start_matches(','));
    }
}

impl Default for Loggers {
    /// Nobody writes a log.
    fn default() -> Loggers {
        Loggers::new("", |_| {})
    }
}

impl fmt::Debug for Loggers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.all()).finish()
    }
}

/// The level of `name`: its own, or that of the next one above that has one.
fn effective(given: &str, set: &BTreeMap<&'static str, &'static str>, name: &str) -> String {
    // Directives about spans and fields say nothing of a logger as a whole.
    let simple = given.split(',').map(str::trim).filter(|it| !it.is_empty() && !it.contains('['));
    let mut levels: BTreeMap<&str, String> =
        simple.map(|it| it.split_once('=').unwrap_or((ROOT, it))).map(upper).collect();
    levels.extend(set.iter().map(|(name, level)| (*name, (*level).to_owned())));
    let above = |target: &str| {
        target == name || name.strip_prefix(target).is_some_and(|rest| rest.starts_with("::"))
    };
    let own = levels.iter().filter(|(target, _)| above(target)).max_by_key(|it| it.0.len());
    own.map(|it| it.1).or_else(|| levels.get(ROOT)).map_or("ERROR", String::as_str).to_owned()
}

fn upper<'a>((target, level): (&'a str, &str)) -> (&'a str, String) {
    (target, level.to_uppercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn level(loggers: &Loggers, name: &str) -> String {
        loggers.all().into_iter().find(|it| it.0 == name).unwrap().1
    }

    #[test]
    fn loggers_follow_the_next_one_above() {
        let installed = Arc::new(Mutex::new(String::new()));
        let seen = installed.clone();
        let loggers =
            Loggers::new("info,openraft=warn,ottla::net[span]=trace", move |directives| {
                *seen.lock() = directives.to_owned();
            });
        let levels = |names: [&str; 4]| names.map(|name| level(&loggers, name));
        let names = ["root", "openraft", "ottla", "ottla::net"];
        assert_eq!(levels(names), ["INFO", "WARN", "INFO", "INFO"]);

        loggers.alter(&[("ottla", Some("DEBUG")), ("root", Some("FATAL")), ("nope", Some("INFO"))]);
        assert_eq!(levels(names), ["FATAL", "WARN", "DEBUG", "DEBUG"]);
        let all = "info,openraft=warn,ottla::net[span]=trace,ottla=debug,error";
        assert_eq!(*installed.lock(), all);

        loggers.alter(&[("ottla::net", Some("TRACE")), ("openraft", Some("ERROR"))]);
        assert_eq!(levels(names), ["FATAL", "ERROR", "DEBUG", "TRACE"]);
        loggers.alter(&[("ottla", None), ("root", Some("loud"))]);
        assert_eq!(levels(names), ["FATAL", "ERROR", "FATAL", "TRACE"]);
    }

    #[test]
    fn names_are_in_order_and_there_is_a_level_without_any() {
        assert!(NAMES.is_sorted() && LEVELS.is_sorted());
        assert_eq!(level(&Loggers::default(), "root"), "ERROR");
    }
}
