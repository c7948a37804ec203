//! IncrementalAlterConfigs: v0-1.

use kafka_protocol::messages::describe_configs_response::DescribeConfigsResourceResult;
use kafka_protocol::messages::incremental_alter_configs_request::{
    AlterConfigsResource, AlterableConfig,
};
use kafka_protocol::messages::{
    DescribeConfigsRequest, IncrementalAlterConfigsRequest,
    describe_configs_request::DescribeConfigsResource,
};

use crate::batch::Batch;
use crate::broker::is_foreign;
use crate::client::{Client, call, text};
use crate::codes::{
    INVALID_CONFIG, INVALID_REQUEST, INVALID_TOPIC_EXCEPTION, MESSAGE_TOO_LARGE, NONE,
    UNKNOWN_SERVER_ERROR, UNKNOWN_TOPIC_OR_PARTITION,
};
use crate::fixtures::{describe, group, produce_raw, topic, topic_with, unique, until};
use crate::process::Process;

pub const TOPIC: i8 = 2;
pub const BROKER: i8 = 4;
pub const BROKER_LOGGER: i8 = 8;
pub const CLIENT_METRICS: i8 = 16;
pub const GROUP: i8 = 32;

const SET: i8 = 0;
const DELETE: i8 = 1;
const APPEND: i8 = 2;
const SUBTRACT: i8 = 3;

/// Name, operation, value.
type Op<'a> = (&'a str, i8, Option<&'a str>);
/// Code and message.
type Outcome = (i16, Option<String>);

fn resource(kind: i8, name: &str, ops: &[Op]) -> AlterConfigsResource {
    let configs = ops.iter().map(|(name, op, value)| {
        AlterableConfig::default()
            .with_name(text(name))
            .with_config_operation(*op)
            .with_value(value.map(text))
    });
    AlterConfigsResource::default()
        .with_resource_type(kind)
        .with_resource_name(text(name))
        .with_configs(configs.collect())
}

fn ask(version: i16, resources: Vec<AlterConfigsResource>, validate_only: bool) -> Vec<Outcome> {
    let named: Vec<_> =
        resources.iter().map(|it| (it.resource_type, it.resource_name.clone())).collect();
    let request = IncrementalAlterConfigsRequest::default()
        .with_resources(resources)
        .with_validate_only(validate_only);
    let responses = call(version, &request).responses;
    let answered: Vec<_> =
        responses.iter().map(|it| (it.resource_type, it.resource_name.clone())).collect();
    assert_eq!(answered, named, "one answer for each, in order");
    let outcome = |it: &str| Some(it.to_owned());
    responses
        .iter()
        .map(|it| (it.error_code, it.error_message.as_deref().and_then(outcome)))
        .collect()
}

/// Changes one resource.
fn alter(kind: i8, name: &str, ops: &[Op]) -> Outcome {
    ask(1, vec![resource(kind, name, ops)], false).remove(0)
}

/// Judges one change of one resource.
fn judge(kind: i8, name: &str, op: Op) -> Outcome {
    ask(1, vec![resource(kind, name, &[op])], true).remove(0)
}

fn ok() -> Outcome {
    (NONE, None)
}

fn refused(code: i16, why: &str) -> Outcome {
    (code, Some(why.to_owned()))
}

/// The setting as DescribeConfigs shows it, if it does.
pub fn described(kind: i8, name: &str, setting: &str) -> Option<DescribeConfigsResourceResult> {
    let resource = DescribeConfigsResource::default()
        .with_resource_type(kind)
        .with_resource_name(text(name))
        .with_configuration_keys(Some(vec![text(setting)]));
    let request = DescribeConfigsRequest::default()
        .with_resources(vec![resource])
        .with_include_synonyms(true);
    let mut result = call(4, &request).results.remove(0);
    assert_eq!(result.error_code, NONE, "{:?}", result.error_message);
    result.configs.pop()
}

/// Value and source.
pub fn value(kind: i8, name: &str, setting: &str) -> Option<(String, i8)> {
    let entry = described(kind, name, setting)?;
    Some((entry.value?.to_string(), entry.config_source))
}

/// Kafka's brokers see a change a little after its answer.
#[track_caller]
pub fn until_value(kind: i8, name: &str, setting: &str, expected: Option<(&str, i8)>) {
    let expected = expected.map(|(value, source)| (value.to_owned(), source));
    if is_foreign() {
        until(setting, || value(kind, name, setting) == expected);
    }
    assert_eq!(value(kind, name, setting), expected);
}

/// This broker's id.
pub fn node() -> String {
    describe(&topic("alter-node", 1).name).partitions[0].leader_id.to_string()
}

#[test]
fn a_topic_is_changed_in_every_version() {
    let topic = topic_with("alter", 1, &[("segment.ms", "5000")]).name;
    for version in 0..=1 {
        let new = format!("{}", 100 + version);
        let ops = [("flush.ms", SET, Some(&*new)), ("retention.ms", SET, Some(" 7 "))];
        assert_eq!(ask(version, vec![resource(TOPIC, &topic, &ops)], false), [ok()]);
        until_value(TOPIC, &topic, "flush.ms", Some((&new, 1)));
        until_value(TOPIC, &topic, "retention.ms", Some(("7", 1)));
    }
    assert_eq!(value(TOPIC, &topic, "segment.ms"), Some(("5000".to_owned(), 1)), "it stays");
    // The value does not matter.
    assert_eq!(alter(TOPIC, &topic, &[("flush.ms", DELETE, Some("9"))]), ok());
    until_value(TOPIC, &topic, "flush.ms", Some(("9223372036854775807", 5)));
    assert_eq!(alter(TOPIC, &topic, &[("flush.ms", DELETE, None)]), ok(), "again");
    assert_eq!(alter(TOPIC, &topic, &[]), ok());
}

#[test]
fn lists_grow_and_shrink() {
    let topic = topic("alter-list", 1).name;
    let steps = [
        (APPEND, "compact", Some(("delete,compact", 1))),
        (APPEND, "compact", Some(("delete,compact", 1))),
        (SUBTRACT, "delete,nothing", Some(("compact", 1))),
        (SUBTRACT, "compact", Some(("", 1))),
        (APPEND, "compact,delete", Some(("compact,delete", 1))),
        (DELETE, "", Some(("delete", 5))),
    ];
    for (op, new, expected) in steps {
        assert_eq!(alter(TOPIC, &topic, &[("cleanup.policy", op, Some(new))]), ok(), "{op} {new}");
        until_value(TOPIC, &topic, "cleanup.policy", expected);
    }
}

#[test]
fn what_a_topic_may_not_set() {
    let topic = topic("alter-bad", 1).name;
    let config = |op: Op, why: &str| {
        assert_eq!(judge(TOPIC, &topic, op), refused(INVALID_CONFIG, why), "{op:?}");
    };
    config(("no.such", SET, Some("1")), "Unknown topic config name: no.such");
    config(
        ("flush.ms", SET, Some("abc")),
        "Invalid value abc for configuration flush.ms: Not a number of type LONG",
    );
    config(
        ("cleanup.policy", APPEND, Some("abc")),
        "Invalid value abc for configuration cleanup.policy: String must be one of: compact, delete",
    );
    config(
        ("flush.ms", APPEND, Some("1")),
        "Can't APPEND to key flush.ms because its type is not LIST.",
    );
    config(
        ("no.such", SUBTRACT, Some("1")),
        "Can't SUBTRACT to key no.such because its type is not LIST.",
    );
    config(
        ("remote.storage.enable", SET, Some("true")),
        "Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log storage.",
    );
    assert_eq!(judge(TOPIC, &topic, ("no.such", DELETE, None)), ok());
    assert_eq!(judge(TOPIC, &topic, ("flush.ms", 9, Some("1"))), (UNKNOWN_SERVER_ERROR, None));
    let null = refused(INVALID_REQUEST, "Null value not supported for : flush.ms");
    assert_eq!(judge(TOPIC, &topic, ("flush.ms", SET, None)), null);

    // One that is wrong spoils the resource.
    let ops = [("flush.ms", SET, Some("1")), ("segment.ms", SET, Some("0"))];
    let why = "Invalid value 0 for configuration segment.ms: Value must be at least 1";
    assert_eq!(alter(TOPIC, &topic, &ops), refused(INVALID_CONFIG, why));
    assert_eq!(value(TOPIC, &topic, "flush.ms").map(|it| it.1), Some(5));
}

#[test]
fn values_have_a_length() {
    let topic = topic("alter-long", 1).name;
    let replicas = |from: u32| {
        let pairs: Vec<_> = (from..from + 2500).map(|n| format!("{n}:1")).collect();
        pairs.join(",")
    };
    let name = "leader.replication.throttled.replicas";
    let (first, more) = (replicas(10_000), replicas(20_000));
    assert_eq!(alter(TOPIC, &topic, &[(name, SET, Some(&first))]), ok());
    let why = "The configuration value cannot be added because it exceeds the maximum value size of 32767 bytes.";
    let both = alter(TOPIC, &topic, &[(name, APPEND, Some(&more))]);
    assert_eq!(both, refused(INVALID_CONFIG, why));
}

#[test]
fn resources_that_are_not_there() {
    let unknown = unique("alter-unknown");
    let flush = ("flush.ms", SET, Some("1"));
    let gone = format!("The topic '{unknown}' does not exist.");
    assert_eq!(judge(TOPIC, &unknown, flush), refused(UNKNOWN_TOPIC_OR_PARTITION, &gone));
    let why = "Unknown topic config name: nope";
    assert_eq!(judge(TOPIC, &unknown, ("nope", SET, Some("1"))), refused(INVALID_CONFIG, why));
    let why = "Topic name is invalid: 'a b' contains one or more characters other than ASCII \
               alphanumerics, '.', '_' and '-'";
    assert_eq!(judge(TOPIC, "a b", flush), refused(INVALID_TOPIC_EXCEPTION, why));
    let why = "Default topic resources are not allowed.";
    assert_eq!(judge(TOPIC, "", flush), refused(INVALID_REQUEST, why));
    for kind in [0, 1, 99] {
        let why = format!("Unknown resource type {kind}");
        assert_eq!(judge(kind, "x", flush), refused(INVALID_REQUEST, &why));
    }
    let node = node();
    let why = format!("Unexpected broker id, expected {node}, but received 9876");
    assert_eq!(judge(BROKER, "9876", flush), refused(INVALID_REQUEST, &why));
    let why = "Node id must be an integer, but it is: x";
    assert_eq!(judge(BROKER, "x", flush), refused(INVALID_REQUEST, why));
}

#[test]
fn what_comes_twice() {
    let (one, two) = (topic("alter-twice", 1).name, topic("alter-twice", 1).name);
    let flush = |topic: &str| resource(TOPIC, topic, &[("flush.ms", SET, Some("77"))]);
    let outcomes = ask(1, vec![flush(&one), flush(&two), flush(&one)], false);
    let twice = || refused(INVALID_REQUEST, "Each resource must appear at most once.");
    assert_eq!(outcomes, [twice(), ok(), twice()]);
    until_value(TOPIC, &two, "flush.ms", Some(("77", 1)));
    assert_eq!(value(TOPIC, &one, "flush.ms").map(|it| it.1), Some(5));
    let ops = [("flush.ms", SET, Some("1")), ("flush.ms", DELETE, None)];
    let why = "Error due to duplicate config keys";
    assert_eq!(alter(TOPIC, &one, &ops), refused(INVALID_REQUEST, why));
    assert_eq!(ask(1, Vec::new(), false), []);
}

/// Kafka takes `01` for another broker than `1`, which there is not.
#[test]
fn a_broker_that_comes_under_two_names() {
    if is_foreign() {
        return;
    }
    let ask_both = |one: &str, two: &str| {
        let change = |name: &str| resource(BROKER, name, &[("alter.name", SET, Some("1"))]);
        ask(1, vec![change(one), change(two)], true)
    };
    let twice = || refused(INVALID_REQUEST, "Each resource must appear at most once.");
    let node = node();
    assert_eq!(ask_both(&node, &format!("0{node}")), [twice(), twice()]);
    assert_eq!(ask_both(&node, ""), [ok(), ok()]);
}

#[test]
fn validate_only_changes_nothing() {
    let topic = topic("alter-validate", 1).name;
    assert_eq!(judge(TOPIC, &topic, ("flush.ms", SET, Some("5"))), ok());
    assert_eq!(value(TOPIC, &topic, "flush.ms").map(|it| it.1), Some(5));
}

#[test]
fn a_change_takes_effect() {
    let topic = topic("alter-effect", 1);
    let batch = || Batch::of(&[&"x".repeat(500)]).build();
    assert_eq!(produce_raw(&topic, 0, batch()).error_code, NONE);
    let limit = |op, value| alter(TOPIC, &topic.name, &[("max.message.bytes", op, value)]);
    assert_eq!(limit(SET, Some("100")), ok());
    until("the limit", || produce_raw(&topic, 0, batch()).error_code == MESSAGE_TOO_LARGE);
    assert_eq!(limit(DELETE, None), ok());
    until("no limit", || produce_raw(&topic, 0, batch()).error_code == NONE);
}

#[test]
fn what_a_broker_may_not_set() {
    let node = node();
    let request = |name: &str, op: Op, why: &str| {
        assert_eq!(judge(BROKER, name, op), refused(INVALID_REQUEST, why), "{op:?}");
    };
    let fixed = "Cannot update these configs dynamically: Set(num.partitions)";
    for name in [&*node, ""] {
        request(name, ("num.partitions", SET, Some("2")), fixed);
    }
    let number = "Invalid value abc for configuration log.retention.ms: Not a number of type LONG";
    request(&node, ("log.retention.ms", SET, Some("abc")), number);
    request(
        "",
        ("sasl.jaas.config", SET, Some("x")),
        "Cannot update these configs at default cluster level, broker id must be specified: Set(sasl.jaas.config)",
    );
    request(
        &node,
        ("ssl.keystore.password", SET, Some("x")),
        "These security configs can be dynamically updated only per-listener using the listener prefix: \
         HashSet(ssl.keystore.password)",
    );
    request(
        &node,
        ("num.io.threads", SET, Some("100")),
        "Invalid value org.apache.kafka.common.config.ConfigException: Dynamic thread count update validation \
         failed for num.io.threads=100, value should not be greater than double the current value 8 for \
         configuration Invalid dynamic configuration",
    );
    request(&node, ("log.retention.ms", 9, Some("1")), "Unknown operations type 9");
    let append = "Config value append is not allowed for config key: log.retention.ms";
    let judged = judge(BROKER, &node, ("log.retention.ms", APPEND, Some("1")));
    assert_eq!(judged, refused(INVALID_CONFIG, append));
    let judged = judge(BROKER, &node, ("no.such", APPEND, Some("1")));
    assert_eq!(judged, (UNKNOWN_SERVER_ERROR, None));
    for op in [
        ("num.partitions", DELETE, None),
        ("no.such", SET, Some("1")),
        ("no.such", DELETE, None),
        ("log.cleanup.policy", APPEND, Some("compact")),
        ("leader.replication.throttled.rate", SET, Some("5")),
        ("listener.name.plaintext.ssl.keystore.location", SET, Some("/x")),
    ] {
        assert_eq!(judge(BROKER, &node, op), ok(), "{op:?}");
    }
}

/// A broker's own setting wins over the cluster's over the default, and topics follow.
#[test]
fn brokers_and_topics_follow() {
    let (node, topic) = (node(), topic("alter-follow", 1).name);
    let name = "log.index.interval.bytes";
    let set = |broker: &str, op, value| {
        assert_eq!(alter(BROKER, broker, &[(name, op, value)]), ok(), "{broker} {value:?}");
    };
    set("", SET, Some("4097"));
    until_value(TOPIC, &topic, "index.interval.bytes", Some(("4097", 3)));
    until_value(BROKER, "", name, Some(("4097", 3)));
    until_value(BROKER, &node, name, Some(("4097", 3)));
    set(&node, SET, Some("4098"));
    until_value(TOPIC, &topic, "index.interval.bytes", Some(("4098", 2)));
    until_value(BROKER, &node, name, Some(("4098", 2)));
    let entry = described(BROKER, &node, name).unwrap();
    let synonyms: Vec<_> =
        entry.synonyms.iter().map(|it| (it.value.as_deref().unwrap(), it.source)).collect();
    assert_eq!(synonyms, [("4098", 2), ("4097", 3), ("4096", 5)]);
    assert!(!entry.read_only);
    let own = [("index.interval.bytes", SET, Some("4099"))];
    assert_eq!(alter(TOPIC, &topic, &own), ok());
    until_value(TOPIC, &topic, "index.interval.bytes", Some(("4099", 1)));
    let own = [("index.interval.bytes", DELETE, None)];
    assert_eq!(alter(TOPIC, &topic, &own), ok());
    set(&node, DELETE, None);
    until_value(TOPIC, &topic, "index.interval.bytes", Some(("4097", 3)));
    set("", DELETE, None);
    until_value(TOPIC, &topic, "index.interval.bytes", Some(("4096", 5)));
    until_value(BROKER, "", name, None);
}

/// Kafka keeps what it does not know for plug-ins, and does not show it: it may be a secret.
#[test]
fn settings_that_nobody_knows() {
    let (node, name) = (node(), unique("alter.own"));
    assert_eq!(alter(BROKER, &node, &[(&name, SET, Some("v"))]), ok());
    until("the setting", || described(BROKER, &node, &name).is_some());
    let entry = described(BROKER, &node, &name).unwrap();
    assert_eq!((entry.value, entry.config_source, entry.config_type), (None, 2, 0));
    assert!(entry.read_only && entry.is_sensitive);
    assert_eq!(alter(BROKER, &node, &[(&name, DELETE, None)]), ok());
    until("its end", || described(BROKER, &node, &name).is_none());
}

#[test]
fn a_groups_settings() {
    let group = group("alter-group");
    let name = "consumer.session.timeout.ms";
    assert_eq!(alter(GROUP, &group, &[(name, SET, Some("50000"))]), ok());
    until_value(GROUP, &group, name, Some(("50000", 8)));
    let synonyms = described(GROUP, &group, name).unwrap().synonyms;
    assert_eq!(synonyms.iter().map(|it| it.source).collect::<Vec<_>>(), [8]);
    assert_eq!(alter(GROUP, &group, &[(name, DELETE, None)]), ok());
    until_value(GROUP, &group, name, Some(("45000", 5)));
    let config = |op: Op, why: &str| {
        assert_eq!(judge(GROUP, &group, op), refused(INVALID_CONFIG, why), "{op:?}");
    };
    config(("nope", SET, Some("1")), "Unknown group config name: nope");
    config(
        (name, SET, Some("1")),
        "consumer.session.timeout.ms must be greater than or equal to group.consumer.min.session.timeout.ms",
    );
    config(
        (name, APPEND, Some("1")),
        &format!("Can't APPEND to key {name} because its type is not LIST."),
    );
    let why = "Default group resources are not allowed.";
    assert_eq!(judge(GROUP, "", (name, SET, Some("50000"))), refused(INVALID_REQUEST, why));
}

#[test]
fn client_metrics_subscriptions() {
    let name = unique("alter-metrics");
    assert_eq!(alter(CLIENT_METRICS, &name, &[("interval.ms", SET, Some("500"))]), ok());
    until_value(CLIENT_METRICS, &name, "interval.ms", Some(("500", 7)));
    assert_eq!(value(CLIENT_METRICS, &name, "match"), Some((String::new(), 5)));
    assert_eq!(alter(CLIENT_METRICS, &name, &[("interval.ms", DELETE, None)]), ok());
    until_value(CLIENT_METRICS, &name, "interval.ms", Some(("300000", 5)));
    let cases = [
        (
            &*name,
            ("nope", SET, Some("1")),
            INVALID_REQUEST,
            "Unknown client metrics configuration: nope",
        ),
        (
            &name,
            ("interval.ms", SET, Some("99")),
            INVALID_REQUEST,
            "Invalid value 99 for interval.ms, interval must be between 100 and 3600000 (1 hour)",
        ),
        (
            &name,
            ("interval.ms", SET, Some("x")),
            INVALID_CONFIG,
            "Invalid value x for configuration interval.ms: Not a number of type INT",
        ),
        (
            &name,
            ("match", SET, Some("x=y")),
            INVALID_CONFIG,
            "Illegal client matching pattern: x=y",
        ),
        (
            &name,
            ("match", SET, Some("client_id=a++,client_id=[")),
            INVALID_CONFIG,
            "Illegal client matching pattern: client_id=[",
        ),
        ("", ("metrics", SET, Some("*")), INVALID_REQUEST, "Subscription name can't be empty"),
    ];
    for (name, op, code, why) in cases {
        assert_eq!(judge(CLIENT_METRICS, name, op), refused(code, why), "{op:?}");
    }
}

#[test]
fn loggers_and_their_levels() {
    let node = node();
    let (level, source) = value(BROKER_LOGGER, &node, "root").unwrap();
    assert_eq!(source, 6);
    // Kafka's other loggers depend on its log4j2.yaml.
    assert_eq!(alter(BROKER_LOGGER, &node, &[("root", SET, Some(&level))]), ok());
    assert_eq!(value(BROKER_LOGGER, &node, "root"), Some((level, 6)));
    for level in ["DEBUG", "ERROR", "FATAL", "INFO", "TRACE", "WARN"] {
        assert_eq!(judge(BROKER_LOGGER, &node, ("root", SET, Some(level))), ok(), "{level}");
    }
    let config = |op: Op, why: &str| {
        assert_eq!(judge(BROKER_LOGGER, &node, op), refused(INVALID_CONFIG, why), "{op:?}");
    };
    let request = |name: &str, op: Op, why: &str| {
        assert_eq!(judge(BROKER_LOGGER, name, op), refused(INVALID_REQUEST, why), "{op:?}");
    };
    config(("no.such", SET, Some("INFO")), "Logger no.such does not exist!");
    config(("no.such", DELETE, None), "Logger no.such does not exist!");
    config(
        ("root", SET, Some("debug")),
        "Cannot set the log level of root to debug as it is not a supported log level. Valid log levels are \
         DEBUG, ERROR, FATAL, INFO, TRACE, WARN",
    );
    let root = "Removing the log level of the root logger is not allowed";
    request(&node, ("root", DELETE, None), root);
    for (op, name) in [(APPEND, "APPEND"), (SUBTRACT, "SUBTRACT")] {
        let why = format!("{name} operation is not allowed for the BROKER_LOGGER resource");
        request(&node, ("root", op, Some("INFO")), &why);
    }
    request(&node, ("root", SET, None), "Null value not supported for : root");
    let number = |name: &str| format!("Node id must be an integer, but it is: {name}");
    request("", ("root", SET, Some("INFO")), &number(""));
    request("x", ("root", SET, Some("INFO")), &number("x"));
    let other = format!("Unexpected node id. Expected {node}, but received 9876");
    request("9876", ("root", SET, Some("INFO")), &other);
    assert_eq!(judge(BROKER_LOGGER, &node, ("root", 9, None)).0, INVALID_REQUEST, "null first");
    let unknown = judge(BROKER_LOGGER, &node, ("root", 9, Some("INFO")));
    assert_eq!(unknown, (UNKNOWN_SERVER_ERROR, None));
}

/// A connection that ends is worth a line at DEBUG.
#[test]
fn levels_drive_the_log() {
    let lines = |ops: &[Op]| {
        let arguments = ["--dev", "--listen", "127.0.0.1:0"];
        let process = Process::spawn(&arguments, &[("RUST_LOG", "error")]);
        let address = process.ready();
        let mut client = Client::connect_to(&address);
        for op in ops {
            let request = IncrementalAlterConfigsRequest::default().with_resources(vec![resource(
                BROKER_LOGGER,
                "1",
                &[*op],
            )]);
            assert_eq!(client.call(1, &request).responses[0].error_code, NONE);
        }
        let mut passing = Client::connect_to(&address);
        passing.send_bytes(b"\0\0\0\x04abcd");
        passing.assert_closed();
        let stderr = process.terminate().stderr;
        stderr.lines().filter(|it| it.contains("DEBUG") && it.contains("connection closed")).count()
    };
    let debug = ("ottla::net", SET, Some("DEBUG"));
    assert_eq!(lines(&[]), 0);
    assert!(lines(&[debug]) > 0);
    assert_eq!(lines(&[debug, ("ottla::net", DELETE, None)]), 0);
}

#[cfg(feature = "rocksdb")]
#[test]
fn settings_survive_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path().display().to_string();
    let start = || {
        let (process, address) = Process::dev(&["--log-dir", &dir]);
        (process, Client::connect_to(&address))
    };
    let settings = [
        (BROKER, "", "log.retention.ms", "77"),
        (BROKER, "1", "background.threads", "12"),
        (GROUP, "g", "consumer.session.timeout.ms", "50000"),
        (CLIENT_METRICS, "m", "interval.ms", "500"),
    ];
    let (process, mut client) = start();
    let resources = settings
        .map(|(kind, name, config, value)| resource(kind, name, &[(config, SET, Some(value))]));
    let request = IncrementalAlterConfigsRequest::default().with_resources(resources.to_vec());
    let responses = client.call(1, &request).responses;
    assert!(responses.iter().all(|it| it.error_code == NONE), "{responses:?}");
    drop(process);
    let (_process, mut client) = start();
    for (kind, name, config, value) in settings {
        let resource = DescribeConfigsResource::default()
            .with_resource_type(kind)
            .with_resource_name(text(name))
            .with_configuration_keys(Some(vec![text(config)]));
        let request = DescribeConfigsRequest::default().with_resources(vec![resource]);
        let result = client.call(4, &request).results.remove(0);
        assert_eq!(result.configs[0].value.as_deref(), Some(value), "{kind} {name}");
    }
}
