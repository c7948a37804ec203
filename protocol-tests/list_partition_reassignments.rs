//! ListPartitionReassignments: v0. A node alone has none.

use kafka_protocol::messages::ListPartitionReassignmentsRequest;
use kafka_protocol::messages::list_partition_reassignments_request::ListPartitionReassignmentsTopics;

use crate::client::call;
use crate::codes::NONE;
use crate::fixtures::{topic, topic_name, unique};

#[test]
fn there_are_none() {
    let topic = topic("reassign", 2);
    let of = |name: &str, indexes: &[i32]| {
        ListPartitionReassignmentsTopics::default()
            .with_name(topic_name(name))
            .with_partition_indexes(indexes.to_vec())
    };
    let named = vec![of(&topic.name, &[0, 1, 7]), of(&unique("missing"), &[0]), of("a b", &[])];
    for topics in [None, Some(vec![]), Some(named)] {
        for timeout_ms in [10_000, 0, -1] {
            let request = ListPartitionReassignmentsRequest::default()
                .with_timeout_ms(timeout_ms)
                .with_topics(topics.clone());
            let response = call(0, &request);
            assert_eq!((response.error_code, response.error_message), (NONE, None));
            assert_eq!(response.topics, [], "{topics:?}");
        }
    }
}
