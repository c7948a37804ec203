//! What faults do to the memory store.

use crate::ids::{LogId, Offset};
use crate::storage::contract::{OPTIONS, all, batch, bytes_of, finish, open};
use crate::storage::mem::Mem;
use crate::storage::{LogStore, OpenLog, Positions, StorageError};

fn with_one_batch() -> (Mem, LogId, OpenLog) {
    let mem = Mem::with_faults();
    let log = mem.create(OPTIONS).unwrap();
    let opened = open(&mem, log);
    mem.append(log, batch(0, 10, 1, 100));
    (mem, log, opened)
}

fn positions(written: Offset, failed: Option<StorageError>, refused: u64) -> Positions {
    Positions { written, durable: 0, failed, refused }
}

#[test]
fn a_failed_write_stops_writing_everywhere_and_reads_go_on() {
    let (mem, log, opened) = with_one_batch();
    let other = mem.create(OPTIONS).unwrap();
    let other_log = open(&mem, other);
    mem.fail_next_write();
    mem.append(log, batch(10, 10, 1, 100));
    let failed = Some(StorageError::Io("injected: write".into()));
    assert_eq!(*opened.positions.borrow(), positions(10, failed.clone(), 1));
    assert_eq!(other_log.positions.borrow().failed, failed);
    mem.append(other, batch(0, 10, 1, 100));
    assert_eq!(*other_log.positions.borrow(), positions(0, failed.clone(), 1));
    assert_eq!(finish(mem.put(Vec::new(), true)).err(), failed);
    assert_eq!(bytes_of(&mem.read(log, all(10, 0)).unwrap().slices).len(), 161);
    let back = mem.crash(&mut |n| n);
    assert_eq!(open(&back, log).log_end, 10);
}

#[test]
fn a_failed_sync_stops_writing_and_makes_nothing_durable() {
    let (mem, log, opened) = with_one_batch();
    mem.fail_next_sync();
    mem.sync(log);
    let failed = Some(StorageError::Io("injected: sync".into()));
    assert_eq!(*opened.positions.borrow(), positions(10, failed.clone(), 0));
    mem.sync(log);
    mem.append(log, batch(10, 10, 1, 100));
    assert_eq!(*opened.positions.borrow(), positions(10, failed, 1));
    assert_eq!(open(&mem.crash(&mut |_| 0), log).log_end, 0);
}

#[test]
fn without_space_appends_wait_and_nothing_lands_behind_a_hole() {
    let (mem, log, opened) = with_one_batch();
    mem.set_full(true);
    assert_eq!(*opened.positions.borrow(), positions(10, Some(StorageError::OutOfSpace), 0));
    mem.append(log, batch(10, 10, 1, 100));
    finish(mem.set_log_start(log, 5)).unwrap();
    mem.create(OPTIONS).unwrap();
    mem.sync(log);
    assert_eq!(opened.positions.borrow().durable, 10);
    mem.set_full(false);
    // The next batch was on its way when the one before was refused.
    mem.append(log, batch(20, 10, 1, 100));
    let now = opened.positions.borrow().clone();
    assert_eq!((now.written, now.failed, now.refused), (10, None, 2));
    mem.append(log, batch(10, 3, 1, 100));
    mem.append(log, batch(13, 3, 1, 100));
    assert_eq!(opened.positions.borrow().written, 16);
}

#[test]
fn entries_outlive_their_bytes_and_are_cut() {
    let (mem, log, opened) = with_one_batch();
    mem.append(log, batch(10, 10, 1, 9_000));
    mem.append(log, batch(20, 10, 1, 100));
    let other = mem.create(OPTIONS).unwrap();
    open(&mem, other);
    // Creating a log synced the write-ahead log, but not this log's bytes.
    let back = mem.crash(&mut |n| if n == 1 { 0 } else { n });
    let again = open(&back, log);
    assert_eq!(again.log_end, 10);
    assert_eq!(back.size(log), 161);
    assert_eq!(opened.positions.borrow().failed, Some(StorageError::Closed));
}

#[test]
fn damaged_offsets_are_not_served_and_others_are() {
    let (mem, log, _) = with_one_batch();
    mem.append(log, batch(10, 10, 1, 100));
    mem.append(log, batch(20, 10, 1, 100));
    mem.damage(log, 10..20);
    assert_eq!(mem.read(log, all(30, 0)).unwrap().next_offset, 10);
    let damaged = StorageError::Damaged { log, offset: 15 };
    assert_eq!(mem.read(log, all(30, 15)).unwrap_err(), damaged);
    assert_eq!(mem.read(log, all(30, 20)).unwrap().next_offset, 30);
}

#[test]
fn the_system_syncs_by_itself_what_nobody_does() {
    let (mem, log, _) = with_one_batch();
    for n in 1..10_100 {
        mem.append(log, batch(10 * n, 10, 1, 0));
    }
    // With the creation of the log, which was synced, the first 10,000 appends.
    assert_eq!(open(&mem.crash(&mut |_| 0), log).log_end, 100_000);
}

#[test]
fn a_store_that_crashed_without_space_is_closed() {
    let (mem, log, opened) = with_one_batch();
    mem.set_full(true);
    mem.crash(&mut |n| n);
    assert_eq!(opened.positions.borrow().failed, Some(StorageError::Closed));
    assert_eq!(finish(mem.set_log_start(log, 5)), Err(StorageError::Closed));
}
