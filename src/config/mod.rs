//! Settings under Kafka's names: defaults, file, environment, command line; checked once, immutable afterwards. What changes
//! while the broker runs makes another `Config`.
//!
//! `settings` is the table of all names, `sources` reads them, `Config` is what the rest of the broker uses. A new setting
//! with effect is an entry of the table that says `on` and, where a typed value is wanted often, a field here.
//! `topic`, `group` and `client_metrics` have the settings of those, `describe` what DescribeConfigs says, `dynamic` and
//! `alter` what may change while the broker runs, and how; `pattern` judges regular expressions.
//!
//! Not here: dynamic values, which live in the metadata image.

pub mod alter;
pub mod client_metrics;
pub mod describe;
pub mod dynamic;
pub mod group;
pub mod listener;
pub mod loggers;
pub mod pattern;
pub mod setting;
pub mod settings;
mod sources;
#[cfg(test)]
mod tests;
pub mod topic;
mod values;

pub use listener::{Listener, host_port};
pub use sources::{ConfigError, Sources};
pub use values::Place;

use std::path::PathBuf;
use values::{Refusal, Values};

/// A broker's configuration. Field names are Kafka's settings with underscores, their units Kafka's.
#[derive(Debug, Clone)]
pub struct Config {
    /// `--dev`: test-friendly defaults.
    pub dev: bool,
    pub node_id: i32,
    pub broker_rack: Option<String>,
    /// Client listeners; at least one.
    pub listeners: Vec<Listener>,
    /// The host name of this machine.
    pub host_name: String,
    /// None: in memory.
    pub log_dir: Option<PathBuf>,
    /// `--accept-data-loss`: start although synced data is known to be lost.
    pub accept_data_loss: bool,
    /// Bytes free on the disk below which writing stops.
    pub log_dir_reserve_bytes: u64,

    pub num_partitions: i32,
    pub default_replication_factor: i16,
    pub auto_create_topics_enable: bool,
    pub delete_topic_enable: bool,
    /// What a topic gets that sets nothing.
    pub topic_defaults: topic::LogConfig,

    pub socket_request_max_bytes: i32,
    pub socket_listen_backlog_size: i32,
    /// Negative: never.
    pub connections_max_idle_ms: i64,
    pub max_connections: i32,
    pub max_incremental_fetch_session_cache_slots: i32,
    pub fetch_max_bytes: i32,
    pub max_request_partition_size_limit: i32,

    pub group_min_session_timeout_ms: i32,
    pub group_max_session_timeout_ms: i32,
    /// May be negative, which counts as 0.
    pub group_initial_rebalance_delay_ms: i32,
    pub group_max_size: i32,
    pub offsets_topic_num_partitions: i32,
    /// Before clamping to the nodes there are.
    pub offsets_topic_replication_factor: i16,
    pub offsets_topic_segment_bytes: i32,
    pub offsets_retention_minutes: i32,
    pub offsets_retention_check_interval_ms: i64,
    pub offset_metadata_max_bytes: i32,
    pub offsets_commit_timeout_ms: i32,

    pub producer_id_expiration_check_interval_ms: i32,

    /// Added to the machine's wall clock, in milliseconds; may change at any time. Timers do not see it.
    #[cfg(any(test, feature = "faults"))]
    pub wall_clock_offset_ms: std::sync::Arc<std::sync::atomic::AtomicI64>,

    /// Whoever writes the log puts its own here.
    pub loggers: loggers::Loggers,
    /// One line for each setting that was given and has no effect; logged once at start.
    pub warnings: Vec<String>,
    values: Values,
}

impl Default for Config {
    /// On disk in `./ottla-data`, Kafka's defaults.
    fn default() -> Config {
        Config::build(false, &[]).expect("defaults are valid")
    }
}

impl Config {
    /// In memory, test-friendly defaults, 127.0.0.1:9092.
    pub fn dev() -> Config {
        Config::build(true, &[]).expect("defaults are valid")
    }

    /// The defaults, with or without `--dev`, and `set` over them; a later entry of a name wins.
    pub fn build(dev: bool, set: &[(&str, &str)]) -> Result<Config, ConfigError> {
        let mut values = Values::new(dev);
        for (name, value) in set {
            sources::set(&mut values, name, value, Place::Program)?;
        }
        Config::from_values(values, dev)
    }

    /// What clients of listener `index` are told to connect to, when it is bound to `bound_port`: what
    /// `advertised.listeners` says, else its own host, and for a wildcard 127.0.0.1 with `--dev` and the host name without.
    pub fn advertised(&self, index: usize, bound_port: u16) -> (String, u16) {
        let listener = &self.listeners[index];
        match (&listener.advertised, &listener.host) {
            (Some((host, 0)), _) => (host.clone(), bound_port),
            (Some((host, port)), _) => (host.clone(), *port),
            (None, Some(host)) if !listener.is_wildcard() => (host.clone(), bound_port),
            _ if self.dev => ("127.0.0.1".into(), bound_port),
            _ => (self.host_name.clone(), bound_port),
        }
    }

    fn from_values(mut values: Values, dev: bool) -> Result<Config, ConfigError> {
        let refused = |values: &Values, (name, reason): Refusal| ConfigError::Bad {
            place: values.place(name),
            reason,
        };
        let node_id = node_id(&values).map_err(|refusal| refused(&values, refusal))?;
        for name in ["node.id", "broker.id"] {
            sources::set(&mut values, name, &node_id.to_string(), Place::Program)?;
        }
        let bad = |refusal| refused(&values, refusal);
        check_ranges(&values).map_err(bad)?;
        Ok(Config {
            dev,
            node_id,
            broker_rack: values.get("broker.rack").map(str::to_owned),
            listeners: listener::resolve(&values).map_err(bad)?,
            host_name: rustix::system::uname().nodename().to_string_lossy().into_owned(),
            log_dir: log_dir(&values).map_err(bad)?,
            accept_data_loss: false,
            log_dir_reserve_bytes: values.long("log.dir.reserve.bytes").unsigned_abs(),
            num_partitions: values.int("num.partitions"),
            default_replication_factor: short(values.long("default.replication.factor")),
            auto_create_topics_enable: values.flag("auto.create.topics.enable"),
            delete_topic_enable: values.flag("delete.topic.enable"),
            topic_defaults: topic::LogConfig::of(&values, &Default::default()),
            socket_request_max_bytes: values.int("socket.request.max.bytes"),
            socket_listen_backlog_size: values.int("socket.listen.backlog.size"),
            connections_max_idle_ms: values.long("connections.max.idle.ms"),
            max_connections: values.int("max.connections"),
            max_incremental_fetch_session_cache_slots: values
                .int("max.incremental.fetch.session.cache.slots"),
            fetch_max_bytes: values.int("fetch.max.bytes"),
            max_request_partition_size_limit: values.int("max.request.partition.size.limit"),
            group_min_session_timeout_ms: values.int("group.min.session.timeout.ms"),
            group_max_session_timeout_ms: values.int("group.max.session.timeout.ms"),
            group_initial_rebalance_delay_ms: values.int("group.initial.rebalance.delay.ms"),
            group_max_size: values.int("group.max.size"),
            offsets_topic_num_partitions: values.int("offsets.topic.num.partitions"),
            offsets_topic_replication_factor: short(
                values.long("offsets.topic.replication.factor"),
            ),
            offsets_topic_segment_bytes: values.int("offsets.topic.segment.bytes"),
            offsets_retention_minutes: values.int("offsets.retention.minutes"),
            offsets_retention_check_interval_ms: values.long("offsets.retention.check.interval.ms"),
            offset_metadata_max_bytes: values.int("offset.metadata.max.bytes"),
            offsets_commit_timeout_ms: values.int("offsets.commit.timeout.ms"),
            producer_id_expiration_check_interval_ms: values
                .int("producer.id.expiration.check.interval.ms"),
            #[cfg(any(test, feature = "faults"))]
            wall_clock_offset_ms: Default::default(),
            loggers: Default::default(),
            warnings: warnings(&values),
            values,
        })
    }
}

/// The id in `node.id`, or in its older name; they must not contradict each other.
fn node_id(values: &Values) -> Result<i32, Refusal> {
    let (node, broker) = (values.int("node.id"), values.int("broker.id"));
    if broker == -1 {
        return Ok(node);
    }
    if broker < 0 {
        return Err(("broker.id", format!("`broker.id` is {broker}, must not be negative")));
    }
    if values.given("node.id").is_some() && node != broker {
        let why = format!("`broker.id` is {broker} and `node.id` is {node}: they must be equal");
        return Err(("broker.id", why));
    }
    Ok(broker)
}

/// The one data directory; None keeps everything in memory.
fn log_dir(values: &Values) -> Result<Option<PathBuf>, Refusal> {
    let old_name = values.given("log.dirs").is_none() && values.given("log.dir").is_some();
    let name = if old_name { "log.dir" } else { "log.dirs" };
    match values.list(name)[..] {
        [] if values.given(name).is_none() => Ok(None),
        [] => Err((name, format!("`{name}` must name a directory"))),
        [dir] => Ok(Some(PathBuf::from(dir))),
        _ => Err((name, format!("`{name}` names more than one directory: a node has exactly one"))),
    }
}

/// What Kafka checks beyond the single value (`KafkaConfig.validateValues`), as far as it has effect here.
fn check_ranges(values: &Values) -> Result<(), Refusal> {
    for name in ["log.roll.ms", "log.retention.ms"] {
        let least = if name == "log.roll.ms" { 1 } else { -1 };
        if values.number(name).is_some_and(|ms| ms < least || ms == 0) {
            let unlimited = if least < 0 { "-1 (unlimited) or " } else { "" };
            return Err((name, format!("`{name}` must be {unlimited}at least 1")));
        }
    }
    let jitter = "log.roll.jitter.ms";
    if values.number(jitter).is_some_and(|ms| ms < 0) {
        return Err((jitter, format!("`{jitter}` must be at least 0")));
    }
    let least = "group.min.session.timeout.ms";
    if values.long(least) > values.long("group.max.session.timeout.ms") {
        return Err((least, format!("`{least}` is above `group.max.session.timeout.ms`")));
    }
    Ok(())
}

fn warnings(values: &Values) -> Vec<String> {
    let idle = |(name, place): (&'static str, &Place)| match settings::find(name) {
        Some(setting) if !setting.effect => {
            Some(format!("{place}: `{name}` is known but has no effect in this version"))
        }
        _ => None,
    };
    values.all_given().filter_map(idle).collect()
}

fn short(value: i64) -> i16 {
    value.clamp(1, i16::MAX.into()) as i16
}
