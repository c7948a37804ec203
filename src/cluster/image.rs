//! The state that metadata records make: immutable once shared, cheap to clone, published once per committed batch.
//!
//! Maps share structure between an image and its clones; what a record does not touch is not copied. Where a clone came
//! from is not remembered, but what the last entry touched is: `changes_since` looks at no more when it compares an image
//! with the one before, and compares any two images otherwise.

use super::{
    names,
    record::{DecodeError, PartitionState, Record, Resource, decode, encode},
};
use crate::{
    config::Config,
    ids::{NodeId, TopicId},
};
use rpds::{HashTrieMapSync, RedBlackTreeMapSync};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// A topic and its partitions, index = partition number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topic {
    pub name: String,
    pub id: TopicId,
    pub partitions: Vec<PartitionState>,
}

/// A registered broker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broker {
    pub node_id: NodeId,
    pub broker_epoch: i64,
    pub incarnation_id: uuid::Uuid,
    pub rack: Option<String>,
    pub listeners: BTreeMap<String, (String, u16)>,
    pub fenced: bool,
}

/// Dynamic configs of one resource by name.
pub type Configs = BTreeMap<String, String>;

/// The cluster at one metadata offset.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Image {
    /// How many records made it; 0 before any. Never goes back, restarts included. Equal on all nodes for equal state.
    pub offset: i64,
    cluster_id: String,
    topics: RedBlackTreeMapSync<String, Arc<Topic>>,
    names: HashTrieMapSync<TopicId, String>,
    /// Topics whose name has a `.` or `_`, by `names::unified`. More than one only if one request created them.
    unified: HashTrieMapSync<String, BTreeSet<String>>,
    brokers: RedBlackTreeMapSync<NodeId, Broker>,
    configs: RedBlackTreeMapSync<Resource, Arc<Configs>>,
    next_producer_id: i64,
    last: Touched,
}

/// What one entry touched. Says nothing about an image, so that all are equal.
#[derive(Debug, Clone, Default)]
struct Touched {
    /// The offset before it; None: the image was not made by an entry.
    since: Option<i64>,
    topics: BTreeSet<String>,
    configs: BTreeSet<Resource>,
}

impl PartialEq for Touched {
    fn eq(&self, _: &Touched) -> bool {
        true
    }
}

impl Image {
    pub fn topic(&self, name: &str) -> Option<&Arc<Topic>> {
        self.topics.get(name)
    }
    pub fn topic_by_id(&self, id: TopicId) -> Option<&Arc<Topic>> {
        self.topic(self.names.get(&id)?)
    }
    /// In name order.
    pub fn topics(&self) -> impl Iterator<Item = &Arc<Topic>> {
        self.topics.values()
    }
    pub fn topic_count(&self) -> usize {
        self.topics.size()
    }
    /// A topic whose name differs from `name` in `.` and `_` alone, or is the same; None when `name` has neither.
    pub fn colliding(&self, name: &str) -> Option<&str> {
        let unified = names::has_collision_chars(name).then(|| names::unified(name))?;
        self.unified.get(&unified)?.first().map(String::as_str)
    }
    /// In id order.
    pub fn brokers(&self) -> impl Iterator<Item = &Broker> {
        self.brokers.values()
    }
    pub fn broker(&self, id: NodeId) -> Option<&Broker> {
        self.brokers.get(&id)
    }
    /// Empty until the cluster's first record.
    pub fn cluster_id(&self) -> &str {
        &self.cluster_id
    }
    /// Dynamic configs of a resource; empty when it has none.
    pub fn configs(&self, resource: &Resource) -> Configs {
        self.configs.get(resource).map(|configs| Configs::clone(configs)).unwrap_or_default()
    }
    /// The resources that have dynamic configs, in order.
    pub fn configured(&self) -> impl Iterator<Item = &Resource> {
        self.configs.keys()
    }
    /// The same with what they set.
    pub fn all_configs(&self) -> impl Iterator<Item = (&Resource, &Configs)> {
        self.configs.iter().map(|(resource, configs)| (resource, configs.as_ref()))
    }
    /// What `config` of broker `node` becomes under the dynamic configs of brokers.
    pub fn config_of(&self, node: NodeId, config: &Config) -> Config {
        let none = Configs::new();
        let at = |resource| self.configs.get(&resource).map_or(&none, Arc::as_ref);
        config.with_dynamic(at(Resource::Broker(None)), at(Resource::Broker(Some(node))))
    }
    /// Producer ids below it are taken.
    pub fn next_producer_id(&self) -> i64 {
        self.next_producer_id
    }

    /// Changes the image by one entry of the metadata log.
    pub fn apply_entry(&mut self, records: &[Record]) {
        let mut touched = Touched { since: Some(self.offset), ..Touched::default() };
        for record in records {
            match record {
                Record::Topic { name, .. } => {
                    touched.topics.insert(name.clone());
                }
                Record::Partition { topic_id, .. } => {
                    touched.topics.extend(self.names.get(topic_id).cloned());
                }
                Record::RemoveTopic { topic_id } => {
                    let Some(name) = self.names.get(topic_id) else { continue };
                    touched.topics.insert(name.clone());
                    touched.configs.insert(Resource::Topic(name.clone()));
                }
                Record::Config { resource, .. } => {
                    touched.configs.insert(resource.clone());
                }
                Record::Cluster { .. } | Record::Broker { .. } | Record::ProducerIds { .. } => {}
            }
            self.apply(record);
        }
        self.last = touched;
    }

    /// Changes the image by one record. A record that names what does not exist changes nothing but the offset.
    pub fn apply(&mut self, record: &Record) {
        self.offset += 1;
        self.last.since = None;
        match record {
            Record::Cluster { cluster_id } => self.cluster_id.clone_from(cluster_id),
            Record::Broker { node_id, broker_epoch, incarnation_id, rack, listeners, fenced } => {
                let broker = Broker {
                    node_id: *node_id,
                    broker_epoch: *broker_epoch,
                    incarnation_id: *incarnation_id,
                    rack: rack.clone(),
                    listeners: listeners.clone(),
                    fenced: *fenced,
                };
                self.brokers.insert_mut(*node_id, broker);
            }
            Record::Topic { name, topic_id } => {
                let topic = Topic { name: name.clone(), id: *topic_id, partitions: Vec::new() };
                self.topics.insert_mut(name.clone(), Arc::new(topic));
                self.names.insert_mut(*topic_id, name.clone());
                if names::has_collision_chars(name) {
                    let unified = names::unified(name);
                    if !self.unified.contains_key(&unified) {
                        self.unified.insert_mut(unified.clone(), BTreeSet::new());
                    }
                    if let Some(same) = self.unified.get_mut(&unified) {
                        same.insert(name.clone());
                    }
                }
            }
            Record::Partition { topic_id, partition, state } => {
                let Some(topic) =
                    self.names.get(topic_id).and_then(|name| self.topics.get_mut(name))
                else {
                    return;
                };
                let partitions = &mut Arc::make_mut(topic).partitions;
                match partitions.get_mut(*partition as usize) {
                    Some(known) => known.clone_from(state),
                    None => {
                        assert_eq!(partitions.len(), *partition as usize, "partitions are dense");
                        partitions.push(state.clone());
                    }
                }
            }
            Record::RemoveTopic { topic_id } => {
                let Some(name) = self.names.get(topic_id).cloned() else { return };
                self.names.remove_mut(topic_id);
                self.topics.remove_mut(&name);
                let unified = names::unified(&name);
                if let Some(same) = self.unified.get_mut(&unified) {
                    same.remove(&name);
                    if same.is_empty() {
                        self.unified.remove_mut(&unified);
                    }
                }
                self.configs.remove_mut(&Resource::Topic(name));
            }
            Record::Config { resource, name, value } => {
                let mut configs = self.configs(resource);
                match value {
                    Some(value) => configs.insert(name.clone(), value.clone()),
                    None => configs.remove(name),
                };
                if configs.is_empty() {
                    self.configs.remove_mut(resource);
                } else {
                    self.configs.insert_mut(resource.clone(), Arc::new(configs));
                }
            }
            Record::ProducerIds { next_producer_id } => self.next_producer_id = *next_producer_id,
        }
    }

    /// The image as text: its offset on the first line, then records that make it.
    pub fn snapshot(&self) -> String {
        format!("{}\n{}", self.offset, encode(&self.records()))
    }

    /// The image that `snapshot` wrote down.
    pub fn from_snapshot(text: &str) -> Result<Image, SnapshotError> {
        let (offset, records) = text.split_once('\n').ok_or(SnapshotError::Offset)?;
        let mut image = Image::default();
        for record in decode(records)? {
            image.apply(&record);
        }
        image.offset = offset.parse().map_err(|_| SnapshotError::Offset)?;
        Ok(image)
    }

    /// What differs between `old` and this image, whatever lies between them.
    pub fn changes_since(&self, old: &Image) -> Changes {
        let mut changes = Changes { brokers: self.brokers != old.brokers, ..Changes::default() };
        if Some(old.offset) == self.last.since {
            self.last.topics.iter().for_each(|name| self.compare_topic(old, name, &mut changes));
            self.last.configs.iter().for_each(|it| self.compare_configs(old, it, &mut changes));
            return changes;
        }
        let gone = old.topics.keys().filter(|name| !self.topics.contains_key(*name));
        gone.for_each(|name| self.compare_topic(old, name, &mut changes));
        self.topics.keys().for_each(|name| self.compare_topic(old, name, &mut changes));
        let gone = old.configs.keys().filter(|it| !self.configs.contains_key(*it));
        self.configs.keys().for_each(|it| self.compare_configs(old, it, &mut changes));
        gone.for_each(|it| self.compare_configs(old, it, &mut changes));
        changes
    }

    fn compare_topic(&self, old: &Image, name: &str, changes: &mut Changes) {
        let (before, now) = (old.topic(name), self.topic(name));
        if let (Some(before), Some(now)) = (before, now)
            && before.id == now.id
        {
            if Arc::ptr_eq(before, now) {
                return;
            }
            let differs = |at: &usize| before.partitions.get(*at) != now.partitions.get(*at);
            let partitions: Vec<i32> =
                (0..now.partitions.len()).filter(differs).map(|at| at as i32).collect();
            if !partitions.is_empty() {
                changes.changed.push((now.clone(), partitions));
            }
            return;
        }
        changes.removed.extend(before.cloned());
        changes.added.extend(now.cloned());
    }

    fn compare_configs(&self, old: &Image, resource: &Resource, changes: &mut Changes) {
        if old.configs.get(resource) != self.configs.get(resource) {
            changes.configs.push(resource.clone());
        }
    }

    fn records(&self) -> Vec<Record> {
        let mut records = Vec::new();
        if !self.cluster_id.is_empty() {
            records.push(Record::Cluster { cluster_id: self.cluster_id.clone() });
        }
        records.extend(self.brokers().cloned().map(Record::from));
        for topic in self.topics() {
            records.push(Record::Topic { name: topic.name.clone(), topic_id: topic.id });
            records.extend(topic.partitions.iter().enumerate().map(|(at, state)| {
                Record::Partition { topic_id: topic.id, partition: at as i32, state: state.clone() }
            }));
        }
        for (resource, configs) in self.configs.iter() {
            records.extend(configs.iter().map(|(name, value)| Record::Config {
                resource: resource.clone(),
                name: name.clone(),
                value: Some(value.clone()),
            }));
        }
        if self.next_producer_id > 0 {
            records.push(Record::ProducerIds { next_producer_id: self.next_producer_id });
        }
        records
    }
}

impl From<Broker> for Record {
    fn from(broker: Broker) -> Record {
        Record::Broker {
            node_id: broker.node_id,
            broker_epoch: broker.broker_epoch,
            incarnation_id: broker.incarnation_id,
            rack: broker.rack,
            listeners: broker.listeners,
            fenced: broker.fenced,
        }
    }
}

/// What `reconcile` has to look at. A topic deleted and created again is in both `removed` and `added`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    pub added: Vec<Arc<Topic>>,
    /// As they were.
    pub removed: Vec<Arc<Topic>>,
    /// Topics as they are now, with the partitions that are new or changed, ascending.
    pub changed: Vec<(Arc<Topic>, Vec<i32>)>,
    /// Resources whose dynamic configs differ; those of added and removed topics too.
    pub configs: Vec<Resource>,
    /// Some broker came, went or changed.
    pub brokers: bool,
}

/// Text that is not a snapshot of an image.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    #[error("a snapshot begins with its offset")]
    Offset,
    #[error(transparent)]
    Record(#[from] DecodeError),
}

#[cfg(test)]
mod tests;
