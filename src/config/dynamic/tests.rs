//! What brokers may change while they run, and what comes of it. Words as seen on Kafka 4.1.1.

use super::*;
use crate::config::describe::{self, Source};

fn map(texts: &[(&str, &str)]) -> BTreeMap<String, String> {
    texts.iter().map(|(name, text)| (name.to_string(), text.to_string())).collect()
}

fn check(level: Level, texts: &[(&str, &str)]) -> Result<(), String> {
    Config::default().check_dynamic(level, &map(texts))
}

/// Names of Java classes around the message, as Kafka wraps what it finds late.
fn nested(why: &str) -> String {
    format!(
        "Invalid value org.apache.kafka.common.config.ConfigException: {why} for configuration \
         Invalid dynamic configuration"
    )
}

#[test]
fn what_may_change() {
    let cases: &[(&str, &str)] = &[
        ("log.retention.ms", " 77 "),
        ("log.retention.ms", "-1"),
        ("log.cleanup.policy", "compact,delete"),
        ("num.io.threads", "4"),
        ("num.io.threads", "16"),
        ("num.network.threads", "1"),
        ("log.cleaner.threads", "2"),
        ("background.threads", "12"),
        ("sasl.kerberos.min.time.before.relogin", "58000"),
        ("sasl.jaas.config", "x"),
        ("max.connections", "5"),
        ("max.connections.per.ip.overrides", "127.0.0.1:5"),
        ("leader.replication.throttled.rate", "5"),
        ("listener.name.plaintext.ssl.keystore.location", "/x"),
        ("no.such", "1"),
        ("metric.reporters", ""),
        ("log.local.retention.bytes", "5"),
        ("listeners", "PLAINTEXT://:9092"),
    ];
    for (name, text) in cases {
        assert_eq!(check(Level::Broker, &[(name, text)]), Ok(()), "{name}={text}");
    }
    for (name, text) in [
        ("log.retention.ms", "77"),
        ("no.such", "1"),
        ("listener.name.plaintext.max.connections", "9"),
        ("unclean.leader.election.enable", "true"),
    ] {
        assert_eq!(check(Level::Cluster, &[(name, text)]), Ok(()), "{name}={text}");
    }
}

#[test]
fn what_may_not_change() {
    let late = nested;
    let cases: &[(&str, &str, String)] = &[
        ("node.id", "1", "Cannot update these configs dynamically: Set(node.id)".into()),
        (
            "ssl.keystore.location",
            "/x",
            "These security configs can be dynamically updated only per-listener using the listener prefix: \
             HashSet(ssl.keystore.location)"
                .into(),
        ),
        (
            "log.retention.ms",
            "abc",
            "Invalid value abc for configuration log.retention.ms: Not a number of type LONG".into(),
        ),
        (
            "log.retention.ms",
            "0",
            "requirement failed: log.retention.ms must be unlimited (-1) or, greater than or equal to 1".into(),
        ),
        (
            "log.roll.ms",
            "0",
            "requirement failed: log.roll.ms must be greater than or equal to 1".into(),
        ),
        (
            "log.roll.jitter.ms",
            "-4",
            "requirement failed: log.roll.jitter.ms must be greater than or equal to 0".into(),
        ),
        ("log.cleaner.threads", "0", "/ by zero".into()),
        (
            "log.cleaner.threads",
            "3",
            late("Log cleaner threads cannot be increased to more than double the current value 1"),
        ),
        (
            "log.cleaner.dedupe.buffer.size",
            "100",
            "requirement failed: log.cleaner.dedupe.buffer.size must be at least 1MB per cleaner thread.".into(),
        ),
        (
            "num.io.threads",
            "3",
            late(
                "Dynamic thread count update validation failed for num.io.threads=3, value should be at least \
                 half the current value 8",
            ),
        ),
        (
            "num.io.threads",
            "17",
            late(
                "Dynamic thread count update validation failed for num.io.threads=17, value should not be \
                 greater than double the current value 8",
            ),
        ),
        (
            "num.replica.fetchers",
            "0",
            late(
                "Dynamic thread count update validation failed for num.replica.fetchers=0, value should be at \
                 least 1",
            ),
        ),
        ("max.connections", "0", late("Invalid max.connections 0")),
        (
            "max.connections.per.ip",
            "0",
            "requirement failed: max.connections.per.ip can be set to zero only if \
             max.connections.per.ip.overrides property is set."
                .into(),
        ),
        (
            "max.connections.per.ip.overrides",
            "x",
            "Error parsing configuration property 'max.connections.per.ip.overrides': x".into(),
        ),
        (
            "log.local.retention.ms",
            "-1",
            late(
                "Invalid value -1 for configuration log.local.retention.ms: Value must not be -1 as \
                 log.retention.ms value is set as 604800000.",
            ),
        ),
        (
            "log.local.retention.ms",
            "999999999999",
            late(
                "Invalid value 999999999999 for configuration log.local.retention.ms: Value must not be more \
                 than log.retention.ms property value: 604800000",
            ),
        ),
        (
            "principal.builder.class",
            "x.y",
            "Invalid value x.y for configuration principal.builder.class: Class x.y could not be found.".into(),
        ),
        (
            "metric.reporters",
            "x.y",
            late(
                "Validation of dynamic config update of Set(metric.reporters) failed with class class \
                 kafka.server.DynamicMetricsReporters",
            ),
        ),
        (
            "listener.name.plaintext.max.connections",
            "x",
            "Invalid value x for configuration max.connections: Not a number of type INT".into(),
        ),
        (
            "leader.replication.throttled.rate",
            "-1",
            "Invalid value -1 for configuration leader.replication.throttled.rate: Value must be at least 0".into(),
        ),
        // Kafka opens and closes listeners.
        ("listeners", "PLAINTEXT://:9", "listeners cannot be changed while this broker runs".into()),
    ];
    for (name, text, why) in cases {
        assert_eq!(check(Level::Broker, &[(name, text)]), Err(why.clone()), "{name}={text}");
    }
    let many = check(Level::Broker, &[("num.partitions", "4"), ("x", "1"), ("log.dirs", "x")]);
    let why = "Cannot update these configs dynamically: Set(log.dirs, num.partitions)";
    assert_eq!(many, Err(why.to_owned()));
    for name in [
        "listeners",
        "sasl.jaas.config",
        "sasl.kerberos.min.time.before.relogin",
        "listener.name.plaintext.ssl.keystore.location",
    ] {
        let why = format!(
            "Cannot update these configs at default cluster level, broker id must be specified: Set({name})"
        );
        assert_eq!(check(Level::Cluster, &[(name, "1")]), Err(why));
    }
}

/// Pools grow from what is in effect, not from what was given at start.
#[test]
fn changes_are_judged_by_what_is_in_effect() {
    let doubled = Config::default().with_dynamic(&map(&[]), &map(&[("num.io.threads", "16")]));
    let set = |count| doubled.check_dynamic(Level::Broker, &map(&[("num.io.threads", count)]));
    assert_eq!((set("32"), set("4").is_err()), (Ok(()), true));
}

#[test]
fn a_brokers_own_wins_over_the_clusters_over_what_was_given() {
    let given = [("log.retention.hours", "1"), ("compression.type", "lz4")];
    let base = Config::build(false, &given).unwrap();
    let cluster = map(&[("log.retention.ms", "7"), ("compression.type", "zstd")]);
    let broker = map(&[("compression.type", " gzip "), ("message.max.bytes", "9")]);
    let config = base.with_dynamic(&cluster, &broker);
    let topic = LogConfig::resolve(&config, &map(&[("retention.ms", "8")]));
    assert_eq!((topic.retention_ms, config.topic_defaults.retention_ms), (8, 7));
    assert_eq!((topic.max_message_bytes, config.topic_defaults.max_message_bytes), (9, 9));
    let described = describe::topic(&config, &map(&[]));
    let compression = described.iter().find(|it| it.name == "compression.type").unwrap();
    let synonyms: Vec<_> = compression
        .synonyms
        .iter()
        .map(|it| (&*it.name, it.value.as_deref().unwrap(), it.source as i8))
        .collect();
    let name = "compression.type";
    assert_eq!(
        synonyms,
        [(name, " gzip ", 2), (name, "zstd", 3), (name, "lz4", 4), (name, "producer", 5)]
    );
    assert_eq!(compression.value.as_deref(), Some("gzip"));
    let without = config.with_dynamic(&map(&[]), &map(&[]));
    assert_eq!(without.topic_defaults, base.topic_defaults);
}

#[test]
fn what_is_set_dynamically_is_described_as_kafka_does() {
    let cluster = map(&[("log.roll.jitter.ms", "4"), ("own", "v"), ("max.connections", " 5 ")]);
    let broker = map(&[
        ("log.roll.jitter.ms", " 3 "),
        ("follower.replication.throttled.rate", "9"),
        ("listener.name.plaintext.ssl.keystore.password", "secret"),
        ("listener.name.plaintext.max.connections", "9"),
        ("sasl.jaas.config", "secret"),
    ]);
    let config = Config::default().with_dynamic(&cluster, &broker);
    let line = |entry: &describe::Entry| {
        let synonyms: Vec<_> = entry
            .synonyms
            .iter()
            .map(|it| format!("{}={:?}/{}", it.name, it.value, it.source as i8))
            .collect();
        let kind = entry.kind.map_or(0, Type::code);
        let flags = (entry.read_only, entry.sensitive, kind);
        format!("{:?} {} {flags:?} {}", entry.value, entry.source as i8, synonyms.join(" "))
    };
    let entries = describe::broker(&config);
    let shown = |name: &str| line(entries.iter().find(|it| it.name == name).unwrap());
    let expected = [
        (
            "log.roll.jitter.ms",
            "Some(\"3\") 2 (false, false, 5) log.roll.jitter.ms=Some(\" 3 \")/2 \
             log.roll.jitter.ms=Some(\"4\")/3 log.roll.jitter.hours=Some(\"0\")/5",
        ),
        (
            "log.roll.jitter.hours",
            "Some(\"0\") 5 (true, false, 3) log.roll.jitter.hours=Some(\"0\")/5",
        ),
        ("own", "None 3 (true, true, 0) own=None/3"),
        (
            "follower.replication.throttled.rate",
            "Some(\"9\") 2 (true, false, 5) follower.replication.throttled.rate=Some(\"9\")/2",
        ),
        (
            "listener.name.plaintext.ssl.keystore.password",
            "None 2 (true, true, 9) listener.name.plaintext.ssl.keystore.password=None/2",
        ),
        (
            "listener.name.plaintext.max.connections",
            "Some(\"9\") 2 (true, false, 3) listener.name.plaintext.max.connections=Some(\"9\")/2 \
             max.connections=Some(\" 5 \")/3 max.connections=Some(\"2147483647\")/5",
        ),
        ("sasl.jaas.config", "None 2 (false, true, 9) sasl.jaas.config=None/2"),
    ];
    for (name, text) in expected {
        assert_eq!(shown(name), text, "{name}");
    }
    let cluster: Vec<_> = describe::cluster(&config)
        .iter()
        .map(|entry| format!("{} {}", entry.name, line(entry)))
        .collect();
    assert_eq!(
        cluster,
        [
            "log.roll.jitter.ms Some(\"4\") 3 (false, false, 5) log.roll.jitter.ms=Some(\"4\")/3",
            "max.connections Some(\" 5 \") 3 (false, false, 3) max.connections=Some(\" 5 \")/3",
            "own None 3 (true, true, 0) own=None/3",
        ]
    );
}

/// What an older or newer broker has stored and this one does not understand.
#[test]
fn values_that_mean_nothing_are_passed_over() {
    let config = Config::default().with_dynamic(&map(&[("max.connections", "x")]), &map(&[]));
    assert_eq!(config.max_connections, i32::MAX);
    let entries = describe::broker(&config);
    let entry = entries.iter().find(|it| it.name == "max.connections").unwrap();
    assert_eq!(entry.source, Source::Default);
}

#[test]
fn the_lists_name_settings() {
    let lists = [LISTENER_ONLY, PER_BROKER, THREADS, FIXED, OF_ALL_LISTENERS];
    for name in lists.into_iter().flatten() {
        assert!(settings::find(name).is_some_and(|it| it.dynamic), "{name}");
    }
    assert!(PER_MECHANISM.iter().all(|name| settings::find(name).is_some()));
}
