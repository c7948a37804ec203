//! Sequences and epochs as a table, snapshots byte by byte and by property.

use super::*;
use crate::ids::LeaderEpoch;
use proptest::prelude::*;

fn batch(id: i64, epoch: i16, first_sequence: i32, base_offset: i64, records: i64) -> Summary {
    Summary {
        base_offset,
        last_offset: base_offset + records - 1,
        max_timestamp: 100 + base_offset,
        leader_epoch: LeaderEpoch(0),
        attributes: 0,
        producer_id: id,
        producer_epoch: epoch,
        first_sequence,
        size: 100,
        crc: 0,
    }
}

fn after(batches: &[Summary]) -> Producers {
    let mut producers = Producers::default();
    batches.iter().for_each(|batch| producers.record(batch));
    producers
}

fn check(
    producers: &Producers,
    epoch: i16,
    sequence: i32,
    records: i64,
) -> Result<Checked, ErrorCode> {
    producers.check(&batch(1, epoch, sequence, 0, records), Origin::Client)
}

const NEW: Result<Checked, ErrorCode> = Ok(Checked::New);
const OUT_OF_ORDER: Result<Checked, ErrorCode> = Err(ErrorCode::OutOfOrderSequenceNumber);

#[test]
fn sequences_go_on_without_gaps() {
    let nobody = Producers::default();
    assert_eq!(check(&nobody, 0, 17, 1), NEW, "any sequence without state");
    let known = after(&[batch(1, 3, 10, 40, 5)]);
    let table = [
        (3, 15, 1, NEW),
        (3, 16, 1, OUT_OF_ORDER),
        (3, 14, 1, OUT_OF_ORDER),
        (3, 0, 1, OUT_OF_ORDER),
        (4, 0, 1, NEW),
        (4, 15, 1, OUT_OF_ORDER),
        (2, 15, 1, Err(ErrorCode::InvalidProducerEpoch)),
        (2, 0, 1, Err(ErrorCode::InvalidProducerEpoch)),
        (3, 10, 4, OUT_OF_ORDER),
    ];
    for (epoch, sequence, records, expected) in table {
        assert_eq!(
            check(&known, epoch, sequence, records),
            expected,
            "{epoch} {sequence} {records}"
        );
    }
    let coordinator = known.check(&batch(1, 3, -1, 0, 1), Origin::Coordinator);
    assert_eq!(coordinator, NEW, "journals have no sequences");
    let zombie = known.check(&batch(1, 2, -1, 0, 1), Origin::Coordinator);
    assert_eq!(zombie, Err(ErrorCode::InvalidProducerEpoch));
}

#[test]
fn the_last_five_batches_are_recognised() {
    let batches: Vec<Summary> = (0..6).map(|n| batch(1, 0, n * 2, i64::from(n) * 10, 2)).collect();
    let known = after(&batches);
    for n in 1..6 {
        let base_offset = i64::from(n) * 10;
        let expected = Checked::Duplicate {
            base_offset,
            last_offset: base_offset + 1,
            timestamp: 100 + base_offset,
        };
        assert_eq!(check(&known, 0, n * 2, 2), Ok(expected), "batch {n}");
    }
    assert_eq!(check(&known, 0, 0, 2), OUT_OF_ORDER, "the sixth last is forgotten");
    assert_eq!(check(&known, 0, 12, 2), NEW);
}

#[test]
fn sequences_wrap_after_the_largest() {
    let known = after(&[batch(1, 0, i32::MAX - 1, 0, 2)]);
    assert_eq!(check(&known, 0, 0, 3), NEW);
    let known = after(&[batch(1, 0, i32::MAX - 1, 0, 4)]);
    assert_eq!(check(&known, 0, 2, 1), NEW);
    let duplicate = Checked::Duplicate { base_offset: 0, last_offset: 3, timestamp: 100 };
    assert_eq!(check(&known, 0, i32::MAX - 1, 4), Ok(duplicate));
}

#[test]
fn a_new_epoch_forgets_the_batches_of_the_old_one() {
    let known = after(&[batch(1, 0, 0, 0, 2), batch(1, 1, 0, 2, 2)]);
    assert_eq!(check(&known, 1, 2, 1), NEW);
    let duplicate = Checked::Duplicate { base_offset: 2, last_offset: 3, timestamp: 102 };
    assert_eq!(check(&known, 1, 0, 2), Ok(duplicate));
}

#[test]
fn producers_expire_by_the_time_of_their_last_record() {
    let mut known = after(&[batch(1, 0, 0, 0, 1), batch(2, 0, 0, 50, 1)]);
    known.expire(149, 50);
    assert_eq!(check(&known, 0, 5, 1), OUT_OF_ORDER);
    known.expire(150, 50);
    assert_eq!(check(&known, 0, 5, 1), NEW);
    assert!(!known.is_empty());
}

#[test]
fn beyond_the_bound_those_that_wrote_longest_ago_go() {
    let most = PRODUCERS_PER_PARTITION_MAX as i64;
    let mut known = Producers::default();
    for id in 0..=most {
        known.record(&batch(id, 0, 0, id, 1));
    }
    let remembered = |id| known.check(&batch(id, 0, 5, 0, 1), Origin::Client) != NEW;
    assert!(!remembered(0) && !remembered(most / 10 - 1));
    assert!(remembered(most / 10) && remembered(most));
}

#[test]
fn a_batch_without_a_producer_leaves_no_trace() {
    assert!(after(&[batch(-1, -1, -1, 0, 1)]).is_empty());
}

#[test]
fn the_snapshot_is_laid_out_as_documented() {
    let bytes = after(&[batch(1, 2, 3, 4, 5)]).encode();
    let expected: &[&[u8]] = &[
        &[0, 1],
        &[0, 0, 0, 1],
        &[0, 0, 0, 0, 0, 0, 0, 1],
        &[0, 2],
        &[0, 0, 0, 0, 0, 0, 0, 104],
        &[1],
        &[0, 0, 0, 7],
        &[0, 0, 0, 4],
        &[0, 0, 0, 0, 0, 0, 0, 8],
        &[0, 0, 0, 0, 0, 0, 0, 104],
    ];
    assert_eq!(bytes[..bytes.len() - 4], expected.concat());
}

#[test]
fn a_damaged_or_newer_snapshot_is_refused() {
    let bytes = after(&[batch(1, 0, 0, 0, 1), batch(2, 0, 0, 1, 1)]).encode();
    for at in 0..bytes.len() {
        assert_eq!(Producers::decode(&bytes[..at]), Err(SnapshotError::Damaged), "cut at {at}");
        let mut spoilt = bytes.to_vec();
        spoilt[at] ^= 1;
        assert_eq!(Producers::decode(&spoilt), Err(SnapshotError::Damaged), "spoilt at {at}");
    }
    let mut newer = vec![0, 2];
    newer.extend_from_slice(&crc32c::crc32c(&newer).to_be_bytes());
    assert_eq!(Producers::decode(&newer), Err(SnapshotError::Version(2)));
}

proptest! {
    /// Any history: what a snapshot in the middle and the rest of the log give is what the whole log gives.
    #[test]
    fn a_snapshot_and_the_rest_are_the_whole(
        history in prop::collection::vec((0..4i64, 0..3i16, 0..i32::MAX, 1..9i64), 0..40),
        cut in 0..40usize,
    ) {
        let mut base_offset = 0;
        let batches: Vec<Summary> = history
            .into_iter()
            .map(|(id, epoch, sequence, records)| {
                let batch = batch(id, epoch, sequence, base_offset, records);
                base_offset += records;
                batch
            })
            .collect();
        let (before, rest) = batches.split_at(cut.min(batches.len()));
        let mut resumed = Producers::decode(&after(before).encode()).unwrap();
        rest.iter().for_each(|batch| resumed.record(batch));
        prop_assert_eq!(resumed, after(&batches));
    }
}

#[test]
fn active_producers_are_told_in_id_order() {
    let producers = after(&[batch(9, 0, 0, 0, 1), batch(3, 1, 5, 1, 2), batch(9, 0, 1, 3, 1)]);
    let active = producers.active();
    let told = active.iter().map(|it| (it.id, it.epoch, it.last_sequence, it.last_timestamp));
    assert_eq!(told.collect::<Vec<_>>(), [(3, 1, 6, 101), (9, 0, 1, 103)]);
}
