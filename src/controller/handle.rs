//! How the rest of the broker asks the controller.
//!
//! An answer leaves when the change is committed and this node has applied it: partitions are up, Metadata shows them. It
//! waits for the latter at most one second; a committed change is never answered with an error.

use super::machine::{
    Answer, Change, Command, Controller, Created, MorePartitions, NewTopic, Refusal, Registration,
    Reply, TopicRef,
};
use crate::{
    cluster::{names, record::Resource},
    config::Config,
    ids::{ProducerId, TopicId, fresh_uuid},
    machine::runner::{self, CallError, JournalError},
    wire::ErrorCode,
};
use std::{ops::Range, sync::Arc, time::Duration};
use tokio::sync::{Mutex, watch};
use tracing::warn;

/// How long an answer waits for this node to apply a committed change.
const APPLY_WAIT_MAX: Duration = Duration::from_secs(1);
/// The time limit of what the broker itself asks (Kafka's default `request.timeout.ms`).
pub const REQUEST_TIMEOUT_MS: i32 = 30_000;

/// Cheap to clone; all clones share one block of producer ids.
#[derive(Clone)]
pub struct Handle {
    machine: runner::Handle<Controller>,
    config: Arc<Config>,
    /// The metadata offset this node has applied; closed when it applies no more.
    applied: watch::Receiver<i64>,
    /// Why the controller has ended.
    ended: watch::Receiver<Option<JournalError>>,
    epoch: i32,
    /// Allocated to this node, committed, not yet given out.
    producer_ids: Arc<Mutex<Range<i64>>>,
}

impl Handle {
    pub(super) fn new(
        machine: runner::Handle<Controller>,
        config: Arc<Config>,
        applied: watch::Receiver<i64>,
        ended: watch::Receiver<Option<JournalError>>,
        epoch: i32,
    ) -> Handle {
        Handle { machine, config, applied, ended, epoch, producer_ids: Arc::default() }
    }

    /// In which this node leads the quorum of metadata.
    pub fn epoch(&self) -> i32 {
        self.epoch
    }

    /// Creates topics; a result for each name. Names that come twice are refused, and nothing is created when
    /// `validate_only`. Err: the whole request failed, with REQUEST_TIMED_OUT, NOT_CONTROLLER or KAFKA_STORAGE_ERROR.
    pub async fn create_topics(
        &self,
        topics: Vec<NewTopic>,
        validate_only: bool,
        timeout_ms: i32,
    ) -> Result<Vec<(String, Result<Created, Refusal>)>, ErrorCode> {
        let topics = topics.into_iter().map(|topic| (TopicId(fresh_uuid()), topic)).collect();
        match self.ask(Command::CreateTopics { topics, validate_only }, timeout_ms).await? {
            Answer::Created(results) => Ok(results),
            other => unreachable!("{other:?} answers another command"),
        }
    }

    /// Deletes topics; a result for each name and each id, not in order of the request. Err: as `create_topics`.
    pub async fn delete_topics(
        &self,
        topics: Vec<TopicRef>,
        timeout_ms: i32,
    ) -> Result<Vec<(TopicRef, Result<(), Refusal>)>, ErrorCode> {
        match self.ask(Command::DeleteTopics(topics), timeout_ms).await? {
            Answer::Deleted(results) => Ok(results),
            other => unreachable!("{other:?} answers another command"),
        }
    }

    /// Adds partitions; a result for each name, not in order of the request. Err: as `create_topics`.
    pub async fn create_partitions(
        &self,
        topics: Vec<MorePartitions>,
        validate_only: bool,
        timeout_ms: i32,
    ) -> Result<Vec<(String, Result<(), Refusal>)>, ErrorCode> {
        let command = Command::CreatePartitions { topics, validate_only };
        match self.ask(command, timeout_ms).await? {
            Answer::Grown(results) => Ok(results),
            other => unreachable!("{other:?} answers another command"),
        }
    }

    /// Changes configs; a result for each, in order. Each resource at most once. Err: as `create_topics`.
    pub async fn alter_configs(
        &self,
        changes: Vec<(Resource, Change)>,
        validate_only: bool,
    ) -> Result<Vec<Result<(), Refusal>>, ErrorCode> {
        let command = Command::AlterConfigs { changes, validate_only };
        match self.ask(command, REQUEST_TIMEOUT_MS).await? {
            Answer::Altered(results) => Ok(results),
            other => unreachable!("{other:?} answers another command"),
        }
    }

    /// Sees to it that a topic of the broker's own exists. COORDINATOR_NOT_AVAILABLE while too few brokers are there.
    pub async fn create_internal_topic(&self, name: &str) -> Result<(), ErrorCode> {
        let set = |name: &str, value: String| (name.to_owned(), Some(value));
        let config = &self.config;
        let topic = match name {
            names::CONSUMER_OFFSETS => NewTopic {
                name: name.to_owned(),
                partitions: config.offsets_topic_num_partitions,
                replication_factor: config.offsets_topic_replication_factor,
                internal: true,
                configs: vec![
                    set("cleanup.policy", "compact".to_owned()),
                    set("compression.type", "producer".to_owned()),
                    set("segment.bytes", config.offsets_topic_segment_bytes.to_string()),
                ],
                ..NewTopic::default()
            },
            _ => return Err(ErrorCode::InvalidTopicException),
        };
        let results = self.create_topics(vec![topic], false, REQUEST_TIMEOUT_MS).await?;
        match results.into_iter().next() {
            Some((_, Err(refusal))) => match refusal.code {
                ErrorCode::TopicAlreadyExists => Ok(()),
                ErrorCode::InvalidReplicationFactor => Err(ErrorCode::CoordinatorNotAvailable),
                code => Err(code),
            },
            _ => Ok(()),
        }
    }

    /// A producer id that nobody else ever had or gets.
    pub async fn allocate_producer_id(&self) -> Result<ProducerId, ErrorCode> {
        let mut block = self.producer_ids.lock().await;
        if block.is_empty() {
            // Committed is enough: nobody needs to have applied it.
            let reply = self.call(Command::AllocateProducerIds, REQUEST_TIMEOUT_MS).await;
            // What producers retry; as Kafka's `RPCProducerIdManager` says it.
            let reply = reply.map_err(|_| ErrorCode::CoordinatorLoadInProgress)?;
            match reply.answer {
                Answer::ProducerIds(ids) => *block = ids?,
                other => unreachable!("{other:?} answers another command"),
            }
        }
        block.next().map(ProducerId).ok_or(ErrorCode::UnknownServerError)
    }

    /// Makes a broker known; says its epoch.
    pub async fn register_broker(&self, broker: Registration) -> Result<i64, ErrorCode> {
        match self.ask(Command::RegisterBroker(broker), REQUEST_TIMEOUT_MS).await? {
            Answer::Registered { broker_epoch } => Ok(broker_epoch),
            other => unreachable!("{other:?} answers another command"),
        }
    }

    async fn ask(&self, command: Command, timeout_ms: i32) -> Result<Answer, ErrorCode> {
        // Nobody would see what was changed.
        if self.applied.has_changed().is_err() {
            return Err(ErrorCode::KafkaStorageError);
        }
        let reply = self.call(command, timeout_ms).await?;
        self.wait_applied(reply.offset, timeout_ms).await;
        Ok(reply.answer)
    }

    /// A request whose time is up when it comes is not looked at (as in Kafka).
    async fn call(&self, command: Command, timeout_ms: i32) -> Result<Reply, ErrorCode> {
        let Some(limit) = u64::try_from(timeout_ms).ok().filter(|ms| *ms > 0) else {
            return Err(ErrorCode::RequestTimedOut);
        };
        let call = self.machine.call(command);
        match tokio::time::timeout(Duration::from_millis(limit), call).await {
            Ok(Ok(reply)) => Ok(reply),
            Ok(Err(CallError::Gone)) => Err(self.why_gone().await),
            Ok(Err(CallError::TimedOut)) | Err(_) => Err(ErrorCode::RequestTimedOut),
        }
    }

    /// *Storage stopped writing*: metadata is as it was, and stays so until a restart.
    async fn why_gone(&self) -> ErrorCode {
        let mut ended = self.ended.clone();
        match ended.wait_for(Option::is_some).await.as_deref() {
            Ok(Some(JournalError::Failed(_))) => ErrorCode::KafkaStorageError,
            _ => ErrorCode::NotController,
        }
    }

    async fn wait_applied(&self, offset: i64, timeout_ms: i32) {
        let limit = Duration::from_millis(timeout_ms.max(0) as u64).min(APPLY_WAIT_MAX);
        let mut applied = self.applied.clone();
        let wait = applied.wait_for(|at| *at >= offset);
        // A client that wants to wait for less is no reason to complain.
        if tokio::time::timeout(limit, wait).await.is_err() && limit == APPLY_WAIT_MAX {
            warn!(offset, "this node is late to apply a committed metadata change");
        }
    }
}
