//! openraft's state machine: the committed image, published entry by entry.
//!
//! The image itself is in memory only. A snapshot (`RaftMeta`, key `snapshot`: openraft's description of it as one line of
//! JSON, then the image's text) is synced; a start begins there and openraft applies the log behind it.

#![expect(clippy::result_large_err, reason = "the error is openraft's")]

use super::{
    TypeConfig,
    values::{Result, Values, failed, from_json, to_json},
};
use crate::{
    cluster::{Image, record::decode},
    storage::{Put, Space},
};
use openraft::{
    BasicNode, Entry, EntryPayload, ErrorVerb, LogId, OptionalSend, RaftSnapshotBuilder, Snapshot,
    SnapshotMeta, StoredMembership, storage::RaftStateMachine,
};
use std::{
    io::{self, Cursor},
    sync::Arc,
};
use tokio::sync::watch;

const SNAPSHOT: &[u8] = b"snapshot";

type Meta = SnapshotMeta<u64, BasicNode>;

/// What has been applied.
pub struct State {
    values: Values,
    last_applied: Option<LogId<u64>>,
    membership: StoredMembership<u64, BasicNode>,
    image: watch::Sender<Arc<Image>>,
}

impl State {
    /// As the last snapshot says; empty without one.
    pub async fn open(values: Values) -> Result<(State, watch::Receiver<Arc<Image>>)> {
        let (image, images) = watch::channel(Arc::default());
        let mut state =
            State { values, last_applied: None, membership: StoredMembership::default(), image };
        if let Some(snapshot) = state.get_current_snapshot().await? {
            state.restore(&snapshot.meta, snapshot.snapshot.get_ref())?;
        }
        Ok((state, images))
    }

    fn restore(&mut self, meta: &Meta, text: &[u8]) -> Result<()> {
        let text = std::str::from_utf8(text).map_err(|error| failed(ErrorVerb::Read, &error))?;
        // openraft's own snapshots of nothing have no text.
        let image = match text {
            "" => Image::default(),
            text => Image::from_snapshot(text).map_err(|error| failed(ErrorVerb::Read, &error))?,
        };
        self.last_applied = meta.last_log_id;
        self.membership = meta.last_membership.clone();
        self.image.send_replace(Arc::new(image));
        Ok(())
    }
}

impl RaftStateMachine<TypeConfig> for State {
    type SnapshotBuilder = Builder;

    async fn applied_state(
        &mut self,
    ) -> Result<(Option<LogId<u64>>, StoredMembership<u64, BasicNode>)> {
        Ok((self.last_applied, self.membership.clone()))
    }

    async fn apply<I>(&mut self, entries: I) -> Result<Vec<()>>
    where
        I: IntoIterator<Item = Entry<TypeConfig>> + OptionalSend,
        I::IntoIter: OptionalSend,
    {
        let mut replies = Vec::new();
        for entry in entries {
            match entry.payload {
                EntryPayload::Blank => {}
                EntryPayload::Membership(membership) => {
                    self.membership = StoredMembership::new(Some(entry.log_id), membership);
                }
                EntryPayload::Normal(text) => {
                    let records = decode(&text).map_err(|error| failed(ErrorVerb::Read, &error))?;
                    self.image.send_modify(|image| Arc::make_mut(image).apply_entry(&records));
                }
            }
            self.last_applied = Some(entry.log_id);
            replies.push(());
        }
        Ok(replies)
    }

    async fn get_snapshot_builder(&mut self) -> Builder {
        let snapshot_id = self.last_applied.map_or_else(String::new, |id| id.to_string());
        let meta = SnapshotMeta {
            last_log_id: self.last_applied,
            last_membership: self.membership.clone(),
            snapshot_id,
        };
        Builder { values: self.values.clone(), meta, image: self.image.borrow().clone() }
    }

    async fn begin_receiving_snapshot(&mut self) -> Result<Box<Cursor<Vec<u8>>>> {
        Ok(Box::default())
    }

    async fn install_snapshot(
        &mut self,
        meta: &Meta,
        snapshot: Box<Cursor<Vec<u8>>>,
    ) -> Result<()> {
        let text = snapshot.into_inner();
        keep(&self.values, meta, &text).await?;
        self.restore(meta, &text)
    }

    async fn get_current_snapshot(&mut self) -> Result<Option<Snapshot<TypeConfig>>> {
        let Some(value) = self.values.get(Space::RaftMeta, SNAPSHOT).await? else {
            return Ok(None);
        };
        let mut parts = value.splitn(2, |byte| *byte == b'\n');
        let (Some(meta), Some(text)) = (parts.next(), parts.next()) else {
            let error = io::Error::new(io::ErrorKind::InvalidData, "a snapshot has two parts");
            return Err(failed(ErrorVerb::Read, &error));
        };
        let snapshot = Box::new(Cursor::new(text.to_vec()));
        Ok(Some(Snapshot { meta: from_json(meta)?, snapshot }))
    }
}

/// Writes down the image it was made with.
pub struct Builder {
    values: Values,
    meta: Meta,
    image: Arc<Image>,
}

impl RaftSnapshotBuilder<TypeConfig> for Builder {
    async fn build_snapshot(&mut self) -> Result<Snapshot<TypeConfig>> {
        let text = self.image.snapshot().into_bytes();
        keep(&self.values, &self.meta, &text).await?;
        Ok(Snapshot { meta: self.meta.clone(), snapshot: Box::new(Cursor::new(text)) })
    }
}

/// Replaces the snapshot; durable when it returns.
async fn keep(values: &Values, meta: &Meta, text: &[u8]) -> Result<()> {
    let mut value = to_json(meta)?;
    value.push(b'\n');
    value.extend_from_slice(text);
    values.put(vec![Put::Set(Space::RaftMeta, SNAPSHOT.to_vec(), value.into())], true).await
}
