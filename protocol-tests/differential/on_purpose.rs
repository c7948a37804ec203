//! Where Ottla answers differently from Kafka, and why. Nothing else may differ, and each of these must. What is not on
//! purpose but a mistake of ours has its number in `FINDINGS.md` for a reason.
//!
//! A difference rewrites Kafka's text into Ottla's, which is then compared like any other: an answer that has become
//! Kafka's fails as one that is wrong does, and so does a difference that rewrites nothing.

use std::ops::RangeInclusive;

use ottla::handlers::APIS;

pub struct Difference {
    /// The golden file.
    pub api: &'static str,
    /// `*` for all cases of the file.
    pub case: &'static str,
    pub versions: RangeInclusive<i16>,
    pub why: &'static str,
    /// Part of Kafka's text, wherever it is.
    pub kafka: &'static str,
    /// What Ottla answers instead.
    pub ottla: &'static str,
}

const ALL: RangeInclusive<i16> = 0..=i16::MAX;

const AT_ONCE: &str = "a topic that is created by asking for it is there in the same answer: clients need no second round";
const NO_TRANSACTIONS: &str = "there are no transactions yet, so no one coordinates them";
const CLUSTER_WIDE: &str = "a new Kafka cluster has min.insync.replicas as a setting of all brokers (KIP-966); Ottla has no eligible leader replicas yet";

pub const DIFFERENCES: &[Difference] = &[
    Difference {
        api: "create_topics",
        case: "*",
        versions: ALL,
        why: CLUSTER_WIDE,
        kafka: r#""min.insync.replicas", value: "1", read_only: false, config_source: 3"#,
        ottla: r#""min.insync.replicas", value: "1", read_only: false, config_source: 5"#,
    },
    Difference {
        api: "describe_configs",
        case: "*",
        versions: ALL,
        why: CLUSTER_WIDE,
        kafka: "\"min.insync.replicas\"\n          value: \"1\"\n          read_only: false\n          config_source: 3",
        ottla: "\"min.insync.replicas\"\n          value: \"1\"\n          read_only: false\n          config_source: 5",
    },
    Difference {
        api: "describe_groups",
        case: "a group twice, and none",
        versions: ALL,
        why: "each group is described once, however often it is named: a description may be large",
        kafka: TWICE,
        ottla: ONCE,
    },
    Difference {
        api: "describe_log_dirs",
        case: "*",
        versions: 4..=4,
        why: "the broker of these tests keeps everything in memory: there is no disk whose size it could tell",
        kafka: "{bytes}",
        ottla: "-1",
    },
    Difference {
        api: "describe_quorum",
        case: "the quorum",
        versions: 2..=2,
        why: "a node alone has no listener for controllers, and names the one of its clients",
        kafka: r#""CONTROLLER""#,
        ottla: r#""PLAINTEXT""#,
    },
    Difference {
        api: "find_coordinator",
        case: "a transaction's coordinator",
        versions: 1..=3,
        why: NO_TRANSACTIONS,
        kafka: r#"  error_code: NONE
  error_message: {text}
  node_id: {node-1}
  host: {host}
  port: {port}
"#,
        ottla: r#"  error_code: COORDINATOR_NOT_AVAILABLE
  error_message: {text}
  node_id: -1
  host: ""
  port: -1
"#,
    },
    Difference {
        api: "find_coordinator",
        case: "a transaction's coordinator",
        versions: 4..=6,
        why: NO_TRANSACTIONS,
        kafka: r#"      node_id: {node-1}
      host: {host}
      port: {port}
      error_code: NONE
"#,
        ottla: r#"      node_id: -1
      host: ""
      port: -1
      error_code: COORDINATOR_NOT_AVAILABLE
"#,
    },
    Difference {
        api: "init_producer_id",
        case: "a transactional id",
        versions: ALL,
        why: NO_TRANSACTIONS,
        kafka: r#"  error_code: NONE
  producer_id: {producer-1}
  producer_epoch: {number}
"#,
        ottla: r#"  error_code: COORDINATOR_NOT_AVAILABLE
  producer_id: -1
  producer_epoch: -1
"#,
    },
    Difference {
        api: "list_offsets",
        case: "isolation levels that do not exist",
        versions: 2..=3,
        why: "FINDINGS.md, 2",
        kafka: "error_code: UNKNOWN_SERVER_ERROR, timestamp: -1, offset: -1, leader_epoch: -1",
        ottla: "error_code: NONE, timestamp: -1, offset: 4, leader_epoch: -1",
    },
    Difference {
        api: "list_offsets",
        case: "isolation levels that do not exist",
        versions: 4..=10,
        why: "FINDINGS.md, 2",
        kafka: "error_code: UNKNOWN_SERVER_ERROR, timestamp: -1, offset: -1, leader_epoch: -1",
        ottla: "error_code: NONE, timestamp: -1, offset: 4, leader_epoch: 0",
    },
    Difference {
        api: "produce",
        case: "sizes that cannot be",
        versions: 8..=13,
        why: "FINDINGS.md, 1",
        kafka: "error_message: {text}",
        ottla: "error_message: null",
    },
    Difference {
        api: "malformed",
        case: "counts and lengths that cannot be",
        versions: ALL,
        why: "null is -1 and nothing else; Kafka takes every negative count for it",
        kafka: r#"# -2 topics
Metadata v1
  throttle_time_ms: 0
  brokers:
    - node_id: {node-1}, host: {host}, port: {port}, rack: null
  cluster_id: null
  controller_id: {node-1}
  topics: []
  cluster_authorized_operations: -2147483648
  error_code: NONE
"#,
        ottla: r#"# -2 topics
Metadata v1
  closed
"#,
    },
    Difference {
        api: "malformed",
        case: "text that is not UTF-8",
        versions: ALL,
        why: "a byte that is no text is replaced in its place, so that a request keeps its length",
        kafka: "\"a\u{fffd}\"",
        ottla: "\"a?\"",
    },
    Difference {
        api: "produce",
        case: "message formats of old",
        versions: 8..=13,
        why: "FINDINGS.md, 1",
        kafka: "error_message: {text}",
        ottla: "error_message: null",
    },
    Difference {
        api: "metadata",
        case: "an unknown topic that is created",
        versions: 0..=6,
        why: AT_ONCE,
        kafka: UNKNOWN,
        ottla: r#"    - error_code: NONE
      name: "{topic-1}"
      topic_id: nil
      is_internal: false
      partitions:
        - error_code: NONE
          partition_index: 0
          leader_id: {node-1}
          leader_epoch: -1
          replica_nodes: [{node-1}]
          isr_nodes: [{node-1}]
          offline_replicas: []
"#,
    },
    Difference {
        api: "metadata",
        case: "an unknown topic that is created",
        versions: 7..=9,
        why: AT_ONCE,
        kafka: UNKNOWN,
        ottla: r#"    - error_code: NONE
      name: "{topic-1}"
      topic_id: nil
      is_internal: false
      partitions:
        - error_code: NONE
          partition_index: 0
          leader_id: {node-1}
          leader_epoch: 0
          replica_nodes: [{node-1}]
          isr_nodes: [{node-1}]
          offline_replicas: []
"#,
    },
    Difference {
        api: "metadata",
        case: "an unknown topic that is created",
        versions: 10..=13,
        why: AT_ONCE,
        kafka: UNKNOWN,
        ottla: r#"    - error_code: NONE
      name: "{topic-1}"
      topic_id: {id-1}
      is_internal: false
      partitions:
        - error_code: NONE
          partition_index: 0
          leader_id: {node-1}
          leader_epoch: 0
          replica_nodes: [{node-1}]
          isr_nodes: [{node-1}]
          offline_replicas: []
"#,
    },
];

const UNKNOWN: &str = r#"    - error_code: UNKNOWN_TOPIC_OR_PARTITION
      name: "{topic-1}"
      topic_id: nil
      is_internal: false
      partitions: []
"#;

const ONCE: &str = r#"DescribeGroups
  throttle_time_ms: 0
  groups:
    - error_code: NONE
      error_message: null
      group_id: "{group-1}"
      group_state: "Stable"
      protocol_type: "consumer"
      protocol_data: "range"
      members:
        - member_id: {member-1}
          group_instance_id: null
          client_id: "protocol-tests"
          client_host: "/127.0.0.1"
          member_metadata: b"\x00\x00\x00\x00\x00\x01\x00\x05range\xff\xff\xff\xff"
          member_assignment: b"mine"
      authorized_operations: -2147483648
"#;

const TWICE: &str = r#"DescribeGroups
  throttle_time_ms: 0
  groups:
    - error_code: NONE
      error_message: null
      group_id: "{group-1}"
      group_state: "Stable"
      protocol_type: "consumer"
      protocol_data: "range"
      members:
        - member_id: {member-1}
          group_instance_id: null
          client_id: "protocol-tests"
          client_host: "/127.0.0.1"
          member_metadata: b"\x00\x00\x00\x00\x00\x01\x00\x05range\xff\xff\xff\xff"
          member_assignment: b"mine"
      authorized_operations: -2147483648
    - error_code: NONE
      error_message: null
      group_id: "{group-1}"
      group_state: "Stable"
      protocol_type: "consumer"
      protocol_data: "range"
      members:
        - member_id: {member-1}
          group_instance_id: null
          client_id: "protocol-tests"
          client_host: "/127.0.0.1"
          member_metadata: b"\x00\x00\x00\x00\x00\x01\x00\x05range\xff\xff\xff\xff"
          member_assignment: b"mine"
      authorized_operations: -2147483648
"#;

/// The differences of one file, and which of them were seen.
pub struct Differences(Vec<(&'static Difference, bool)>);

impl Differences {
    pub fn of(api: &str) -> Differences {
        Differences(DIFFERENCES.iter().filter(|it| it.api == api).map(|it| (it, false)).collect())
    }

    /// What Ottla should answer where Kafka answers `kafka`.
    pub fn rewrite(&mut self, case: &str, version: i16, kafka: &str) -> String {
        let mut text = served(kafka);
        for (difference, seen) in &mut self.0 {
            let is_here = ["*", case].contains(&difference.case)
                && difference.versions.contains(&version)
                && text.contains(difference.kafka);
            if is_here {
                *seen = true;
                text = text.replace(difference.kafka, difference.ottla);
            }
        }
        text
    }

    /// (case, why) of what was not seen.
    pub fn unused(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        self.0.iter().filter(|(_, seen)| !seen).map(|(it, _)| (it.case, it.why))
    }
}

/// Features of Kafka 4.1 that Ottla does not have yet.
const FEATURES: [&str; 5] = [
    "eligible.leader.replicas.version",
    "group.version",
    "kraft.version",
    "share.version",
    "transaction.version",
];

/// What is not there is not advertised: the lines of ApiVersions without those of other APIs and features.
fn served(kafka: &str) -> String {
    let is_served = |line: &&str| match line.split_once("api_key: ") {
        Some((_, rest)) => {
            let key = rest.split(',').next();
            APIS.iter().any(|api| key == Some(&api.key.to_string()))
        }
        None => !FEATURES.iter().any(|feature| line.contains(&format!("{feature:?}"))),
    };
    kafka.lines().filter(is_served).map(|line| format!("{line}\n")).collect()
}
