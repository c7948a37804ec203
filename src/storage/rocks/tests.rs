//! The store on disk: what only it can get wrong. Each test of damage says what survives.

use super::directory::LastStop;
use super::io::Call;
use super::{OpenError, Rocks, RocksOptions};
use crate::ids::{LogId, NodeId, Offset};
use crate::storage::contract::on_disk::{OnDisk, copy_all, options};
use crate::storage::contract::{Bench, OPTIONS, all, batch, bytes_of, finish, open, reach, whole};
use crate::storage::{LogOptions, LogStore, NewBatch, OpenLog, Slice, StorageError};
use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A log with batches of 10 records, each of so many bytes beside its header, all durable.
fn filled(store: &dyn LogStore, payloads: &[usize]) -> (LogId, OpenLog, Vec<NewBatch>) {
    let log = store.create(OPTIONS).unwrap();
    let mut opened = open(store, log);
    let made: Vec<NewBatch> =
        (0..).zip(payloads).map(|(n, len)| batch(n * 10, 10, n, *len)).collect();
    made.iter().for_each(|batch| store.append(log, batch.clone()));
    store.sync(log);
    let end = made.len() as Offset * 10;
    reach(&mut opened.positions, |now| now.durable == end);
    (log, opened, made)
}

/// What kill -9 leaves: a copy made while the store runs.
fn killed(bench: &OnDisk) -> TempDir {
    let copy = tempfile::tempdir().unwrap();
    copy_all(bench.path(), copy.path());
    copy
}

fn power_cut(bench: &OnDisk) -> TempDir {
    let copy = killed(bench);
    fs::write(copy.path().join("boot"), "an earlier start").unwrap();
    copy
}

fn flip(file: &Path, at: u64) {
    let open = OpenOptions::new().read(true).write(true).open(file).unwrap();
    let mut byte = [0];
    open.read_exact_at(&mut byte, at).unwrap();
    open.write_all_at(&[byte[0] ^ 0x40], at).unwrap();
}

fn files(directory: &Path, which: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let mut found: Vec<PathBuf> = entries
        .filter(|path| which(path.file_name().unwrap().to_str().unwrap()))
        .filter(|path| path.is_file() && fs::metadata(path).unwrap().len() > 0)
        .collect();
    found.sort();
    found
}

fn segments(dir: &Path, log: LogId) -> Vec<PathBuf> {
    files(&dir.join("segments").join(log.to_string()), |_| true)
}

fn read(store: &dyn LogStore, log: LogId, from: Offset, end: Offset) -> Vec<u8> {
    bytes_of(&store.read(log, all(end, from)).unwrap().slices)
}

fn concat(batches: &[NewBatch]) -> Vec<u8> {
    batches.iter().flat_map(whole).collect()
}

#[test]
fn kill_9_keeps_what_was_written_synced_or_not() {
    let bench = OnDisk::new();
    let (log, mut opened, mut made) = filled(bench.rocks(), &[100, 9_000]);
    made.extend([batch(20, 10, 1, 100), batch(30, 10, 1, 9_000)]);
    made[2..].iter().for_each(|batch| bench.rocks().append(log, batch.clone()));
    reach(&mut opened.positions, |now| now.written == 40);
    let left = killed(&bench);
    let again = Rocks::open(options(left.path())).unwrap();
    assert_eq!(again.shared.dir.last_stop, LastStop::ProcessDied);
    assert_eq!(open(&again, log).log_end, 40);
    assert_eq!(read(&again, log, 0, 40), concat(&made));
    let next = again.create(OPTIONS).unwrap();
    assert!(next > log);
    drop(again);
    let again = Rocks::open(options(left.path())).unwrap();
    assert!(again.create(OPTIONS).unwrap() > next, "a log id is never given out twice");
}

#[test]
fn a_torn_tail_is_cut_and_everything_before_it_stays() {
    let bench = OnDisk::new();
    let (log, mut opened, made) = filled(bench.rocks(), &[100, 9_000, 9_000]);
    bench.rocks().append(log, batch(30, 10, 1, 9_000));
    bench.rocks().append(log, batch(40, 10, 1, 100));
    finish(bench.rocks().set_epoch_start(log, crate::ids::LeaderEpoch(7), 40)).unwrap();
    reach(&mut opened.positions, |now| now.written == 50);
    let left = power_cut(&bench);
    let file = segments(left.path(), log).pop().unwrap();
    let len = fs::metadata(&file).unwrap().len();
    OpenOptions::new().write(true).open(&file).unwrap().set_len(len - 1).unwrap();
    let again = Rocks::open(options(left.path())).unwrap();
    let opened = open(&again, log);
    // The entry behind the torn batch was whole; it goes too, and the epoch that began with it.
    assert_eq!((opened.log_end, opened.epochs.len()), (30, 0));
    assert_eq!(read(&again, log, 0, 30), concat(&made));
    assert_eq!(again.size(log), concat(&made).len() as u64);
    assert_eq!(fs::metadata(&file).unwrap().len(), 2 * 9_061);
}

#[test]
fn a_lost_head_segment_below_the_durable_log_start_is_not_missed() {
    let small = LogOptions { segment_bytes: 20_000, ..OPTIONS };
    let bench = OnDisk::new();
    let log = bench.rocks().create(small.clone()).unwrap();
    let mut opened = bench.rocks().open(log, small.clone()).unwrap();
    let made: Vec<NewBatch> = (0..6).map(|n| batch(n * 10, 10, 1, 9_000)).collect();
    made.iter().for_each(|batch| bench.rocks().append(log, batch.clone()));
    reach(&mut opened.positions, |now| now.written == 60);
    let before = power_cut(&bench);
    finish(bench.rocks().set_log_start(log, 20)).unwrap();
    assert_eq!(segments(bench.path(), log).len(), 2);
    // The new log start is durable before the file goes: only the reverse would lose anything.
    let left = power_cut(&bench);
    let again = Rocks::open(options(left.path())).unwrap();
    let opened = again.open(log, small.clone()).unwrap();
    assert_eq!((opened.log_start, opened.log_end, opened.damaged.len()), (20, 60, 0));
    assert_eq!(read(&again, log, 20, 60), concat(&made[2..]));
    // Had the file gone first, everything else would still be there, and the loss be named.
    drop(again);
    drop(bench);
    let again = Rocks::open(options(before.path())).unwrap();
    again.open(log, small.clone()).unwrap();
    again.close().unwrap();
    drop(again);
    fs::remove_file(&segments(before.path(), log)[0]).unwrap();
    fs::remove_file(before.path().join("clean")).unwrap();
    let again = Rocks::open(options(before.path())).unwrap();
    assert_eq!(again.open(log, small.clone()).unwrap().log_end, 60, "never cut below the point");
    let error = again.read(log, all(60, 5)).unwrap_err();
    assert_eq!(error, StorageError::Damaged { log, offset: 0 });
    assert_eq!(
        again.read(log, all(60, 15)).unwrap_err(),
        StorageError::Damaged { log, offset: 15 },
        "the whole file is marked"
    );
    assert_eq!(read(&again, log, 20, 60), concat(&made[2..]));
    drop(again);
    let again = Rocks::open(options(before.path())).unwrap();
    assert_eq!(again.open(log, small).unwrap().damaged, vec![0..20; 1], "and stays marked");
}

#[test]
fn a_flipped_byte_in_an_old_segment_costs_that_batch_only() {
    let mut bench = OnDisk::new();
    let (log, _, made) = filled(bench.rocks(), &[9_000, 9_000, 9_000]);
    bench.restart();
    let left = power_cut(&bench);
    let file = segments(left.path(), log).pop().unwrap();
    // In a payload: served as it is, its checksum tells the consumer.
    flip(&file, 5_000);
    // In a header: found before anything is served.
    flip(&file, 9_061 + 3);
    let again = Rocks::open(options(left.path())).unwrap();
    assert_eq!(open(&again, log).log_end, 30, "nothing is cut below the recovery point");
    let first = again.read(log, all(30, 0)).unwrap();
    assert_eq!((first.next_offset, bytes_of(&first.slices).len()), (10, 9_061));
    assert_ne!(bytes_of(&first.slices), whole(&made[0]));
    let damaged = StorageError::Damaged { log, offset: 10 };
    assert_eq!(again.read(log, all(30, 10)).unwrap_err(), damaged);
    assert_eq!(again.batch(log, 10).unwrap_err(), damaged);
    assert_eq!(read(&again, log, 20, 30), whole(&made[2]));
    again.close().unwrap();
    drop(again);
    let again = Rocks::open(options(left.path())).unwrap();
    assert_eq!(open(&again, log).damaged, vec![10..20; 1]);
}

#[test]
fn a_flipped_byte_in_the_wal_stops_the_node_unless_the_loss_is_accepted() {
    let bench = OnDisk::new();
    let (log, _, made) = filled(bench.rocks(), &[100]);
    let len = fs::metadata(&files(&bench.path().join("db"), |name| name.ends_with(".log"))[0]);
    let mut opened = bench.rocks().shared.log(log).unwrap().positions.subscribe();
    bench.rocks().append(log, batch(10, 10, 1, 100));
    bench.rocks().sync(log);
    reach(&mut opened, |now| now.durable == 20);
    let left = power_cut(&bench);
    let wal = files(&left.path().join("db"), |name| name.ends_with(".log")).pop().unwrap();
    flip(&wal, len.unwrap().len() + 30);
    for _ in 0..2 {
        let error = Rocks::open(options(left.path())).err().unwrap();
        assert!(matches!(&error, OpenError::Damaged { .. }), "{error}");
    }
    let again = Rocks::open(accepting(left.path())).unwrap();
    assert_eq!(open(&again, log).log_end, 10);
    assert_eq!(read(&again, log, 0, 10), concat(&made));
    drop(again);
    Rocks::open(options(left.path())).expect("once accepted it is the new truth");
}

#[test]
fn damage_in_an_older_wal_stops_the_node_unless_the_loss_is_accepted() {
    let bench = OnDisk::new();
    let (log, mut opened, _) = filled(bench.rocks(), &[100]);
    // The families are not flushed together: what one has in a table the other still has in the older log.
    bench.rocks().shared.db.flush(super::Family::State);
    bench.rocks().append(log, batch(10, 10, 1, 100));
    bench.rocks().sync(log);
    reach(&mut opened.positions, |now| now.durable == 20);
    let left = power_cut(&bench);
    let wal = files(&left.path().join("db"), |name| name.ends_with(".log")).swap_remove(0);
    flip(&wal, 30);
    let error = Rocks::open(options(left.path())).err().unwrap();
    assert!(matches!(&error, OpenError::Damaged { .. }), "{error}");
    let again = Rocks::open(accepting(left.path())).unwrap();
    assert_eq!(again.logs().unwrap(), [log]);
    let end = open(&again, log).log_end;
    assert!(end <= 20);
    again.append(log, batch(end, 10, 1, 100));
}

#[test]
fn a_flipped_byte_in_an_sst_costs_its_block_only() {
    let mut bench = OnDisk::new();
    let payloads = vec![3_900; 40];
    let (log, _, made) = filled(bench.rocks(), &payloads);
    let (other, _, others) = filled(bench.rocks(), &[100]);
    // Recovery writes what the write-ahead log had into SST files.
    bench.restart();
    let left = power_cut(&bench);
    let found = files(&left.path().join("db"), |name| name.ends_with(".sst"));
    let sst = found.iter().max_by_key(|path| fs::metadata(path).unwrap().len()).unwrap();
    flip(sst, fs::metadata(sst).unwrap().len() / 2);
    let again = Rocks::open(options(left.path())).unwrap();
    assert_eq!(open(&again, log).log_end, 400);
    let mut lost = 0;
    for batch in &made {
        match again.batch(log, batch.summary.base_offset) {
            Ok(bytes) => assert_eq!(bytes, whole(batch)),
            Err(StorageError::Io(_)) => lost += 1,
            Err(error) => panic!("{error}"),
        }
    }
    assert!((1..10).contains(&lost), "{lost} of {}", made.len());
    open(&again, other);
    assert_eq!(read(&again, other, 0, 10), concat(&others));
}

fn manifest(dir: &Path) -> PathBuf {
    files(&dir.join("db"), |name| name.starts_with("MANIFEST")).pop().unwrap()
}

/// A power cut, and a database that does not open any more.
fn without_manifest(bench: &OnDisk) -> TempDir {
    let left = power_cut(bench);
    let manifest = manifest(left.path());
    flip(&manifest, fs::metadata(&manifest).unwrap().len() / 2);
    let error = Rocks::open(options(left.path())).err().unwrap();
    assert!(matches!(&error, OpenError::Damaged { .. }), "{error}");
    assert!(error.to_string().contains("is damaged"), "{error}");
    assert!(error.to_string().ends_with(super::ACCEPT), "{error}");
    left
}

fn accepting(dir: &Path) -> RocksOptions {
    RocksOptions { accept_data_loss: true, ..options(dir) }
}

#[test]
fn without_its_manifest_a_database_is_repaired_when_the_loss_is_accepted() {
    let mut bench = OnDisk::new();
    let (log, _, mut made) = filled(bench.rocks(), &[100, 9_000, 9_000, 100]);
    bench.restart();
    let mut opened = open(bench.rocks(), log);
    made.push(batch(40, 10, 1, 100));
    bench.rocks().append(log, made[4].clone());
    bench.rocks().sync(log);
    reach(&mut opened.positions, |now| now.durable == 50);
    let left = without_manifest(&bench);
    // Far below the recovery point, where nobody would look.
    flip(&segments(left.path(), log)[0], 9_061 + 5_000);
    let check = |again: &Rocks| {
        let opened = open(again, log);
        assert_eq!((opened.log_end, opened.damaged), (50, vec![20..30; 1]));
        assert_eq!(read(again, log, 0, 20), concat(&made[..2]));
        assert_eq!(again.batch(log, 20).unwrap_err(), StorageError::Damaged { log, offset: 20 });
        assert_eq!(read(again, log, 30, 50), concat(&made[3..]));
    };
    let again = Rocks::open(accepting(left.path())).unwrap();
    assert!(left.path().join("db.damaged").exists());
    check(&again);
    // Until all logs have been checked the next start begins anew.
    drop(again);
    let again = Rocks::open(options(left.path())).unwrap();
    assert!(again.shared.dir.repaired);
    check(&again);
    again.recovered().unwrap();
    again.append(log, batch(50, 10, 1, 100));
    again.close().unwrap();
    drop(again);
    let again = Rocks::open(options(left.path())).unwrap();
    assert!(!again.shared.dir.repaired);
    assert_eq!(open(&again, log).log_end, 60);
}

#[test]
fn a_repair_that_would_lose_more_is_refused_and_changes_nothing() {
    let mut bench = OnDisk::new();
    let (log, _, made) = filled(bench.rocks(), &[100]);
    let young = without_manifest(&bench);
    bench.restart();
    let torn = without_manifest(&bench);
    let table = files(&torn.path().join("db"), |name| name.ends_with(".sst")).swap_remove(0);
    let whole = fs::read(&table).unwrap();
    fs::write(&table, &whole[..whole.len() / 2]).unwrap();
    let cases = [
        (&young, "it cannot be repaired: family log has no table that names it"),
        (&torn, "it cannot be repaired: 1 of its tables are not readable"),
    ];
    for (left, why) in cases {
        for _ in 0..2 {
            let error = Rocks::open(accepting(left.path())).err().unwrap();
            assert!(matches!(&error, OpenError::Damaged { .. }), "{error}");
            assert!(error.to_string().ends_with(why), "{error}");
            assert!(!left.path().join("db.damaged").exists());
        }
    }
    fs::write(&table, whole).unwrap();
    let again = Rocks::open(accepting(torn.path())).unwrap();
    assert_eq!(open(&again, log).log_end, 10);
    assert_eq!(read(&again, log, 0, 10), concat(&made));
}

/// RocksDB begins a new database where CURRENT is missing, and deletes the tables of the old one.
#[test]
fn a_missing_current_is_damage_and_not_an_empty_directory() {
    let mut bench = OnDisk::new();
    let (log, _, made) = filled(bench.rocks(), &[100]);
    bench.restart();
    let left = power_cut(&bench);
    fs::remove_file(left.path().join("db/CURRENT")).unwrap();
    let error = Rocks::open(options(left.path())).err().unwrap();
    assert!(matches!(&error, OpenError::Damaged { .. }), "{error}");
    let again = Rocks::open(accepting(left.path())).unwrap();
    assert_eq!(open(&again, log).log_end, 10);
    assert_eq!(read(&again, log, 0, 10), concat(&made));
}

#[test]
fn each_failing_write_stops_writing_and_nothing_more() {
    for call in [Call::CreateFile, Call::WriteSegment, Call::WriteDb] {
        let bench = OnDisk::new();
        let (log, mut opened, made) = filled(bench.rocks(), &[100]);
        let (_, mut other, _) = filled(bench.rocks(), &[100]);
        bench.rocks().faults().fail = Some(call);
        bench.rocks().append(log, batch(10, 10, 1, 9_000));
        let now = reach(&mut opened.positions, |_| false);
        let failed = Some(StorageError::Io(format!("injected: {call:?}")));
        assert_eq!((now.written, now.durable, &now.failed), (10, 10, &failed));
        assert_eq!(reach(&mut other.positions, |_| false).failed, failed, "{call:?}");
        bench.rocks().append(log, batch(10, 10, 1, 100));
        assert_eq!(finish(bench.rocks().truncate(log, 0)).err(), failed);
        assert!(opened.positions.borrow().refused >= 1);
        assert_eq!(read(bench.rocks(), log, 0, 10), concat(&made));
        assert_eq!(bench.rocks().close().err(), failed);
        let left = power_cut(&bench);
        assert!(!left.path().join("clean").exists());
        let again = Rocks::open(options(left.path())).unwrap();
        assert_eq!(open(&again, log).log_end, 10);
    }
}

#[test]
fn each_failing_sync_makes_nothing_durable() {
    for call in [Call::SyncSegment, Call::SyncDirectory, Call::SyncWal] {
        let bench = OnDisk::new();
        let (log, mut opened, _) = filled(bench.rocks(), &[100]);
        bench.rocks().append(log, batch(10, 10, 1, 9_000));
        reach(&mut opened.positions, |now| now.written == 20);
        bench.rocks().faults().fail = Some(call);
        bench.rocks().sync(log);
        let now = reach(&mut opened.positions, |_| false);
        let failed = Some(StorageError::Io(format!("injected: {call:?}")));
        assert_eq!((now.durable, now.failed), (10, failed.clone()), "{call:?}");
        bench.rocks().sync(log);
        assert_eq!(finish(bench.rocks().put(Vec::new(), true)).err(), failed);
        assert_eq!(opened.positions.borrow().durable, 10);
    }
}

#[test]
fn files_are_synced_before_the_wal_and_unlinked_after_it() {
    let bench = OnDisk::new();
    let (log, mut opened, _) = filled(bench.rocks(), &[100]);
    bench.rocks().faults().calls.clear();
    bench.rocks().append(log, batch(10, 10, 1, 9_000));
    bench.rocks().sync(log);
    reach(&mut opened.positions, |now| now.durable == 20);
    use Call::*;
    let calls = std::mem::take(&mut bench.rocks().faults().calls);
    let (created, synced) = calls.split_at(3);
    assert_eq!(created, [CreateFile, WriteSegment, WriteDb]);
    assert_eq!(synced, [SyncSegment, SyncDirectory, SyncDirectory, SyncWal]);
    finish(bench.rocks().truncate(log, 10)).unwrap();
    let calls = std::mem::take(&mut bench.rocks().faults().calls);
    assert_eq!(calls[calls.len() - 3..], [WriteDb, SyncWal, Unlink]);
    finish(bench.rocks().delete(log)).unwrap();
    assert_eq!(bench.rocks().faults().calls, [WriteDb, SyncWal, Unlink]);
    assert!(!bench.path().join("segments").join(log.to_string()).exists());
}

#[test]
fn below_the_reserve_appends_are_refused_until_twice_the_reserve_is_free() {
    let bench = OnDisk::new();
    let dir = tempfile::tempdir().unwrap();
    let rocks = Rocks::open(RocksOptions { reserve_bytes: 10, ..options(dir.path()) }).unwrap();
    let (log, mut opened, _) = filled(&rocks, &[100]);
    rocks.faults().free = Some(9);
    rocks.append(log, batch(10, 10, 1, 100));
    let now = reach(&mut opened.positions, |_| false);
    assert_eq!((now.written, now.failed), (10, Some(StorageError::OutOfSpace)));
    rocks.faults().free = Some(19);
    finish(rocks.put(Vec::new(), true)).unwrap();
    finish(rocks.set_log_start(log, 5)).unwrap();
    assert_eq!(opened.positions.borrow().failed, Some(StorageError::OutOfSpace));
    // A topic that the cluster agreed on must have its logs, or the node could not serve at all.
    let other = open(&rocks, rocks.create(OPTIONS).unwrap());
    assert_eq!(other.positions.borrow().failed, Some(StorageError::OutOfSpace));
    rocks.faults().free = Some(20);
    let back = opened.positions.wait_for(|now| now.failed.is_none());
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    assert_eq!(runtime.block_on(back).unwrap().refused, 1);
    rocks.append(log, batch(20, 10, 1, 100));
    rocks.append(log, batch(10, 3, 1, 100));
    let now = reach(&mut opened.positions, |now| now.written == 13);
    assert_eq!((now.refused, now.failed), (2, None), "nothing lands behind a hole");
    drop(bench);
}

#[test]
fn a_directory_has_one_user_one_node_and_one_format() {
    let bench = OnDisk::new();
    let error = Rocks::open(options(bench.path())).err().unwrap();
    assert!(matches!(error, OpenError::Locked(_)), "{error}");
    bench.rocks().belongs_to("a cluster").unwrap();
    bench.rocks().belongs_to("a cluster").unwrap();
    let identity = fs::read_to_string(bench.path().join("node.yaml")).unwrap();
    assert!(identity.contains("cluster_id: a cluster"), "{identity}");
    let left = killed(&bench);
    let other = RocksOptions { node_id: NodeId(2), ..options(left.path()) };
    let error = Rocks::open(other).err().unwrap();
    assert!(matches!(error, OpenError::OtherNode { .. }), "{error}");
    let again = Rocks::open(options(left.path())).unwrap();
    let error = again.belongs_to("another").unwrap_err().to_string();
    assert!(error.ends_with("belongs to cluster a cluster, not to cluster another"), "{error}");
    drop(again);
    let file = left.path().join("node.yaml");
    assert_eq!(fs::read_to_string(&file).unwrap(), identity);
    fs::write(&file, identity.replace("format_version: 1", "format_version: 2")).unwrap();
    let error = Rocks::open(options(left.path())).err().unwrap();
    assert!(matches!(error, OpenError::NewerFormat { version: 2, .. }), "{error}");
}

#[test]
fn many_small_batches_are_found_by_time_through_segments_and_blocks() {
    let mut bench = OnDisk::new();
    let small = LogOptions { segment_bytes: 400_000, ..OPTIONS };
    let log = bench.rocks().create(small.clone()).unwrap();
    let mut opened = bench.rocks().open(log, small.clone()).unwrap();
    let count: i64 = 9_000;
    // Rising, but every hundredth batch is ahead of its time by 50.
    let time = |n: i64| if n % 100 == 0 { n + 50 } else { n };
    (0..count).for_each(|n| bench.rocks().append(log, batch(n, 1, time(n), 20)));
    bench.rocks().sync(log);
    reach(&mut opened.positions, |now| now.durable == count);
    for round in 0..3 {
        let store = bench.rocks();
        for target in [0, 1, 49, 50, 51, 1_023, 1_024, 4_937, 5_000, 5_050, 5_051, 8_999] {
            let expected = (0..count).find(|n| time(*n) >= target);
            let found = store.first_at_or_after(log, target, 0, count).unwrap();
            assert_eq!(found.map(|batch| batch.base_offset), expected, "{target} in {round}");
            let from = 4_321;
            let expected = (from..6_000).find(|n| time(*n) >= target);
            let found = store.first_at_or_after(log, target, from, 6_000).unwrap();
            assert_eq!(found.map(|batch| batch.base_offset), expected, "{target} from {from}");
        }
        assert_eq!(store.first_at_or_after(log, 10_000, 0, count).unwrap(), None);
        let largest = |from, end| {
            store.with_max_timestamp(log, from, end).unwrap().map(|batch| batch.base_offset)
        };
        assert_eq!(largest(0, count), Some(8_999));
        assert_eq!(largest(0, 8_940), Some(8_900));
        assert_eq!(largest(4_321, 4_399), Some(4_398));
        assert_eq!(store.size(log), count as u64 * 81);
        match round {
            0 => bench.crash(&mut |_| 2),
            _ => bench.restart(),
        }
        bench.rocks().open(log, small.clone()).unwrap();
    }
    finish(bench.rocks().truncate(log, 6_789)).unwrap();
    let found = bench.rocks().first_at_or_after(log, 6_700, 0, 6_789).unwrap().unwrap();
    assert_eq!(found.base_offset, 6_700);
    assert_eq!(bench.rocks().size(log), 6_789 * 81);
    finish(bench.rocks().set_log_start(log, 5_555)).unwrap();
    let size = bench.rocks().size(log);
    assert!((1_234 * 81..=1_234 * 81 + 400_000).contains(&size), "{size}");
}

#[test]
fn recent_batches_come_from_memory_and_large_ones_as_ranges_of_a_file() {
    let mut bench = OnDisk::new();
    let (log, _, made) = filled(bench.rocks(), &[100, 9_000, 9_000, 100]);
    let cached = bench.rocks().read_cached(log, all(40, 0)).unwrap().unwrap();
    assert_eq!(cached.slices.len(), 3, "neighbours in a file are one range");
    assert!(matches!(&cached.slices[1], Slice::File(range) if range.len == 2 * 9_061));
    assert_eq!(bytes_of(&cached.slices), concat(&made));
    bench.restart();
    open(bench.rocks(), log);
    assert!(bench.rocks().read_cached(log, all(40, 0)).is_none());
    let cold = bench.rocks().read(log, all(40, 0)).unwrap();
    assert_eq!(cold.slices.len(), 3);
    assert_eq!(bytes_of(&cold.slices), concat(&made));
    finish(bench.rocks().delete(log)).unwrap();
    assert_eq!(bytes_of(&cold.slices), concat(&made), "what is open stays readable");
}

#[test]
fn files_of_logs_that_are_gone_are_removed_at_the_next_start() {
    let bench = OnDisk::new();
    let (log, _, _) = filled(bench.rocks(), &[9_000]);
    let left = killed(&bench);
    let stray = left.path().join("segments/77");
    fs::create_dir(&stray).unwrap();
    fs::write(stray.join("00000000000000000000.log"), "left over").unwrap();
    let again = Rocks::open(options(left.path())).unwrap();
    assert!(!stray.exists());
    assert_eq!(open(&again, log).log_end, 10);
}

/// The boot id used to be noted as soon as the directory was opened: a start that was given up after a power cut made the
/// next one believe that only a process had died, and look at lengths alone.
#[test]
fn a_start_that_is_given_up_leaves_the_recovery_to_the_next() {
    let bench = OnDisk::new();
    let (log, mut opened, made) = filled(bench.rocks(), &[100, 9_000]);
    let other = bench.rocks().create(OPTIONS).unwrap();
    bench.rocks().append(log, batch(20, 10, 1, 9_000));
    reach(&mut opened.positions, |now| now.written == 30);
    let left = power_cut(&bench);
    // The page that was not synced is there, but not its bytes.
    flip(&segments(left.path(), log)[0], 9_061 + 5_000);
    drop(Rocks::open(options(left.path())).unwrap());
    let again = Rocks::open(options(left.path())).unwrap();
    assert_eq!(open(&again, log).log_end, 20);
    assert_eq!(read(&again, log, 0, 20), concat(&made));
    // One log is not open yet.
    again.recovered().unwrap();
    drop(again);
    let again = Rocks::open(options(left.path())).unwrap();
    assert_eq!(again.shared.dir.last_stop, LastStop::MachineDied);
    open(&again, log);
    open(&again, other);
    again.recovered().unwrap();
    drop(again);
    let again = Rocks::open(options(left.path())).unwrap();
    assert_eq!(again.shared.dir.last_stop, LastStop::ProcessDied);
}

#[test]
fn a_clean_stop_leaves_nothing_to_replay_unless_it_is_much() {
    for (batches, replayed) in [(10, false), (6_000, true)] {
        let bench = OnDisk::new();
        filled(bench.rocks(), &vec![3_900; batches]);
        bench.rocks().close().unwrap();
        let wals = files(&bench.path().join("db"), |name| name.ends_with(".log"));
        assert_eq!(!wals.is_empty(), replayed, "{batches}: {wals:?}");
    }
}

/// Files used to be unlinked when they began below the log start, although a logical segment can begin within one.
#[test]
fn a_file_that_spans_logical_segments_goes_with_the_last_of_them() {
    let bench = OnDisk::new();
    let log = bench.rocks().create(OPTIONS).unwrap();
    let mut opened = open(bench.rocks(), log);
    let made: Vec<NewBatch> = (0..6).map(|n| batch(n * 10, 10, 1, 9_000)).collect();
    made.iter().for_each(|batch| bench.rocks().append(log, batch.clone()));
    reach(&mut opened.positions, |now| now.written == 60);
    let left = killed(&bench);
    let small = LogOptions { segment_bytes: 20_000, ..OPTIONS };
    let again = Rocks::open(options(left.path())).unwrap();
    let mut opened = again.open(log, small).unwrap();
    finish(again.set_log_start(log, 20)).unwrap();
    assert_eq!(again.size(log), 4 * 9_061, "a segment has gone");
    assert_eq!(segments(left.path(), log).len(), 1);
    assert_eq!(read(&again, log, 20, 60), concat(&made[2..]));
    again.append(log, batch(60, 10, 1, 9_000));
    reach(&mut opened.positions, |now| now.written == 70);
    finish(again.set_log_start(log, 60)).unwrap();
    assert_eq!(segments(left.path(), log).len(), 1);
    assert_eq!(read(&again, log, 60, 70), whole(&batch(60, 10, 1, 9_000)));
    finish(again.set_log_start(log, 70)).unwrap();
    assert_eq!(segments(left.path(), log).len(), 0, "nothing is left of an empty log");
}

#[test]
fn recovery_cuts_nothing_for_a_file_that_cannot_be_read() {
    let bench = OnDisk::new();
    let (log, mut opened, mut made) = filled(bench.rocks(), &[100]);
    made.push(batch(10, 10, 1, 9_000));
    bench.rocks().append(log, made[1].clone());
    reach(&mut opened.positions, |now| now.written == 20);
    for left in [killed(&bench), power_cut(&bench)] {
        let file = segments(left.path(), log).pop().unwrap();
        let kept = file.with_extension("kept");
        fs::rename(&file, &kept).unwrap();
        // A link to itself cannot be opened by anybody.
        std::os::unix::fs::symlink(&file, &file).unwrap();
        for _ in 0..2 {
            let again = Rocks::open(options(left.path())).unwrap();
            let error = again.open(log, OPTIONS).unwrap_err();
            assert!(matches!(&error, StorageError::Io(_)), "{error}");
        }
        fs::rename(&kept, &file).unwrap();
        let again = Rocks::open(options(left.path())).unwrap();
        assert_eq!(open(&again, log).log_end, 20);
        assert_eq!(read(&again, log, 0, 20), concat(&made));
    }
}

#[test]
fn free_space_is_looked_at_now_and_then_and_the_reserve_holds() {
    let dir = tempfile::tempdir().unwrap();
    let rocks =
        Rocks::open(RocksOptions { reserve_bytes: 160_000, ..options(dir.path()) }).unwrap();
    let log = rocks.create(OPTIONS).unwrap();
    let mut opened = open(&rocks, log);
    rocks.faults().free = Some(1 << 40);
    let before = rocks.faults().looks;
    for _ in 0..200 {
        finish(rocks.put(Vec::new(), false)).unwrap();
    }
    let looks = rocks.faults().looks - before;
    assert!(looks < 100, "{looks} looks for 200 groups");
    rocks.faults().free = Some(159_999);
    for n in 0..200 {
        rocks.append(log, batch(n, 1, 1, 1_000));
        let now = reach(&mut opened.positions, |now| now.written == n + 1);
        if now.failed.is_some() {
            // A sixteenth of the reserve, and the batch that passed it.
            assert!(now.written <= 10, "{now:?}");
            return;
        }
    }
    panic!("a full disk was not seen");
}

/// A thousand partitions made after a busy topic was deleted took half a minute: each looked back past all its batches.
#[test]
fn opening_a_log_does_not_pass_what_was_deleted_of_another() {
    use rocksdb::perf::{PerfContext, PerfMetric, PerfStatsLevel, set_perf_stats};
    let bench = OnDisk::new();
    let (busy, opened, _) = filled(bench.rocks(), &[10; 2_000]);
    drop(opened);
    finish(bench.rocks().delete(busy)).unwrap();
    let log = bench.rocks().create(OPTIONS).unwrap();
    set_perf_stats(PerfStatsLevel::EnableCount);
    let mut counts = PerfContext::default();
    counts.reset();
    open(bench.rocks(), log);
    let compared = counts.metric(PerfMetric::UserKeyComparisonCount);
    set_perf_stats(PerfStatsLevel::Disable);
    assert!(compared < 1_000, "{compared} keys were compared");
}
