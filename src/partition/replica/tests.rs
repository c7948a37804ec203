//! The replica as transcripts, and its invariants under random events.

use super::*;
use crate::limits::PRODUCERS_PER_PARTITION_MAX;
use expect_test::{Expect, expect};
use std::fmt::Write as _;

const ME: NodeId = NodeId(1);
const OTHER: NodeId = NodeId(2);

fn rules() -> Rules {
    Rules {
        min_insync_replicas: 1,
        flush_messages: i64::MAX,
        flush_ms: i64::MAX,
        deletes: true,
        producer_id_expiration_ms: 1000,
        producer_id_check_ms: 100,
        producer_snapshot_batches: 100,
    }
}

fn empty() -> Recovered {
    Recovered {
        log_start: 0,
        log_end: 0,
        written: 0,
        durable: 0,
        high_watermark: 0,
        epochs: Vec::new(),
        producers: Producers::default(),
        kept: 0,
    }
}

fn batch(records: i64, producer: (i64, i16, i32)) -> Incoming {
    let summary = Summary {
        base_offset: 0,
        last_offset: records - 1,
        max_timestamp: 7,
        leader_epoch: LeaderEpoch(-1),
        attributes: 0,
        producer_id: producer.0,
        producer_epoch: producer.1,
        first_sequence: producer.2,
        size: 100,
        crc: 0,
    };
    Incoming { summary, body: Bytes::new() }
}

/// Feeds a replica and writes down what it does.
struct Script {
    replica: Replica,
    mono: u64,
    callers: u64,
    text: String,
}

impl Script {
    fn new(rules: Rules, log: Recovered) -> Script {
        Script { replica: Replica::new(ME, rules, log), mono: 0, callers: 0, text: String::new() }
    }

    /// A replica that leads an empty partition on its own.
    fn leading(rules: Rules) -> Script {
        let mut script = Script::new(rules, empty()).assigned(0, true, &[ME], &[ME]);
        script.text.clear();
        script
    }

    fn feed(mut self, what: &str, input: Input) -> Script {
        let mut effects = Vec::new();
        let now = Now { mono: Mono(self.mono), wall_ms: self.mono as i64 };
        self.replica.step(now, input, &mut effects);
        writeln!(self.text, "@{} {what}", self.mono).unwrap();
        for effect in effects {
            writeln!(self.text, "    {}", shown(&effect)).unwrap();
        }
        self
    }

    fn assigned(self, epoch: i32, leading: bool, isr: &[NodeId], replicas: &[NodeId]) -> Script {
        let assigned = Assigned {
            leader_epoch: LeaderEpoch(epoch),
            leading,
            isr: isr.into(),
            replicas: replicas.into(),
        };
        self.feed(&format!("assigned epoch {epoch} leading {leading}"), Input::Assigned(assigned))
    }

    fn append(self, acks: Acks, records: i64) -> Script {
        self.produce(acks, records, (-1, -1, -1))
    }

    fn produce(mut self, acks: Acks, records: i64, producer: (i64, i16, i32)) -> Script {
        self.callers += 1;
        let append = Append {
            caller: Caller(self.callers),
            batch: batch(records, producer),
            acks,
            origin: Origin::Client,
            timeout_ms: 50,
            log_append_time: -1,
        };
        let mut what = format!("#{} append {records} {acks:?}", self.callers);
        if producer.0 >= 0 {
            write!(what, " of {producer:?}").unwrap();
        }
        self.feed(&what, Input::Append(append))
    }

    fn stored(self, written: Offset, durable: Offset) -> Script {
        self.feed(&format!("stored {written} {durable}"), Input::Stored { written, durable })
    }

    fn fetched(self, offset: Offset) -> Script {
        self.feed(
            &format!("follower fetched {offset}"),
            Input::FollowerFetched { replica: OTHER, offset },
        )
    }

    fn tick_at(mut self, mono: u64) -> Script {
        self.mono = mono;
        self.feed("tick", Input::Tick)
    }

    fn check(&self, expected: Expect) {
        expected.assert_eq(&self.text);
    }
}

fn shown(effect: &Effect) -> String {
    match effect {
        Effect::Store(batch) => {
            let Summary { base_offset, last_offset, leader_epoch, .. } = batch.summary;
            format!("store {base_offset}..={last_offset} epoch {leader_epoch}")
        }
        Effect::Publish(view) => format!(
            "publish epoch {} leading {} start {} high watermark {} end {}",
            view.leader_epoch, view.leading, view.log_start, view.high_watermark, view.log_end
        ),
        Effect::Reply(Caller(caller), Ok(appended)) => {
            let Appended { base_offset, last_offset, log_append_time, .. } = appended;
            format!("reply #{caller} {base_offset}..={last_offset} time {log_append_time}")
        }
        Effect::Reply(Caller(caller), Err(Refused { code, base_offset, .. })) => {
            format!("reply #{caller} {code:?} base offset {base_offset}")
        }
        Effect::Snapshot(offset, _) => format!("snapshot at {offset}"),
        other => format!("{other:?}"),
    }
}

#[test]
fn a_leader_begins_its_epoch_before_it_serves() {
    let log = Recovered { log_end: 10, written: 10, durable: 10, high_watermark: 4, ..empty() };
    Script::new(rules(), log)
        .append(Acks::Leader, 1)
        .assigned(3, true, &[ME], &[ME])
        .assigned(2, false, &[ME], &[ME])
        .check(expect![[r#"
            @0 #1 append 1 Leader
                reply #1 NotLeaderOrFollower base offset -1
            @0 assigned epoch 3 leading true
                SetEpochStart(LeaderEpoch(3), 10)
                publish epoch 3 leading true start 0 high watermark 10 end 10
            @0 assigned epoch 2 leading false
        "#]]);
}

#[test]
fn answers_wait_for_what_was_asked() {
    Script::leading(rules())
        .append(Acks::All, 2)
        .append(Acks::Leader, 1)
        .append(Acks::Assigned, 1)
        .stored(2, 0)
        .stored(4, 4)
        .check(expect![[r#"
            @0 #1 append 2 All
                store 0..=1 epoch 0
            @0 #2 append 1 Leader
                store 2..=2 epoch 0
            @0 #3 append 1 Assigned
                store 3..=3 epoch 0
                publish epoch 0 leading true start 0 high watermark 0 end 4
                reply #3 3..=3 time -1
            @0 stored 2 0
                publish epoch 0 leading true start 0 high watermark 2 end 4
                reply #1 0..=1 time -1
            @0 stored 4 4
                publish epoch 0 leading true start 0 high watermark 4 end 4
                reply #2 2..=2 time -1
        "#]]);
}

#[test]
fn a_topic_synced_per_request_counts_what_is_durable() {
    Script::leading(Rules { flush_messages: 1, ..rules() })
        .append(Acks::Leader, 2)
        .stored(2, 0)
        .stored(2, 2)
        .check(expect![[r#"
            @0 #1 append 2 Leader
                store 0..=1 epoch 0
                Sync
            @0 stored 2 0
                publish epoch 0 leading true start 0 high watermark 0 end 2
            @0 stored 2 2
                publish epoch 0 leading true start 0 high watermark 2 end 2
                reply #1 0..=1 time -1
        "#]]);
}

#[test]
fn it_syncs_every_so_many_records_and_every_so_often() {
    Script::leading(Rules { flush_messages: 3, flush_ms: 20, ..rules() })
        .append(Acks::Assigned, 2)
        .append(Acks::Assigned, 1)
        .append(Acks::Assigned, 1)
        .tick_at(19)
        .tick_at(20)
        .tick_at(40)
        .check(expect![[r#"
            @0 #1 append 2 Assigned
                store 0..=1 epoch 0
                publish epoch 0 leading true start 0 high watermark 0 end 2
                reply #1 0..=1 time -1
            @0 #2 append 1 Assigned
                store 2..=2 epoch 0
                Sync
                publish epoch 0 leading true start 0 high watermark 0 end 3
                reply #2 2..=2 time -1
            @0 #3 append 1 Assigned
                store 3..=3 epoch 0
                publish epoch 0 leading true start 0 high watermark 0 end 4
                reply #3 3..=3 time -1
            @19 tick
            @20 tick
                Sync
            @40 tick
        "#]]);
}

#[test]
fn acks_all_waits_for_the_in_sync_set_and_times_out() {
    Script::new(rules(), empty())
        .assigned(0, true, &[ME, OTHER], &[ME, OTHER])
        .append(Acks::All, 1)
        .append(Acks::Leader, 1)
        .append(Acks::All, 1)
        .tick_at(60)
        .stored(2, 2)
        .fetched(1)
        .stored(3, 3)
        .tick_at(70)
        .check(expect![[r#"
            @0 assigned epoch 0 leading true
                SetEpochStart(LeaderEpoch(0), 0)
                publish epoch 0 leading true start 0 high watermark 0 end 0
            @0 #1 append 1 All
                store 0..=0 epoch 0
            @0 #2 append 1 Leader
                store 1..=1 epoch 0
            @0 #3 append 1 All
                store 2..=2 epoch 0
            @60 tick
            @60 stored 2 2
                publish epoch 0 leading true start 0 high watermark 0 end 3
                reply #2 1..=1 time -1
            @60 follower fetched 1
                publish epoch 0 leading true start 0 high watermark 1 end 3
                reply #1 0..=0 time -1
            @60 stored 3 3
            @70 tick
                reply #3 RequestTimedOut base offset 2
        "#]]);
}

#[test]
fn too_few_in_sync_replicas_refuse_acks_all_and_hold_the_high_watermark() {
    Script::new(Rules { min_insync_replicas: 2, ..rules() }, empty())
        .assigned(0, true, &[ME, OTHER], &[ME, OTHER])
        .append(Acks::All, 1)
        .stored(1, 1)
        .assigned(0, true, &[ME], &[ME, OTHER])
        .append(Acks::All, 1)
        .append(Acks::Leader, 1)
        .stored(2, 2)
        .fetched(2)
        .check(expect![[r#"
            @0 assigned epoch 0 leading true
                SetEpochStart(LeaderEpoch(0), 0)
                publish epoch 0 leading true start 0 high watermark 0 end 0
            @0 #1 append 1 All
                store 0..=0 epoch 0
            @0 stored 1 1
                publish epoch 0 leading true start 0 high watermark 0 end 1
            @0 assigned epoch 0 leading true
                reply #1 NotEnoughReplicasAfterAppend base offset 0
            @0 #2 append 1 All
                reply #2 NotEnoughReplicas base offset -1
            @0 #3 append 1 Leader
                store 1..=1 epoch 0
            @0 stored 2 2
                publish epoch 0 leading true start 0 high watermark 0 end 2
                reply #3 1..=1 time -1
            @0 follower fetched 2
        "#]]);
}

#[test]
fn min_insync_replicas_above_the_factor_counts_as_the_factor() {
    Script::leading(Rules { min_insync_replicas: 3, ..rules() })
        .append(Acks::All, 1)
        .stored(1, 1)
        .check(expect![[r#"
            @0 #1 append 1 All
                store 0..=0 epoch 0
            @0 stored 1 1
                publish epoch 0 leading true start 0 high watermark 1 end 1
                reply #1 0..=0 time -1
        "#]]);
}

#[test]
fn a_raised_minimum_is_told_after_the_append() {
    Script::new(rules(), empty())
        .assigned(0, true, &[ME], &[ME, OTHER])
        .append(Acks::All, 1)
        .stored(1, 1)
        .append(Acks::All, 1)
        .feed("configured", Input::Configured(Rules { min_insync_replicas: 2, ..rules() }))
        .stored(2, 2)
        .tick_at(50)
        .check(expect![[r#"
            @0 assigned epoch 0 leading true
                SetEpochStart(LeaderEpoch(0), 0)
                publish epoch 0 leading true start 0 high watermark 0 end 0
            @0 #1 append 1 All
                store 0..=0 epoch 0
            @0 stored 1 1
                publish epoch 0 leading true start 0 high watermark 1 end 1
                reply #1 0..=0 time -1
            @0 #2 append 1 All
                store 1..=1 epoch 0
            @0 configured
                publish epoch 0 leading true start 0 high watermark 1 end 2
            @0 stored 2 2
                reply #2 NotEnoughReplicasAfterAppend base offset 1
            @50 tick
        "#]]);
}

#[test]
fn a_duplicate_is_answered_like_the_original_and_waits_as_long() {
    Script::leading(rules())
        .produce(Acks::All, 2, (9, 0, 0))
        .append(Acks::All, 1)
        .produce(Acks::All, 2, (9, 0, 0))
        .produce(Acks::All, 1, (9, 0, 3))
        .stored(3, 3)
        .produce(Acks::Leader, 2, (9, 0, 0))
        .check(expect![[r#"
            @0 #1 append 2 All of (9, 0, 0)
                store 0..=1 epoch 0
            @0 #2 append 1 All
                store 2..=2 epoch 0
            @0 #3 append 2 All of (9, 0, 0)
            @0 #4 append 1 All of (9, 0, 3)
                reply #4 OutOfOrderSequenceNumber base offset -1
            @0 stored 3 3
                publish epoch 0 leading true start 0 high watermark 3 end 3
                reply #1 0..=1 time -1
                reply #3 0..=1 time 7
                reply #2 2..=2 time -1
            @0 #5 append 2 Leader of (9, 0, 0)
                reply #5 0..=1 time 7
        "#]]);
}

#[test]
fn what_storage_refused_is_forgotten_with_its_sequences() {
    Script::leading(rules())
        .produce(Acks::All, 1, (9, 0, 0))
        .stored(1, 1)
        .produce(Acks::Leader, 1, (9, 0, 1))
        .feed("failed", Input::Failed)
        .append(Acks::All, 1)
        .feed("resumed", {
            let mut producers = Producers::default();
            let mut first = batch(1, (9, 0, 0)).summary;
            first.last_offset = 0;
            producers.record(&first);
            Input::Resumed { log_end: 1, producers }
        })
        .produce(Acks::Leader, 1, (9, 0, 1))
        .check(expect![[r#"
            @0 #1 append 1 All of (9, 0, 0)
                store 0..=0 epoch 0
            @0 stored 1 1
                publish epoch 0 leading true start 0 high watermark 1 end 1
                reply #1 0..=0 time -1
            @0 #2 append 1 Leader of (9, 0, 1)
                store 1..=1 epoch 0
            @0 failed
                reply #2 KafkaStorageError base offset 1
            @0 #3 append 1 All
                reply #3 KafkaStorageError base offset -1
            @0 resumed
            @0 #4 append 1 Leader of (9, 0, 1)
                store 1..=1 epoch 0
        "#]]);
}

/// Storage was cut back to where the epoch began, or below: it keeps no epoch that begins at its end.
#[test]
fn an_epoch_of_which_nothing_was_written_begins_again() {
    Script::leading(rules())
        .append(Acks::Leader, 2)
        .stored(2, 0)
        .append(Acks::Leader, 1)
        .assigned(1, true, &[ME], &[ME])
        .feed("failed", Input::Failed)
        .feed("resumed", Input::Resumed { log_end: 2, producers: Producers::default() })
        .append(Acks::Leader, 1)
        .check(expect![[r#"
            @0 #1 append 2 Leader
                store 0..=1 epoch 0
            @0 stored 2 0
                publish epoch 0 leading true start 0 high watermark 2 end 2
                reply #1 0..=1 time -1
            @0 #2 append 1 Leader
                store 2..=2 epoch 0
            @0 assigned epoch 1 leading true
                reply #2 NotLeaderOrFollower base offset 2
                SetEpochStart(LeaderEpoch(1), 3)
                publish epoch 1 leading true start 0 high watermark 2 end 3
            @0 failed
            @0 resumed
                SetEpochStart(LeaderEpoch(1), 2)
                publish epoch 1 leading true start 0 high watermark 2 end 2
            @0 #3 append 1 Leader
                store 2..=2 epoch 1
        "#]]);
}

#[test]
fn a_leader_that_is_none_any_more_tells_those_who_wait() {
    Script::new(rules(), empty())
        .assigned(0, true, &[ME, OTHER], &[ME, OTHER])
        .append(Acks::All, 1)
        .stored(1, 1)
        .append(Acks::All, 1)
        .assigned(1, false, &[ME, OTHER], &[ME, OTHER])
        .check(expect![[r#"
            @0 assigned epoch 0 leading true
                SetEpochStart(LeaderEpoch(0), 0)
                publish epoch 0 leading true start 0 high watermark 0 end 0
            @0 #1 append 1 All
                store 0..=0 epoch 0
            @0 stored 1 1
                publish epoch 0 leading true start 0 high watermark 0 end 1
            @0 #2 append 1 All
                store 1..=1 epoch 0
            @0 assigned epoch 1 leading false
                reply #1 NotLeaderOrFollower base offset 0
                reply #2 NotLeaderOrFollower base offset 1
                publish epoch 1 leading false start 0 high watermark 0 end 2
        "#]]);
}

#[test]
fn the_high_watermark_is_kept_while_it_moves_and_at_the_end() {
    Script::leading(rules())
        .append(Acks::All, 1)
        .stored(1, 1)
        .tick_at(4999)
        .tick_at(5000)
        .tick_at(10_000)
        .feed("stop", Input::Stop)
        .check(expect![[r#"
            @0 #1 append 1 All
                store 0..=0 epoch 0
            @0 stored 1 1
                publish epoch 0 leading true start 0 high watermark 1 end 1
                reply #1 0..=0 time -1
            @4999 tick
            @5000 tick
                SetHighWatermark(1)
            @10000 tick
            @10000 stop
                SetHighWatermark(1)
                snapshot at 1
        "#]]);
}

#[test]
fn records_are_deleted_when_storage_says_so() {
    let delete = |caller, before| Input::DeleteRecords { caller: Caller(caller), before };
    let set = |caller, result| Input::LogStartSet { caller: Caller(caller), result };
    Script::leading(rules())
        .feed("delete of nothing", delete(1, 0))
        .produce(Acks::Leader, 3, (9, 0, 0))
        .stored(3, 0)
        .append(Acks::Leader, 1)
        .feed("delete beyond the high watermark", delete(2, 4))
        .feed("delete below -2", delete(3, -2))
        .feed("delete", delete(4, 2))
        .feed("delete everything", delete(5, -1))
        .feed("start set", set(4, Ok(2)))
        .feed("start set", set(5, Err(ErrorCode::KafkaStorageError)))
        .feed("delete again", delete(6, 1))
        .stored(4, 0)
        .feed("delete more than is kept", delete(8, -1))
        .assigned(1, false, &[ME], &[ME])
        .feed("delete", delete(7, 3))
        .check(expect![[r#"
            @0 delete of nothing
                Deleted(Caller(1), Ok(0))
            @0 #1 append 3 Leader of (9, 0, 0)
                store 0..=2 epoch 0
            @0 stored 3 0
                publish epoch 0 leading true start 0 high watermark 3 end 3
                reply #1 0..=2 time -1
            @0 #2 append 1 Leader
                store 3..=3 epoch 0
            @0 delete beyond the high watermark
                Deleted(Caller(2), Err(OffsetOutOfRange))
            @0 delete below -2
                Deleted(Caller(3), Err(OffsetOutOfRange))
            @0 delete
                KeepProducers(3)
                Sync
                SetLogStart(Caller(4), 2)
            @0 delete everything
                Sync
                SetLogStart(Caller(5), 3)
            @0 start set
                publish epoch 0 leading true start 2 high watermark 3 end 4
                Deleted(Caller(4), Ok(2))
            @0 start set
                Deleted(Caller(5), Err(KafkaStorageError))
            @0 delete again
                Deleted(Caller(6), Ok(2))
            @0 stored 4 0
                publish epoch 0 leading true start 2 high watermark 4 end 4
                reply #2 3..=3 time -1
            @0 delete more than is kept
                KeepProducers(4)
                Sync
                SetLogStart(Caller(8), 4)
            @0 assigned epoch 1 leading false
                publish epoch 1 leading false start 2 high watermark 4 end 4
            @0 delete
                Deleted(Caller(7), Err(NotLeaderOrFollower))
        "#]]);
}

/// A start finds the snapshot of a clean stop.
#[test]
fn what_is_kept_is_not_kept_again() {
    let log = Recovered { log_end: 9, written: 9, high_watermark: 9, kept: 7, ..empty() };
    let delete = |caller, before| Input::DeleteRecords { caller: Caller(caller), before };
    Script::new(rules(), log)
        .assigned(0, true, &[ME], &[ME])
        .produce(Acks::Assigned, 1, (9, 0, 0))
        .feed("delete", delete(1, 7))
        .feed("delete more", delete(2, 8))
        .check(expect![[r#"
            @0 assigned epoch 0 leading true
                SetEpochStart(LeaderEpoch(0), 9)
                publish epoch 0 leading true start 0 high watermark 9 end 9
            @0 #1 append 1 Assigned of (9, 0, 0)
                store 9..=9 epoch 0
                publish epoch 0 leading true start 0 high watermark 9 end 10
                reply #1 9..=9 time -1
            @0 delete
                Sync
                SetLogStart(Caller(1), 7)
            @0 delete more
                KeepProducers(9)
                Sync
                SetLogStart(Caller(2), 8)
        "#]]);
}

#[test]
fn a_topic_that_is_only_compacted_deletes_nothing_on_request() {
    Script::leading(Rules { deletes: false, ..rules() })
        .feed("delete", Input::DeleteRecords { caller: Caller(1), before: 7 })
        .check(expect![[r#"
            @0 delete
                Deleted(Caller(1), Err(PolicyViolation))
        "#]]);
}

/// As storage does it: the epoch that covers the start begins there.
#[test]
fn epochs_below_the_log_start_are_forgotten() {
    let epochs: Vec<_> =
        [(1, 0), (2, 10), (4, 20)].map(|(epoch, start)| (LeaderEpoch(epoch), start)).into();
    for (start, expected) in [
        (5, vec![(1, 5), (2, 10), (4, 20)]),
        (10, vec![(2, 10), (4, 20)]),
        (15, vec![(2, 15), (4, 20)]),
        (25, vec![(4, 25)]),
    ] {
        let log = Recovered { log_end: 30, epochs: epochs.clone(), ..empty() };
        let mut replica = Replica::new(ME, rules(), log);
        replica.raise_log_start(start);
        let kept: Vec<_> =
            replica.epochs().iter().map(|(epoch, start)| (epoch.0, *start)).collect();
        assert_eq!(kept, expected, "{start}");
    }
}

#[test]
fn a_batch_gets_its_place_in_the_head() {
    let mut summary = batch(3, (-1, -1, -1)).summary;
    (summary.base_offset, summary.leader_epoch) = (0x0102, LeaderEpoch(5));
    assert_eq!(head(&summary), [0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 88, 0, 0, 0, 5]);
}

#[test]
fn every_so_many_batches_the_producers_are_kept_once_nothing_takes_them_back() {
    let mut script = Script::leading(Rules { producer_snapshot_batches: 3, ..rules() });
    for sequence in 0..8 {
        script = script.produce(Acks::Leader, 1, (9, 0, sequence));
    }
    script = script.stored(2, 0).stored(4, 0).append(Acks::Leader, 1).stored(8, 0).stored(9, 0);
    let kept = |script: &Script| {
        let lines = script.text.lines().filter(|line| line.contains("snapshot"));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(kept(&script), ["    snapshot at 3", "    snapshot at 9"]);
    for sequence in 8..11 {
        script = script.produce(Acks::Leader, 1, (9, 0, sequence));
    }
    script = script.stored(11, 0).feed("failed", Input::Failed);
    let producers = Producers::default();
    script = script.feed("resumed", Input::Resumed { log_end: 11, producers });
    script = script.append(Acks::Leader, 1).stored(12, 0);
    assert_eq!(kept(&script).len(), 2, "the twelfth was refused");
}

/// Topics that are synced per request promise it after a power cut too.
#[test]
fn what_is_not_synced_may_be_taken_back() {
    let rules = Rules { flush_messages: 1, producer_snapshot_batches: 3, ..rules() };
    let mut script = Script::leading(rules);
    for sequence in 0..3 {
        script = script.produce(Acks::Leader, 1, (9, 0, sequence));
    }
    script = script.stored(3, 2);
    assert!(!script.text.contains("snapshot"));
    script = script.stored(3, 3);
    assert!(script.text.contains("snapshot at 3"));
}

#[test]
fn producers_that_fell_silent_are_forgotten() {
    Script::leading(rules())
        .produce(Acks::Assigned, 1, (9, 0, 0))
        .tick_at(100)
        .produce(Acks::Assigned, 1, (9, 0, 5))
        .tick_at(1100)
        .produce(Acks::Assigned, 1, (9, 0, 5))
        .check(expect![[r#"
            @0 #1 append 1 Assigned of (9, 0, 0)
                store 0..=0 epoch 0
                publish epoch 0 leading true start 0 high watermark 0 end 1
                reply #1 0..=0 time -1
            @100 tick
            @100 #2 append 1 Assigned of (9, 0, 5)
                reply #2 OutOfOrderSequenceNumber base offset -1
            @1100 tick
            @1100 #3 append 1 Assigned of (9, 0, 5)
                store 1..=1 epoch 0
                publish epoch 0 leading true start 0 high watermark 0 end 2
                reply #3 1..=1 time -1
        "#]]);
    const { assert!(PRODUCERS_PER_PARTITION_MAX > 1) };
}

/// Small, seeded, the same everywhere.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

/// Random events; after each: the high watermark has not moved back and is not above the position, nobody is answered well
/// before what was asked for is reached, nobody twice, and a tick that is due leaves no deadline behind it.
#[test]
fn invariants_hold_under_random_events() {
    for seed in 0..200 {
        let mut random = Random(seed);
        let synced = random.below(2) == 0;
        let alone = random.below(2) == 0;
        let rules = Rules {
            flush_messages: if synced { 1 } else { 3 },
            flush_ms: 10,
            min_insync_replicas: 1 + random.below(2) as usize,
            ..rules()
        };
        let replicas = if alone { vec![ME] } else { vec![ME, OTHER] };
        let mut replica = Replica::new(ME, rules, empty());
        let mut now = Now::default();
        let (mut log_end, mut written, mut durable, mut fetched) = (0, 0, 0, 0);
        let mut asked: Vec<Option<Acks>> = Vec::new();
        let mut high_watermark = 0;
        for step in 0..300 {
            let input = match random.below(9) {
                0..4 => {
                    let acks = [Acks::Assigned, Acks::Leader, Acks::All][random.below(3) as usize];
                    asked.push(Some(acks));
                    let producer = (random.below(3) as i64 - 1, 0, random.below(4) as i32);
                    Input::Append(Append {
                        caller: Caller(asked.len() as u64 - 1),
                        batch: batch(1 + random.below(3) as i64, producer),
                        acks,
                        origin: Origin::Client,
                        timeout_ms: random.below(30) as i32,
                        log_append_time: -1,
                    })
                }
                4 | 5 => {
                    written += random.below((log_end - written) as u64 + 1) as i64;
                    durable += random.below((written - durable) as u64 + 1) as i64;
                    Input::Stored { written, durable }
                }
                6 => {
                    let position = if synced { durable } else { written };
                    fetched += random.below((position - fetched) as u64 + 1) as i64;
                    Input::FollowerFetched { replica: OTHER, offset: fetched }
                }
                7 => {
                    let isr = if random.below(2) == 0 { vec![ME] } else { replicas.clone() };
                    Input::Assigned(Assigned {
                        leader_epoch: LeaderEpoch(step / 40),
                        leading: true,
                        isr,
                        replicas: replicas.clone(),
                    })
                }
                _ => {
                    now.mono.0 += random.below(20);
                    Input::Tick
                }
            };
            let ticked = matches!(input, Input::Tick);
            if let Input::Assigned(assigned) = &input
                && assigned.leader_epoch > replica.leader_epoch
            {
                fetched = 0;
            }
            let mut effects = Vec::new();
            replica.step(now, input, &mut effects);
            if ticked {
                assert!(replica.next_deadline().is_none_or(|at| at > now.mono), "seed {seed}");
            }
            for effect in effects {
                match effect {
                    Effect::Store(batch) => {
                        assert_eq!(batch.summary.base_offset, log_end, "seed {seed}: a gap");
                        log_end = batch.summary.last_offset + 1;
                    }
                    Effect::Publish(view) => {
                        let position = if synced { durable } else { written };
                        assert!(view.high_watermark >= high_watermark, "seed {seed}: went back");
                        assert!(view.high_watermark <= position, "seed {seed}: ahead of the log");
                        high_watermark = view.high_watermark;
                    }
                    Effect::Reply(Caller(caller), answer) => {
                        let acks = asked[caller as usize].take().expect("answered once");
                        let Ok(appended) = answer else { continue };
                        let end = appended.last_offset + 1;
                        let position = if synced { durable } else { written };
                        match acks {
                            Acks::Assigned => assert!(end <= log_end, "seed {seed}"),
                            Acks::Leader => assert!(end <= position, "seed {seed}"),
                            Acks::All => assert!(end <= high_watermark, "seed {seed}"),
                        }
                    }
                    _ => {}
                }
            }
        }
    }
}
