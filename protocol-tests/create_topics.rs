//! CreateTopics: v2-7.

use kafka_protocol::messages::CreateTopicsRequest;
use kafka_protocol::messages::create_topics_request::{
    CreatableReplicaAssignment, CreatableTopic, CreatableTopicConfig,
};
use kafka_protocol::messages::create_topics_response::CreatableTopicResult;

use crate::client::{call, text};
use crate::codes::{
    INVALID_CONFIG, INVALID_PARTITIONS, INVALID_REPLICA_ASSIGNMENT, INVALID_REPLICATION_FACTOR,
    INVALID_REQUEST, INVALID_TOPIC_EXCEPTION, NONE, TOPIC_ALREADY_EXISTS,
    UNKNOWN_TOPIC_OR_PARTITION,
};
use crate::fixtures::{describe, topic_name, unique, until, wait_for_leaders};

fn creatable(name: &str) -> CreatableTopic {
    CreatableTopic::default()
        .with_name(topic_name(name))
        .with_num_partitions(1)
        .with_replication_factor(1)
}

fn request(topics: Vec<CreatableTopic>) -> CreateTopicsRequest {
    CreateTopicsRequest::default().with_topics(topics).with_timeout_ms(10_000)
}

fn create(version: i16, topic: CreatableTopic) -> CreatableTopicResult {
    let mut response = call(version, &request(vec![topic]));
    assert_eq!(response.topics.len(), 1);
    response.topics.remove(0)
}

fn config(name: &'static str, value: Option<&str>) -> CreatableTopicConfig {
    CreatableTopicConfig::default().with_name(name.into()).with_value(value.map(text))
}

fn assignment(partition: i32, brokers: &[i32]) -> CreatableReplicaAssignment {
    CreatableReplicaAssignment::default()
        .with_partition_index(partition)
        .with_broker_ids(brokers.iter().map(|id| (*id).into()).collect())
}

fn node_id() -> i32 {
    *call(1, &kafka_protocol::messages::MetadataRequest::default()).brokers[0].node_id
}

#[test]
fn every_version_creates() {
    for version in 2..=7 {
        let name = unique("create");
        let result = create(version, creatable(&name).with_num_partitions(3));
        assert_eq!((&**result.name, result.error_code), (name.as_str(), NONE), "v{version}");
        assert_eq!(result.error_message, None, "v{version}");
        if version >= 5 {
            assert_eq!((result.num_partitions, result.replication_factor), (3, 1), "v{version}");
            assert_eq!(result.topic_config_error_code, NONE, "v{version}");
            let configs = result.configs.expect("all settings of the topic");
            let policy = configs.iter().find(|it| &*it.name == "cleanup.policy").unwrap();
            assert_eq!(policy.value.as_deref(), Some("delete"), "v{version}");
            assert_eq!((policy.config_source, policy.read_only), (5, false), "v{version}");
        }
        assert_eq!(result.topic_id.is_nil(), version < 7, "v{version}");
        wait_for_leaders(&name, 3);
        if version == 7 {
            assert_eq!(describe(&name).topic_id, result.topic_id);
        }
        let again = create(version, creatable(&name));
        assert_eq!(again.error_code, TOPIC_ALREADY_EXISTS, "v{version}");
        assert!(again.error_message.is_some(), "v{version}");
        assert!(again.topic_id.is_nil(), "v{version}");
        if version >= 5 {
            assert_eq!((again.num_partitions, again.replication_factor), (-1, -1), "v{version}");
            assert_eq!(again.configs, Some(vec![]), "v{version}");
        }
    }
}

#[test]
fn partitions_and_replication_factor() {
    let cases = [
        (0, 1, INVALID_PARTITIONS),
        (-2, 1, INVALID_PARTITIONS),
        (1, 0, INVALID_REPLICATION_FACTOR),
        (1, -2, INVALID_REPLICATION_FACTOR),
        (1, 200, INVALID_REPLICATION_FACTOR),
        (-1, 1, NONE),
        (1, -1, NONE),
        (-1, -1, NONE),
    ];
    for (partitions, factor, expected) in cases {
        let name = unique("create-counts");
        let topic =
            creatable(&name).with_num_partitions(partitions).with_replication_factor(factor);
        let result = create(6, topic);
        assert_eq!(result.error_code, expected, "{partitions} partitions, factor {factor}");
        if expected == NONE {
            assert!(result.num_partitions > 0 && result.replication_factor > 0, "{result:?}");
        } else {
            assert_eq!(describe(&name).error_code, UNKNOWN_TOPIC_OR_PARTITION);
        }
    }
}

#[test]
fn illegal_names() {
    let long = "x".repeat(250);
    for name in ["", ".", "..", "a b", "a/b", "ä", "a\u{0}", &long] {
        let result = create(7, creatable(name));
        assert_eq!(result.error_code, INVALID_TOPIC_EXCEPTION, "{name:?}");
    }
    let longest = format!("{}{}", unique("create"), "x".repeat(249));
    assert_eq!(create(7, creatable(&longest[..249])).error_code, NONE);
}

/// `.` and `_` are the same in metric names: two topics that differ only there collide.
#[test]
fn colliding_names() {
    let base = unique("create-collide");
    assert_eq!(create(7, creatable(&format!("{base}.x_y"))).error_code, NONE);
    for other in ["_x_y", "_x.y", ".x.y"] {
        let result = create(7, creatable(&format!("{base}{other}")));
        assert_eq!(result.error_code, INVALID_TOPIC_EXCEPTION, "{other}");
    }
    assert_eq!(create(7, creatable(&format!("{base}.x_y"))).error_code, TOPIC_ALREADY_EXISTS);
}

#[test]
fn manual_assignment() {
    let node = node_id();
    let with = |assignments: Vec<CreatableReplicaAssignment>, partitions, factor| {
        let name = unique("create-manual");
        let topic = creatable(&name)
            .with_num_partitions(partitions)
            .with_replication_factor(factor)
            .with_assignments(assignments);
        (create(7, topic), name)
    };
    let two = vec![assignment(0, &[node]), assignment(1, &[node])];
    let (result, name) = with(two.clone(), -1, -1);
    assert_eq!((result.error_code, result.num_partitions), (NONE, 2));
    wait_for_leaders(&name, 2);

    let cases = [
        ("partitions too", two.clone(), 2, -1, INVALID_REQUEST),
        ("a factor too", two, -1, 1, INVALID_REQUEST),
        (
            "a gap",
            vec![assignment(0, &[node]), assignment(2, &[node])],
            -1,
            -1,
            INVALID_REPLICA_ASSIGNMENT,
        ),
        (
            "twice",
            vec![assignment(0, &[node]), assignment(0, &[node])],
            -1,
            -1,
            INVALID_REPLICA_ASSIGNMENT,
        ),
        ("no broker", vec![assignment(0, &[])], -1, -1, INVALID_REPLICA_ASSIGNMENT),
        ("unknown broker", vec![assignment(0, &[node + 77])], -1, -1, INVALID_REPLICA_ASSIGNMENT),
        ("broker twice", vec![assignment(0, &[node, node])], -1, -1, INVALID_REPLICA_ASSIGNMENT),
    ];
    for (what, assignments, partitions, factor, expected) in cases {
        let (result, name) = with(assignments, partitions, factor);
        assert_eq!(result.error_code, expected, "{what}");
        assert_eq!(describe(&name).error_code, UNKNOWN_TOPIC_OR_PARTITION, "{what}");
    }
}

#[test]
fn settings_are_checked() {
    let bad = [
        ("no.such.setting", Some("1")),
        ("retention.ms", Some("soon")),
        ("retention.ms", Some("-2")),
        ("cleanup.policy", Some("burn")),
        ("compression.type", Some("rar")),
        ("segment.bytes", Some("13")),
        ("max.message.bytes", Some("-1")),
        ("min.insync.replicas", Some("0")),
        ("message.timestamp.type", Some("Never")),
        ("retention.ms", Some("")),
        ("retention.ms", None),
        ("flush.messages", Some("0")),
        ("unclean.leader.election.enable", Some("maybe")),
    ];
    for (key, value) in bad {
        let name = unique("create-bad-setting");
        let result = create(7, creatable(&name).with_configs(vec![config(key, value)]));
        assert_eq!(result.error_code, INVALID_CONFIG, "{key}={value:?}");
        assert!(result.error_message.is_some(), "{key}={value:?}");
        assert_eq!(describe(&name).error_code, UNKNOWN_TOPIC_OR_PARTITION, "{key}={value:?}");
    }
}

/// Every setting a topic of Kafka 4.1 has is accepted, stored and described with its new source.
#[test]
fn every_setting_is_accepted() {
    let settings = [
        ("cleanup.policy", "compact,delete"),
        ("compression.gzip.level", "6"),
        ("compression.lz4.level", "9"),
        ("compression.type", "lz4"),
        ("compression.zstd.level", "3"),
        ("delete.retention.ms", "1000"),
        ("file.delete.delay.ms", "1000"),
        ("flush.messages", "10"),
        ("flush.ms", "1000"),
        ("index.interval.bytes", "1024"),
        ("local.retention.bytes", "-2"),
        ("local.retention.ms", "-2"),
        ("max.compaction.lag.ms", "100000"),
        ("max.message.bytes", "2000000"),
        ("message.timestamp.after.max.ms", "1000000"),
        ("message.timestamp.before.max.ms", "1000000"),
        ("message.timestamp.type", "LogAppendTime"),
        ("min.cleanable.dirty.ratio", "0.25"),
        ("min.compaction.lag.ms", "10"),
        ("min.insync.replicas", "1"),
        ("preallocate", "false"),
        ("retention.bytes", "100000000"),
        ("retention.ms", "-1"),
        ("segment.bytes", "1048576"),
        ("segment.index.bytes", "10240"),
        ("segment.jitter.ms", "5"),
        ("segment.ms", "100000"),
        ("unclean.leader.election.enable", "true"),
    ];
    let configs = settings.iter().map(|(key, value)| config(key, Some(value))).collect();
    let result = create(7, creatable(&unique("create-settings")).with_configs(configs));
    assert_eq!(result.error_code, NONE, "{result:?}");
    let stored = result.configs.unwrap();
    for (key, value) in settings {
        let entry = stored.iter().find(|it| &*it.name == key).unwrap_or_else(|| panic!("{key}"));
        assert_eq!((entry.value.as_deref(), entry.config_source), (Some(value), 1), "{key}");
    }
}

#[test]
fn validate_only_creates_nothing() {
    let name = unique("create-validate");
    for (partitions, expected) in [(2, NONE), (0, INVALID_PARTITIONS)] {
        let topics = vec![creatable(&name).with_num_partitions(partitions)];
        let result = call(7, &request(topics).with_validate_only(true)).topics.remove(0);
        assert_eq!(result.error_code, expected);
        if expected == NONE {
            assert_eq!((result.num_partitions, result.replication_factor), (2, 1));
        }
    }
    assert_eq!(describe(&name).error_code, UNKNOWN_TOPIC_OR_PARTITION);
}

/// One bad topic does not take the good ones with it; a name given twice is refused, both times in one answer.
#[test]
fn several_topics() {
    let (good, twice) = (unique("create-good"), unique("create-twice"));
    let topics = vec![creatable(&good), creatable("a b"), creatable(&twice), creatable(&twice)];
    let response = call(7, &request(topics));
    let code = |name: &str| -> Vec<i16> {
        let named = response.topics.iter().filter(|it| &**it.name == name);
        named.map(|it| it.error_code).collect()
    };
    assert_eq!(code(&good), [NONE]);
    assert_eq!(code("a b"), [INVALID_TOPIC_EXCEPTION]);
    assert_eq!(code(&twice), [INVALID_REQUEST]);
    assert_eq!(response.topics.len(), 3);
    until("the good topic", || describe(&good).error_code == NONE);
    assert_eq!(describe(&twice).error_code, UNKNOWN_TOPIC_OR_PARTITION);
    assert!(call(7, &request(vec![])).topics.is_empty());
}
