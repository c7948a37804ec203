//! AlterReplicaLogDirs: v1-2.

use kafka_protocol::messages::alter_replica_log_dirs_request::{
    AlterReplicaLogDir, AlterReplicaLogDirTopic,
};
use kafka_protocol::messages::{AlterReplicaLogDirsRequest, DescribeLogDirsRequest};

use super::{Case, case, check};
use crate::client::{call, text};
use crate::fixtures::topic_name;

fn of(path: &str, name: &str, partitions: &[i32]) -> AlterReplicaLogDirsRequest {
    let topic = AlterReplicaLogDirTopic::default()
        .with_name(topic_name(name))
        .with_partitions(partitions.to_vec());
    let dir = AlterReplicaLogDir::default().with_path(text(path)).with_topics(vec![topic]);
    AlterReplicaLogDirsRequest::default().with_dirs(vec![dir])
}

/// The broker's only directory.
fn log_dir() -> String {
    let request = DescribeLogDirsRequest::default().with_topics(Some(vec![]));
    call(4, &request).results[0].log_dir.to_string()
}

const CASES: &[Case] = &[
    case("where it is already", 1..=2, |t| {
        let topic = t.topic(1);
        t.ask(&of(&log_dir(), &topic.name, &[0]));
    }),
    case("a directory that is not there, no path", 1..=2, |t| {
        let topic = t.topic(1);
        t.ask(&of("/no/such/directory", &topic.name, &[0]));
        t.ask(&of("relative", &topic.name, &[0]));
        t.ask(&of("", &topic.name, &[0]));
    }),
    case("no such partition, no such topic, nothing", 1..=2, |t| {
        let (topic, unknown) = (t.topic(1), t.name("topic"));
        t.ask(&of(&log_dir(), &topic.name, &[7]));
        t.ask(&of(&log_dir(), &unknown, &[0]));
        t.ask(&of("/no/such/directory", &unknown, &[0]));
        t.ask(&AlterReplicaLogDirsRequest::default());
    }),
];

#[test]
fn alter_replica_log_dirs() {
    check("alter_replica_log_dirs", 34, CASES);
}
