//! Produce: v3-13, advertised from 0.
//!
//! Versions: 3 magic 2 only, transactional id · 7 zstd · 8 record errors and message (KIP-467) · 9 flexible · 10 the new
//! leader on NOT_LEADER_OR_FOLLOWER (KIP-951) · 13 topic ids (KIP-516).
//! Advertised from 0 because librdkafka below 2.11.1 otherwise turns compression off (KAFKA-18659).
//! Not here: the checks of a batch (`wire::batch`, `partition::validate`), offsets, sequences, acknowledgement
//! (`partition::replica`).

mod distinct;
mod wording;

use self::distinct::distinct;
use crate::{
    cluster::{Image, Topic, names},
    handlers::Ctx,
    ids::{NodeId, TopicId},
    limits::RECORD_ERRORS_MAX,
    partition::{Acks, Append, AppendError, Appended, Handle, Pending},
    session::Session,
    wire::{
        ErrorCode, StrBytes,
        api::Api,
        batch::{self, Flaw, Header},
        messages::{
            BrokerId, ProduceRequest, ProduceResponse, TopicName,
            produce_request::{PartitionProduceData, TopicProduceData},
            produce_response::{
                LeaderIdAndEpoch, NodeEndpoint, PartitionProduceResponse, TopicProduceResponse,
            },
        },
    },
};
use std::{future::Future, sync::Arc};
use uuid::Uuid;

pub const API: Api = Api { advertised_min: 0, ..Api::new(0, "Produce", 3, 13, 9) };

/// What a Produce request gets.
#[derive(Debug)]
pub enum Produced {
    Answer(ProduceResponse),
    /// acks=0 and nothing went wrong.
    Silent,
    /// acks=0 and something did: the producer learns it from the closed connection.
    Close,
}

/// The Java admin client, which alone may write to internal topics.
const ADMIN_CLIENT: &str = "__admin_client";

/// Queues every batch, in connection order; the future is the answer.
pub async fn begin(
    ctx: &Arc<Ctx>,
    session: &mut Session,
    version: i16,
    request: ProduceRequest,
) -> impl Future<Output = Produced> + Send + use<> {
    let ProduceRequest { transactional_id, acks, timeout_ms, topic_data, .. } = request;
    let forbidden = transactional_id.is_none() && topic_data.iter().any(is_transactional);
    let write = Write {
        version,
        acks: acks_of(acks),
        timeout_ms,
        forbidden,
        internal_allowed: session.client_id == ADMIN_CLIENT,
    };
    let image = ctx.image.load();
    let mut topics = Vec::with_capacity(topic_data.len());
    for TopicProduceData { name, topic_id, partition_data, .. } in distinct(topic_data) {
        let topic = match version {
            ..13 => image.topic(&name),
            _ => image.topic_by_id(TopicId(topic_id)),
        };
        let topic = topic.cloned();
        let mut partitions = Vec::with_capacity(partition_data.len());
        for partition in partition_data {
            let index = partition.index;
            partitions.push((index, write.append(ctx, topic.as_deref(), partition).await));
        }
        topics.push(Queued { name, topic_id, topic, partitions });
    }
    drop(image);
    let (ctx, listener) = (ctx.clone(), session.listener);
    async move {
        let mut answer = Answering {
            ctx,
            listener,
            version,
            failed: false,
            nodes: Vec::new(),
            record_errors_left: RECORD_ERRORS_MAX,
        };
        let mut responses = Vec::with_capacity(topics.len());
        for queued in topics {
            responses.push(answer.topic(queued).await);
        }
        match (acks, answer.failed) {
            (0, false) => Produced::Silent,
            (0, true) => Produced::Close,
            _ => Produced::Answer(
                ProduceResponse::default()
                    .with_responses(responses)
                    .with_node_endpoints(answer.nodes),
            ),
        }
    }
}

/// Batches of one topic on their way.
struct Queued {
    name: TopicName,
    topic_id: Uuid,
    topic: Option<Arc<Topic>>,
    partitions: Vec<(i32, Pending)>,
}

/// How the request wants its batches written.
struct Write {
    version: i16,
    acks: Result<Acks, ErrorCode>,
    timeout_ms: i32,
    /// The request is transactional and names no transaction.
    forbidden: bool,
    internal_allowed: bool,
}

/// Whether a batch of the topic says it is part of a transaction.
fn is_transactional(topic: &TopicProduceData) -> bool {
    topic.partition_data.iter().any(|partition| {
        let header = partition.records.as_deref().and_then(Header::parse);
        header.is_some_and(|header| header.magic == 2 && header.is_transactional())
    })
}

/// acks=0 waits like 1, though for itself alone: what follows on the connection sees the record, as on Kafka.
fn acks_of(acks: i16) -> Result<Acks, ErrorCode> {
    match acks {
        0 | 1 => Ok(Acks::Leader),
        -1 => Ok(Acks::All),
        _ => Err(ErrorCode::InvalidRequiredAcks),
    }
}

impl Write {
    async fn append(
        &self,
        ctx: &Ctx,
        topic: Option<&Topic>,
        partition: PartitionProduceData,
    ) -> Pending {
        match self.admit(ctx, topic, partition) {
            Ok((handle, append)) => handle.begin_append(append).await,
            Err(error) => Pending::known(Err(error)),
        }
    }

    /// Everything that is known before the partition is asked, in Kafka's order.
    fn admit(
        &self,
        ctx: &Ctx,
        topic: Option<&Topic>,
        partition: PartitionProduceData,
    ) -> Result<(Handle, Append), AppendError> {
        if self.forbidden {
            return Err(AppendError::of(ErrorCode::TransactionalIdAuthorizationFailed));
        }
        let unknown = match self.version {
            ..13 => ErrorCode::UnknownTopicOrPartition,
            _ => ErrorCode::UnknownTopicId,
        };
        let topic = topic.ok_or_else(|| AppendError::of(unknown))?;
        let index = partition.index;
        if usize::try_from(index).map_or(true, |index| index >= topic.partitions.len()) {
            return Err(AppendError::of(ErrorCode::UnknownTopicOrPartition));
        }
        let handle = ctx.partitions.get(topic.id, index);
        let records = partition.records.unwrap_or_default();
        let bytes_max = handle.as_ref().map_or(usize::MAX, Handle::max_message_bytes);
        let batch = batch::check(self.version, records, bytes_max)
            .map_err(|flaw| bad_batch(flaw, handle.as_ref()))?;
        // There are no transactions yet, so every transactional id is unknown.
        if batch.header.is_transactional() && batch.header.has_producer_id() {
            return Err(AppendError::of(ErrorCode::InvalidProducerIdMapping));
        }
        let acks = self.acks.map_err(AppendError::of)?;
        if names::is_internal(&topic.name) && !self.internal_allowed {
            return Err(AppendError::of(ErrorCode::InvalidTopicException));
        }
        let handle = handle.ok_or_else(|| AppendError::of(ErrorCode::NotLeaderOrFollower))?;
        Ok((handle, Append { batch, acks, timeout_ms: self.timeout_ms }))
    }
}

fn bad_batch(flaw: Flaw, handle: Option<&Handle>) -> AppendError {
    let error = AppendError::of(flaw.code);
    match handle {
        Some(handle) if flaw.tells_log_start => {
            AppendError { log_start: handle.view().log_start, ..error }
        }
        _ => error,
    }
}

/// Builds the answer.
struct Answering {
    ctx: Arc<Ctx>,
    listener: usize,
    version: i16,
    failed: bool,
    /// Leaders that the answer names.
    nodes: Vec<NodeEndpoint>,
    /// How many faulty records it may still name.
    record_errors_left: usize,
}

impl Answering {
    async fn topic(&mut self, queued: Queued) -> TopicProduceResponse {
        let Queued { name, topic_id, topic, partitions } = queued;
        let mut responses = Vec::with_capacity(partitions.len());
        for (index, pending) in partitions {
            responses.push(match pending.await {
                Ok(appended) => accepted(index, appended),
                Err(error) => {
                    self.failed = true;
                    self.refused(index, topic.as_deref(), error)
                }
            });
        }
        let response = TopicProduceResponse::default().with_partition_responses(responses);
        match self.version {
            ..13 => response.with_name(name),
            _ => response.with_topic_id(topic_id),
        }
    }

    fn refused(
        &mut self,
        index: i32,
        topic: Option<&Topic>,
        error: AppendError,
    ) -> PartitionProduceResponse {
        let mut response = PartitionProduceResponse::default()
            .with_index(index)
            .with_error_code(error.code.code())
            .with_base_offset(error.base_offset)
            .with_log_append_time_ms(-1)
            .with_log_start_offset(error.log_start);
        if self.version >= 8
            && let Some(topic) = topic
        {
            let named = error.record_errors.len().min(self.record_errors_left);
            self.record_errors_left -= named;
            let named = &error.record_errors[..named];
            response.record_errors = wording::records(&topic.name, index, named);
            response.error_message = wording::batch(&topic.name, index, &error);
        }
        if self.version >= 10
            && error.code == ErrorCode::NotLeaderOrFollower
            && let Some(topic) = topic
        {
            response.current_leader = self.leader(topic, index);
        }
        response
    }

    /// Who leads the partition now, as far as this node knows; it is also added to the nodes.
    fn leader(&mut self, topic: &Topic, index: i32) -> LeaderIdAndEpoch {
        let image = self.ctx.image.load();
        let partition = image.topic_by_id(topic.id).and_then(|t| t.partitions.get(index as usize));
        let Some(partition) = partition else { return LeaderIdAndEpoch::default() };
        let leader = partition.leader.map_or(-1, |leader| leader.0);
        if let Some(node) = partition.leader
            && !self.nodes.iter().any(|known| known.node_id.0 == node.0)
        {
            self.nodes.extend(endpoint(&self.ctx, &image, self.listener, node));
        }
        LeaderIdAndEpoch::default()
            .with_leader_id(BrokerId(leader))
            .with_leader_epoch(partition.leader_epoch.0)
    }
}

/// Where a client that came in on this listener reaches the node.
fn endpoint(ctx: &Ctx, image: &Image, listener: usize, node: NodeId) -> Option<NodeEndpoint> {
    let broker = image.broker(node)?;
    let (host, port) = broker.listeners.get(&ctx.config.listeners.get(listener)?.name)?;
    let endpoint = NodeEndpoint::default()
        .with_node_id(BrokerId(node.0))
        .with_host(StrBytes::from_string(host.clone()))
        .with_port(i32::from(*port));
    Some(endpoint.with_rack(broker.rack.clone().map(StrBytes::from_string)))
}

fn accepted(index: i32, appended: Appended) -> PartitionProduceResponse {
    PartitionProduceResponse::default()
        .with_index(index)
        .with_base_offset(appended.base_offset)
        .with_log_append_time_ms(appended.log_append_time)
        .with_log_start_offset(appended.log_start)
}
