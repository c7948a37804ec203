//! A partition that a Produce request names twice is written once: its last batch counts, and it gets one answer. Kafka keeps
//! the batches of a request in a map.

use crate::wire::messages::produce_request::{PartitionProduceData, TopicProduceData};
use std::collections::{HashMap, hash_map::Entry};

/// Every topic and every partition once.
pub(super) fn distinct(topics: Vec<TopicProduceData>) -> Vec<TopicProduceData> {
    if let [topic] = &topics[..]
        && topic.partition_data.len() < 2
    {
        return topics;
    }
    let mut places = HashMap::with_capacity(topics.len());
    let mut merged: Vec<TopicProduceData> = Vec::with_capacity(topics.len());
    for topic in topics {
        match places.entry((topic.name.clone(), topic.topic_id)) {
            Entry::Occupied(place) => {
                let known: &mut TopicProduceData = &mut merged[*place.get()];
                known.partition_data.extend(topic.partition_data);
            }
            Entry::Vacant(place) => {
                place.insert(merged.len());
                merged.push(topic);
            }
        }
    }
    merged.iter_mut().for_each(|topic| keep_last(&mut topic.partition_data));
    merged
}

fn keep_last(partitions: &mut Vec<PartitionProduceData>) {
    let last: HashMap<i32, usize> =
        partitions.iter().enumerate().map(|(place, partition)| (partition.index, place)).collect();
    let mut place = 0..;
    partitions.retain(|partition| last.get(&partition.index).copied() == place.next());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{messages::TopicName, text};
    use bytes::Bytes;

    fn topic(name: &str, partitions: &[(i32, &'static str)]) -> TopicProduceData {
        let partitions = partitions.iter().map(|(index, records)| {
            let records = Bytes::from_static(records.as_bytes());
            PartitionProduceData::default().with_index(*index).with_records(Some(records))
        });
        TopicProduceData::default()
            .with_name(TopicName(text(name)))
            .with_partition_data(partitions.collect())
    }

    #[test]
    fn the_last_batch_counts_wherever_the_first_stood() {
        let one = || vec![topic("a", &[(0, "x")])];
        assert_eq!(distinct(one()), one());
        assert_eq!(distinct(Vec::new()), []);
        let named = vec![
            topic("a", &[(0, "1"), (1, "2"), (0, "3")]),
            topic("b", &[(0, "4")]),
            topic("a", &[(2, "5"), (1, "6")]),
        ];
        let expected = [topic("a", &[(0, "3"), (2, "5"), (1, "6")]), topic("b", &[(0, "4")])];
        assert_eq!(distinct(named), expected);
    }
}
