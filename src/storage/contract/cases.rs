//! One test per rule, over every store.

use super::*;
use crate::storage::{OpenLog, Put, Space};
use std::ops::Range;

/// Runs a case over every store.
macro_rules! over_all {
    ($($case:ident),* $(,)?) => {
        mod mem { $(#[test] fn $case() { super::$case(&mut super::InMemory::new()); })* }
        #[cfg(feature = "rocksdb")]
        mod rocks { $(#[test] fn $case() { super::$case(&mut super::on_disk::OnDisk::new()); })* }
        /// For stores that are not storage's own.
        pub const ALL: &[fn(&mut dyn Bench)] = &[$($case),*];
    };
}

over_all!(
    reads_whole_batches_in_order,
    respects_the_limits_of_a_read,
    answers_offsets_out_of_range,
    truncates_to_whole_batches,
    raises_the_log_start,
    restarts_empty_elsewhere,
    keeps_epochs_snapshots_and_high_watermark,
    finds_batches_by_time,
    rolls_and_drops_logical_segments,
    deletes_logs_for_good,
    keeps_small_values,
    survives_a_restart,
    refuses_after_close,
);

/// A log with batches of 10 records: small, large, small, large...
fn filled(bench: &dyn Bench, batches: i64) -> (LogId, OpenLog, Vec<NewBatch>) {
    let store = bench.store();
    let log = store.create(OPTIONS).unwrap();
    let mut opened = open(store, log);
    let made: Vec<NewBatch> = (0..batches)
        .map(|n| batch(n * 10, 10, 1000 + n, if n % 2 == 0 { 100 } else { 9_000 }))
        .collect();
    made.iter().for_each(|batch| store.append(log, batch.clone()));
    reach(&mut opened.positions, |now| now.written == batches * 10);
    (log, opened, made)
}

fn concat(batches: &[NewBatch]) -> Vec<u8> {
    batches.iter().flat_map(whole).collect()
}

fn reads_whole_batches_in_order(bench: &mut dyn Bench) {
    let (log, _, made) = filled(bench, 8);
    let store = bench.store();
    let read = store.read(log, all(80, 0)).unwrap();
    assert_eq!((read.next_offset, bytes_of(&read.slices)), (80, concat(&made)));
    let read = store.read(log, all(80, 35)).unwrap();
    assert_eq!((read.next_offset, bytes_of(&read.slices)), (80, concat(&made[3..])));
    let read = store.read(log, all(45, 35)).unwrap();
    assert_eq!((read.next_offset, bytes_of(&read.slices)), (50, concat(&made[3..5])));
    assert_eq!(store.batch(log, 30).unwrap(), whole(&made[3]));
    assert_eq!(store.batch(log, 20).unwrap(), whole(&made[2]));
    assert_eq!(store.batch(log, 31), Err(StorageError::OutOfRange(31)));
    let summaries = store.summaries(log, 25, 60, 3).unwrap();
    assert_eq!(summaries, made[2..5].iter().map(|batch| batch.summary).collect::<Vec<_>>());
    if let Some(cached) = store.read_cached(log, all(80, 70)) {
        assert_eq!(bytes_of(&cached.unwrap().slices), concat(&made[7..]));
    }
}

fn respects_the_limits_of_a_read(bench: &mut dyn Bench) {
    let (log, _, made) = filled(bench, 4);
    let store = bench.store();
    let read = |max_bytes, at_least_one, memory_max| {
        let request = ReadRequest { from: 0, end: 40, max_bytes, at_least_one, memory_max };
        let read = store.read(log, request).unwrap();
        assert_eq!(read.bytes, bytes_of(&read.slices).len());
        (read.bytes, read.next_offset)
    };
    let first = made[0].summary.size as usize;
    let second = made[1].summary.size as usize;
    assert_eq!(read(0, true, 0), (first, 10));
    assert_eq!(read(0, false, 0), (0, 0));
    assert_eq!(read(first, false, 1 << 20), (first, 10));
    assert_eq!(read(first + second - 1, false, 1 << 20), (first, 10));
    assert_eq!(read(first + second, false, 1 << 20), (first + second, 20));
}

fn answers_offsets_out_of_range(bench: &mut dyn Bench) {
    let (log, _, _) = filled(bench, 2);
    let store = bench.store();
    let read = store.read(log, all(20, 20)).unwrap();
    assert_eq!((read.bytes, read.next_offset), (0, 20));
    assert_eq!(store.read(log, all(20, 21)).unwrap_err(), StorageError::OutOfRange(21));
    finish(store.set_log_start(log, 10)).unwrap();
    assert_eq!(store.read(log, all(20, 9)).unwrap_err(), StorageError::OutOfRange(9));
    assert_eq!(finish(store.set_log_start(log, 21)), Err(StorageError::OutOfRange(21)));
    let missing = LogId(999);
    assert_eq!(store.read(missing, all(20, 0)).unwrap_err(), StorageError::NoSuchLog(missing));
    assert_eq!(finish(store.truncate(missing, 0)), Err(StorageError::NoSuchLog(missing)));
}

fn truncates_to_whole_batches(bench: &mut dyn Bench) {
    let (log, mut opened, made) = filled(bench, 6);
    let store = bench.store();
    finish(store.truncate(log, 45)).unwrap();
    let now = reach(&mut opened.positions, |now| now.written == 40);
    assert!(now.durable <= 40);
    assert_eq!(bytes_of(&store.read(log, all(60, 0)).unwrap().slices), concat(&made[..4]));
    assert_eq!(store.size(log), concat(&made[..4]).len() as u64);
    let again = [batch(40, 3, 1, 9_000), batch(43, 1, 1, 9_000)];
    again.iter().for_each(|batch| store.append(log, batch.clone()));
    reach(&mut opened.positions, |now| now.written == 44);
    store.sync(log);
    reach(&mut opened.positions, |now| now.durable == 44);
    bench.restart();
    let store = bench.store();
    assert_eq!(open(store, log).log_end, 44);
    assert_eq!(bytes_of(&store.read(log, all(60, 40)).unwrap().slices), concat(&again));
}

fn raises_the_log_start(bench: &mut dyn Bench) {
    let (log, _, made) = filled(bench, 6);
    finish(bench.store().set_log_start(log, 25)).unwrap();
    let read = bench.store().read(log, all(60, 25)).unwrap();
    assert_eq!(bytes_of(&read.slices), concat(&made[2..]));
    finish(bench.store().set_log_start(log, 5)).unwrap();
    bench.restart();
    let opened = open(bench.store(), log);
    assert_eq!((opened.log_start, opened.log_end, opened.high_watermark), (25, 60, 25));
    let read = bench.store().read(log, all(60, 25)).unwrap();
    assert_eq!(bytes_of(&read.slices), concat(&made[2..]));
}

fn restarts_empty_elsewhere(bench: &mut dyn Bench) {
    let (log, mut opened, _) = filled(bench, 6);
    finish(bench.store().set_epoch_start(log, LeaderEpoch(1), 10)).unwrap();
    finish(bench.store().restart_at(log, 1_000)).unwrap();
    let now = reach(&mut opened.positions, |now| now.written == 1_000);
    assert_eq!(now.durable, 1_000);
    let next = batch(1_000, 5, 1, 6_000);
    bench.store().append(log, next.clone());
    reach(&mut opened.positions, |now| now.written == 1_005);
    bench.restart();
    let opened = open(bench.store(), log);
    assert_eq!((opened.log_start, opened.log_end), (1_000, 1_005));
    assert!(opened.epochs.is_empty());
    assert_eq!(bench.store().size(log), u64::from(next.summary.size));
    let read = bench.store().read(log, all(1_005, 1_000)).unwrap();
    assert_eq!(bytes_of(&read.slices), whole(&next));
    finish(bench.store().restart_at(log, 7)).unwrap();
    bench.restart();
    let opened = open(bench.store(), log);
    assert_eq!((opened.log_start, opened.log_end), (7, 7));
}

fn keeps_epochs_snapshots_and_high_watermark(bench: &mut dyn Bench) {
    let (log, _, _) = filled(bench, 6);
    let store = bench.store();
    for (epoch, start) in [(0, 0), (3, 20), (4, 40)] {
        finish(store.set_epoch_start(log, LeaderEpoch(epoch), start)).unwrap();
    }
    for offset in [10, 30, 50] {
        finish(store.put_snapshot(log, offset, Bytes::from(offset.to_string()))).unwrap();
    }
    store.set_high_watermark(log, 55);
    bench.restart();
    let opened = open(bench.store(), log);
    assert_eq!(opened.high_watermark, 55);
    let epochs = vec![(LeaderEpoch(0), 0), (LeaderEpoch(3), 20), (LeaderEpoch(4), 40)];
    assert_eq!(opened.epochs, epochs);
    assert_eq!(opened.snapshot, Some((50, Bytes::from("50"))));
    finish(bench.store().truncate(log, 40)).unwrap();
    bench.restart();
    let opened = open(bench.store(), log);
    assert_eq!(opened.high_watermark, 40);
    assert_eq!(opened.epochs, epochs[..2]);
    assert_eq!(opened.snapshot, Some((30, Bytes::from("30"))));
    finish(bench.store().set_log_start(log, 30)).unwrap();
    bench.restart();
    assert_eq!(open(bench.store(), log).epochs, [(LeaderEpoch(3), 30)]);
}

fn finds_batches_by_time(bench: &mut dyn Bench) {
    let store = bench.store();
    let log = store.create(OPTIONS).unwrap();
    let mut opened = open(store, log);
    let times = [5, 3, 9, 9, -1, 7];
    for (n, time) in times.iter().enumerate() {
        store.append(log, batch(n as i64 * 10, 10, *time, 50));
    }
    reach(&mut opened.positions, |now| now.written == 60);
    for round in 0..2 {
        let store = bench.store();
        let first = |time, from, end| {
            let found = store.first_at_or_after(log, time, from, end).unwrap();
            found.map(|batch| batch.base_offset)
        };
        assert_eq!(first(0, 0, 60), Some(0), "round {round}");
        assert_eq!(first(6, 0, 60), Some(20));
        assert_eq!(first(4, 10, 60), Some(20));
        assert_eq!(first(6, 40, 60), Some(50));
        assert_eq!(first(6, 0, 20), None);
        assert_eq!(first(10, 0, 60), None);
        let largest = |from, end| {
            let found = store.with_max_timestamp(log, from, end).unwrap();
            found.map(|batch| batch.base_offset)
        };
        assert_eq!(largest(0, 60), Some(20));
        assert_eq!(largest(0, 20), Some(0));
        assert_eq!(largest(40, 60), Some(50));
        assert_eq!(largest(40, 50), None);
        bench.restart();
        open(bench.store(), log);
    }
}

fn rolls_and_drops_logical_segments(bench: &mut dyn Bench) {
    let options = LogOptions { segment_bytes: 400, segment_ms: 1_000, ..OPTIONS };
    let store = bench.store();
    let log = store.create(options.clone()).unwrap();
    let mut opened = store.open(log, options.clone()).unwrap();
    // Two batches of 161 bytes a segment, but the third is too late for its segment.
    for (n, time) in [1, 2, 3, 2_000, 2_001].into_iter().enumerate() {
        store.append(log, batch(n as i64, 1, time, 100));
    }
    reach(&mut opened.positions, |now| now.written == 5);
    assert_eq!(store.size(log), 5 * 161);
    finish(store.set_log_start(log, 1)).unwrap();
    assert_eq!(store.size(log), 5 * 161, "the first segment still has a batch");
    finish(store.set_log_start(log, 2)).unwrap();
    assert_eq!(store.size(log), 3 * 161);
    finish(store.set_log_start(log, 3)).unwrap();
    assert_eq!(store.size(log), 2 * 161);
    bench.restart();
    let store = bench.store();
    store.open(log, options).unwrap();
    assert_eq!(store.size(log), 2 * 161);
    finish(store.set_log_start(log, 5)).unwrap();
    assert_eq!(store.size(log), 0);
}

fn deletes_logs_for_good(bench: &mut dyn Bench) {
    let (log, _, _) = filled(bench, 2);
    let store = bench.store();
    let open_range = store.read(log, all(20, 0)).unwrap();
    finish(store.delete(log)).unwrap();
    assert!(!bytes_of(&open_range.slices).is_empty());
    assert_eq!(store.logs().unwrap(), []);
    assert_eq!(finish(store.delete(log)), Err(StorageError::NoSuchLog(log)));
    bench.restart();
    let store = bench.store();
    assert_eq!(store.open(log, OPTIONS).unwrap_err(), StorageError::NoSuchLog(log));
    let next = store.create(OPTIONS).unwrap();
    assert_ne!(next, log);
    assert_eq!(open(store, next).log_end, 0);
}

fn keeps_small_values(bench: &mut dyn Bench) {
    let set = |space, key: &str, value: &'static str| {
        Put::Set(space, key.as_bytes().to_vec(), Bytes::from_static(value.as_bytes()))
    };
    let changes = vec![
        set(Space::Meta, "a", "1"),
        set(Space::Meta, "b", "2"),
        set(Space::Meta, "c", "3"),
        set(Space::Meta, "d", "4"),
        set(Space::RaftLog, "a", "other"),
    ];
    finish(bench.store().put(changes, true)).unwrap();
    let changes = vec![
        Put::DeleteRange(Space::Meta, b"b".to_vec()..b"d".to_vec()),
        Put::Delete(Space::Meta, b"a".to_vec()),
        set(Space::Meta, "c", "5"),
    ];
    finish(bench.store().put(changes, false)).unwrap();
    for _ in 0..2 {
        let store = bench.store();
        assert_eq!(store.get(Space::Meta, b"a").unwrap(), None);
        assert_eq!(store.get(Space::RaftLog, b"a").unwrap(), Some(Bytes::from("other")));
        let scan = |keys: Range<&str>, max| {
            let keys = keys.start.as_bytes().to_vec()..keys.end.as_bytes().to_vec();
            let found = store.scan(Space::Meta, keys, max).unwrap();
            found.iter().map(|(key, value)| format!("{key:?}={value:?}")).collect::<Vec<_>>()
        };
        assert_eq!(scan("a".."z", 9), [r#"b"c"=b"5""#, r#"b"d"=b"4""#]);
        assert_eq!(scan("a".."d", 9), [r#"b"c"=b"5""#]);
        assert_eq!(scan("a".."z", 1), [r#"b"c"=b"5""#]);
        assert!(scan("z".."a", 9).is_empty());
        bench.restart();
    }
}

fn survives_a_restart(bench: &mut dyn Bench) {
    let (log, _, made) = filled(bench, 8);
    for _ in 0..2 {
        bench.restart();
        let opened = open(bench.store(), log);
        assert_eq!((opened.log_start, opened.log_end), (0, 80));
        let now = opened.positions.borrow().clone();
        assert_eq!(now, Positions { written: 80, durable: 80, failed: None, refused: 0 });
        let read = bench.store().read(log, all(80, 0)).unwrap();
        assert_eq!(bytes_of(&read.slices), concat(&made));
        assert_eq!(bench.store().size(log), concat(&made).len() as u64);
        assert_eq!(bench.store().logs().unwrap(), [log]);
    }
}

fn refuses_after_close(bench: &mut dyn Bench) {
    let (log, opened, _) = filled(bench, 2);
    let store = bench.store();
    store.close().unwrap();
    store.append(log, batch(20, 1, 1, 10));
    assert_eq!(finish(store.truncate(log, 0)), Err(StorageError::Closed));
    assert_eq!(finish(store.put(Vec::new(), true)), Err(StorageError::Closed));
    assert_eq!(store.create(OPTIONS), Err(StorageError::Closed));
    assert_eq!(opened.positions.borrow().failed, Some(StorageError::Closed));
}
