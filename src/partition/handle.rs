//! What handlers and journals hold of a replica: a cheap clone that outlives it.
//!
//! Owns nothing: the actor is the only writer. Not here: rules of the log (`replica`), which partition a request means
//! (handlers).

use crate::{
    config::topic::LogConfig,
    ids::{LeaderEpoch, LogId, Offset, PartitionIndex, TopicId},
    machine::clock::Clock,
    partition::{
        Acks, Appended, Assigned, Found, Inspection, Isolation, View,
        actor::Message,
        lookup::{self, Step, Within},
        producers::{Active, Origin},
        replica::{Incoming, Refused},
        validate::{self, RecordError, Validated},
    },
    storage::{LogStore, Read, ReadRequest, StorageError},
    wire::{ErrorCode, batch::Batch},
};
use arc_swap::ArcSwap;
use std::{
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};
use tokio::sync::{mpsc, oneshot, watch};

/// Why an append was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppendError {
    pub code: ErrorCode,
    /// Which records of the batch are at fault, where Kafka says so.
    pub record_errors: Vec<RecordError>,
    /// -1 when nothing was appended.
    pub base_offset: Offset,
    /// -1 where Kafka says so.
    pub log_start: Offset,
}

impl AppendError {
    /// Refused before the partition was asked.
    pub fn of(code: ErrorCode) -> AppendError {
        Refused { code, base_offset: -1, log_start: -1 }.into()
    }
}

impl From<Refused> for AppendError {
    fn from(refused: Refused) -> AppendError {
        let Refused { code, base_offset, log_start } = refused;
        AppendError { code, record_errors: Vec::new(), base_offset, log_start }
    }
}

/// A batch of a client.
#[derive(Debug)]
pub struct Append {
    pub batch: Batch,
    pub acks: Acks,
    /// How long `Acks::All` waits for other replicas, in milliseconds.
    pub timeout_ms: i32,
}

/// What all clones of a handle share with the actor.
pub(crate) struct Shared {
    pub topic_id: TopicId,
    pub topic_name: String,
    pub index: PartitionIndex,
    pub log: LogId,
    pub store: Arc<dyn LogStore>,
    pub clock: Clock,
    pub inspection: Inspection,
    pub config: watch::Sender<LogConfig>,
    /// First offset of each leader epoch, ascending; the actor writes it.
    pub epochs: ArcSwap<Vec<(LeaderEpoch, Offset)>>,
}

/// One replica, from outside.
#[derive(Clone)]
pub struct Handle(Arc<Ends>);

/// The handles' ends of what leads to the actor, which ends when they are gone.
struct Ends {
    shared: Arc<Shared>,
    mailbox: mpsc::Sender<Message>,
    view: watch::Receiver<View>,
}

impl Handle {
    pub(crate) fn new(
        shared: Arc<Shared>,
        mailbox: mpsc::Sender<Message>,
        view: watch::Receiver<View>,
    ) -> Handle {
        Handle(Arc::new(Ends { shared, mailbox, view }))
    }

    pub fn topic_id(&self) -> TopicId {
        self.0.shared.topic_id
    }

    pub fn topic_name(&self) -> &str {
        &self.0.shared.topic_name
    }

    pub fn index(&self) -> PartitionIndex {
        self.0.shared.index
    }

    pub fn log(&self) -> LogId {
        self.0.shared.log
    }

    /// The most a batch may have (`max.message.bytes`).
    pub fn max_message_bytes(&self) -> usize {
        usize::try_from(self.0.shared.config.borrow().max_message_bytes).unwrap_or(0)
    }

    /// Bytes of the log.
    pub fn size(&self) -> u64 {
        self.0.shared.store.size(self.0.shared.log)
    }

    pub fn view(&self) -> View {
        *self.0.view.borrow()
    }

    /// Sees every change of the view; closes when the replica ends.
    pub fn watch(&self) -> watch::Receiver<View> {
        self.0.view.clone()
    }

    /// The view, when this node leads and the client's idea of the epoch (negative: none) is right. Errors: FENCED_LEADER_EPOCH,
    /// UNKNOWN_LEADER_EPOCH, NOT_LEADER_OR_FOLLOWER (KIP-320).
    pub fn check_epoch(&self, current_leader_epoch: i32) -> Result<View, ErrorCode> {
        let view = self.view();
        if current_leader_epoch >= 0 && current_leader_epoch < view.leader_epoch.0 {
            Err(ErrorCode::FencedLeaderEpoch)
        } else if current_leader_epoch > view.leader_epoch.0 {
            Err(ErrorCode::UnknownLeaderEpoch)
        } else if view.leading {
            Ok(view)
        } else {
            Err(ErrorCode::NotLeaderOrFollower)
        }
    }

    /// Checks a client's batch and queues it: batches are written in the order of these calls. The answer comes with the
    /// future, which needs no handle. Waits only while the mailbox is full.
    pub async fn begin_append(&self, append: Append) -> Pending {
        let Append { batch, acks, timeout_ms } = append;
        let now_ms = self.0.shared.clock.now().wall_ms;
        match self.validate(batch, now_ms).await {
            Err(mut error) => {
                if error.log_start >= 0 {
                    error.log_start = self.view().log_start;
                }
                Pending(State::Known(Some(Err(error))))
            }
            Ok(Validated { batch, log_append_time }) => {
                self.queue(batch, acks, Origin::Client, timeout_ms, log_append_time).await
            }
        }
    }

    /// Appends a coordinator's batch and says where as soon as that is known; the journal then waits for the
    /// high watermark. Neither checked against the topic's settings nor refused for a small in-sync set.
    pub async fn append_internal(&self, batch: Batch) -> Result<Appended, ErrorCode> {
        let batch = Incoming::from(batch);
        let answer = self.queue(batch, Acks::Assigned, Origin::Coordinator, 0, -1).await;
        answer.await.map_err(|error| error.code)
    }

    /// Deletes all records below `before`, -1: below the high watermark. Ok with the log start, which is durable. Errors:
    /// NOT_LEADER_OR_FOLLOWER, POLICY_VIOLATION, OFFSET_OUT_OF_RANGE, KAFKA_STORAGE_ERROR.
    pub async fn delete_records(&self, before: Offset) -> Result<Offset, ErrorCode> {
        let (reply, answer) = oneshot::channel();
        let _ = self.0.mailbox.send(Message::DeleteRecords { before, reply }).await;
        answer.await.unwrap_or(Err(ErrorCode::NotLeaderOrFollower))
    }

    /// Who writes to the partition, in order of producer ids. Errors: NOT_LEADER_OR_FOLLOWER.
    pub async fn producers(&self) -> Result<Vec<Active>, ErrorCode> {
        let (reply, answer) = oneshot::channel();
        let _ = self.0.mailbox.send(Message::Producers(reply)).await;
        answer.await.map_err(|_| ErrorCode::NotLeaderOrFollower)
    }

    async fn validate(&self, batch: Batch, now_ms: i64) -> Result<Validated, AppendError> {
        let config = self.0.shared.config.borrow().clone();
        if let Some(done) = validate::at_once(&batch, &config, now_ms) {
            return done;
        }
        let checked = move || validate::validate(batch, &config, now_ms);
        let lost = || Err(AppendError::of(ErrorCode::UnknownServerError));
        self.0.shared.inspection.run(checked).await.unwrap_or_else(lost)
    }

    async fn queue(
        &self,
        batch: Incoming,
        acks: Acks,
        origin: Origin,
        timeout_ms: i32,
        log_append_time: i64,
    ) -> Pending {
        let (reply, answer) = oneshot::channel();
        let message = Message::Append { batch, acks, origin, timeout_ms, log_append_time, reply };
        // A closed mailbox drops `reply`, which the future below tells.
        let _ = self.0.mailbox.send(message).await;
        Pending(State::Waiting(answer))
    }

    /// Reads what `isolation` lets a consumer see. Errors: NOT_LEADER_OR_FOLLOWER, OFFSET_OUT_OF_RANGE, CORRUPT_MESSAGE,
    /// KAFKA_STORAGE_ERROR.
    pub async fn read(
        &self,
        from: Offset,
        isolation: Isolation,
        max_bytes: usize,
        at_least_one: bool,
        memory_max: usize,
    ) -> Result<Read, ErrorCode> {
        let view = self.check_epoch(-1)?;
        if from < view.log_start || from > view.log_end {
            return Err(ErrorCode::OffsetOutOfRange);
        }
        let end = view.end(isolation);
        if from >= end {
            return Ok(Read { next_offset: from, ..Read::default() });
        }
        let request = ReadRequest { from, end, max_bytes, at_least_one, memory_max };
        match self.0.shared.store.read_cached(self.0.shared.log, request) {
            Some(read) => read.map_err(storage_code),
            None => self.blocking(move |store, log| store.read(log, request)).await,
        }
    }

    /// The first record at or after `timestamp` below `end` (exclusive), if there is one.
    pub async fn offset_for_timestamp(
        &self,
        timestamp: i64,
        end: Offset,
    ) -> Result<Option<Found>, ErrorCode> {
        let from = self.view().log_start;
        let mut next = from;
        loop {
            let within = Within { from, next, end };
            let step =
                self.inspect(move |store, log| lookup::at_or_after(store, log, timestamp, within));
            match step.await? {
                Step::Done(found) => return Ok(found),
                Step::Next(offset) => next = offset,
            }
        }
    }

    /// The first record with the largest timestamp below `end` (exclusive); None when no record has a timestamp.
    pub async fn max_timestamp(&self, end: Offset) -> Result<Option<Found>, ErrorCode> {
        let from = self.view().log_start;
        self.inspect(move |store, log| lookup::with_max_timestamp(store, log, from, end)).await
    }

    /// The leader epoch of the record at `offset`, or of the log when it ends there; -1 when no epoch began by then.
    pub fn epoch_at(&self, offset: Offset) -> i32 {
        let epochs = self.0.shared.epochs.load();
        let after = epochs.partition_point(|(_, start)| *start <= offset);
        after.checked_sub(1).map_or(-1, |at| epochs[at].0.0)
    }

    /// The largest epoch up to `requested` and where it ends; (-1, -1) when `requested` is not known yet
    /// (`LeaderEpochFileCache.endOffsetFor`).
    pub fn epoch_end(&self, requested: i32) -> (i32, Offset) {
        lookup::epoch_end(&self.0.shared.epochs.load(), requested, self.view().log_end)
    }

    /// Applies changed topic settings, to batches that are queued later.
    pub fn configure(&self, config: LogConfig) {
        self.0.shared.config.send_if_modified(|now| {
            let changes = *now != config;
            if changes {
                *now = config;
            }
            changes
        });
    }

    /// Applies what the image says of leader and in-sync set.
    pub async fn assign(&self, assigned: Assigned) {
        let _ = self.0.mailbox.send(Message::Assigned(assigned)).await;
    }

    /// Ends the replica: keeps what a fast start needs and returns when that is done. Whoever still waits is answered
    /// NOT_LEADER_OR_FOLLOWER.
    pub async fn stop(&self) {
        let (done, stopped) = oneshot::channel();
        let _ = self.0.mailbox.send(Message::Stop(done)).await;
        let _ = stopped.await;
    }

    /// `blocking`, for work that may decompress a batch.
    async fn inspect<T: Send + 'static>(
        &self,
        work: impl FnOnce(&dyn LogStore, LogId) -> Result<T, StorageError> + Send + 'static,
    ) -> Result<T, ErrorCode> {
        let (store, log) = (self.0.shared.store.clone(), self.0.shared.log);
        match self.0.shared.inspection.run(move || work(&*store, log)).await {
            Some(done) => done.map_err(storage_code),
            None => Err(ErrorCode::KafkaStorageError),
        }
    }

    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&dyn LogStore, LogId) -> Result<T, StorageError> + Send + 'static,
    ) -> Result<T, ErrorCode> {
        let (store, log) = (self.0.shared.store.clone(), self.0.shared.log);
        match tokio::task::spawn_blocking(move || work(&*store, log)).await {
            Ok(done) => done.map_err(storage_code),
            Err(_) => Err(ErrorCode::KafkaStorageError),
        }
    }
}

/// What a client is told of a storage error.
pub(crate) fn storage_code(error: StorageError) -> ErrorCode {
    match error {
        StorageError::OutOfRange(_) => ErrorCode::OffsetOutOfRange,
        StorageError::Damaged { .. } => ErrorCode::CorruptMessage,
        StorageError::OutOfSpace | StorageError::Io(_) => ErrorCode::KafkaStorageError,
        StorageError::NoSuchLog(_) | StorageError::Closed => ErrorCode::NotLeaderOrFollower,
    }
}

/// The answer to an append, to come.
#[derive(Debug)]
pub struct Pending(State);

#[derive(Debug)]
enum State {
    Known(Option<Result<Appended, AppendError>>),
    Waiting(oneshot::Receiver<Result<Appended, Refused>>),
}

impl Pending {
    /// An answer that needs no waiting.
    pub fn known(answer: Result<Appended, AppendError>) -> Pending {
        Pending(State::Known(Some(answer)))
    }
}

impl Future for Pending {
    type Output = Result<Appended, AppendError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let gone =
            || Refused { code: ErrorCode::NotLeaderOrFollower, base_offset: -1, log_start: -1 };
        Poll::Ready(match &mut self.0 {
            State::Known(answer) => answer.take().unwrap_or_else(|| Err(gone().into())),
            State::Waiting(answer) => match ready!(Pin::new(answer).poll(context)) {
                Ok(Ok(appended)) => Ok(appended),
                Ok(Err(refused)) => Err(refused.into()),
                Err(_) => Err(gone().into()),
            },
        })
    }
}
