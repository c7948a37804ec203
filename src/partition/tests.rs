//! Actor and handle over the store in memory.

use super::*;
use crate::{
    config::{Config, topic::LogConfig},
    ids::NodeId,
    limits::PRODUCER_SNAPSHOT_BATCHES,
    machine::clock::Clock,
    storage::{LogStore, Read, mem::Mem},
    wire::{Batch, Builder, ErrorCode, batch::batches},
};
use bytes::Bytes;
use std::sync::Arc;
use tokio::task::JoinHandle;

const ME: NodeId = NodeId(1);

/// A partition whose actor runs.
struct Running {
    store: Arc<Mem>,
    handle: Handle,
    task: JoinHandle<Result<(), String>>,
}

fn config() -> LogConfig {
    Config::default().topic_defaults
}

fn synced() -> LogConfig {
    LogConfig { flush_messages: 1, ..config() }
}

fn params(store: &Arc<Mem>, log: crate::ids::LogId, config: LogConfig) -> SpawnParams {
    SpawnParams {
        store: store.clone(),
        log,
        topic_id: TopicId(uuid::Uuid::from_u128(7)),
        topic_name: "t".into(),
        index: 0,
        node: ME,
        config,
        assigned: Assigned {
            leader_epoch: LeaderEpoch(0),
            leading: true,
            isr: vec![ME],
            replicas: vec![ME],
        },
        producer_id_check_ms: 600_000,
        clock: Clock::start(),
        inspection: Inspection::default(),
    }
}

async fn start(config: LogConfig) -> Running {
    let store = Arc::new(Mem::with_faults());
    let log = store.create(log_options(&config)).unwrap();
    let (handle, task) = spawn(params(&store, log, config)).await.unwrap();
    Running { store, handle, task }
}

impl Running {
    async fn append(&self, batch: Batch) -> Result<Appended, AppendError> {
        self.begin(batch, Acks::All).await.await
    }

    async fn begin(&self, batch: Batch, acks: Acks) -> Pending {
        self.handle.begin_append(Append { batch, acks, timeout_ms: 1000 }).await
    }

    /// What a consumer reads from an offset.
    async fn read(&self, from: Offset) -> Result<Vec<Batch>, ErrorCode> {
        let read =
            self.handle.read(from, Isolation::ReadUncommitted, 1 << 20, true, 1 << 20).await?;
        Ok(batches(bytes(read)).collect())
    }

    /// The power goes, any unsynced change with it.
    async fn power_cut(self, config: LogConfig) -> Running {
        let store = Arc::new(self.store.crash(&mut |_| 0));
        self.restart(store, config).await
    }

    async fn restart(self, store: Arc<Mem>, config: LogConfig) -> Running {
        let log = self.handle.log();
        drop(self.handle);
        let (handle, task) = spawn(params(&store, log, config)).await.unwrap();
        Running { store, handle, task }
    }
}

fn bytes(read: Read) -> Bytes {
    let mut all = Vec::new();
    for slice in read.slices {
        match slice {
            Slice::Bytes(bytes) => all.extend_from_slice(&bytes),
            Slice::File(_) => panic!("memory has no files"),
        }
    }
    all.into()
}

fn records(timestamps: &[i64]) -> Builder {
    let mut builder = Builder::plain();
    for timestamp in timestamps {
        builder.push(*timestamp, None, Some(b"value"));
    }
    builder
}

fn batch(timestamps: &[i64]) -> Batch {
    records(timestamps).build().unwrap()
}

fn sequenced(producer: i64, epoch: i16, sequence: i32) -> Batch {
    let mut batch = batch(&[1]);
    batch.header.producer_id = producer;
    batch.header.producer_epoch = epoch;
    batch.header.base_sequence = sequence;
    Batch::assemble(batch.header, &batch.payload()).unwrap()
}

#[tokio::test]
async fn what_is_appended_is_read_with_its_place() {
    let running = start(config()).await;
    assert_eq!(running.handle.view().leader_epoch, LeaderEpoch(0));
    let first = running.append(batch(&[1, 2])).await.unwrap();
    let second = running.append(batch(&[3])).await.unwrap();
    assert_eq!((first.base_offset, first.last_offset, second.base_offset), (0, 1, 2));
    assert_eq!(running.handle.view().high_watermark, 3);
    let read = running.read(1).await.unwrap();
    let places: Vec<_> = read
        .iter()
        .map(|batch| (batch.header.base_offset, batch.header.partition_leader_epoch))
        .collect();
    assert_eq!(places, [(0, 0), (2, 0)]);
    assert_eq!(read[1].payload(), batch(&[3]).payload());
    assert_eq!(running.read(3).await.unwrap(), []);
    assert_eq!(running.read(4).await, Err(ErrorCode::OffsetOutOfRange));
    assert_eq!(running.read(-1).await, Err(ErrorCode::OffsetOutOfRange));
}

#[tokio::test]
async fn batches_lie_in_the_order_of_the_calls() {
    let running = start(config()).await;
    let mut pending = Vec::new();
    for acks in [Acks::All, Acks::Leader, Acks::Assigned, Acks::All].repeat(50) {
        pending.push(running.begin(batch(&[1]), acks).await);
    }
    for (at, pending) in pending.into_iter().enumerate() {
        assert_eq!(pending.await.unwrap().base_offset, at as i64);
    }
}

#[tokio::test]
async fn a_power_cut_loses_nothing_that_was_acknowledged_in_a_synced_topic() {
    let running = start(synced()).await;
    running.append(sequenced(5, 0, 0)).await.unwrap();
    running.append(sequenced(5, 0, 1)).await.unwrap();
    let running = running.power_cut(synced()).await;
    let view = running.handle.view();
    assert_eq!((view.log_end, view.high_watermark, view.epoch_start), (2, 2, 2));
    let again = running.append(sequenced(5, 0, 1)).await.unwrap();
    assert_eq!((again.base_offset, again.log_append_time), (1, 1), "a duplicate");
    let gap = running.append(sequenced(5, 0, 3)).await.unwrap_err();
    assert_eq!((gap.code, gap.log_start), (ErrorCode::OutOfOrderSequenceNumber, 0));
    assert_eq!(running.append(sequenced(5, 0, 2)).await.unwrap().base_offset, 2);
}

#[tokio::test]
async fn what_a_power_cut_loses_the_producers_may_send_again() {
    let running = start(config()).await;
    running.append(sequenced(5, 0, 0)).await.unwrap();
    let running = running.power_cut(config()).await;
    assert_eq!(running.handle.view().log_end, 0);
    assert_eq!(running.append(sequenced(5, 0, 0)).await.unwrap().base_offset, 0);
}

#[tokio::test]
async fn a_clean_stop_keeps_high_watermark_and_producers() {
    let running = start(config()).await;
    running.append(sequenced(5, 0, 0)).await.unwrap();
    running.handle.stop().await;
    let Running { store, handle, task } = running;
    assert_eq!(task.await.unwrap(), Ok(()));
    assert_eq!(handle.append_internal(batch(&[1])).await, Err(ErrorCode::NotLeaderOrFollower));
    handle.stop().await;
    let opened = store.open(handle.log(), log_options(&config())).unwrap();
    assert_eq!(opened.high_watermark, 1);
    assert_eq!(opened.snapshot.unwrap().0, 1);
}

#[tokio::test]
async fn a_replica_ends_with_its_last_handle_and_with_its_log() {
    let Running { handle, task, .. } = start(config()).await;
    drop(handle);
    assert_eq!(task.await.unwrap(), Ok(()));
    let Running { store, handle, task } = start(config()).await;
    store.delete(handle.log()).await.unwrap().unwrap();
    assert!(task.await.unwrap().is_err());
    let append = Append { batch: batch(&[1]), acks: Acks::Leader, timeout_ms: 0 };
    let error = handle.begin_append(append).await.await.unwrap_err();
    assert_eq!(error.code, ErrorCode::NotLeaderOrFollower);
}

#[tokio::test]
async fn without_space_producers_are_told_and_afterwards_it_goes_on() {
    let running = start(config()).await;
    running.append(sequenced(5, 0, 0)).await.unwrap();
    running.store.set_full(true);
    for _ in 0..2 {
        let error = running.append(sequenced(5, 0, 1)).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::KafkaStorageError);
    }
    assert_eq!(running.read(0).await.unwrap().len(), 1, "reads go on");
    running.store.set_full(false);
    let appended = loop {
        match running.append(sequenced(5, 0, 1)).await {
            Ok(appended) => break appended,
            Err(error) => assert_eq!(error.code, ErrorCode::KafkaStorageError),
        }
        tokio::task::yield_now().await;
    };
    assert_eq!(appended.base_offset, 1);
    assert_eq!(running.read(0).await.unwrap().len(), 2);
}

/// A snapshot that falls due with a batch that is refused covers what is not there. Once the log had grown past it, it
/// would make the producer's retry a duplicate: acknowledged, and lost. The one before it is needed still.
#[tokio::test]
async fn a_snapshot_of_what_a_full_disk_refused_does_not_outlive_it() {
    let running = start(config()).await;
    running.append(sequenced(7, 0, 0)).await.unwrap();
    assert_eq!(running.handle.delete_records(-1).await, Ok(1));
    let last = PRODUCER_SNAPSHOT_BATCHES as i32 - 2;
    for sequence in 0..last {
        running.append(sequenced(5, 0, sequence)).await.unwrap();
    }
    let full = async |refused: Batch| {
        running.store.fill_up();
        let error = running.append(refused).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::KafkaStorageError);
        running.store.set_full(false);
    };
    let again = async |producer, sequence| loop {
        match running.append(sequenced(producer, 0, sequence)).await {
            Ok(appended) => break appended.base_offset,
            Err(error) => assert_eq!(error.code, ErrorCode::KafkaStorageError),
        }
        tokio::task::yield_now().await;
    };
    full(sequenced(5, 0, last)).await;
    for sequence in 0..3 {
        assert_eq!(again(6, sequence).await, i64::from(last + 1 + sequence));
    }
    full(sequenced(6, 0, 3)).await;
    assert_eq!(again(5, last).await, i64::from(last + 4), "it was never there");
    assert_eq!(again(6, 3).await, i64::from(last + 5));
    assert_eq!(again(7, 0).await, 0, "a retry of what is deleted");
}

#[tokio::test]
async fn every_log_rolls_with_a_jitter_of_its_own() {
    let jittery = |segment_jitter_ms| LogConfig { segment_jitter_ms, ..config() };
    let seed_of = async |jitter: i64| {
        let Running { store, handle, .. } = start(jittery(jitter)).await;
        let options = store.options(handle.log()).unwrap();
        assert_eq!(options.segment_jitter_ms, jitter);
        handle.configure(jittery(7));
        let mut view = handle.watch();
        handle.append_internal(batch(&[1])).await.unwrap();
        view.wait_for(|view| view.log_end == 1).await.unwrap();
        let configured = store.options(handle.log()).unwrap();
        assert_eq!(
            (configured.segment_jitter_ms, configured.jitter_seed),
            (7, options.jitter_seed)
        );
        options.jitter_seed
    };
    assert_ne!(seed_of(5).await, seed_of(5).await);
}

#[tokio::test]
async fn a_failed_write_stops_writing() {
    let running = start(config()).await;
    running.append(batch(&[1])).await.unwrap();
    running.store.fail_next_write();
    for _ in 0..2 {
        let error = running.append(batch(&[1])).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::KafkaStorageError);
    }
    assert_eq!(running.read(0).await.unwrap().len(), 1);
}

#[tokio::test]
async fn damage_is_told_and_the_rest_stays_readable() {
    let running = start(config()).await;
    for _ in 0..3 {
        running.append(batch(&[1])).await.unwrap();
    }
    running.store.damage(running.handle.log(), 1..2);
    assert_eq!(running.read(1).await, Err(ErrorCode::CorruptMessage));
    assert_eq!(running.read(2).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_journal_learns_its_offset_at_once_and_waits_for_the_high_watermark() {
    let running = start(synced()).await;
    let mut view = running.handle.watch();
    let last = running.handle.append_internal(batch(&[1, 1])).await.unwrap().last_offset;
    assert_eq!(last, 1);
    view.wait_for(|view| view.high_watermark > last).await.unwrap();
}

#[tokio::test]
async fn offsets_are_found_by_time() {
    let running = start(config()).await;
    running.append(batch(&[2, 4])).await.unwrap();
    running.append(batch(&[9, 8, 6])).await.unwrap();
    running.append(batch(&[7])).await.unwrap();
    let table = [
        (0, Some((0, 2))),
        (2, Some((0, 2))),
        (3, Some((1, 4))),
        (5, Some((2, 9))),
        (9, Some((2, 9))),
        (10, None),
    ];
    let end = running.handle.view().log_end;
    for (timestamp, expected) in table {
        let found = running.handle.offset_for_timestamp(timestamp, end).await.unwrap();
        assert_eq!(found.map(|found| (found.offset, found.timestamp)), expected, "{timestamp}");
    }
    let latest = running.handle.max_timestamp(end).await.unwrap().unwrap();
    let expected = Found { offset: 2, timestamp: 9, leader_epoch: LeaderEpoch(0) };
    assert_eq!(latest, expected);
    let below = running.handle.offset_for_timestamp(5, 2).await.unwrap();
    assert_eq!(below, None, "nothing at or above the end is found");
}

#[tokio::test]
async fn an_empty_log_has_no_largest_timestamp() {
    let running = start(config()).await;
    assert_eq!(running.handle.max_timestamp(0).await, Ok(None));
    running.append(batch(&[-1])).await.unwrap();
    assert_eq!(running.handle.max_timestamp(1).await, Ok(None));
}

#[tokio::test]
async fn epochs_are_fenced_and_have_ends() {
    let running = start(config()).await;
    running.append(batch(&[1, 1])).await.unwrap();
    let next = |leading| Assigned {
        leader_epoch: LeaderEpoch(3),
        leading,
        isr: vec![ME],
        replicas: vec![ME],
    };
    running.handle.assign(next(true)).await;
    let mut view = running.handle.watch();
    view.wait_for(|view| view.leader_epoch == LeaderEpoch(3)).await.unwrap();
    running.append(batch(&[1])).await.unwrap();
    let handle = &running.handle;
    assert_eq!(
        (handle.epoch_end(0), handle.epoch_end(3), handle.epoch_end(4)),
        ((0, 2), (3, 3), (-1, -1))
    );
    assert_eq!((handle.epoch_at(1), handle.epoch_at(2)), (0, 3));
    assert_eq!(handle.check_epoch(2), Err(ErrorCode::FencedLeaderEpoch));
    assert_eq!(handle.check_epoch(4), Err(ErrorCode::UnknownLeaderEpoch));
    assert!(handle.check_epoch(3).is_ok() && handle.check_epoch(-1).is_ok());
    let last = running.read(2).await.unwrap();
    assert_eq!(last[0].header.partition_leader_epoch, 3);
    let found = handle.offset_for_timestamp(1, 3).await.unwrap().unwrap();
    assert_eq!(found.leader_epoch, LeaderEpoch(0));
    handle.assign(Assigned { leader_epoch: LeaderEpoch(4), ..next(false) }).await;
    view.wait_for(|view| !view.leading).await.unwrap();
    assert_eq!(handle.check_epoch(4), Err(ErrorCode::NotLeaderOrFollower));
    assert_eq!(running.read(0).await, Err(ErrorCode::NotLeaderOrFollower));
}

#[tokio::test]
async fn changed_settings_hold_for_the_next_batch() {
    let running = start(config()).await;
    running.append(batch(&[1])).await.unwrap();
    running.handle.configure(LogConfig { max_message_bytes: 10, segment_bytes: 10, ..synced() });
    assert_eq!(running.handle.max_message_bytes(), 10);
    let error = running.append(batch(&[1])).await.unwrap_err();
    assert_eq!((error.code, error.log_start), (ErrorCode::RecordListTooLarge, -1));
    running.handle.configure(synced());
    running.append(batch(&[1])).await.unwrap();
    let running = running.power_cut(synced()).await;
    assert_eq!(running.handle.view().log_end, 2, "the change made the older batch durable too");
}

#[tokio::test(start_paused = true)]
async fn a_changed_expiration_holds_for_the_next_look_at_producers() {
    let running = start(LogConfig { producer_id_expiration_ms: i64::MAX, ..config() }).await;
    let known = async || running.handle.producers().await.unwrap().len();
    running.append(sequenced(5, 0, 0)).await.unwrap();
    tokio::time::sleep(std::time::Duration::from_millis(600_001)).await;
    assert_eq!(known().await, 1);
    running.handle.configure(config());
    tokio::time::sleep(std::time::Duration::from_millis(600_001)).await;
    assert_eq!(known().await, 0, "what it wrote in 1970 is older than a day");
}

#[tokio::test(start_paused = true)]
async fn unsynced_records_are_synced_after_flush_ms() {
    let flushed = LogConfig { flush_ms: 60_000, ..config() };
    let running = start(flushed.clone()).await;
    running.append(batch(&[1])).await.unwrap();
    tokio::time::sleep(std::time::Duration::from_millis(60_001)).await;
    let running = running.power_cut(flushed).await;
    assert_eq!(running.handle.view().log_end, 1);
}

#[tokio::test]
async fn the_registry_gives_what_it_was_given() {
    let Running { handle, .. } = start(config()).await;
    let (topic, registry) = (handle.topic_id(), Registry::default());
    registry.insert(handle);
    assert_eq!(registry.get(topic, 0).map(|found| found.index()), Some(0));
    assert!(registry.get(topic, 1).is_none());
    assert_eq!(registry.all().len(), 1);
    assert!(registry.remove(topic, 0).is_some() && registry.get(topic, 0).is_none());
}

#[tokio::test]
async fn an_epoch_that_cannot_be_kept_does_not_begin() {
    let running = start(config()).await;
    running.store.fail_next_write();
    running
        .handle
        .assign(Assigned {
            leader_epoch: LeaderEpoch(1),
            leading: true,
            isr: vec![ME],
            replicas: vec![ME],
        })
        .await;
    let error = running.append(batch(&[1])).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::KafkaStorageError);
    assert_eq!(running.handle.view().leader_epoch, LeaderEpoch(0));
}

/// Everything of a producer is deleted; what it wrote is remembered all the same.
#[tokio::test]
async fn deleted_records_stay_deleted_and_their_producers_known() {
    for power_is_cut in [true, false] {
        let running = start(config()).await;
        for sequence in 0..3 {
            running.append(sequenced(5, 0, sequence)).await.unwrap();
        }
        assert_eq!(running.handle.delete_records(2).await, Ok(2));
        assert_eq!(running.handle.view().log_start, 2);
        assert_eq!(running.read(1).await, Err(ErrorCode::OffsetOutOfRange));
        assert_eq!(running.handle.delete_records(1).await, Ok(2), "it never goes back");
        assert_eq!(running.handle.delete_records(4).await, Err(ErrorCode::OffsetOutOfRange));
        assert_eq!(running.handle.delete_records(-1).await, Ok(3));
        let running = if power_is_cut {
            running.power_cut(config()).await
        } else {
            let store = running.store.clone();
            let store = Arc::new(store.crash(&mut |all| all));
            running.restart(store, config()).await
        };
        let view = running.handle.view();
        assert_eq!((view.log_start, view.high_watermark, view.log_end), (3, 3, 3));
        let gap = running.append(sequenced(5, 0, 4)).await.unwrap_err();
        assert_eq!((gap.code, gap.log_start), (ErrorCode::OutOfOrderSequenceNumber, 3));
        assert_eq!(running.append(sequenced(5, 0, 2)).await.unwrap().base_offset, 2, "a retry");
        assert_eq!(running.append(sequenced(5, 0, 3)).await.unwrap().base_offset, 3);
    }
}

/// The way to get space back.
#[tokio::test]
async fn records_can_be_deleted_without_space() {
    let running = start(config()).await;
    for sequence in 0..2 {
        running.append(sequenced(5, 0, sequence)).await.unwrap();
    }
    running.store.set_full(true);
    let error = running.append(sequenced(5, 0, 2)).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::KafkaStorageError);
    assert_eq!(running.handle.delete_records(-1).await, Ok(2));
    running.store.set_full(false);
    let next = loop {
        match running.append(sequenced(5, 0, 2)).await {
            Ok(appended) => break appended.base_offset,
            Err(error) => assert_eq!(error.code, ErrorCode::KafkaStorageError),
        }
        tokio::task::yield_now().await;
    };
    assert_eq!(next, 2);
    assert_eq!(running.append(sequenced(5, 0, 1)).await.unwrap().base_offset, 1, "a retry");
}

/// Storage forgets the epoch of an empty log when writing goes on, which may be before the deletion is answered.
#[tokio::test]
async fn an_epoch_outlives_all_that_was_written_in_it() {
    // Somewhere between the question and the answer.
    for pause in 0..8 {
        let running = start(config()).await;
        running.append(sequenced(5, 0, 0)).await.unwrap();
        running.store.set_full(true);
        running.append(batch(&[1])).await.unwrap_err();
        let space = async {
            for _ in 0..pause {
                tokio::task::yield_now().await;
            }
            running.store.set_full(false);
        };
        let (deleted, ()) = tokio::join!(running.handle.delete_records(-1), space);
        assert_eq!(deleted, Ok(1));
        while running.append(batch(&[1])).await.is_err() {
            tokio::task::yield_now().await;
        }
        let store = Arc::new(running.store.crash(&mut |all| all));
        let running = running.restart(store, config()).await;
        assert_eq!((running.handle.view().log_start, running.handle.epoch_at(1)), (1, 0));
    }
}

#[tokio::test]
async fn records_that_cannot_be_deleted_for_good_are_there() {
    let running = start(config()).await;
    running.append(batch(&[1])).await.unwrap();
    running.store.fail_next_write();
    assert_eq!(running.handle.delete_records(1).await, Err(ErrorCode::KafkaStorageError));
    assert_eq!(running.handle.view().log_start, 0);
    assert_eq!(running.read(0).await.unwrap().len(), 1);
}

/// A snapshot from below the log start lacks what was deleted. Its producers would be told that they are out of order for
/// ever; as strangers they go on.
#[tokio::test]
async fn a_snapshot_of_too_little_is_no_snapshot() {
    let running = start(config()).await;
    running.append(sequenced(5, 0, 0)).await.unwrap();
    let (store, log) = (running.store.clone(), running.handle.log());
    let snapshot = actor::replay(&*store, log, None, 0, 1).unwrap().encode();
    running.append(sequenced(5, 0, 1)).await.unwrap();
    let producers = |start| actor::replay(&*store, log, Some((1, snapshot.clone())), start, 2);
    assert_eq!(producers(1).unwrap().active()[0].last_sequence, 1);
    assert!(producers(2).unwrap().is_empty());
}
