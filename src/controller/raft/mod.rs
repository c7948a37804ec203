//! The metadata quorum as openraft keeps it, today with this node as the only voter.
//!
//! `log` and `state` keep openraft's log, vote and snapshot in the node's `LogStore`; `network` is where other voters will
//! be reached. A start takes milliseconds: a fresh node elects itself at once, a known one is leader again by its own vote
//! and waits until everything in its log is applied.

mod log;
mod network;
mod state;
mod values;

use super::{StartError, quorum::MetadataQuorum};
use crate::{
    cluster::Image,
    ids::NodeId,
    machine::runner::{JournalError, Ticket},
    storage::LogStore,
};
use log::Log;
use network::NoPeers;
use openraft::{
    BasicNode, Config, Raft, RaftMetrics, SnapshotPolicy, TokioRuntime, error::ClientWriteError,
    raft::ClientWriteResponse,
};
use state::State;
use std::{collections::BTreeMap, collections::VecDeque, fmt::Display, io::Cursor, sync::Arc};
use tokio::sync::{oneshot, watch};
use values::Values;

openraft::declare_raft_types!(
    /// What openraft is told of our types: an entry is the text of one step's records.
    pub TypeConfig:
        D = String,
        R = (),
        NodeId = u64,
        Node = BasicNode,
        Entry = openraft::Entry<TypeConfig>,
        SnapshotData = Cursor<Vec<u8>>,
        AsyncRuntime = TokioRuntime,
);

/// Entries after which the image is written down and the log before it can go.
const SNAPSHOT_AFTER: u64 = 10_000;
/// The same in bytes of entries: those that change configs are large.
const SNAPSHOT_AFTER_BYTES: usize = 32 << 20;
/// Entries that stay although a snapshot holds them, for voters that are a little behind.
const KEPT_ENTRIES: u64 = 1_000;

type Written = Result<
    ClientWriteResponse<TypeConfig>,
    ClientWriteError<u64, <TypeConfig as openraft::RaftTypeConfig>::Node>,
>;

/// This node's voter.
pub struct RaftQuorum {
    raft: Raft<TypeConfig>,
    node_id: u64,
    metrics: watch::Receiver<RaftMetrics<u64, BasicNode>>,
    images: watch::Receiver<Arc<Image>>,
    /// Of the leadership this node proposes in.
    term: u64,
    proposed: u64,
    /// Bytes of entries since the last snapshot that was asked for by bytes.
    unkept_bytes: usize,
    snapshot_after_bytes: usize,
    /// In order of the tickets; the last is `proposed`.
    in_flight: VecDeque<oneshot::Receiver<Written>>,
    closed: bool,
}

impl RaftQuorum {
    /// Opens what the store holds, the snapshot and the log behind it.
    pub async fn start(
        node_id: NodeId,
        store: Arc<dyn LogStore>,
        accept_data_loss: bool,
    ) -> Result<RaftQuorum, StartError> {
        let storage = |error: openraft::StorageError<u64>| StartError::Storage(error.to_string());
        let values = Values::new(store);
        let log = Log::open(values.clone(), accept_data_loss).await?;
        let unkept_bytes = log.bytes_at_open;
        let (state, images) = State::open(values).await.map_err(storage)?;
        let node_id = u64::try_from(node_id.0).map_err(|_| failed("a negative node id"))?;
        let raft =
            Raft::new(node_id, Arc::new(config()?), NoPeers, log, state).await.map_err(failed)?;
        let metrics = raft.metrics();
        let in_flight = VecDeque::new();
        Ok(RaftQuorum {
            raft,
            node_id,
            metrics,
            images,
            term: 0,
            proposed: 0,
            unkept_bytes,
            snapshot_after_bytes: SNAPSHOT_AFTER_BYTES,
            in_flight,
            closed: false,
        })
    }

    /// Has the image written down, and lets go of what the snapshot before holds: the log is never longer than two such
    /// stretches, whatever `KEPT_ENTRIES` says.
    async fn compact(&mut self) -> Result<(), JournalError> {
        self.unkept_bytes = 0;
        let before = self.metrics.borrow().snapshot;
        if let Some(before) = before {
            self.raft.trigger().purge_log(before.index).await.map_err(failed)?;
        }
        self.raft.trigger().snapshot().await.map_err(failed)
    }
}

/// However this ends, openraft's task does before what it reports to goes.
impl Drop for RaftQuorum {
    fn drop(&mut self) {
        if self.closed {
            return;
        }
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let (raft, metrics) = (self.raft.clone(), self.metrics.clone());
            runtime.spawn(async move {
                let _ = raft.shutdown().await;
                drop(metrics);
            });
        }
    }
}

impl MetadataQuorum for RaftQuorum {
    async fn lead(&mut self) -> Result<i32, JournalError> {
        let members = BTreeMap::from([(self.node_id, BasicNode::default())]);
        // Asked first: openraft refuses a second time, and logs that as an error.
        if !self.raft.is_initialized().await.map_err(failed)? {
            self.raft.initialize(members).await.map_err(failed)?;
        }
        let me = Some(self.node_id);
        let ready = |m: &RaftMetrics<u64, BasicNode>| {
            m.running_state.is_err()
                || m.current_leader == me && m.last_applied.map(|id| id.index) >= m.last_log_index
        };
        let metrics = self.metrics.wait_for(ready).await.map_err(failed)?;
        metrics.running_state.clone().map_err(failed)?;
        self.term = metrics.current_term;
        i32::try_from(self.term).map_err(failed)
    }

    async fn propose(&mut self, entry: String) -> Result<Ticket, JournalError> {
        self.unkept_bytes += entry.len();
        if self.unkept_bytes > self.snapshot_after_bytes {
            self.compact().await?;
        }
        let written = self.raft.client_write_ff(entry).await.map_err(failed)?;
        self.in_flight.push_back(written);
        self.proposed += 1;
        Ok(Ticket(self.proposed))
    }

    async fn committed(&mut self) -> Result<Ticket, JournalError> {
        loop {
            let first = async {
                match self.in_flight.front_mut() {
                    Some(written) => written.await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                written = first => {
                    self.in_flight.pop_front();
                    return match written.map_err(failed)? {
                        Ok(_) => Ok(Ticket(self.proposed - self.in_flight.len() as u64)),
                        Err(ClientWriteError::ForwardToLeader(_)) => Err(JournalError::Lost),
                        Err(error) => Err(failed(error)),
                    };
                }
                changed = self.metrics.changed() => {
                    changed.map_err(failed)?;
                    let metrics = self.metrics.borrow_and_update();
                    metrics.running_state.clone().map_err(failed)?;
                    if metrics.current_leader != Some(self.node_id) || metrics.current_term != self.term {
                        return Err(JournalError::Lost);
                    }
                }
            }
        }
    }

    fn images(&self) -> watch::Receiver<Arc<Image>> {
        self.images.clone()
    }

    async fn close(mut self) {
        self.closed = true;
        // It may have ended by itself: then there is nothing to end.
        let _ = self.raft.shutdown().await;
    }
}

fn config() -> Result<Config, JournalError> {
    let config = Config {
        cluster_name: "ottla".to_owned(),
        heartbeat_interval: 50,
        election_timeout_min: 250,
        election_timeout_max: 500,
        snapshot_policy: SnapshotPolicy::LogsSinceLast(SNAPSHOT_AFTER),
        max_in_snapshot_log_to_keep: KEPT_ENTRIES,
        ..Config::default()
    };
    config.validate().map_err(failed)
}

fn failed(error: impl Display) -> JournalError {
    JournalError::Failed(error.to_string())
}

#[cfg(test)]
mod tests;
