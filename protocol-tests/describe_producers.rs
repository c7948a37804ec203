//! DescribeProducers: v0 (KIP-664).

use kafka_protocol::messages::DescribeProducersRequest;
use kafka_protocol::messages::describe_producers_request::TopicRequest;
use kafka_protocol::messages::describe_producers_response::PartitionResponse;

use crate::batch::Batch;
use crate::client::call;
use crate::codes::{INVALID_TOPIC_EXCEPTION, NONE, UNKNOWN_TOPIC_OR_PARTITION};
use crate::fixtures::{produce, topic, topic_name, unique};
use crate::init_producer_id::producer;

fn asked(topic: &str, partitions: &[i32]) -> TopicRequest {
    TopicRequest::default().with_name(topic_name(topic)).with_partition_indexes(partitions.to_vec())
}

fn describe(topics: Vec<TopicRequest>) -> Vec<(String, Vec<PartitionResponse>)> {
    let response = call(0, &DescribeProducersRequest::default().with_topics(topics));
    response.topics.into_iter().map(|it| (it.name.to_string(), it.partitions)).collect()
}

#[test]
fn who_writes() {
    let topic = topic("producers", 2);
    let (one, other) = (producer(), producer());
    produce(&topic, 0, &Batch::new().value("a", 1_000).value("b", 3_000).producer(one, 0, 0));
    produce(&topic, 0, &Batch::new().value("c", 2_000).producer(one, 0, 2));
    produce(&topic, 0, &Batch::new().value("d", 5_000).producer(other, 4, 0));
    produce(&topic, 0, &Batch::of(&["of nobody"]));
    let described = describe(vec![asked(&topic.name, &[0, 1, 0])]);
    let [(name, partitions)] = &described[..] else { panic!("{described:?}") };
    assert_eq!(*name, topic.name);
    let indexes: Vec<i32> = partitions.iter().map(|it| it.partition_index).collect();
    assert_eq!(indexes, [0, 1, 0]);
    for partition in partitions {
        assert_eq!((partition.error_code, &partition.error_message), (NONE, &None));
        let mut active: Vec<_> = partition
            .active_producers
            .iter()
            .map(|it| {
                assert_eq!((it.coordinator_epoch, it.current_txn_start_offset), (-1, -1));
                (it.producer_id.0, it.producer_epoch, it.last_sequence, it.last_timestamp)
            })
            .collect();
        active.sort_unstable();
        let mut expected = match partition.partition_index {
            0 => vec![(one, 0, 2, 2_000), (other, 4, 0, 5_000)],
            _ => vec![],
        };
        expected.sort_unstable();
        assert_eq!(active, expected, "partition {}", partition.partition_index);
    }
}

#[test]
fn what_does_not_exist() {
    let (topic, missing) = (topic("producers", 1), unique("missing"));
    let described = describe(vec![
        asked(&topic.name, &[7, -1]),
        asked(&missing, &[0]),
        asked("a b", &[0]),
        asked("", &[0, 1]),
        asked(&topic.name, &[]),
    ]);
    let unknown = "This server does not host this topic-partition.";
    let bad = "Topic name is invalid: 'a b' contains one or more characters other than ASCII alphanumerics, '.', \
               '_' and '-'";
    let empty = "Topic name is invalid: the empty string is not allowed";
    let expected = [
        (topic.name.as_str(), 2, UNKNOWN_TOPIC_OR_PARTITION, None),
        (&missing, 1, UNKNOWN_TOPIC_OR_PARTITION, Some(unknown)),
        ("a b", 1, INVALID_TOPIC_EXCEPTION, Some(bad)),
        ("", 2, INVALID_TOPIC_EXCEPTION, Some(empty)),
        (&topic.name, 0, NONE, None),
    ];
    assert_eq!(described.len(), expected.len());
    for ((name, partitions), (expected, count, code, message)) in described.iter().zip(expected) {
        assert_eq!((name.as_str(), partitions.len()), (expected, count));
        for partition in partitions {
            let told = (partition.error_code, partition.error_message.as_deref());
            assert_eq!(told, (code, message), "{name}");
            assert_eq!(partition.active_producers, []);
        }
    }
    assert_eq!(describe(vec![]), []);
}
