//! Topics come and go (Kafka's `ReplicationControlManager` and `ControllerApis`).
//!
//! Kafka does not compare the topics of one request with each other: `a.b` and `a_b` together are created both.

use super::{Controller, RECORDS_MAX, Refusal, configs, placement};
use crate::{
    cluster::{
        Record,
        image::Configs,
        names,
        record::{PartitionState, Resource},
    },
    config::{self, Config},
    ids::TopicId,
    wire::ErrorCode,
};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// A topic somebody wants.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewTopic {
    pub name: String,
    /// -1: the default, or as many as `assignments` has.
    pub partitions: i32,
    /// -1 likewise.
    pub replication_factor: i16,
    /// Replicas by partition; empty: the controller places them.
    pub assignments: Vec<(i32, Vec<i32>)>,
    /// As asked for: names may repeat (the last one counts), values may be null (refused).
    pub configs: Vec<(String, Option<String>)>,
    /// A topic of the broker's own: while no second broker has ever registered it gets one replica, whatever it asks for.
    pub internal: bool,
}

impl NewTopic {
    /// With the broker's defaults, as auto-creation makes them.
    pub fn named(name: impl Into<String>) -> NewTopic {
        NewTopic {
            name: name.into(),
            partitions: -1,
            replication_factor: -1,
            ..NewTopic::default()
        }
    }
}

/// A topic that was created, or would be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Created {
    pub topic_id: TopicId,
    pub partitions: i32,
    pub replication_factor: i16,
    pub configs: Configs,
}

/// A topic as DeleteTopics names it: by either, not both.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TopicRef {
    pub name: Option<String>,
    pub topic_id: Option<TopicId>,
}

impl Controller {
    /// One result for each name: in the order of the request, then names that came twice, then the reserved one.
    pub(super) fn create_topics(
        &self,
        topics: Vec<(TopicId, NewTopic)>,
        validate_only: bool,
        records: &mut Vec<Record>,
    ) -> Vec<(String, Result<Created, Refusal>)> {
        let mut times: HashMap<String, usize> = HashMap::new();
        for (_, topic) in &topics {
            *times.entry(topic.name.clone()).or_default() += 1;
        }
        let (mut wanted, mut twice, mut reserved) = (Vec::new(), Vec::new(), Vec::new());
        for (id, topic) in topics {
            match times.get_mut(&topic.name) {
                Some(1) if topic.name == names::CLUSTER_METADATA => reserved.push(topic.name),
                Some(1) => wanted.push((id, topic)),
                Some(0) | None => {}
                Some(many) => {
                    *many = 0;
                    twice.push(topic.name);
                }
            }
        }
        let mut results = self.create_wanted(wanted, validate_only, records);
        let refuse =
            |name, message: String| (name, Err(Refusal::new(ErrorCode::InvalidRequest, message)));
        results.extend(twice.into_iter().map(|it| refuse(it, "Duplicate topic name.".to_owned())));
        results.extend(reserved.into_iter().map(|name| {
            let message = format!("Creation of internal topic {name} is prohibited.");
            refuse(name, message)
        }));
        results
    }

    fn create_wanted(
        &self,
        topics: Vec<(TopicId, NewTopic)>,
        validate_only: bool,
        records: &mut Vec<Record>,
    ) -> Vec<(String, Result<Created, Refusal>)> {
        let refuse_all = |topics: Vec<(TopicId, NewTopic)>, message: &str| {
            let refusal = Refusal::new(ErrorCode::PolicyViolation, message);
            topics.into_iter().map(|(_, topic)| (topic.name, Err(refusal.clone()))).collect()
        };
        let partitions: usize = topics.iter().map(|(_, topic)| self.partitions_asked(topic)).sum();
        if partitions > RECORDS_MAX {
            return refuse_all(topics, "Excessively large number of partitions per request.");
        }
        let mut made = Vec::new();
        let mut results = Vec::with_capacity(topics.len());
        let config = self.config();
        for (id, topic) in &topics {
            let result = self.create_topic(&config, *id, topic, &mut made);
            results.push((topic.name.clone(), result));
        }
        if made.len() > RECORDS_MAX {
            return refuse_all(topics, "Unable to perform excessively large batch operation.");
        }
        if !validate_only {
            records.append(&mut made);
        }
        results
    }

    fn partitions_asked(&self, topic: &NewTopic) -> usize {
        match (topic.assignments.len(), topic.partitions) {
            (0, -1) => usize::try_from(self.settings.config.num_partitions).unwrap_or_default(),
            (0, count) => usize::try_from(count).unwrap_or_default(),
            (count, _) => count,
        }
    }

    fn create_topic(
        &self,
        config: &Config,
        id: TopicId,
        topic: &NewTopic,
        records: &mut Vec<Record>,
    ) -> Result<Created, Refusal> {
        let name = &topic.name;
        if self.image.topic(name).is_some() {
            let message = format!("Topic '{name}' already exists.");
            return Err(Refusal::new(ErrorCode::TopicAlreadyExists, message));
        }
        let invalid_name = |message| Refusal::new(ErrorCode::InvalidTopicException, message);
        if let Some(other) = self.image.colliding(name) {
            return Err(invalid_name(format!(
                "Topic '{name}' collides with existing topic: {other}"
            )));
        }
        names::validate(name).map_err(invalid_name)?;
        let configs = checked_configs(config, &topic.configs)?;
        let partitions =
            if topic.assignments.is_empty() { self.placed(topic)? } else { self.assigned(topic)? };
        let created = Created {
            topic_id: id,
            partitions: partitions.len() as i32,
            replication_factor: partitions.first().map_or(0, |p| p.replicas.len()) as i16,
            configs,
        };
        records.push(Record::Topic { name: name.clone(), topic_id: id });
        records.extend(created.configs.iter().map(|(key, value)| Record::Config {
            resource: Resource::Topic(name.clone()),
            name: key.clone(),
            value: Some(value.clone()),
        }));
        records.extend(partitions.into_iter().enumerate().map(|(at, state)| Record::Partition {
            topic_id: id,
            partition: at as i32,
            state,
        }));
        Ok(created)
    }

    /// The controller decides where.
    fn placed(&self, topic: &NewTopic) -> Result<Vec<PartitionState>, Refusal> {
        let factor = match topic.replication_factor {
            _ if topic.internal && self.image.brokers().count() == 1 => 1,
            -1 => self.settings.config.default_replication_factor,
            factor => factor,
        };
        if factor < 1 {
            let message =
                "Replication factor must be larger than 0, or -1 to use the default value.";
            return Err(Refusal::new(ErrorCode::InvalidReplicationFactor, message));
        }
        let count = self.partitions_asked(topic);
        if count == 0 {
            let message = "Number of partitions was set to an invalid non-positive value.";
            return Err(Refusal::new(ErrorCode::InvalidPartitions, message));
        }
        placement::place(&self.image, count, factor, self.image.offset).map_err(|reason| {
            let message = format!("Unable to replicate the partition {factor} time(s): {reason}");
            Refusal::new(ErrorCode::InvalidReplicationFactor, message)
        })
    }

    /// The client has decided where.
    fn assigned(&self, topic: &NewTopic) -> Result<Vec<PartitionState>, Refusal> {
        let also = |what: &str| {
            let message = format!(
                "A manual partition assignment was specified, but {what} was not set to -1."
            );
            Refusal::new(ErrorCode::InvalidRequest, message)
        };
        if topic.replication_factor != -1 {
            return Err(also("replication factor"));
        }
        if topic.partitions != -1 {
            return Err(also("numPartitions"));
        }
        let invalid = |message: String| Refusal::new(ErrorCode::InvalidReplicaAssignment, message);
        let mut partitions = BTreeMap::new();
        let mut factor = None;
        for (index, replicas) in &topic.assignments {
            if partitions.contains_key(index) {
                return Err(invalid(format!(
                    "Found multiple manual partition assignments for partition {index}"
                )));
            }
            let state = placement::by_hand(&self.image, *index, replicas, factor)?;
            factor = Some(replicas.len());
            partitions.insert(*index, state);
        }
        if !partitions.keys().copied().eq(0..partitions.len() as i32) {
            let message = "partitions should be a consecutive 0-based integer sequence";
            return Err(invalid(message.to_owned()));
        }
        Ok(partitions.into_values().collect())
    }

    /// One result for each name and each id, as Kafka's: what is wrong with the request first.
    pub(super) fn delete_topics(
        &self,
        topics: Vec<TopicRef>,
        records: &mut Vec<Record>,
    ) -> Vec<(TopicRef, Result<(), Refusal>)> {
        let refuse = |message: &str| Err(Refusal::new(ErrorCode::InvalidRequest, message));
        let mut results = Vec::new();
        let (mut seen, mut twice) = (HashSet::new(), BTreeSet::new());
        let mut wanted = Vec::new();
        for topic in topics {
            match (&topic.name, &topic.topic_id) {
                (None, None) => {
                    results.push((topic, refuse("Neither topic name nor id were specified.")));
                }
                (Some(_), Some(_)) => {
                    let message = "You may not specify both topic name and topic id.";
                    results.push((topic, refuse(message)));
                }
                _ if seen.insert(topic.clone()) => wanted.push(topic),
                _ => {
                    twice.insert(topic);
                }
            }
        }
        wanted.retain(|topic| !twice.contains(topic));
        results.extend(twice.iter().cloned().map(|topic| match topic.name {
            Some(_) => (topic, refuse("Duplicate topic name.")),
            None => (topic, refuse("Duplicate topic id.")),
        }));
        // A topic that is named by id (even twice) and by name is not deleted.
        let ids: HashSet<TopicId> = seen.iter().filter_map(|topic| topic.topic_id).collect();
        let mut spared = HashSet::new();
        let mut found = Vec::new();
        for topic in wanted {
            let known = match (&topic.name, topic.topic_id) {
                (Some(name), _) => self.image.topic(name),
                (None, Some(id)) => self.image.topic_by_id(id),
                (None, None) => None,
            };
            match known {
                None => results.push((topic.clone(), Err(unknown(&topic)))),
                Some(known) if topic.name.is_some() && ids.contains(&known.id) => {
                    spared.insert(known.id);
                    let both = TopicRef { topic_id: Some(known.id), ..topic };
                    let message =
                        "The provided topic name maps to an ID that was already supplied.";
                    results.push((both, refuse(message)));
                }
                Some(known) => found.push(known),
            }
        }
        for topic in found.into_iter().filter(|topic| !spared.contains(&topic.id)) {
            records.push(Record::RemoveTopic { topic_id: topic.id });
            let both = TopicRef { name: Some(topic.name.clone()), topic_id: Some(topic.id) };
            results.push((both, Ok(())));
        }
        results
    }
}

fn unknown(topic: &TopicRef) -> Refusal {
    match topic.name {
        Some(_) => Refusal::new(
            ErrorCode::UnknownTopicOrPartition,
            "This server does not host this topic-partition.",
        ),
        None => Refusal::new(ErrorCode::UnknownTopicId, "This server does not host this topic ID."),
    }
}

fn checked_configs(
    config: &Config,
    asked: &[(String, Option<String>)],
) -> Result<Configs, Refusal> {
    let invalid = |message: String| Refusal::new(ErrorCode::InvalidConfig, message);
    let nulls: Vec<&str> =
        asked.iter().filter(|(_, value)| value.is_none()).map(|(name, _)| name.as_str()).collect();
    if !nulls.is_empty() {
        let names = nulls.join(",");
        return Err(invalid(format!("Null value not supported for topic configs: {names}")));
    }
    let configs: Configs =
        asked.iter().filter_map(|(name, value)| Some((name.clone(), value.clone()?))).collect();
    config::topic::validate(config, &configs).map_err(invalid)?;
    configs::check_size(&configs)?;
    Ok(configs)
}
