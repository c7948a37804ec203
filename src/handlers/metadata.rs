//! Metadata: v0-13.
//!
//! Versions: 1 controller, racks, null for all topics (v0: none for all) · 2 cluster id · 3 throttle time · 4 auto-creation
//! is asked for · 5 offline replicas · 6 LISTENER_NOT_FOUND · 7 leader epochs · 8 authorized operations (of the cluster up to
//! v10) · 9 flexible · 10 topic ids in answers · 12 topics by id · 13 top-level error.
//!
//! Unlike Kafka, a topic that is created here is complete in the answer; Kafka says UNKNOWN_TOPIC_OR_PARTITION first.

use super::Ctx;
use crate::{
    cluster::{Image, Topic, image::Broker, names, record::PartitionState},
    controller::{self, NewTopic},
    ids::{NodeId, TopicId},
    session::Session,
    wire::{
        ErrorCode, StrBytes,
        api::Api,
        messages::{
            BrokerId, MetadataRequest, MetadataResponse, TopicName,
            metadata_response::{
                MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic,
            },
        },
        text,
    },
};
use std::collections::HashSet;
use uuid::Uuid;

pub const API: Api = Api::new(3, "Metadata", 0, 13, 9);

/// What anyone may do to a topic without an authorizer, as bits of KIP-430: read, write, create, delete, alter, describe,
/// describe and alter configs.
pub(super) const TOPIC_OPERATIONS: i32 =
    1 << 3 | 1 << 4 | 1 << 5 | 1 << 6 | 1 << 7 | 1 << 8 | 1 << 10 | 1 << 11;
/// The same for the cluster: create, alter, describe, cluster action, describe and alter configs, idempotent write.
const CLUSTER_OPERATIONS: i32 = 1 << 5 | 1 << 7 | 1 << 8 | 1 << 9 | 1 << 10 | 1 << 11 | 1 << 12;

pub async fn handle(
    ctx: &Ctx,
    session: &mut Session,
    version: i16,
    request: MetadataRequest,
) -> MetadataResponse {
    let wanted = match Wanted::of(version, &request) {
        Ok(wanted) => wanted,
        Err(error) => return refused(error, &request),
    };
    if let Wanted::Names(names) = &wanted
        && request.allow_auto_topic_creation
        && ctx.config.auto_create_topics_enable
    {
        create_missing(ctx, names).await;
    }
    let image = ctx.image.load_full();
    let listener = ctx.config.listeners[session.listener].name.as_str();
    let mut response = View { image: &image, listener, version }.answer(&wanted, &request);
    if request.include_cluster_authorized_operations {
        response.cluster_authorized_operations = CLUSTER_OPERATIONS;
    }
    response
}

/// Which topics a request is about; each once, in the order of the request.
#[derive(Debug, PartialEq)]
enum Wanted {
    All,
    Names(Vec<TopicName>),
    /// One id is enough: topics asked for by name are left out then.
    Ids(Vec<Uuid>),
}

impl Wanted {
    fn of(version: i16, request: &MetadataRequest) -> Result<Wanted, ErrorCode> {
        let Some(topics) = &request.topics else { return Ok(Wanted::All) };
        if version == 0 && topics.is_empty() {
            return Ok(Wanted::All);
        }
        if version < 12 && topics.iter().any(|t| t.name.is_none() || !t.topic_id.is_nil()) {
            return Err(ErrorCode::InvalidRequest);
        }
        let mut seen = HashSet::new();
        let ids = topics.iter().map(|topic| topic.topic_id);
        let ids: Vec<Uuid> = ids.filter(|id| !id.is_nil() && seen.insert(*id)).collect();
        if !ids.is_empty() {
            return Ok(Wanted::Ids(ids));
        }
        let mut seen = HashSet::new();
        let mut names = Vec::new();
        for topic in topics {
            // Kafka stumbles over a topic with neither name nor id.
            let name = topic.name.clone().ok_or(ErrorCode::UnknownServerError)?;
            if seen.insert(name.clone()) {
                names.push(name);
            }
        }
        Ok(Wanted::Names(names))
    }
}

/// Creates what does not exist. What cannot be created is not there afterwards, which is all the client is told, as in Kafka.
async fn create_missing(ctx: &Ctx, names: &[TopicName]) {
    let image = ctx.image.load_full();
    let missing = names.iter().filter(|name| image.topic(name).is_none());
    let mut topics = Vec::new();
    for name in missing.filter(|name| names::validate(name).is_ok()) {
        if names::is_internal(name) {
            let _ = ctx.controller.create_internal_topic(name).await;
        } else {
            topics.push(NewTopic::named(name.as_str()));
        }
    }
    if !topics.is_empty() {
        let timeout_ms = controller::handle::REQUEST_TIMEOUT_MS;
        let _ = ctx.controller.create_topics(topics, false, timeout_ms).await;
    }
}

/// The whole request is wrong: every topic says so, and nothing else is told (`MetadataRequest.getErrorResponse`).
fn refused(error: ErrorCode, request: &MetadataRequest) -> MetadataResponse {
    let topics = request.topics.iter().flatten().map(|topic| {
        MetadataResponseTopic::default()
            .with_error_code(error.code())
            .with_name(Some(topic.name.clone().unwrap_or_default()))
            .with_topic_id(topic.topic_id)
    });
    MetadataResponse::default()
        .with_cluster_id(None)
        .with_controller_id(BrokerId(-1))
        .with_topics(topics.collect())
}

/// The cluster as a client of one listener sees it.
pub(super) struct View<'a> {
    pub image: &'a Image,
    pub listener: &'a str,
    pub version: i16,
}

impl View<'_> {
    fn answer(&self, wanted: &Wanted, request: &MetadataRequest) -> MetadataResponse {
        let (mut found, mut missing) = (Vec::new(), Vec::new());
        match wanted {
            Wanted::All => found.extend(self.image.topics().map(|topic| self.topic(topic))),
            Wanted::Names(names) => {
                for name in names {
                    match self.image.topic(name) {
                        Some(topic) => found.push(self.topic(topic)),
                        None => missing.push(unknown(name)),
                    }
                }
            }
            Wanted::Ids(ids) => {
                for id in ids {
                    match self.image.topic_by_id(TopicId(*id)) {
                        Some(topic) => found.push(self.topic(topic)),
                        None => missing.push(unknown_id(*id)),
                    }
                }
            }
        }
        if request.include_topic_authorized_operations {
            for topic in found.iter_mut().chain(&mut missing).filter(|topic| topic.name.is_some()) {
                topic.topic_authorized_operations = TOPIC_OPERATIONS;
            }
        }
        let topics = match wanted {
            Wanted::Ids(_) => [missing, found],
            _ => [found, missing],
        };
        let brokers: Vec<_> = self.image.brokers().filter_map(|it| self.alive(it)).collect();
        // Any live broker takes what is meant for the controller and forwards it.
        let controller = brokers.first().map_or(BrokerId(-1), |broker| broker.node_id);
        MetadataResponse::default()
            .with_brokers(brokers)
            .with_cluster_id(Some(text(self.image.cluster_id())))
            .with_controller_id(controller)
            .with_topics(topics.concat())
    }

    fn topic(&self, topic: &Topic) -> MetadataResponseTopic {
        let partitions = topic.partitions.iter().zip(0..);
        let partitions = partitions.map(|(state, index)| self.partition(index, state)).collect();
        MetadataResponseTopic::default()
            .with_name(Some(TopicName(text(&topic.name))))
            .with_topic_id(topic.id.0)
            .with_is_internal(names::is_internal(&topic.name))
            .with_partitions(partitions)
    }

    pub fn partition(&self, index: i32, state: &PartitionState) -> MetadataResponsePartition {
        let leader = state.leader.filter(|leader| self.reachable(*leader).is_some());
        let (replicas, isr) = (self.shown(&state.replicas), self.shown(&state.isr));
        let hidden = replicas.len() < state.replicas.len() || isr.len() < state.isr.len();
        let error = match (leader, state.leader.and_then(|leader| self.image.broker(leader))) {
            (Some(_), _) if hidden => Some(ErrorCode::ReplicaNotAvailable),
            (Some(_), _) => None,
            (None, Some(_)) if self.version >= 6 => Some(ErrorCode::ListenerNotFound),
            (None, _) => Some(ErrorCode::LeaderNotAvailable),
        };
        let offline = state.replicas.iter().filter(|node| !self.online(**node));
        MetadataResponsePartition::default()
            .with_error_code(error.map_or(0, |error| error.code()))
            .with_partition_index(index)
            .with_leader_id(BrokerId(leader.map_or(-1, |leader| leader.0)))
            .with_leader_epoch(state.leader_epoch.0)
            .with_replica_nodes(replicas)
            .with_isr_nodes(isr)
            .with_offline_replicas(offline.map(|node| BrokerId(node.0)).collect())
    }

    /// v0 leaves out nodes that cannot be reached, and says so by an error of the partition.
    fn shown(&self, nodes: &[NodeId]) -> Vec<BrokerId> {
        let shown = nodes.iter().filter(|node| self.version > 0 || self.online(**node));
        shown.map(|node| BrokerId(node.0)).collect()
    }

    fn online(&self, node: NodeId) -> bool {
        self.reachable(node).is_some_and(|broker| !broker.fenced)
    }

    /// A registered broker that has this listener.
    fn reachable(&self, node: NodeId) -> Option<&Broker> {
        self.image.broker(node).filter(|broker| broker.listeners.contains_key(self.listener))
    }

    fn alive(&self, broker: &Broker) -> Option<MetadataResponseBroker> {
        let (host, port) = broker.listeners.get(self.listener).filter(|_| !broker.fenced)?;
        let described = MetadataResponseBroker::default()
            .with_node_id(BrokerId(broker.node_id.0))
            .with_host(text(host))
            .with_port((*port).into())
            .with_rack(broker.rack.clone().map(StrBytes::from_string));
        Some(described)
    }
}

fn unknown(name: &TopicName) -> MetadataResponseTopic {
    let error = match names::validate(name) {
        Ok(()) => ErrorCode::UnknownTopicOrPartition,
        Err(_) => ErrorCode::InvalidTopicException,
    };
    MetadataResponseTopic::default()
        .with_error_code(error.code())
        .with_name(Some(name.clone()))
        .with_is_internal(names::is_internal(name))
}

fn unknown_id(id: Uuid) -> MetadataResponseTopic {
    MetadataResponseTopic::default()
        .with_error_code(ErrorCode::UnknownTopicId.code())
        .with_name(None)
        .with_topic_id(id)
}

#[cfg(test)]
mod tests;
