//! Partitions are added to topics (Kafka's `ReplicationControlManager.createPartitions`).

use super::{Controller, RECORDS_MAX, Refusal, placement};
use crate::{cluster::Record, wire::ErrorCode};
use std::collections::HashMap;

/// A topic that shall have more partitions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MorePartitions {
    pub name: String,
    /// How many there are to be, old ones included.
    pub count: i32,
    /// Replicas of each new partition; None: the controller places them.
    pub assignments: Option<Vec<Vec<i32>>>,
}

impl Controller {
    /// One result for each name: those that came twice first.
    pub(super) fn create_partitions(
        &self,
        topics: Vec<MorePartitions>,
        validate_only: bool,
        records: &mut Vec<Record>,
    ) -> Vec<(String, Result<(), Refusal>)> {
        let mut times: HashMap<String, usize> = HashMap::new();
        for topic in &topics {
            *times.entry(topic.name.clone()).or_default() += 1;
        }
        let (mut results, mut wanted) = (Vec::new(), Vec::new());
        for topic in topics {
            match times.get_mut(&topic.name) {
                Some(1) => wanted.push(topic),
                Some(0) | None => {}
                Some(many) => {
                    *many = 0;
                    let twice = Refusal::new(ErrorCode::InvalidRequest, "Duplicate topic name.");
                    results.push((topic.name, Err(twice)));
                }
            }
        }
        let mut made = Vec::new();
        for topic in wanted {
            let result = self.grow(&topic, &mut made);
            results.push((topic.name, result));
        }
        if !validate_only {
            records.append(&mut made);
        }
        results
    }

    fn grow(&self, wanted: &MorePartitions, records: &mut Vec<Record>) -> Result<(), Refusal> {
        let topic = self.image.topic(&wanted.name).ok_or(ErrorCode::UnknownTopicOrPartition)?;
        let now = topic.partitions.len();
        let count = usize::try_from(wanted.count).unwrap_or_default();
        if count <= now {
            let message = if count == now {
                format!("Topic already has {now} partition(s).")
            } else {
                format!(
                    "The topic {} currently has {now} partition(s); {} would not be an increase.",
                    wanted.name, wanted.count
                )
            };
            return Err(Refusal::new(ErrorCode::InvalidPartitions, message));
        }
        let more = count - now;
        if let Some(given) = wanted.assignments.as_ref().map(Vec::len).filter(|n| *n != more) {
            let message = format!(
                "Attempted to add {more} additional partition(s), but only {given} assignment(s) \
                 were specified."
            );
            return Err(Refusal::new(ErrorCode::InvalidReplicaAssignment, message));
        }
        if records.len() + more > RECORDS_MAX {
            return Err(ErrorCode::UnknownServerError.into());
        }
        let factor = topic.partitions.first().map_or(1, |first| first.replicas.len());
        let states = match &wanted.assignments {
            Some(assignments) => assignments
                .iter()
                .zip(now as i32..)
                .map(|(replicas, at)| placement::by_hand(&self.image, at, replicas, Some(factor)))
                .collect::<Result<Vec<_>, _>>()?,
            None => placement::place(&self.image, more, factor as i16, self.image.offset)
                .map_err(|why| Refusal::new(ErrorCode::InvalidReplicationFactor, why))?,
        };
        records.extend(
            states.into_iter().zip(now as i32..).map(|(state, partition)| Record::Partition {
                topic_id: topic.id,
                partition,
                state,
            }),
        );
        Ok(())
    }
}
