//! Which broker settings may change while the broker runs, and to what (Kafka's `DynamicBrokerConfig`).
//!
//! A setting is looked for in this order: the broker's own dynamic one, the cluster's, what was given at start, the default.
//! Names that Kafka does not know are kept for plug-ins, as there. Texts of refusals are Kafka's, who names its own classes
//! in some. Stricter than Kafka: listeners and classes cannot be changed, because nothing here would follow.

use super::{
    Config,
    setting::{Check::AtLeast, Setting, Type, off},
    settings,
    topic::LogConfig,
    values::Values,
};
use std::collections::BTreeMap;

/// Whom a dynamic setting is for, the one that wins first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// One broker.
    Broker = 0,
    /// Every broker that has no own.
    Cluster = 1,
}

impl Config {
    /// This configuration under the dynamic settings of the cluster and of this broker.
    pub fn with_dynamic(
        &self,
        cluster: &BTreeMap<String, String>,
        broker: &BTreeMap<String, String>,
    ) -> Config {
        let mut values = self.values.clone();
        values.set_dynamic(Level::Cluster, cluster);
        values.set_dynamic(Level::Broker, broker);
        Config {
            topic_defaults: LogConfig::of(&values, &Default::default()),
            max_connections: values.int("max.connections"),
            values,
            ..self.clone()
        }
    }

    /// Whether `proposed` may be all that is set at `level` while the broker runs with this configuration. The error is the
    /// message that goes with INVALID_REQUEST.
    pub fn check_dynamic(
        &self,
        level: Level,
        proposed: &BTreeMap<String, String>,
    ) -> Result<(), String> {
        let names = || proposed.keys().map(String::as_str);
        refuse_all(
            names().filter(|name| settings::find(name).is_some_and(|it| !it.dynamic)),
            "Cannot update these configs dynamically: ",
            "Set",
        )?;
        refuse_all(
            names().filter(|name| LISTENER_ONLY.contains(name)),
            "These security configs can be dynamically updated only per-listener using the listener prefix: ",
            "HashSet",
        )?;
        for (name, text) in proposed {
            read(name, text)?;
        }
        if level == Level::Cluster {
            refuse_all(
                names().filter(|name| is_per_broker(name)),
                "Cannot update these configs at default cluster level, broker id must be specified: ",
                "Set",
            )?;
        }
        let mut new = self.values.clone();
        new.set_dynamic(level, proposed);
        check_change(&self.values, &new)
    }
}

/// What `text` means for the setting `name`; the error as `Setting::read`. A name that is not known means what it says.
pub fn read(name: &str, text: &str) -> Result<String, String> {
    let known = find(name).or_else(|| find(under_listener(name)?));
    known.map_or_else(|| Ok(text.to_owned()), |setting| setting.read(text))
}

/// A broker setting, or one that can only be set dynamically.
pub fn find(name: &str) -> Option<&'static Setting> {
    settings::find(name).or_else(|| THROTTLES.iter().find(|throttle| throttle.name == name))
}

/// The setting that `name` sets for one listener alone, or for one SASL mechanism of it:
/// `listener.name.NAME.[MECHANISM.]SETTING`.
pub fn under_listener(name: &str) -> Option<&str> {
    let (_, setting) = name.strip_prefix("listener.name.")?.split_once('.')?;
    let of_mechanism = PER_MECHANISM.iter().find(|known| setting.ends_with(**known));
    Some(of_mechanism.map_or(setting, |known| *known))
}

fn refuse_all<'a>(
    names: impl Iterator<Item = &'a str>,
    why: &str,
    set: &str,
) -> Result<(), String> {
    let names: Vec<&str> = names.collect();
    if names.is_empty() { Ok(()) } else { Err(format!("{why}{set}({})", names.join(", "))) }
}

fn is_per_broker(name: &str) -> bool {
    match under_listener(name) {
        Some(setting) => !OF_ALL_LISTENERS.contains(&setting),
        None => LISTENER_ONLY.contains(&name) || PER_BROKER.contains(&name),
    }
}

/// What cannot be said of one value alone (`KafkaConfig.validateValues` and the `BrokerReconfigurable`s).
fn check_change(old: &Values, new: &Values) -> Result<(), String> {
    let changed = |name: &str| old.get(name) != new.get(name);
    let number = |name: &str| new.number(name).unwrap_or_default();
    let require = |holds: bool, why: &str| {
        if holds { Ok(()) } else { Err(format!("requirement failed: {why}")) }
    };
    if changed("log.roll.ms") {
        require(
            new.number("log.roll.ms").is_none_or(|ms| ms >= 1),
            "log.roll.ms must be greater than or equal to 1",
        )?;
    }
    if changed("log.roll.jitter.ms") {
        require(
            number("log.roll.jitter.ms") >= 0,
            "log.roll.jitter.ms must be greater than or equal to 0",
        )?;
    }
    if changed("log.retention.ms") {
        require(
            new.number("log.retention.ms") != Some(0),
            "log.retention.ms must be unlimited (-1) or, greater than or equal to 1",
        )?;
    }
    if changed("log.cleaner.threads") || changed("log.cleaner.dedupe.buffer.size") {
        let per_thread = number("log.cleaner.dedupe.buffer.size")
            .checked_div(number("log.cleaner.threads"))
            .ok_or("/ by zero")?;
        require(
            per_thread > 1 << 20,
            "log.cleaner.dedupe.buffer.size must be at least 1MB per cleaner thread.",
        )?;
    }
    if changed("max.connections.per.ip") || changed("max.connections.per.ip.overrides") {
        let overrides = new.list("max.connections.per.ip.overrides");
        let is_limit =
            |it: &&str| it.rsplit_once(':').is_some_and(|(_, n)| n.parse::<i32>().is_ok());
        if let Some(bad) = overrides.iter().find(|it| !is_limit(it)) {
            return Err(format!(
                "Error parsing configuration property 'max.connections.per.ip.overrides': {bad}"
            ));
        }
        require(
            number("max.connections.per.ip") > 0 || !overrides.is_empty(),
            "max.connections.per.ip can be set to zero only if max.connections.per.ip.overrides \
             property is set.",
        )?;
    }
    if let Some(name) = FIXED.iter().find(|name| changed(name)) {
        return Err(format!("{name} cannot be changed while this broker runs"));
    }
    if let Some(class) = settings::all().find(|it| it.kind == Type::Class && changed(it.name)) {
        let (name, value) = (class.name, new.get(class.name).unwrap_or_default());
        return Err(format!(
            "Invalid value {value} for configuration {name}: Class {value} could not be found."
        ));
    }
    check_reconfiguration(old, new).map_err(|why| {
        format!(
            "Invalid value org.apache.kafka.common.config.ConfigException: {why} for configuration \
             Invalid dynamic configuration"
        )
    })
}

fn check_reconfiguration(old: &Values, new: &Values) -> Result<(), String> {
    let changed = |name: &str| old.get(name) != new.get(name);
    check_local_retention(new, "log.local.retention.ms", "log.retention.ms", retention_ms(new))?;
    let bytes = new.long("log.retention.bytes");
    check_local_retention(new, "log.local.retention.bytes", "log.retention.bytes", bytes)?;
    for name in THREADS.iter().copied().filter(|name| changed(name)) {
        let (now, then) = (old.long(name), new.long(name));
        let wrong = |why: String| {
            Err(format!("Dynamic thread count update validation failed for {name}={then}, {why}"))
        };
        if then < 1 {
            return wrong("value should be at least 1".to_owned());
        }
        if then < now / 2 {
            return wrong(format!("value should be at least half the current value {now}"));
        }
        if then > now * 2 {
            return wrong(format!(
                "value should not be greater than double the current value {now}"
            ));
        }
    }
    let (now, then) = (old.long("log.cleaner.threads"), new.long("log.cleaner.threads"));
    if then < now / 2 {
        return Err(format!(
            "Log cleaner threads cannot be reduced to less than half the current value {now}"
        ));
    }
    if then > now.max(1) * 2 {
        return Err(format!(
            "Log cleaner threads cannot be increased to more than double the current value {now}"
        ));
    }
    for name in ["max.connections", "max.connection.creation.rate"] {
        if changed(name) && new.long(name) == 0 {
            return Err(format!("Invalid {name} 0"));
        }
    }
    if changed("metric.reporters") && !new.list("metric.reporters").is_empty() {
        return Err("Validation of dynamic config update of Set(metric.reporters) failed with \
                    class class kafka.server.DynamicMetricsReporters"
            .into());
    }
    Ok(())
}

/// What stays on local disks cannot be more than what stays at all; -2 is as much.
fn check_local_retention(
    new: &Values,
    local: &str,
    whole: &str,
    whole_value: i64,
) -> Result<(), String> {
    let value = new.long(local);
    if whole_value < 0 || value == -2 {
        return Ok(());
    }
    let bad =
        |why| Err(format!("Invalid value {value} for configuration {local}: Value must not {why}"));
    if value == -1 {
        return bad(format!("be -1 as {whole} value is set as {whole_value}."));
    }
    if value > whole_value {
        return bad(format!("be more than {whole} property value: {whole_value}"));
    }
    Ok(())
}

fn retention_ms(values: &Values) -> i64 {
    LogConfig::of(values, &Default::default()).retention_ms
}

/// Broker settings that exist dynamically alone. `dynamic` is false, because DescribeConfigs shows them as read-only.
const THROTTLES: &[Setting] = &[
    off("follower.replication.throttled.rate", Type::Long, None, AtLeast(0)),
    off("leader.replication.throttled.rate", Type::Long, None, AtLeast(0)),
    off("replica.alter.log.dirs.io.max.bytes.per.second", Type::Long, None, AtLeast(0)),
];

/// Threads of pools: at most halved or doubled at a time.
const THREADS: &[&str] = &[
    "background.threads",
    "num.io.threads",
    "num.network.threads",
    "num.recovery.threads.per.data.dir",
    "num.replica.fetchers",
    "remote.log.manager.copier.thread.pool.size",
    "remote.log.manager.expiration.thread.pool.size",
    "remote.log.reader.threads",
];

/// Dynamic on Kafka, not here.
const FIXED: &[&str] = &["listeners", "listener.security.protocol.map"];

/// Dynamic with the prefix of a listener alone (`SslConfigs.RECONFIGURABLE_CONFIGS`).
const LISTENER_ONLY: &[&str] = &[
    "ssl.key.password",
    "ssl.keystore.certificate.chain",
    "ssl.keystore.key",
    "ssl.keystore.location",
    "ssl.keystore.password",
    "ssl.keystore.type",
    "ssl.truststore.certificates",
    "ssl.truststore.location",
    "ssl.truststore.password",
    "ssl.truststore.type",
];

/// Not for the cluster as a whole (`DynamicListenerConfig`).
const PER_BROKER: &[&str] = &[
    "listener.security.protocol.map",
    "listeners",
    "principal.builder.class",
    "sasl.enabled.mechanisms",
    "sasl.jaas.config",
    "sasl.kerberos.kinit.cmd",
    "sasl.kerberos.min.time.before.relogin",
    "sasl.kerberos.principal.to.local.rules",
    "sasl.kerberos.service.name",
    "sasl.kerberos.ticket.renew.jitter",
    "sasl.kerberos.ticket.renew.window.factor",
    "sasl.login.refresh.buffer.seconds",
    "sasl.login.refresh.min.period.seconds",
    "sasl.login.refresh.window.factor",
    "sasl.login.refresh.window.jitter",
    "sasl.mechanism.inter.broker.protocol",
    "ssl.cipher.suites",
    "ssl.client.auth",
    "ssl.enabled.protocols",
    "ssl.endpoint.identification.algorithm",
    "ssl.engine.factory.class",
    "ssl.keymanager.algorithm",
    "ssl.protocol",
    "ssl.provider",
    "ssl.secure.random.implementation",
    "ssl.trustmanager.algorithm",
];

/// Listener settings that are also for the cluster as a whole.
const OF_ALL_LISTENERS: &[&str] =
    &["max.connection.creation.rate", "max.connections", "num.network.threads"];

/// Set for one mechanism of a listener.
const PER_MECHANISM: &[&str] = &[
    "connections.max.reauth.ms",
    "sasl.jaas.config",
    "sasl.login.callback.handler.class",
    "sasl.login.class",
    "sasl.server.callback.handler.class",
];

#[cfg(test)]
mod tests;
