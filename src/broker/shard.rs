//! A group coordinator on its partition of `__consumer_offsets`: loading it by replay, and the partition as its journal.

use crate::{
    cluster::Image,
    config::Config,
    group::{Coordinator, Event, GroupMachine, Settings, records::Record},
    ids::Offset,
    machine::{
        Batch, BatchKind, Machine,
        clock::Clock,
        runner::{self, Journal, JournalError, Ticket},
    },
    partition::{self, Appended, Isolation, Slice, View},
    storage::StorageError,
    wire::{self, Builder, batch, batch::Header, compression},
};
use arc_swap::ArcSwap;
use bytes::{Bytes, BytesMut};
use std::{os::unix::fs::FileExt, sync::Arc, time::Duration};
use tokio::sync::{mpsc, oneshot, watch};
use tracing::{error, info, warn};

/// Bytes replayed at a time.
const REPLAY_BYTES: usize = 4 << 20;
/// Before a coordinator whose journal failed is loaded again. Each time it cannot be loaded doubles it.
const RELOAD_PAUSE: Duration = Duration::from_millis(500);
const RELOAD_PAUSE_MAX: Duration = Duration::from_secs(30);

/// Builds a coordinator's state from its log. Records of a kind this version does not know are passed over, as Kafka does.
pub async fn load(
    partition: &partition::Handle,
    config: &Config,
) -> Result<GroupMachine, StorageError> {
    let settings = Settings::of(config, partition.max_message_bytes());
    let mut machine = GroupMachine::new(settings);
    let View { log_start, high_watermark, .. } = partition.view();
    let (mut from, mut replayed) = (log_start, 0usize);
    while from < high_watermark {
        let read = partition
            .read(from, Isolation::ReadUncommitted, REPLAY_BYTES, true, REPLAY_BYTES)
            .await
            .map_err(|code| StorageError::Io(format!("replay at offset {from}: {code}")))?;
        if read.next_offset <= from {
            return Err(StorageError::Io(format!("replay ends at offset {from}")));
        }
        from = read.next_offset;
        let in_memory = read.slices.iter().all(|slice| matches!(slice, Slice::Bytes(_)));
        let gathered = if in_memory {
            gather(read.slices)
        } else {
            tokio::task::spawn_blocking(move || gather(read.slices))
                .await
                .map_err(|error| StorageError::Io(error.to_string()))?
        };
        let bytes = gathered.map_err(|error| StorageError::Io(error.to_string()))?;
        let mut next = log_start;
        for batch in batch::batches(bytes) {
            next = batch.header.last_offset() + 1;
            replayed += replay(&mut machine, &batch.header, batch.payload())?;
        }
        // A coordinator that knew only a part would send its groups back.
        if next != from {
            return Err(StorageError::Io(format!("replay ends at offset {next} of {from}")));
        }
    }
    if replayed > 0 {
        info!(partition = partition.index(), records = replayed, "group coordinator loaded");
    }
    Ok(machine)
}

pub(crate) fn gather(slices: Vec<Slice>) -> std::io::Result<Bytes> {
    let mut all = BytesMut::new();
    for slice in slices {
        match slice {
            Slice::Bytes(bytes) => all.extend_from_slice(&bytes),
            Slice::File(range) => {
                let at = all.len();
                all.resize(at + range.len, 0);
                range.file.read_exact_at(&mut all[at..], range.at)?;
            }
        }
    }
    Ok(all.freeze())
}

/// Applies one batch; says how many records it had.
fn replay(
    machine: &mut GroupMachine,
    header: &Header,
    payload: Bytes,
) -> Result<usize, StorageError> {
    let damaged = |why: String| StorageError::Io(format!("batch {}: {why}", header.base_offset));
    if header.is_control() {
        return Ok(0);
    }
    let codec = header.compression().ok_or_else(|| damaged("unknown compression".into()))?;
    let payload = compression::decompress(codec, &payload, crate::limits::DECOMPRESSED_BATCH_MAX)
        .map_err(|error| damaged(error.to_string()))?;
    let mut count = 0;
    for record in wire::records(header, &payload) {
        let record = record.map_err(|error| damaged(error.to_string()))?;
        let Some(key) = record.key else { continue };
        match Record::decode(key, record.value) {
            Ok(Some(record)) => machine.apply(&record, BatchKind::Plain),
            Ok(None) => {}
            Err(error) => {
                warn!(%error, batch = header.base_offset, "a group record is not readable")
            }
        }
        count += 1;
    }
    Ok(count)
}

/// A machine's batch as it is appended; None when it is longer than a batch can be.
pub(crate) fn encode(batch: &Batch<Record>, now_ms: i64) -> Option<wire::Batch> {
    let mut builder = Builder::plain();
    for record in &batch.records {
        let (key, value) = record.encode();
        builder.push(now_ms, Some(&key), value.as_deref());
    }
    builder.build()
}

/// A partition as the journal of the machine that coordinates on it: a ticket is the offset after the batch, and what the
/// high watermark covers is committed.
///
/// A batch has its place before it is written. When storage refuses it (a full disk) the partition goes on behind what is
/// written, and the machine is ahead of its log: the journal has then failed.
pub struct PartitionJournal {
    partition: partition::Handle,
    view: watch::Receiver<View>,
    clock: Clock,
    /// The offset after the last batch.
    end: Offset,
    /// The high watermark as last told.
    committed: Offset,
}

impl PartitionJournal {
    pub fn new(partition: partition::Handle, clock: Clock) -> PartitionJournal {
        let view = partition.watch();
        PartitionJournal { partition, view, clock, end: 0, committed: 0 }
    }

    /// Whether `committed` has something to look at.
    #[cfg(test)]
    pub(crate) fn has_news(&self) -> bool {
        let more = self.view.borrow().high_watermark > self.committed;
        more || self.view.has_changed().unwrap_or(false)
    }

    /// Takes note of a batch's place.
    pub(crate) fn appended(&mut self, place: Appended) -> Result<Ticket, JournalError> {
        if place.base_offset < self.end {
            return Err(refused(self.end));
        }
        self.end = place.last_offset + 1;
        // What is shown from here on was so after this append.
        self.view.mark_unchanged();
        Ok(Ticket(self.end as u64))
    }
}

fn refused(end: Offset) -> JournalError {
    JournalError::Failed(format!("a batch below offset {end} was not written"))
}

impl Journal<Record> for PartitionJournal {
    async fn append(&mut self, batch: Batch<Record>) -> Result<Ticket, JournalError> {
        let too_large = || JournalError::Failed("a batch of more than 2 GiB".to_owned());
        let place = self
            .partition
            .append_internal(encode(&batch, self.clock.now().wall_ms).ok_or_else(too_large)?)
            .await
            .map_err(|code| JournalError::Failed(code.to_string()))?;
        self.appended(place)
    }

    async fn committed(&mut self) -> Result<Ticket, JournalError> {
        loop {
            let high_watermark = self.view.borrow().high_watermark;
            if high_watermark > self.committed {
                self.committed = high_watermark;
                return Ok(Ticket(high_watermark as u64));
            }
            self.view.changed().await.map_err(|_| JournalError::Lost)?;
            if self.view.borrow().log_end < self.end {
                return Err(refused(self.end));
            }
        }
    }
}

/// Whether everything appended to `partition` is committed.
pub(crate) fn is_settled(view: &View) -> bool {
    view.high_watermark >= view.log_end
}

/// Which topics exist, for a coordinator that was loaded: offsets of others are of the past.
pub struct Topics {
    /// The image that has the coordinator start; not published yet.
    pub first: Arc<Image>,
    pub published: Arc<ArcSwap<Image>>,
}

impl Topics {
    fn newest(&self) -> Arc<Image> {
        let published = self.published.load_full();
        if published.offset > self.first.offset { published } else { self.first.clone() }
    }
}

fn longer(pause: Duration) -> Duration {
    (pause * 2).min(RELOAD_PAUSE_MAX)
}

/// Keeps a coordinator running on `partition` until the partition goes. `ready` hears when the first load is over. When the
/// journal fails (a full disk, say) or cannot be read, the coordinator is gone until it can be loaded: its clients look for it
/// meanwhile, and everything else goes on.
pub async fn run(
    partition: partition::Handle,
    groups: Arc<Coordinator>,
    config: Arc<Config>,
    topics: Topics,
    clock: Clock,
    ready: oneshot::Sender<()>,
) -> Result<(), String> {
    let index = partition.index();
    let timeout = Duration::from_millis(config.offsets_commit_timeout_ms.max(1) as u64);
    let (mut ready, mut told, mut pause) = (Some(ready), None, RELOAD_PAUSE);
    loop {
        let mut view = partition.watch();
        if !is_settled(&view.borrow()) {
            let _ = ready.take().map(|ready| ready.send(()));
        }
        // What a coordinator before had appended may still be on its way: whoever answers must know of it.
        if view.wait_for(is_settled).await.is_err() {
            return Ok(());
        }
        let loaded = load(&partition, &config).await;
        if partition.watch().has_changed().is_err() {
            return Ok(());
        }
        let machine = match loaded {
            Ok(machine) => machine,
            Err(error) => {
                if told.as_ref() != Some(&error) {
                    error!(partition = index, %error, "a group coordinator cannot be loaded");
                }
                told = Some(error);
                let _ = ready.take().map(|ready| ready.send(()));
                tokio::time::sleep(pause).await;
                pause = longer(pause);
                continue;
            }
        };
        (told, pause) = (None, RELOAD_PAUSE);
        let journal = PartitionJournal::new(partition.clone(), clock);
        let epoch = partition.view().leader_epoch.0;
        let (effects, _none) = mpsc::unbounded_channel();
        let (handle, task) = runner::spawn(machine, journal, epoch, effects, clock, timeout);
        let image = topics.newest();
        handle.send(Event::Topics(image.clone()));
        groups.set_shard(index as usize, Some(handle.clone()));
        // Whoever deleted a topic meanwhile, or set the log's limit, found nobody to tell.
        handle.send(Event::MessageMaxBytes(partition.max_message_bytes()));
        let newer = topics.newest();
        if newer.offset != image.offset {
            handle.send(Event::Topics(newer));
        }
        drop(handle);
        let _ = ready.take().map(|ready| ready.send(()));
        match task.await {
            Ok(Ok(()) | Err(JournalError::Lost)) => return Ok(()),
            Ok(Err(JournalError::Failed(why))) => {
                warn!(partition = index, why, "a group coordinator lost its journal");
                groups.set_shard(index as usize, None);
                tokio::time::sleep(RELOAD_PAUSE).await;
            }
            Err(panic) => return Err(panic.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        group::{command::Command, records::Generation},
        ids::{LeaderEpoch, NodeId, TopicId},
        machine::BatchKind,
        partition::{Assigned, SpawnParams},
        storage::{LogStore, mem::Mem},
        wire::ErrorCode,
    };

    async fn journal() -> PartitionJournal {
        journal_on(Arc::new(Mem::new())).await
    }

    /// On the store's first log.
    async fn journal_on(store: Arc<Mem>) -> PartitionJournal {
        journal_in_sync_with(store, vec![NodeId(1)]).await
    }

    async fn journal_in_sync_with(store: Arc<Mem>, isr: Vec<NodeId>) -> PartitionJournal {
        let config = Config::default().topic_defaults;
        let log = store.create(partition::log_options(&config)).unwrap();
        let (node, clock) = (NodeId(1), Clock::start());
        let params = SpawnParams {
            store,
            log,
            topic_id: TopicId(uuid::Uuid::from_u128(7)),
            topic_name: "t".into(),
            index: 0,
            node,
            config,
            assigned: assigned(isr),
            producer_id_check_ms: i64::MAX,
            clock,
            inspection: partition::Inspection::default(),
        };
        let (partition, _) = partition::spawn(params).await.unwrap();
        PartitionJournal::new(partition, clock)
    }

    fn assigned(isr: Vec<NodeId>) -> Assigned {
        let leader_epoch = LeaderEpoch(0);
        Assigned { leader_epoch, leading: true, replicas: isr.clone(), isr }
    }

    fn batch() -> Batch<Record> {
        let record = Record::Group { group: "g".into(), value: None };
        Batch { records: vec![record], kind: BatchKind::Plain }
    }

    fn place(base_offset: Offset) -> Appended {
        Appended { base_offset, last_offset: base_offset, log_append_time: -1, log_start: 0 }
    }

    #[tokio::test]
    async fn a_batch_is_committed_when_the_high_watermark_covers_it() {
        let mut journal = journal().await;
        assert_eq!(journal.append(batch()).await, Ok(Ticket(1)));
        assert_eq!(journal.committed().await, Ok(Ticket(1)));
        assert_eq!(journal.append(batch()).await, Ok(Ticket(2)));
        assert_eq!(journal.committed().await, Ok(Ticket(2)));
    }

    /// The simulation found it: the disk was full for a moment between a batch's place and its writing, the next batch got
    /// the same place, and the runner died of a ticket that did not grow.
    #[tokio::test]
    async fn a_batch_that_storage_refused_ends_the_journal() {
        let mut again = journal().await;
        assert_eq!(again.appended(place(0)), Ok(Ticket(1)));
        assert_eq!(again.append(batch()).await, Err(refused(1)));

        let mut shown = journal().await;
        assert_eq!(shown.appended(place(4)), Ok(Ticket(5)));
        shown.partition.append_internal(encode(&batch(), 0).unwrap()).await.unwrap();
        assert_eq!(shown.committed().await, Ok(Ticket(1)));
        shown.partition.append_internal(encode(&batch(), 0).unwrap()).await.unwrap();
        let shown = async { shown.committed().await.and(shown.committed().await) };
        assert_eq!(shown.await, Err(refused(5)));
    }

    #[tokio::test]
    async fn a_coordinator_that_cannot_be_loaded_keeps_nobody_else_from_starting() {
        let store = Arc::new(Mem::with_faults());
        let mut journal = journal_on(store.clone()).await;
        journal.append(batch()).await.unwrap();
        journal.committed().await.unwrap();
        store.damage(store.logs().unwrap()[0], 0..1);
        let (groups, config) = (Arc::new(Coordinator::new(1)), Arc::new(Config::dev()));
        let (ready, loaded) = oneshot::channel();
        let (partition, clock) = (journal.partition.clone(), journal.clock);
        let topics = Topics { first: Arc::default(), published: Arc::default() };
        let running =
            tokio::spawn(run(partition.clone(), groups.clone(), config, topics, clock, ready));
        loaded.await.unwrap();
        let list = Command::List { states: Vec::new(), types: Vec::new() };
        let answer = groups.call_shard(0, list).await;
        assert_eq!(answer.err(), Some(ErrorCode::NotCoordinator), "it must not serve a part");
        partition.stop().await;
        assert_eq!(running.await.unwrap(), Ok(()));
    }

    /// Its journal failed while batches were still on their way; it was loaded without them and answered what it had
    /// promised otherwise.
    #[tokio::test]
    async fn a_coordinator_is_loaded_when_all_that_was_appended_is_committed() {
        let both = vec![NodeId(1), NodeId(2)];
        let journal = journal_in_sync_with(Arc::new(Mem::new()), both).await;
        let (partition, clock) = (journal.partition.clone(), journal.clock);
        let value = Generation {
            protocol_type: String::new(),
            generation: 0,
            protocol: None,
            leader: None,
            state_timestamp: 0,
            members: Vec::new(),
        };
        let record = Record::Group { group: "g".into(), value: Some(value) };
        let batch = Batch { records: vec![record], kind: BatchKind::Plain };
        partition.append_internal(encode(&batch, 0).unwrap()).await.unwrap();

        let (groups, config) = (Arc::new(Coordinator::new(1)), Arc::new(Config::dev()));
        let (ready, loaded) = oneshot::channel();
        let topics = Topics { first: Arc::default(), published: Arc::default() };
        let shard = run(partition.clone(), groups.clone(), config, topics, clock, ready);
        let running = tokio::spawn(shard);
        loaded.await.unwrap();
        assert_eq!(groups.list(&[], &[]).await.unwrap().len(), 0, "it does not serve yet");
        partition.assign(assigned(vec![NodeId(1)])).await;
        let describe = || Command::Describe { groups: vec!["g".into()] };
        let described = loop {
            match groups.call_shard(0, describe()).await {
                Err(ErrorCode::NotCoordinator) => tokio::task::yield_now().await,
                other => break format!("{other:?}"),
            }
        };
        assert_eq!(described, r#"Ok(Described (g Empty "" ""))"#);
        partition.stop().await;
        assert_eq!(running.await.unwrap(), Ok(()));
    }

    #[test]
    fn attempts_to_load_become_rarer() {
        let pauses: Vec<u128> = std::iter::successors(Some(RELOAD_PAUSE), |it| Some(longer(*it)))
            .map(|it| it.as_millis())
            .take(8)
            .collect();
        assert_eq!(pauses, [500, 1000, 2000, 4000, 8000, 16000, 30000, 30000]);
    }
}
