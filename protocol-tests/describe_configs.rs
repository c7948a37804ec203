//! DescribeConfigs: v1-4.

use kafka_protocol::messages::DescribeConfigsRequest;
use kafka_protocol::messages::describe_configs_request::DescribeConfigsResource;
use kafka_protocol::messages::describe_configs_response::{
    DescribeConfigsResourceResult, DescribeConfigsResult,
};

use crate::broker::is_foreign;
use crate::client::{call, text};
use crate::codes::{INVALID_REQUEST, INVALID_TOPIC_EXCEPTION, NONE, UNKNOWN_TOPIC_OR_PARTITION};
use crate::fixtures::{describe, topic, topic_with, unique};

const TOPIC: i8 = 2;
const BROKER: i8 = 4;
const DYNAMIC_TOPIC: i8 = 1;
/// A new Kafka 4.1 cluster has `min.insync.replicas` as a setting of the whole cluster (KIP-966).
const DYNAMIC_DEFAULT_BROKER: i8 = 3;
const STATIC_BROKER: i8 = 4;
const DEFAULT: i8 = 5;

fn resource(kind: i8, name: &str, keys: Option<&[&str]>) -> DescribeConfigsResource {
    DescribeConfigsResource::default()
        .with_resource_type(kind)
        .with_resource_name(text(name))
        .with_configuration_keys(keys.map(|keys| keys.iter().map(|key| text(key)).collect()))
}

fn request(resource: DescribeConfigsResource) -> DescribeConfigsRequest {
    DescribeConfigsRequest::default().with_resources(vec![resource])
}

fn ask(version: i16, request: &DescribeConfigsRequest) -> DescribeConfigsResult {
    let mut response = call(version, request);
    assert_eq!(response.results.len(), 1);
    response.results.remove(0)
}

fn find<'a>(result: &'a DescribeConfigsResult, name: &str) -> &'a DescribeConfigsResourceResult {
    result.configs.iter().find(|it| &*it.name == name).unwrap_or_else(|| panic!("{name}"))
}

/// Every setting of a topic in Kafka 4.1 with its type and default.
/// Types: 1 boolean, 2 string, 3 int, 5 long, 6 double, 7 list.
const TOPIC_SETTINGS: [(&str, i8, Option<&str>); 33] = [
    ("cleanup.policy", 7, Some("delete")),
    ("compression.gzip.level", 3, Some("-1")),
    ("compression.lz4.level", 3, Some("9")),
    ("compression.type", 2, Some("producer")),
    ("compression.zstd.level", 3, Some("3")),
    ("delete.retention.ms", 5, Some("86400000")),
    ("file.delete.delay.ms", 5, Some("60000")),
    ("flush.messages", 5, Some("9223372036854775807")),
    ("flush.ms", 5, Some("9223372036854775807")),
    ("follower.replication.throttled.replicas", 7, Some("")),
    ("index.interval.bytes", 3, Some("4096")),
    ("leader.replication.throttled.replicas", 7, Some("")),
    ("local.retention.bytes", 5, Some("-2")),
    ("local.retention.ms", 5, Some("-2")),
    ("max.compaction.lag.ms", 5, Some("9223372036854775807")),
    ("max.message.bytes", 3, Some("1048588")),
    ("message.timestamp.after.max.ms", 5, Some("3600000")),
    ("message.timestamp.before.max.ms", 5, Some("9223372036854775807")),
    ("message.timestamp.type", 2, Some("CreateTime")),
    ("min.cleanable.dirty.ratio", 6, Some("0.5")),
    ("min.compaction.lag.ms", 5, Some("0")),
    ("min.insync.replicas", 3, Some("1")),
    ("preallocate", 1, Some("false")),
    ("remote.log.copy.disable", 1, Some("false")),
    ("remote.log.delete.on.disable", 1, Some("false")),
    ("remote.storage.enable", 1, Some("false")),
    ("retention.bytes", 5, Some("-1")),
    ("retention.ms", 5, Some("604800000")),
    ("segment.bytes", 3, Some("1073741824")),
    ("segment.index.bytes", 3, Some("10485760")),
    ("segment.jitter.ms", 5, Some("0")),
    ("segment.ms", 5, Some("604800000")),
    ("unclean.leader.election.enable", 1, Some("false")),
];

#[test]
fn every_setting_of_a_topic() {
    let topic = topic("configs", 1);
    for version in 1..=4 {
        let result = ask(version, &request(resource(TOPIC, &topic.name, None)));
        assert_eq!((result.error_code, result.resource_type), (NONE, TOPIC), "v{version}");
        assert_eq!(&*result.resource_name, topic.name, "v{version}");
        let mut names: Vec<_> = result.configs.iter().map(|it| &*it.name).collect();
        names.sort_unstable();
        let expected: Vec<_> = TOPIC_SETTINGS.iter().map(|it| it.0).collect();
        assert_eq!(names, expected, "v{version}");
        for (name, kind, value) in TOPIC_SETTINGS {
            let entry = find(&result, name);
            assert_eq!(entry.value.as_deref(), value, "v{version} {name}");
            // Ottla does not have the feature that sets it (eligible leader replicas) yet.
            let clusterwide = name == "min.insync.replicas" && is_foreign();
            let source = if clusterwide { DYNAMIC_DEFAULT_BROKER } else { DEFAULT };
            assert_eq!(entry.config_source, source, "v{version} {name}");
            assert_eq!((entry.read_only, entry.is_sensitive), (false, false), "v{version} {name}");
            assert_eq!(entry.config_type, if version < 3 { 0 } else { kind }, "v{version} {name}");
            assert!(entry.synonyms.is_empty(), "v{version} {name}");
            if version >= 3 {
                assert_eq!(entry.documentation, None, "v{version} {name}");
            }
        }
    }
}

/// A value set on the topic has its own source, also when it is the default; its synonyms are where else it comes from.
#[test]
fn what_the_topic_sets() {
    let configs = [("retention.ms", "1234"), ("max.message.bytes", "1048588")];
    let topic = topic_with("configs-set", 1, &configs);
    let request = request(resource(TOPIC, &topic.name, None)).with_include_synonyms(true);
    let result = ask(4, &request);
    for (name, value) in configs {
        let entry = find(&result, name);
        assert_eq!((entry.value.as_deref(), entry.config_source), (Some(value), DYNAMIC_TOPIC));
    }
    let synonyms = |name: &str| -> Vec<(String, Option<String>, i8)> {
        find(&result, name)
            .synonyms
            .iter()
            .map(|it| (it.name.to_string(), it.value.as_deref().map(str::to_owned), it.source))
            .collect()
    };
    let entry = |name: &str, value: &str, source| (name.to_owned(), Some(value.to_owned()), source);
    assert_eq!(
        synonyms("max.message.bytes"),
        [
            entry("max.message.bytes", "1048588", DYNAMIC_TOPIC),
            entry("message.max.bytes", "1048588", DEFAULT)
        ]
    );
    assert_eq!(synonyms("flush.ms"), [], "the broker has no value for it");
    assert_eq!(synonyms("cleanup.policy"), [entry("log.cleanup.policy", "delete", DEFAULT)]);
}

#[test]
fn only_the_keys_asked_for() {
    let topic = topic("configs-keys", 1);
    let ask_keys = |keys: &[&str]| -> Vec<String> {
        let result = ask(4, &request(resource(TOPIC, &topic.name, Some(keys))));
        assert_eq!(result.error_code, NONE);
        let mut names: Vec<_> = result.configs.iter().map(|it| it.name.to_string()).collect();
        names.sort_unstable();
        names
    };
    assert_eq!(ask_keys(&["retention.ms", "cleanup.policy"]), ["cleanup.policy", "retention.ms"]);
    assert_eq!(ask_keys(&["no.such.setting", "segment.bytes"]), ["segment.bytes"]);
    assert_eq!(
        ask_keys(&[]).len(),
        TOPIC_SETTINGS.len(),
        "an empty list asks for all, as null does"
    );
}

#[test]
fn documentation_on_request() {
    let topic = topic("configs-doc", 1);
    let wanted = resource(TOPIC, &topic.name, Some(&["retention.ms"]));
    let result = ask(4, &request(wanted).with_include_documentation(true));
    let documentation = find(&result, "retention.ms").documentation.as_deref();
    assert!(documentation.is_some_and(|it| !it.is_empty()), "{documentation:?}");
}

#[test]
fn unknown_resources() {
    let unknown = unique("configs-unknown");
    let cases = [
        (TOPIC, &*unknown, UNKNOWN_TOPIC_OR_PARTITION),
        (TOPIC, "a b", INVALID_TOPIC_EXCEPTION),
        (TOPIC, "", INVALID_TOPIC_EXCEPTION),
        (BROKER, "987654", INVALID_REQUEST),
        (BROKER, "no number", INVALID_REQUEST),
        (99, "x", INVALID_REQUEST),
    ];
    for (kind, name, expected) in cases {
        let result = ask(4, &request(resource(kind, name, None)));
        assert_eq!((result.error_code, result.resource_type), (expected, kind), "{kind} {name:?}");
        assert_eq!(&*result.resource_name, name, "{kind}");
        assert!(result.configs.is_empty(), "{kind} {name:?}");
    }
}

#[test]
fn a_brokers_settings() {
    let topic = topic("configs-broker", 1);
    let node = describe(&topic.name).partitions[0].leader_id.to_string();
    let result = ask(4, &request(resource(BROKER, &node, None)));
    assert_eq!(result.error_code, NONE);
    assert!(result.configs.len() > 50, "{}", result.configs.len());
    let id = find(&result, "node.id");
    assert_eq!(id.value.as_deref(), Some(&*node));
    assert_eq!((id.read_only, id.config_source), (true, STATIC_BROKER));
    for (name, read_only) in [("message.max.bytes", false), ("num.partitions", true)] {
        let entry = find(&result, name);
        assert!(entry.value.is_some(), "{name}");
        assert_eq!(entry.read_only, read_only, "{name}");
    }
    let keys = resource(BROKER, &node, Some(&["log.cleanup.policy"]));
    let result = ask(1, &request(keys));
    assert_eq!(result.configs.len(), 1);
    assert_eq!(find(&result, "log.cleanup.policy").value.as_deref(), Some("delete"));
}
