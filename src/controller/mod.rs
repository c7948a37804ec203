//! The controller: decides what the cluster looks like.
//!
//! `machine` decides, `quorum` agrees (`raft` is its real form), `handle` is how the rest of the broker asks. The runner
//! holds a speculative image ahead of the committed one; committed images come out of `start`, in order, for
//! `broker::reconcile`.
//!
//! When the store stops writing the controller ends: who asks is told KAFKA_STORAGE_ERROR until a restart, and what the
//! last image says goes on.

pub mod handle;
pub mod machine;
pub mod quorum;
pub mod raft;

pub use handle::Handle;
pub use machine::{
    Change, Created, MorePartitions, NewTopic, Refusal, Registration, TopicRef, check_replicas,
};

use crate::{
    cluster::Image,
    config::Config,
    ids::{NodeId, fresh_uuid},
    machine::{
        clock::Clock,
        runner::{self, JournalError},
    },
    storage::LogStore,
};
use machine::{Controller, Settings};
use quorum::{MetadataQuorum, QuorumJournal};
use raft::RaftQuorum;
use std::{panic::resume_unwind, sync::Arc, time::Duration};
use tokio::{
    sync::{mpsc, watch},
    task::JoinHandle,
};
use uuid::Uuid;

/// How long a reply waits for its commit, whatever its caller would wait.
const COMMIT_WAIT_MAX: Duration = Duration::from_secs(30);

/// Why the controller cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The store cannot be read or written.
    #[error("the metadata log: {0}")]
    Storage(String),
    /// What was synced is not there any more.
    #[error("synced metadata is lost: {0}; --accept-data-loss goes on without it")]
    Lost(String),
    #[error("the metadata quorum: {0}")]
    Quorum(#[from] JournalError),
}

/// A controller that runs.
pub struct Started {
    pub handle: Handle,
    /// The committed image, from what was committed before this start on. The cluster's id is in the first one that
    /// `cluster_id` is not empty in.
    pub images: watch::Receiver<Arc<Image>>,
    /// Ends when the quorum is lost; or, with `Ok`, when all handles are gone.
    pub task: JoinHandle<Result<(), JournalError>>,
}

/// Starts this node's controller over its store, as the only voter. `applied` is the metadata offset that this node has
/// applied, published by `broker::reconcile` when partitions are up.
pub async fn start(
    store: Arc<dyn LogStore>,
    config: Arc<Config>,
    clock: Clock,
    applied: watch::Receiver<i64>,
) -> Result<Started, StartError> {
    let quorum = RaftQuorum::start(NodeId(config.node_id), store, config.accept_data_loss).await?;
    run(quorum, config, clock, applied).await
}

/// Starts the controller over any quorum.
pub async fn run<Q: MetadataQuorum>(
    mut quorum: Q,
    config: Arc<Config>,
    clock: Clock,
    applied: watch::Receiver<i64>,
) -> Result<Started, StartError> {
    let epoch = quorum.lead().await?;
    let images = quorum.images();
    let settings = Settings { config: config.clone(), fresh_cluster_id: base64(fresh_uuid()) };
    let machine = Controller::new(Image::clone(&images.borrow()), settings);
    // The machine has no effects.
    let (effects, _) = mpsc::unbounded_channel();
    let journal = QuorumJournal(quorum);
    let (machine, task) = runner::spawn(machine, journal, epoch, effects, clock, COMMIT_WAIT_MAX);
    let (end, ended) = watch::channel(None);
    let task = tokio::spawn(async move {
        let result = match task.await {
            Ok(result) => result,
            Err(error) => resume_unwind(error.into_panic()),
        };
        end.send_replace(result.clone().err());
        result
    });
    Ok(Started { handle: Handle::new(machine, config, applied, ended, epoch), images, task })
}

/// A uuid as Kafka writes it: URL-safe base64 without padding, 22 characters.
fn base64(id: Uuid) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let bits = id.as_u128();
    (0..22)
        .map(|at| {
            let six = if at < 21 { bits >> (122 - 6 * at) } else { bits << 4 };
            DIGITS[(six & 63) as usize] as char
        })
        .collect()
}

#[cfg(test)]
mod tests;
