//! CreateTopics: v2-7.

use kafka_protocol::messages::create_topics_request::{
    CreatableReplicaAssignment, CreatableTopic, CreatableTopicConfig,
};
use kafka_protocol::messages::{CreateTopicsRequest, MetadataRequest};

use super::{Case, Run, case, check};
use crate::client::{call, text};
use crate::fixtures::topic_name;

fn creatable(name: &str) -> CreatableTopic {
    CreatableTopic::default()
        .with_name(topic_name(name))
        .with_num_partitions(1)
        .with_replication_factor(1)
}

fn of(topics: Vec<CreatableTopic>) -> CreateTopicsRequest {
    CreateTopicsRequest::default().with_topics(topics).with_timeout_ms(10_000)
}

fn config(name: &str, value: Option<&str>) -> CreatableTopicConfig {
    CreatableTopicConfig::default().with_name(text(name)).with_value(value.map(text))
}

fn assignment(partition: i32, brokers: &[i32]) -> CreatableReplicaAssignment {
    CreatableReplicaAssignment::default()
        .with_partition_index(partition)
        .with_broker_ids(brokers.iter().map(|id| (*id).into()).collect())
}

pub fn node_id() -> i32 {
    *call(1, &MetadataRequest::default().with_topics(Some(vec![]))).brokers[0].node_id
}

/// A topic of a new name, changed.
fn try_one(t: &mut Run, change: impl FnOnce(CreatableTopic) -> CreatableTopic) {
    let name = t.name("topic");
    t.counted(&["configs"]).ask(&of(vec![change(creatable(&name))]));
}

const CASES: &[Case] = &[
    case("a topic, and once more", 2..=7, |t| {
        let name = t.name("topic");
        let request = of(vec![creatable(&name).with_num_partitions(3)]);
        t.counted(&["configs"]).ask(&request);
        t.ask(&request);
    }),
    case("with settings", 2..=7, |t| {
        let configs =
            vec![config("retention.ms", Some("1234")), config("cleanup.policy", Some("compact"))];
        let name = t.name("topic");
        t.ask(&of(vec![creatable(&name).with_configs(configs)]));
    }),
    case("the broker's defaults", 4..=7, |t| {
        try_one(t, |it| it.with_num_partitions(-1).with_replication_factor(-1));
    }),
    case("counts that cannot be", 2..=7, |t| {
        for (partitions, factor) in [(0, 1), (-2, 1), (1, 0), (1, -2), (1, 200)] {
            t.note(&format!("{partitions} partitions, factor {factor}"));
            try_one(t, |it| it.with_num_partitions(partitions).with_replication_factor(factor));
        }
    }),
    case("illegal names", 2..=7, |t| {
        for name in ["", ".", "..", "a b", "a/b", "ä", &"x".repeat(250)] {
            t.ask(&of(vec![creatable(name)]));
        }
    }),
    case("names that collide", 2..=7, |t| {
        let base = t.name("topic");
        for end in [".x", "_x"] {
            t.counted(&["configs"]).ask(&of(vec![creatable(&format!("{base}{end}"))]));
        }
    }),
    case("a manual assignment", 2..=7, |t| {
        let node = node_id();
        let manual = |it: CreatableTopic, assignments| {
            it.with_num_partitions(-1).with_replication_factor(-1).with_assignments(assignments)
        };
        let two = || vec![assignment(0, &[node]), assignment(1, &[node])];
        try_one(t, |it| manual(it, two()));
        t.note("partitions too");
        try_one(t, |it| manual(it, two()).with_num_partitions(2));
        t.note("a factor too");
        try_one(t, |it| manual(it, two()).with_replication_factor(1));
        let bad = [
            ("a gap", vec![assignment(0, &[node]), assignment(2, &[node])]),
            ("a partition twice", vec![assignment(0, &[node]), assignment(0, &[node])]),
            ("no broker", vec![assignment(0, &[])]),
            ("an unknown broker", vec![assignment(0, &[node + 77])]),
            ("a broker twice", vec![assignment(0, &[node, node])]),
            ("not as many replicas everywhere", vec![assignment(0, &[node]), assignment(1, &[])]),
        ];
        for (what, assignments) in bad {
            t.note(what);
            try_one(t, |it| manual(it, assignments));
        }
    }),
    case("settings that cannot be", 2..=7, |t| {
        let bad = [
            ("no.such.setting", Some("1")),
            ("retention.ms", Some("soon")),
            ("retention.ms", Some("")),
            ("retention.ms", None),
            ("cleanup.policy", Some("burn")),
            ("segment.bytes", Some("13")),
            ("min.insync.replicas", Some("0")),
        ];
        for (name, value) in bad {
            t.note(&format!("{name}={value:?}"));
            try_one(t, |it| it.with_configs(vec![config(name, value)]));
        }
    }),
    case("a setting twice", 2..=7, |t| {
        let configs = ["1", "2"].map(|value| config("retention.ms", Some(value)));
        try_one(t, |it| it.with_configs(configs.into()));
    }),
    case("only validated", 2..=7, |t| {
        let name = t.name("topic");
        for partitions in [2, 0, 2] {
            let topics = vec![creatable(&name).with_num_partitions(partitions)];
            t.counted(&["configs"]).ask(&of(topics).with_validate_only(true));
        }
    }),
    case("good and bad ones, one of them twice", 2..=7, |t| {
        let (good, twice) = (t.name("topic"), t.name("topic"));
        let topics = vec![creatable(&good), creatable("a b"), creatable(&twice), creatable(&twice)];
        t.counted(&["configs"]).sorted(&["topics"]).ask(&of(topics));
    }),
    case("no topics", 2..=7, |t| {
        t.ask(&of(vec![]));
    }),
    case("an internal topic", 2..=7, |t| {
        t.group();
        t.ask(&of(vec![creatable("__consumer_offsets")]));
    }),
    case("every kind of setting, at its limits", 5..=7, |t| {
        let limits = [
            ("retention.ms", "-1"),
            ("retention.ms", "-2"),
            ("segment.bytes", "1048576"),
            ("segment.bytes", "1048575"),
            ("max.message.bytes", "0"),
            ("max.message.bytes", "-1"),
            ("min.cleanable.dirty.ratio", "1"),
            ("min.cleanable.dirty.ratio", "1.1"),
            ("cleanup.policy", ""),
            ("cleanup.policy", "delete,compact"),
            ("cleanup.policy", "delete,delete"),
            ("compression.type", "ZSTD"),
            ("compression.zstd.level", "23"),
            ("compression.gzip.level", "0"),
            ("message.timestamp.type", "logappendtime"),
            ("unclean.leader.election.enable", "TRUE"),
            ("preallocate", "yes"),
            ("flush.messages", " 7 "),
            ("local.retention.ms", "-3"),
            ("remote.storage.enable", "true"),
            ("follower.replication.throttled.replicas", "*"),
            ("follower.replication.throttled.replicas", "0:1,1:1"),
            ("follower.replication.throttled.replicas", "nothing"),
        ];
        for (name, value) in limits {
            t.note(&format!("{name}={value:?}"));
            try_one(t, |it| it.with_configs(vec![config(name, Some(value))]));
        }
    }),
];

#[test]
fn create_topics() {
    check("create_topics", 19, CASES);
}
