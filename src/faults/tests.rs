//! What faults and planted bugs do to a partition. Whole brokers: `broker`.

mod broker;

use super::*;
use crate::{
    config::{Config, topic::LogConfig},
    ids::{LeaderEpoch, LogId, NodeId, Offset, TopicId},
    machine::clock::Clock,
    partition::{
        self, Acks, Append, AppendError, Appended, Assigned, Handle, Inspection, Isolation,
        Pending, SpawnParams, log_options,
    },
    storage::{
        Put, Space, StorageError,
        contract::{self, Bench},
    },
    wire::{Batch, Builder, ErrorCode, batch::batches, records},
};
use plant::UnknownPlant;

const HOUR: Duration = Duration::from_secs(3600);

/// A partition on a store with faults.
struct Running {
    store: Store,
    lease: Arc<dyn LogStore>,
    handle: Handle,
    config: LogConfig,
}

fn unsynced() -> LogConfig {
    Config::default().topic_defaults
}

fn synced() -> LogConfig {
    LogConfig { flush_messages: 1, ..unsynced() }
}

async fn start(config: LogConfig) -> Running {
    let store = Store::new();
    let lease = store.lease();
    let log = lease.create(log_options(&config)).unwrap();
    Running::on(store, lease, log, config).await
}

async fn planted(plant: Plant, one_in: u32) -> Running {
    let running = start(unsynced()).await;
    running.store.plant(plant, one_in, 1);
    running
}

impl Running {
    async fn on(store: Store, lease: Arc<dyn LogStore>, log: LogId, config: LogConfig) -> Running {
        let params = SpawnParams {
            store: lease.clone(),
            log,
            topic_id: TopicId(uuid::Uuid::from_u128(7)),
            topic_name: "t".into(),
            index: 0,
            node: NodeId(1),
            config: config.clone(),
            assigned: Assigned {
                leader_epoch: LeaderEpoch(0),
                leading: true,
                isr: vec![NodeId(1)],
                replicas: vec![NodeId(1)],
            },
            producer_id_check_ms: 600_000,
            clock: Clock::start(),
            inspection: Inspection::default(),
        };
        let (handle, _) = partition::spawn(params).await.unwrap();
        Running { store, lease, handle, config }
    }

    /// The next broker, on whatever is left.
    async fn restart(self) -> Running {
        let Running { store, handle, config, .. } = self;
        let lease = store.lease();
        Running::on(store, lease, handle.log(), config).await
    }

    async fn begin(&self, batch: Batch) -> Pending {
        self.handle.begin_append(Append { batch, acks: Acks::All, timeout_ms: 1000 }).await
    }

    async fn append(&self, batch: Batch) -> Result<Appended, AppendError> {
        self.begin(batch).await.await
    }

    /// Appends one record; its offset, as acknowledged. A retriable error is tried again, as clients do (with time paused).
    async fn send(&self, value: &str) -> Offset {
        loop {
            match self.append(batch(&[value])).await {
                Ok(appended) => return appended.base_offset,
                Err(error) => assert_eq!(error.code, ErrorCode::KafkaStorageError),
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    async fn send_all(&self, values: &[&str]) {
        for value in values {
            self.send(value).await;
        }
    }

    /// What a consumer sees from an offset on, as `OFFSET=VALUE`.
    async fn seen(&self, mut from: Offset) -> String {
        let mut seen = Vec::new();
        loop {
            let read = self.handle.read(from, Isolation::ReadUncommitted, 1 << 20, true, 1 << 20);
            let read = read.await.unwrap();
            for bytes in read.slices {
                let crate::storage::Slice::Bytes(bytes) = bytes else { panic!("no files") };
                for batch in batches(bytes) {
                    let payload = batch.payload();
                    for record in records(&batch.header, &payload).map(Result::unwrap) {
                        let value = String::from_utf8_lossy(record.value.unwrap()).into_owned();
                        seen.push(format!("{}={value}", record.offset));
                    }
                }
            }
            if read.next_offset == from {
                return seen.join(" ");
            }
            from = read.next_offset;
        }
    }
}

fn batch(values: &[&str]) -> Batch {
    let mut builder = Builder::plain();
    for value in values {
        builder.push(1, None, Some(value.as_bytes()));
    }
    builder.build().unwrap()
}

fn sequenced(sequence: i32, value: &str) -> Batch {
    let mut batch = batch(&[value]);
    batch.header.producer_id = 9;
    batch.header.producer_epoch = 0;
    batch.header.base_sequence = sequence;
    Batch::assemble(batch.header, &batch.payload()).unwrap()
}

fn since(clock: Clock) -> Duration {
    Duration::from_millis(clock.now().mono.0)
}

/// With time paused: once everybody has done what there is to do.
async fn is_answered(pending: &mut Pending) -> bool {
    tokio::time::timeout(Duration::from_secs(1), pending).await.is_ok()
}

// Faults of the disk.

/// A store as the contract of storage sees it; slow enough that nothing is done when a call returns.
struct Leased {
    store: Store,
    lease: Arc<dyn LogStore>,
}

impl Bench for Leased {
    fn store(&self) -> &dyn LogStore {
        &*self.lease
    }

    fn restart(&mut self) {
        self.lease.close().unwrap();
        self.lease = self.store.lease();
    }

    fn crash(&mut self, choose: &mut dyn FnMut(usize) -> usize) {
        self.store.restart(choose);
        self.lease = self.store.lease();
    }
}

#[test]
fn a_lease_keeps_the_contract_of_storage_slow_or_not() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let _entered = runtime.enter();
    for slow in [Duration::ZERO, Duration::from_millis(1)] {
        for case in contract::cases::ALL {
            let store = Store::new();
            store.slow(slow);
            let lease = store.lease();
            case(&mut Leased { store, lease });
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_slow_disk_delays_what_is_acknowledged_by_its_writes_and_syncs() {
    for (config, hours) in [(unsynced(), 1), (synced(), 2)] {
        let running = start(config).await;
        running.store.slow(HOUR);
        let clock = Clock::start();
        running.send("a").await;
        assert_eq!(since(clock), hours * HOUR);
        let (first, second) = tokio::join!(running.send("b"), running.send("c"));
        assert_eq!((first, second), (1, 2));
        assert_eq!(since(clock), 2 * hours * HOUR, "neighbours are written together");
    }
}

#[tokio::test(start_paused = true)]
async fn a_slow_sync_covers_what_was_written_when_it_began() {
    let running = start(synced()).await;
    running.store.slow(HOUR);
    let clock = Clock::start();
    let first = running.begin(batch(&["a"])).await;
    tokio::time::sleep(HOUR / 2).await;
    let second = running.begin(batch(&["b"])).await;
    first.await.unwrap();
    // Both are written.
    assert_eq!((since(clock), running.handle.view().high_watermark), (2 * HOUR, 1));
    running.store.restart(&mut |_| 0);
    second.await.unwrap_err();
    running.store.heal();
    assert_eq!(running.restart().await.seen(0).await, "0=a");
}

#[tokio::test(start_paused = true)]
async fn healing_a_slow_disk_hurries_what_is_on_its_way() {
    let running = start(synced()).await;
    running.store.slow(HOUR);
    let clock = Clock::start();
    let mut pending = running.begin(batch(&["a"])).await;
    assert!(!is_answered(&mut pending).await);
    running.store.heal();
    pending.await.unwrap();
    assert!(since(clock) < HOUR);
}

#[tokio::test(start_paused = true)]
async fn a_clean_stop_writes_what_is_on_its_way() {
    let running = start(unsynced()).await;
    running.store.slow(HOUR);
    let mut pending = running.begin(batch(&["a"])).await;
    assert!(!is_answered(&mut pending).await);
    running.lease.close().unwrap();
    running.store.heal();
    assert_eq!(running.restart().await.seen(0).await, "0=a");
}

#[tokio::test(start_paused = true)]
async fn a_crash_keeps_what_is_written_and_refuses_whatever_comes_late() {
    let running = start(unsynced()).await;
    running.send_all(&["a", "b"]).await;
    running.store.slow(HOUR);
    let late = running.begin(batch(&["c"])).await;
    running.store.crash();
    assert_eq!(late.await.unwrap_err().code, ErrorCode::KafkaStorageError);
    running.store.heal();
    let (old, log) = (running.lease.clone(), running.handle.log());
    let put = || vec![Put::Set(Space::Meta, b"k".to_vec(), "v".into())];
    assert_eq!(finish(old.put(put(), true)).await, Err(StorageError::Closed));
    assert_eq!(finish(old.set_log_start(log, 1)).await, Err(StorageError::Closed));
    assert_eq!(old.create(log_options(&unsynced())), Err(StorageError::Closed));
    let late = running.append(batch(&["d"])).await;
    assert_eq!(late.unwrap_err().code, ErrorCode::KafkaStorageError);

    let running = running.restart().await;
    assert_eq!(running.seen(0).await, "0=a 1=b");
    assert_eq!(running.lease.get(Space::Meta, b"k"), Ok(None));
    assert_eq!(running.send("e").await, 2);
    // Also without a crash, the next broker has the disk for itself.
    let old = running.lease.clone();
    let running = running.restart().await;
    assert_eq!(finish(old.put(put(), true)).await, Err(StorageError::Closed));
    assert_eq!(running.seen(0).await, "0=a 1=b 2=e");
}

async fn finish(done: crate::storage::Done) -> Result<(), StorageError> {
    done.await.unwrap_or(Err(StorageError::Closed))
}

#[tokio::test]
async fn a_crash_while_the_disk_is_full_ends_the_old_broker_too() {
    let running = start(unsynced()).await;
    running.store.full(true);
    running.store.crash();
    running.store.full(false);
    let late = running.lease.set_log_start(running.handle.log(), 0);
    assert_eq!(finish(late).await, Err(StorageError::Closed));
}

#[tokio::test]
async fn a_power_cut_loses_some_of_what_is_not_synced_and_nothing_else() {
    let mut left = std::collections::BTreeSet::new();
    for seed in 0..20 {
        let running = start(unsynced()).await;
        running.send_all(&["a", "b"]).await;
        running.lease.sync(running.handle.log());
        running.send_all(&["c", "d"]).await;
        running.store.power_cut(seed);
        left.insert(running.restart().await.seen(0).await);
    }
    let left: Vec<&str> = left.iter().map(String::as_str).collect();
    assert_eq!(left, ["0=a 1=b", "0=a 1=b 2=c", "0=a 1=b 2=c 3=d"]);
}

#[tokio::test]
async fn writing_that_failed_goes_on_with_the_next_broker_only() {
    for all in [false, true] {
        let running = start(unsynced()).await;
        running.send("a").await;
        if all {
            running.store.fail_writes()
        } else {
            running.store.fail_next_write()
        }
        for _ in 0..2 {
            let failed = running.append(batch(&["b"])).await.unwrap_err();
            assert_eq!(failed.code, ErrorCode::KafkaStorageError);
            running.store.heal();
        }
        assert_eq!(running.seen(0).await, "0=a");
        let running = running.restart().await;
        assert_eq!(running.send("c").await, 1);
    }
}

#[tokio::test]
async fn a_failure_that_has_not_happened_yet_is_healed() {
    let running = start(synced()).await;
    running.store.fail_next_write();
    running.store.fail_next_sync();
    running.store.heal();
    running.send_all(&["a", "b"]).await;
}

#[tokio::test]
async fn a_full_disk_stays_full_through_a_restart_until_it_is_healed() {
    let running = start(unsynced()).await;
    running.send("a").await;
    running.store.full(true);
    let running = running.restart().await;
    let full = running.append(batch(&["b"])).await.unwrap_err();
    assert_eq!(full.code, ErrorCode::KafkaStorageError);
    running.store.heal();
    running.send("c").await;
    assert_eq!(running.seen(0).await, "0=a 1=c");
}

// Planted bugs.

#[test]
fn plants_have_names() {
    for plant in Plant::ALL {
        assert_eq!(plant.to_string().parse(), Ok(plant));
        assert!(plant.usual_odds() > 0);
    }
    let unknown: Result<Plant, UnknownPlant> = "weed".parse();
    assert_eq!(unknown.unwrap_err().to_string(), "weed: no such plant");
}

#[tokio::test]
async fn odds_decide_how_often_and_seeds_when() {
    let mut seen = Vec::new();
    for seed in [1, 1, 2] {
        let running = start(unsynced()).await;
        running.store.plant(Plant::DropAcknowledged, 10, seed);
        running.send_all(&["x"; 200]).await;
        let acted = running.store.acted(Plant::DropAcknowledged);
        assert!((5..50).contains(&acted), "{acted} of 200");
        seen.push(running.seen(0).await);
    }
    assert_eq!(seen[0], seen[1]);
    assert_ne!(seen[0], seen[2]);
}

#[tokio::test]
async fn drop_acknowledged() {
    let running = planted(Plant::DropAcknowledged, 1).await;
    assert_eq!(running.append(batch(&["a", "b"])).await.unwrap().last_offset, 1);
    running.store.plant(Plant::DropAcknowledged, u32::MAX, 1);
    assert_eq!(running.send("c").await, 2);
    assert_eq!(running.seen(0).await, "2=c");
    assert_eq!(running.restart().await.seen(0).await, "2=c");
}

#[tokio::test(start_paused = true)]
async fn repeat_batch() {
    let running = planted(Plant::RepeatBatch, 1).await;
    assert_eq!(running.append(batch(&["a", "b"])).await.unwrap().base_offset, 0);
    running.store.plant(Plant::RepeatBatch, u32::MAX, 1);
    assert_eq!(running.send("c").await, 4);
    assert_eq!(running.seen(0).await, "0=a 1=b 2=a 3=b 4=c");
}

#[tokio::test(start_paused = true)]
async fn swap_batches() {
    let running = planted(Plant::SwapBatches, 1).await;
    let first = running.begin(batch(&["a", "b"])).await;
    let second = running.begin(batch(&["c"])).await;
    assert_eq!(first.await.unwrap().base_offset, 0);
    assert_eq!(second.await.unwrap().base_offset, 2);
    assert_eq!(running.seen(0).await, "0=c 1=a 2=b");
    assert_eq!(running.store.acted(Plant::SwapBatches), 1);
}

#[tokio::test(start_paused = true)]
async fn wrong_offset() {
    let running = start(unsynced()).await;
    running.send("a").await;
    running.store.plant(Plant::WrongOffset, 1, 1);
    assert_eq!(running.send("b").await, 1);
    running.store.plant(Plant::WrongOffset, u32::MAX, 1);
    assert_eq!(running.send("c").await, 3);
    assert_eq!(running.seen(0).await, "0=a 2=b 3=c");
}

#[tokio::test(start_paused = true)]
async fn what_is_sent_while_a_log_is_changed_is_refused_and_not_lost() {
    let running = planted(Plant::RepeatBatch, 1).await;
    running.store.slow(Duration::from_millis(5));
    let first = running.begin(batch(&["a"])).await;
    let second = running.begin(batch(&["b"])).await;
    assert_eq!(first.await.unwrap().base_offset, 0);
    assert_eq!(second.await.unwrap_err().code, ErrorCode::KafkaStorageError);
    running.store.plant(Plant::RepeatBatch, u32::MAX, 1);
    assert_eq!(running.send("b").await, 2);
    assert_eq!(running.seen(0).await, "0=a 1=a 2=b");
    assert_eq!(running.store.acted(Plant::RepeatBatch), 1);
}

#[tokio::test(start_paused = true)]
async fn serve_beyond_high_watermark() {
    let running = start(synced()).await;
    running.send("a").await;
    running.store.slow(HOUR);
    let unsynced = running.begin(batch(&["b"])).await;
    tokio::time::sleep(HOUR + Duration::from_secs(1)).await;
    assert_eq!(running.seen(0).await, "0=a");
    running.store.plant(Plant::ServeBeyondHighWatermark, 1, 1);
    assert_eq!(running.seen(0).await, "0=a 1=b");
    assert_eq!(running.store.acted(Plant::ServeBeyondHighWatermark), 1);
    running.store.restart(&mut |_| 0);
    unsynced.await.unwrap_err();
    running.store.heal();
    let running = running.restart().await;
    running.send("c").await;
    assert_eq!(running.seen(0).await, "0=a 1=c");
}

#[tokio::test]
async fn skip_batch() {
    let running = start(unsynced()).await;
    running.send_all(&["a", "b"]).await;
    running.store.plant(Plant::SkipBatch, 1, 1);
    assert_eq!(running.seen(0).await, "1=b");
    assert_eq!(running.seen(1).await, "1=b", "something must follow");
    assert_eq!(running.store.acted(Plant::SkipBatch), 1);
}

#[tokio::test]
async fn stale_read() {
    let running = start(unsynced()).await;
    running.send("a").await;
    running.store.plant(Plant::StaleRead, 1, 1);
    running.send_all(&["b", "c"]).await;
    assert_eq!(running.seen(0).await, "0=a");
    assert_eq!(running.handle.view().high_watermark, 3);
    assert_eq!(running.restart().await.seen(0).await, "0=a 1=b 2=c");
}

#[tokio::test]
async fn torn_ack() {
    let running = start(synced()).await;
    running.send("a").await;
    running.store.plant(Plant::TornAck, 1, 1);
    running.send("b").await;
    running.store.restart(&mut |_| 0);
    assert_eq!(running.restart().await.seen(0).await, "0=a");
}

#[tokio::test]
async fn lose_dedupe() {
    for (lost, seen) in [(false, "0=a 1=b"), (true, "0=a 1=b 2=b")] {
        let running = start(unsynced()).await;
        running.append(sequenced(0, "a")).await.unwrap();
        running.append(sequenced(1, "b")).await.unwrap();
        // A clean stop leaves a snapshot.
        running.handle.stop().await;
        if lost {
            running.store.plant(Plant::LoseDedupe, 1, 1);
        }
        let running = running.restart().await;
        running.append(sequenced(1, "b")).await.unwrap();
        assert_eq!(running.seen(0).await, seen);
        // What is written since is recognised.
        running.append(sequenced(1, "b")).await.unwrap();
        assert_eq!(running.seen(0).await, seen);
    }
}

#[tokio::test]
async fn reorder_at_restart() {
    let running = start(unsynced()).await;
    running.send("a").await;
    running.append(batch(&["b", "c"])).await.unwrap();
    running.send("d").await;
    running.store.plant(Plant::ReorderAtRestart, 1, 1);
    running.store.crash();
    running.store.plant(Plant::ReorderAtRestart, u32::MAX, 1);
    let running = running.restart().await;
    assert_eq!(running.seen(0).await, "0=a 1=d 2=b 3=c");
    assert_eq!(running.send("e").await, 4);
    // It lasts, and so does the epoch that began with the first batch.
    running.store.power_cut(1);
    let running = running.restart().await;
    assert!(running.seen(0).await.starts_with("0=a 1=d 2=b 3=c"));
    assert_eq!(running.handle.epoch_at(0), 0);
}

#[tokio::test]
async fn cut_at_restart() {
    let running = start(unsynced()).await;
    running.send_all(&["a", "b"]).await;
    running.store.plant(Plant::CutAtRestart, 1, 1);
    let running = running.restart().await;
    assert_eq!(running.seen(0).await, "0=a");
    assert_eq!(running.send("c").await, 1);
}
