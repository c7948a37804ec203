//! openraft's log, vote and committed index as small values.
//!
//! `RaftLog`: key = index (u64 BE), value = the entry as JSON. `RaftMeta`: `vote`, `committed`, `purged`, each JSON. Entries
//! and votes are synced before they count; the rest is written behind them in the same order and may lag after a power cut.

use super::{
    super::StartError,
    TypeConfig,
    values::{Result, Values, from_json, to_json},
};
use crate::storage::{Put, Space};
use openraft::{
    Entry, EntryPayload, LogId, LogState, OptionalSend, RaftLogReader, Vote,
    storage::{LogFlushed, RaftLogStorage},
};
use parking_lot::Mutex;
use std::{
    fmt::Debug,
    ops::{Bound, RangeBounds},
    sync::Arc,
};
use tracing::warn;

const VOTE: &[u8] = b"vote";
const COMMITTED: &[u8] = b"committed";
const PURGED: &[u8] = b"purged";
/// Entries read at a time.
const PAGE: usize = 256;

/// Clones are views of the same log.
#[derive(Clone)]
pub struct Log {
    values: Values,
    ends: Arc<Mutex<Ends>>,
    /// Bytes of the entries that were there when the log was opened.
    pub bytes_at_open: usize,
}

#[derive(Debug, Clone, Copy, Default)]
struct Ends {
    /// The last entry that is gone because a snapshot holds it.
    purged: Option<LogId<u64>>,
    /// The last entry there is; `purged` when there is none.
    last: Option<LogId<u64>>,
}

impl Log {
    /// Opens the log. What was committed was synced before: if it is not there, synced data is lost, and the log opens only
    /// with `accept_data_loss`.
    pub async fn open(
        values: Values,
        accept_data_loss: bool,
    ) -> std::result::Result<Log, StartError> {
        let storage = |error: openraft::StorageError<u64>| StartError::Storage(error.to_string());
        let purged: Option<LogId<u64>> =
            values.get_json(Space::RaftMeta, PURGED).await.map_err(storage)?;
        let committed: Option<LogId<u64>> =
            values.get_json(Space::RaftMeta, COMMITTED).await.map_err(storage)?;
        let ends = Arc::new(Mutex::new(Ends { purged, last: purged }));
        let mut log = Log { values, ends, bytes_at_open: 0 };
        let first = purged.map_or(0, |id| id.index + 1);
        let entries = log.try_get_log_entries(first..).await.map_err(storage)?;
        let last = entries.last().map_or(purged, |entry| Some(entry.log_id));
        log.ends.lock().last = last;
        let bytes = |entry: &Entry<TypeConfig>| match &entry.payload {
            EntryPayload::Normal(text) => text.len(),
            EntryPayload::Blank | EntryPayload::Membership(_) => 0,
        };
        log.bytes_at_open = entries.iter().map(bytes).sum();
        if committed > last {
            let show = |id: Option<LogId<u64>>| id.map_or(0, |id| id.index);
            let lost =
                format!("entry {} was committed, {} is the last", show(committed), show(last));
            if !accept_data_loss {
                return Err(StartError::Lost(lost));
            }
            warn!("{lost}");
            log.values
                .put(vec![Put::Delete(Space::RaftMeta, COMMITTED.to_vec())], true)
                .await
                .map_err(storage)?;
        }
        Ok(log)
    }
}

fn key(index: u64) -> Vec<u8> {
    index.to_be_bytes().to_vec()
}

/// Behind every index.
fn end_key() -> Vec<u8> {
    vec![u8::MAX; 9]
}

impl RaftLogReader<TypeConfig> for Log {
    async fn try_get_log_entries<R: RangeBounds<u64> + Clone + Debug + OptionalSend>(
        &mut self,
        range: R,
    ) -> Result<Vec<Entry<TypeConfig>>> {
        let mut from = match range.start_bound() {
            Bound::Included(index) => key(*index),
            Bound::Excluded(index) => key(index.saturating_add(1)),
            Bound::Unbounded => key(0),
        };
        let end = match range.end_bound() {
            Bound::Included(index) => [key(*index), vec![0]].concat(),
            Bound::Excluded(index) => key(*index),
            Bound::Unbounded => end_key(),
        };
        let mut entries = Vec::new();
        while from < end {
            let page = self.values.scan(Space::RaftLog, from.clone()..end.clone(), PAGE).await?;
            for (_, value) in &page {
                entries.push(from_json(value)?);
            }
            match page.last() {
                Some((last, _)) if page.len() == PAGE => from = [&last[..], &[0]].concat(),
                _ => break,
            }
        }
        Ok(entries)
    }
}

impl RaftLogStorage<TypeConfig> for Log {
    type LogReader = Log;

    async fn get_log_state(&mut self) -> Result<LogState<TypeConfig>> {
        let Ends { purged, last } = *self.ends.lock();
        Ok(LogState { last_purged_log_id: purged, last_log_id: last })
    }

    async fn get_log_reader(&mut self) -> Log {
        self.clone()
    }

    async fn save_vote(&mut self, vote: &Vote<u64>) -> Result<()> {
        self.values.put_json(Space::RaftMeta, VOTE, vote, true).await
    }

    async fn read_vote(&mut self) -> Result<Option<Vote<u64>>> {
        self.values.get_json(Space::RaftMeta, VOTE).await
    }

    async fn save_committed(&mut self, committed: Option<LogId<u64>>) -> Result<()> {
        self.values.put_json(Space::RaftMeta, COMMITTED, &committed, false).await
    }

    async fn read_committed(&mut self) -> Result<Option<LogId<u64>>> {
        Ok(self.values.get_json(Space::RaftMeta, COMMITTED).await?.flatten())
    }

    async fn append<I>(&mut self, entries: I, callback: LogFlushed<TypeConfig>) -> Result<()>
    where
        I: IntoIterator<Item = Entry<TypeConfig>> + OptionalSend,
        I::IntoIter: OptionalSend,
    {
        let mut puts = Vec::new();
        let mut last = None;
        for entry in entries {
            let value = to_json(&entry)?.into();
            puts.push(Put::Set(Space::RaftLog, key(entry.log_id.index), value));
            last = Some(entry.log_id);
        }
        self.values.put(puts, true).await?;
        if last.is_some() {
            self.ends.lock().last = last;
        }
        callback.log_io_completed(Ok(()));
        Ok(())
    }

    async fn truncate(&mut self, log_id: LogId<u64>) -> Result<()> {
        let gone = key(log_id.index)..end_key();
        self.values.put(vec![Put::DeleteRange(Space::RaftLog, gone)], false).await?;
        let first = self.ends.lock().purged.map_or(0, |id| id.index + 1);
        let before = log_id.index.saturating_sub(1)..log_id.index;
        let left = match log_id.index > first {
            true => self.try_get_log_entries(before).await?.last().map(|entry| entry.log_id),
            false => None,
        };
        let mut ends = self.ends.lock();
        ends.last = left.or(ends.purged);
        Ok(())
    }

    async fn purge(&mut self, log_id: LogId<u64>) -> Result<()> {
        let gone = key(0)..key(log_id.index.saturating_add(1));
        let purged = to_json(&log_id)?.into();
        let changes = vec![
            Put::Set(Space::RaftMeta, PURGED.to_vec(), purged),
            Put::DeleteRange(Space::RaftLog, gone),
        ];
        self.values.put(changes, false).await?;
        let mut ends = self.ends.lock();
        ends.purged = Some(log_id);
        ends.last = ends.last.max(Some(log_id));
        Ok(())
    }
}
