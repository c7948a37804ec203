//! A store against a plain model, under random changes, restarts and power cuts.

use super::*;
use proptest::prelude::*;

#[derive(Debug, Clone)]
pub enum Step {
    /// Records, and whether the batch is large.
    Append(u8, bool),
    Sync,
    /// Of the log, in 256ths.
    Truncate(u8),
    LogStart(u8),
    RestartAt(u8),
    HighWatermark(u8),
    Epoch,
    Snapshot(u8),
    Restart,
    Crash(u64),
}

fn steps() -> impl Strategy<Value = Vec<(usize, Step)>> {
    let step = prop_oneof![
        12 => (1..5u8, any::<bool>()).prop_map(|(records, large)| Step::Append(records, large)),
        3 => Just(Step::Sync),
        2 => any::<u8>().prop_map(Step::Truncate),
        2 => any::<u8>().prop_map(Step::LogStart),
        1 => any::<u8>().prop_map(Step::RestartAt),
        1 => any::<u8>().prop_map(Step::HighWatermark),
        2 => Just(Step::Epoch),
        1 => any::<u8>().prop_map(Step::Snapshot),
        1 => Just(Step::Restart),
        2 => any::<u64>().prop_map(Step::Crash),
    ];
    proptest::collection::vec((0..2usize, step), 1..40)
}

/// One log as it should be.
struct Model {
    log: LogId,
    positions: watch::Receiver<Positions>,
    start: Offset,
    end: Offset,
    durable: Offset,
    batches: Vec<NewBatch>,
    epochs: Vec<(LeaderEpoch, Offset)>,
    /// Offsets of snapshots; the value is the offset, in text.
    snapshots: Vec<Offset>,
    /// There may be more snapshots: a crash may or may not have lost those never synced.
    more_snapshots: bool,
    clock: i64,
}

impl Model {
    fn new(store: &dyn LogStore) -> Model {
        let log = store.create(OPTIONS).unwrap();
        let positions = open(store, log).positions;
        Model {
            log,
            positions,
            start: 0,
            end: 0,
            durable: 0,
            batches: Vec::new(),
            epochs: Vec::new(),
            snapshots: Vec::new(),
            more_snapshots: false,
            clock: 0,
        }
    }

    fn part(&self, of_256: u8) -> Offset {
        self.start + (self.end - self.start) * i64::from(of_256) / 255
    }

    fn step(&mut self, store: &dyn LogStore, step: &Step) {
        match *step {
            Step::Append(records, large) => {
                self.clock += 1;
                // Not monotonic, so that time look-ups have something to find.
                let time = self.clock * 7919 % 100;
                let payload = if large { 5_000 } else { 20 };
                let batch = batch(self.end, records.into(), time, payload);
                self.end += i64::from(records);
                store.append(self.log, batch.clone());
                self.batches.push(batch);
                reach(&mut self.positions, |now| now.written == self.end);
            }
            Step::Sync => {
                store.sync(self.log);
                reach(&mut self.positions, |now| now.durable == self.end);
                self.durable = self.end;
            }
            Step::Truncate(part) => {
                let to = self.part(part);
                finish(store.truncate(self.log, to)).unwrap();
                self.cut(to);
            }
            Step::LogStart(part) => {
                let start = self.part(part);
                finish(store.set_log_start(self.log, start)).unwrap();
                self.raise(start);
            }
            Step::RestartAt(more) => {
                let start = self.end + i64::from(more);
                finish(store.restart_at(self.log, start)).unwrap();
                self.batches.clear();
                self.epochs.clear();
                self.snapshots.clear();
                (self.start, self.end, self.durable) = (start, start, start);
            }
            Step::HighWatermark(part) => store.set_high_watermark(self.log, self.part(part)),
            Step::Epoch => {
                let epoch = LeaderEpoch(self.epochs.last().map_or(0, |(epoch, _)| epoch.0 + 1));
                finish(store.set_epoch_start(self.log, epoch, self.end)).unwrap();
                self.epochs.retain(|(_, start)| *start < self.end);
                self.epochs.push((epoch, self.end));
            }
            Step::Snapshot(part) => {
                let offset = self.part(part);
                let bytes = Bytes::from(offset.to_string());
                finish(store.put_snapshot(self.log, offset, bytes)).unwrap();
                self.snapshots.retain(|known| *known != offset);
                self.snapshots.push(offset);
                self.snapshots.sort_unstable();
                if self.snapshots.len() > 2 {
                    self.snapshots.remove(0);
                }
            }
            Step::Restart | Step::Crash(_) => unreachable!("they concern the whole store"),
        }
    }

    fn cut(&mut self, to: Offset) {
        let kept = self.batches.iter().take_while(|batch| batch.summary.last_offset < to).count();
        let removed = self.batches.drain(kept..).next();
        let end = removed.map_or(to, |batch| batch.summary.base_offset.min(to));
        self.end = self.end.min(end.max(self.start));
        self.durable = self.durable.min(self.end);
        self.epochs.retain(|(_, start)| *start < self.end);
        self.snapshots.retain(|offset| *offset <= self.end);
    }

    fn raise(&mut self, start: Offset) {
        self.start = self.start.max(start);
        self.durable = self.durable.max(self.start);
        self.batches.retain(|batch| batch.summary.last_offset >= self.start);
        let below = self.epochs.iter().filter(|(_, first)| *first <= self.start).count();
        self.epochs.drain(..below.saturating_sub(1));
        if let Some(oldest) = self.epochs.first_mut() {
            oldest.1 = oldest.1.max(self.start);
        }
    }

    /// Opens the log again. After a crash any end between the durable and the written one is right, and then everything else
    /// follows from it.
    fn reopen(&mut self, store: &dyn LogStore, crashed: bool) {
        let opened = open(store, self.log);
        if crashed {
            let end = opened.log_end;
            assert!(self.durable <= end && end <= self.end, "{} {end} {}", self.durable, self.end);
            assert!(
                end == self.end
                    || end == self.start
                    || self.batches.iter().any(|b| b.summary.base_offset == end),
                "the cut is between batches"
            );
            self.cut(end);
            self.durable = self.end;
            self.snapshots = opened.snapshot.iter().map(|(offset, _)| *offset).collect();
            self.more_snapshots = true;
        } else {
            self.durable = self.end;
            self.cut(self.end);
            let found = opened.snapshot.as_ref().map(|(offset, _)| *offset);
            let newest = self.snapshots.last().copied();
            assert!(
                found == newest || self.more_snapshots && found > newest,
                "{found:?} {newest:?}"
            );
        }
        if let Some((offset, bytes)) = &opened.snapshot {
            assert!(*offset <= opened.log_end);
            assert_eq!(bytes, &offset.to_string());
        }
        assert_eq!((opened.log_start, opened.log_end), (self.start, self.end));
        assert_eq!(opened.epochs, self.epochs);
        assert!((self.start..=self.end).contains(&opened.high_watermark));
        assert!(opened.damaged.is_empty());
        self.positions = opened.positions;
        let now = self.positions.borrow().clone();
        let sound = Positions { written: self.end, durable: self.end, failed: None, refused: 0 };
        assert_eq!(now, sound);
    }

    fn check(&self, store: &dyn LogStore) {
        let read = store.read(self.log, all(self.end, self.start)).unwrap();
        let expected: Vec<u8> = self.batches.iter().flat_map(whole).collect();
        assert!(bytes_of(&read.slices) == expected, "the bytes differ");
        let summaries = store.summaries(self.log, self.start, self.end, usize::MAX).unwrap();
        let expected: Vec<Summary> = self.batches.iter().map(|batch| batch.summary).collect();
        assert_eq!(summaries, expected);
        let found = store.first_at_or_after(self.log, 50, self.start, self.end).unwrap();
        assert_eq!(found, expected.iter().find(|batch| batch.max_timestamp >= 50).copied());
        let largest = store.with_max_timestamp(self.log, self.start, self.end).unwrap();
        let best = expected.iter().rev().max_by_key(|batch| batch.max_timestamp).copied();
        assert_eq!(largest, best);
        for (batch, from) in self.batches.iter().zip(0..).step_by(3) {
            assert!(store.batch(self.log, batch.summary.base_offset).unwrap() == whole(batch));
            let read = store.read(self.log, all(self.end, batch.summary.last_offset)).unwrap();
            let expected: Vec<u8> = self.batches[from..].iter().flat_map(whole).collect();
            if batch.summary.last_offset >= self.start {
                assert!(bytes_of(&read.slices) == expected, "the bytes differ from {from} on");
            }
        }
    }
}

pub fn run(bench: &mut dyn Bench, steps: &[(usize, Step)]) {
    let mut logs = [Model::new(bench.store()), Model::new(bench.store())];
    for (which, step) in steps {
        match step {
            Step::Restart => bench.restart(),
            Step::Crash(seed) => {
                let mut seed = *seed;
                bench.crash(&mut |n| {
                    // SplitMix64's step; enough to spread one seed over all choices.
                    seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
                    let mixed = (seed ^ (seed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                    (mixed >> 33) as usize % (n + 1)
                });
            }
            step => logs[*which].step(bench.store(), step),
        }
        for model in &mut logs {
            if matches!(step, Step::Restart | Step::Crash(_)) {
                model.reopen(bench.store(), matches!(step, Step::Crash(_)));
            }
            model.check(bench.store());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn memory_behaves_like_the_model(steps in steps()) {
        run(&mut InMemory::new(), &steps);
    }
}

#[cfg(feature = "rocksdb")]
proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn disk_behaves_like_the_model(steps in steps()) {
        run(&mut on_disk::OnDisk::new(), &steps);
    }
}
