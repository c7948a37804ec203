//! AlterReplicaLogDirs: v1-2, on a node with one log directory.

use std::collections::BTreeMap;

use kafka_protocol::messages::AlterReplicaLogDirsRequest;
use kafka_protocol::messages::alter_replica_log_dirs_request::{
    AlterReplicaLogDir, AlterReplicaLogDirTopic,
};

use crate::client::{call, text};
use crate::codes::{INVALID_TOPIC_EXCEPTION, LOG_DIR_NOT_FOUND, NONE, UNKNOWN_TOPIC_OR_PARTITION};
use crate::describe_log_dirs::directory;
use crate::fixtures::{topic, topic_name, unique};

fn to(path: &str, topics: &[(&str, &[i32])]) -> AlterReplicaLogDir {
    let topics = topics.iter().map(|(name, partitions)| {
        AlterReplicaLogDirTopic::default()
            .with_name(topic_name(name))
            .with_partitions(partitions.to_vec())
    });
    AlterReplicaLogDir::default().with_path(text(path)).with_topics(topics.collect())
}

/// Errors by topic and partition.
fn errors(version: i16, dirs: Vec<AlterReplicaLogDir>) -> BTreeMap<(String, i32), i16> {
    let response = call(version, &AlterReplicaLogDirsRequest::default().with_dirs(dirs));
    let mut errors = BTreeMap::new();
    for topic in response.results {
        for partition in topic.partitions {
            let key = (topic.topic_name.to_string(), partition.partition_index);
            assert_eq!(errors.insert(key, partition.error_code), None);
        }
    }
    errors
}

#[test]
fn every_version() {
    let (topic, missing, here) = (topic("log-dirs", 2), unique("missing"), directory());
    let topics: &[(&str, &[i32])] = &[(&topic.name, &[0, 1, 7, -1]), (&missing, &[0])];
    let of = |index| (topic.name.clone(), index);
    let unknown = UNKNOWN_TOPIC_OR_PARTITION;
    for version in 1..=2 {
        let expected = [
            (of(0), NONE),
            (of(1), NONE),
            (of(7), unknown),
            (of(-1), unknown),
            ((missing.clone(), 0), unknown),
        ];
        assert_eq!(errors(version, vec![to(&here, topics)]), expected.into(), "v{version}");
        for path in ["/other", "relative", "", &format!("{here}/")] {
            let errors = errors(version, vec![to(path, topics)]);
            assert_eq!(errors.len(), 5, "v{version} {path:?}");
            assert!(errors.values().all(|it| *it == LOG_DIR_NOT_FOUND), "{path:?}: {errors:?}");
        }
        assert_eq!(errors(version, vec![]), BTreeMap::new());
        assert_eq!(errors(version, vec![to(&here, &[(&topic.name, &[])])]), BTreeMap::new());
    }
}

/// Kafka would need a longer name for the directory than a file may have.
#[test]
fn names_that_are_too_long() {
    let here = directory();
    for (bytes, index, expected) in [
        (213, 0, UNKNOWN_TOPIC_OR_PARTITION),
        (214, 0, INVALID_TOPIC_EXCEPTION),
        (213, 10, INVALID_TOPIC_EXCEPTION),
        (249, 0, INVALID_TOPIC_EXCEPTION),
    ] {
        let name = "x".repeat(bytes);
        for path in [here.as_str(), "/other"] {
            let errors = errors(2, vec![to(path, &[(&name, &[index])])]);
            let expected = match (path, expected) {
                ("/other", UNKNOWN_TOPIC_OR_PARTITION) => LOG_DIR_NOT_FOUND,
                _ => expected,
            };
            assert_eq!(errors[&(name.clone(), index)], expected, "{bytes} {index} {path}");
        }
    }
    let errors = errors(2, vec![to(&here, &[("a b", &[0]), ("", &[0])])]);
    assert!(errors.values().all(|it| *it == UNKNOWN_TOPIC_OR_PARTITION), "{errors:?}");
}

/// Where it is named last is where it goes.
#[test]
fn named_twice() {
    let (topic, here) = (topic("log-dirs", 1), directory());
    let topics: &[(&str, &[i32])] = &[(&topic.name, &[0])];
    for (first, last, expected) in
        [("/other", here.as_str(), NONE), (&here, "/other", LOG_DIR_NOT_FOUND)]
    {
        let errors = errors(2, vec![to(first, topics), to(last, topics)]);
        assert_eq!(errors, BTreeMap::from([((topic.name.clone(), 0), expected)]));
    }
}
