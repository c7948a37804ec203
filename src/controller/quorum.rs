//! What the controller asks of the quorum of metadata: agreement on a log of entries, and the image they make.
//!
//! Two keep this contract: `raft` (openraft over a `LogStore`), and `Ideal`, which agrees with itself at once. Not here
//! yet: members other than this node, and what they need (a vote, snapshots that travel).
//!
//! An entry is one step of the machine, all or none. What one request can make of it is bounded: 10,000 records, or as many
//! deletions as it names, and config values no larger than the request.

use crate::{
    cluster::{
        Image, Record,
        record::{decode, encode},
    },
    machine::{
        Batch,
        runner::{Journal, JournalError, Ticket},
    },
};
use std::{future::Future, sync::Arc};
use tokio::sync::watch;

/// This node's part in the quorum.
pub trait MetadataQuorum: Send + 'static {
    /// Resolves when this node leads and its image holds everything that was committed before; says in which epoch.
    fn lead(&mut self) -> impl Future<Output = Result<i32, JournalError>> + Send;

    /// Queues one entry, as `cluster::record::encode` writes it, behind everything proposed before.
    fn propose(
        &mut self,
        entry: String,
    ) -> impl Future<Output = Result<Ticket, JournalError>> + Send;

    /// As `Journal::committed`, for what this node has proposed. The image of what it says is published already.
    fn committed(&mut self) -> impl Future<Output = Result<Ticket, JournalError>> + Send;

    /// The committed image, published once for each entry.
    fn images(&self) -> watch::Receiver<Arc<Image>>;

    /// Ends this node's part; the last call.
    fn close(self) -> impl Future<Output = ()> + Send
    where
        Self: Sized,
    {
        async {}
    }
}

/// A quorum as a machine's journal.
pub struct QuorumJournal<Q>(pub Q);

impl<Q: MetadataQuorum> Journal<Record> for QuorumJournal<Q> {
    async fn append(&mut self, batch: Batch<Record>) -> Result<Ticket, JournalError> {
        self.0.propose(encode(&batch.records)).await
    }

    async fn committed(&mut self) -> Result<Ticket, JournalError> {
        self.0.committed().await
    }

    async fn close(self) {
        self.0.close().await;
    }
}

/// One node that agrees with itself at once and forgets everything: for simulation.
pub struct Ideal {
    image: watch::Sender<Arc<Image>>,
    epoch: i32,
    proposed: u64,
    told: u64,
}

impl Ideal {
    /// Begins with what others have committed, in `epoch`.
    pub fn new(image: Image, epoch: i32) -> Ideal {
        Ideal { image: watch::Sender::new(Arc::new(image)), epoch, proposed: 0, told: 0 }
    }
}

impl MetadataQuorum for Ideal {
    async fn lead(&mut self) -> Result<i32, JournalError> {
        Ok(self.epoch)
    }

    async fn propose(&mut self, entry: String) -> Result<Ticket, JournalError> {
        let records = decode(&entry).map_err(|error| JournalError::Failed(error.to_string()))?;
        self.image.send_modify(|image| Arc::make_mut(image).apply_entry(&records));
        self.proposed += 1;
        Ok(Ticket(self.proposed))
    }

    async fn committed(&mut self) -> Result<Ticket, JournalError> {
        if self.told == self.proposed {
            std::future::pending::<()>().await;
        }
        self.told = self.proposed;
        Ok(Ticket(self.told))
    }

    fn images(&self) -> watch::Receiver<Arc<Image>> {
        self.image.subscribe()
    }
}
