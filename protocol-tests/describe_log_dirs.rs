//! DescribeLogDirs: v1-4.

use std::collections::BTreeMap;

use kafka_protocol::messages::describe_log_dirs_request::DescribableLogDirTopic;
use kafka_protocol::messages::describe_log_dirs_response::DescribeLogDirsResult;
use kafka_protocol::messages::{DescribeLogDirsRequest, DescribeLogDirsResponse};

use crate::batch::Batch;
use crate::broker;
use crate::client::call;
use crate::codes::NONE;
use crate::fixtures::{produce, topic, topic_name, unique};

fn asked(topic: &str, partitions: &[i32]) -> DescribableLogDirTopic {
    DescribableLogDirTopic::default()
        .with_topic(topic_name(topic))
        .with_partitions(partitions.to_vec())
}

fn request(topics: Vec<DescribableLogDirTopic>) -> DescribeLogDirsRequest {
    DescribeLogDirsRequest::default().with_topics(Some(topics))
}

/// The one directory.
fn the_dir(response: DescribeLogDirsResponse) -> DescribeLogDirsResult {
    assert_eq!((response.error_code, response.results.len()), (NONE, 1), "{response:?}");
    response.results.into_iter().next().unwrap()
}

/// Where the broker under test has its logs.
pub fn directory() -> String {
    the_dir(call(4, &request(vec![]))).log_dir.to_string()
}

/// Sizes by topic and partition.
fn sizes(dir: &DescribeLogDirsResult) -> BTreeMap<(String, i32), i64> {
    let mut sizes = BTreeMap::new();
    for topic in &dir.topics {
        for partition in &topic.partitions {
            assert_eq!((partition.offset_lag, partition.is_future_key), (0, false));
            let key = (topic.name.to_string(), partition.partition_index);
            assert_eq!(sizes.insert(key, partition.partition_size), None);
        }
    }
    sizes
}

#[test]
fn every_version_tells_true_sizes() {
    let topic = topic("log-dirs", 2);
    let (one, two) = (Batch::of(&["a", "b"]), Batch::of(&["c"]));
    produce(&topic, 0, &one);
    produce(&topic, 0, &two);
    let bytes = (one.build().len() + two.build().len()) as i64;
    for version in 1..=4 {
        let partitions = vec![
            asked(&topic.name, &[0, 7, -1, 0]),
            asked(&unique("missing"), &[0]),
            asked(&topic.name, &[1]),
        ];
        let dir = the_dir(call(version, &request(partitions)));
        assert_eq!((dir.error_code, dir.topics.len()), (NONE, 1), "v{version}: what is here");
        let of = |index| (topic.name.clone(), index);
        assert_eq!(sizes(&dir), BTreeMap::from([(of(0), bytes), (of(1), 0)]), "v{version}");
        let volume = (dir.total_bytes, dir.usable_bytes);
        if version < 4 || !broker::is_foreign() {
            assert_eq!(volume, (-1, -1), "v{version}: not told, or in memory");
        } else {
            assert!(0 < volume.1 && volume.1 <= volume.0, "{volume:?}");
        }
    }
}

#[test]
fn all_and_none() {
    let topic = topic("log-dirs", 1);
    produce(&topic, 0, &Batch::of(&["a"]));
    for version in 1..=4 {
        let dir = the_dir(call(version, &DescribeLogDirsRequest::default().with_topics(None)));
        assert!(sizes(&dir)[&(topic.name.clone(), 0)] > 0, "v{version}");
        for topics in [vec![], vec![asked(&topic.name, &[])]] {
            let dir = the_dir(call(version, &request(topics)));
            assert_eq!((dir.error_code, dir.topics.len()), (NONE, 0), "v{version}");
            assert!(!dir.log_dir.is_empty());
        }
    }
}
