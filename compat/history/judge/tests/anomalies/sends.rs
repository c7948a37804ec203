//! Histories about what became of sends.

use crate::{check, script::judged};

/// An idempotent producer 1, plain ones 2 (no retries) and 3 (retries), a consumer 5 of partition a from its start.
const ALL: &str = "
    1 is idempotent
    2 is plain
    3 is retries
    5 is consumer
    5 assign 0
";

#[test]
fn lost_and_unseen() {
    check(
        ALL,
        &[
            (
                "an acknowledged value between two that were read",
                "1 send 1 @0
                 1 send 2 @1
                 1 send 3 @2
                 5 poll 0:1 2:3",
                &["lost-write", "int-poll-skip"],
            ),
            (
                "the same, its outcome unknown",
                "1 send 1 @0
                 1 send 2 unknown
                 1 send 3 @2
                 5 poll 0:1 2:3",
                &[],
            ),
            (
                "the same, failed",
                "1 send 1 @0
                 1 send 2 fail
                 1 send 3 @2
                 5 poll 0:1 2:3",
                &[],
            ),
            (
                "acknowledged after what was read last: nobody came to it",
                "1 send 1 @0
                 1 send 2 @1
                 5 poll 0:1",
                &["unseen"],
            ),
            (
                "acknowledged without an offset and nowhere to be seen: unseen as far as the readers came",
                "1 send 1 ok
                 ends 0..5
                 5 poll 0:0",
                &["unseen", "phantom"],
            ),
            (
                "the same, and a consumer came to where the log ended once",
                "1 send 1 @0
                 ends 0..1
                 1 send 2 ok
                 5 poll 0:1",
                &["unseen"],
            ),
            (
                "everything read",
                "1 send 1 @0
                 1 send 2 @1
                 5 poll 0:1
                 5 poll 1:2",
                &[],
            ),
        ],
    );
}

#[test]
fn lost_and_unseen_by_final_readers() {
    check(
        &format!("{ALL} 9 is final\n 9 assign 0\n"),
        &[
            (
                "seen by a consumer, gone at the end; its send ended unknown",
                "1 send 1 @0
                 1 send 2 unknown
                 1 send 3 @2
                 5 poll 0:1 1:2
                 9 poll 0:1 2:3",
                &["lost-write", "int-poll-skip"],
            ),
            (
                "seen by nobody, its send ended unknown",
                "1 send 1 @0
                 1 send 2 unknown
                 1 send 3 @2
                 5 poll 0:1
                 9 poll 0:1 2:3",
                &[],
            ),
            (
                "acknowledged at the end of the log, and the log ends before it",
                "1 send 1 @0
                 1 send 2 @1
                 ends 0..1
                 9 poll 0:1",
                &["lost-write", "end-regression"],
            ),
            (
                "acknowledged and within the log, the final reader is stuck before it",
                "1 send 1 @0
                 1 send 2 @1
                 ends 0..2
                 9 poll 0:1",
                &["unseen"],
            ),
            (
                "acknowledged without an offset, and the final reader has read everything",
                "1 send 1 @0
                 1 send 2 ok
                 ends 0..1
                 9 poll 0:1",
                &["lost-write"],
            ),
            (
                "a final reader counts, not a consumer",
                "1 send 1 @0
                 1 send 2 @1
                 ends 0..2
                 9 poll 0:1 1:2",
                &[],
            ),
            (
                "another partition's reader went far: says nothing of this one",
                "1 send 1 @0
                 1 send b/2 @0
                 ends 0..1 b/0..1
                 9 poll 0:1",
                &["unseen"],
            ),
        ],
    );
}

#[test]
fn acks_0_and_1_are_excused_by_what_may_take_them() {
    let readers = "1 is idempotent
        6 is acks0
        7 is acks1
        9 is final
        9 assign 0";
    check(
        readers,
        &[
            (
                "acks=0, no fault",
                "6 send 1 ok
                 1 send 2 @0
                 ends 0..1
                 9 poll 0:2",
                &["lost-write"],
            ),
            (
                "acks=0, a fault after it",
                "6 send 1 ok
                 fault kill
                 healed kill
                 1 send 2 @0
                 ends 0..1
                 9 poll 0:2",
                &[],
            ),
            (
                "acks=0, sent while a fault lasts",
                "fault cut
                 wait 60
                 6 send 1 ok
                 wait 60
                 healed cut
                 1 send 2 @0
                 ends 0..1
                 9 poll 0:2",
                &[],
            ),
            (
                "acks=0, a fault long after it",
                "6 send 1 ok
                 wait 20
                 fault kill
                 healed kill
                 1 send 2 @0
                 ends 0..1
                 9 poll 0:2",
                &["lost-write"],
            ),
            (
                "acks=0, a fault long before it",
                "fault kill
                 healed kill
                 wait 20
                 6 send 1 ok
                 1 send 2 @0
                 ends 0..1
                 9 poll 0:2",
                &["lost-write"],
            ),
            (
                "acks=1, kill -9 takes nothing that was written",
                "7 send 1 @0
                 fault kill
                 healed kill
                 1 send 2 @1
                 ends 0..2
                 9 poll 1:2",
                &["lost-write", "poll-skip"],
            ),
            (
                "acks=1, a power cut may, and its offset is given away again",
                "7 send 1 @0
                 fault power-cut
                 healed power-cut
                 1 send 2 @0
                 1 send 3 @1
                 ends 0..2
                 9 poll 0:2 1:3",
                &[],
            ),
            (
                "acks=1, and the hole it leaves is none",
                "7 send 1 @0
                 fault power-cut
                 healed power-cut
                 1 send 2 @1
                 ends 0..2
                 9 poll 1:2",
                &[],
            ),
            (
                "acks=1, after the power cut",
                "fault power-cut
                 healed power-cut
                 7 send 1 @0
                 1 send 2 @0
                 ends 0..1
                 9 poll 0:2",
                &["lost-write", "inconsistent-offsets"],
            ),
            (
                "acks=1, synced long before the power cut",
                "7 send 1 @0
                 wait 20
                 fault power-cut
                 healed power-cut
                 1 send 2 @0
                 ends 0..1
                 9 poll 0:2",
                &["lost-write", "inconsistent-offsets"],
            ),
            (
                "acks=1, read by a consumer before the power cut",
                "7 send 1 @0
                 5 is consumer
                 5 assign 0
                 5 poll 0:1
                 fault power-cut
                 healed power-cut
                 1 send 2 @1
                 ends 0..2
                 9 poll 1:2",
                &["lost-write", "poll-skip"],
            ),
            (
                "acks=all, a power cut takes nothing",
                "1 send 1 @0
                 fault power-cut
                 healed power-cut
                 1 send 2 @1
                 ends 0..2
                 9 poll 1:2",
                &["lost-write", "poll-skip"],
            ),
        ],
    );
}

#[test]
fn duplicates() {
    check(
        ALL,
        &[
            (
                "an idempotent producer's value at two offsets",
                "1 send 1 @0
                 5 poll 0:1 1:1",
                &["duplicate"],
            ),
            (
                "acknowledged at one, read at another",
                "1 send 1 @0
                 5 poll 1:1",
                &["duplicate", "poll-skip"],
            ),
            (
                "read at one, then acknowledged at another",
                "1 send 1 open
                 5 poll 0:1
                 1 sent 1 @1",
                &["duplicate"],
            ),
            (
                "its outcome unknown: still once or not at all",
                "1 send 1 unknown
                 5 poll 0:1 1:1",
                &["duplicate"],
            ),
            (
                "the same two places, read again",
                "1 send 1 unknown
                 5 poll 0:1 1:1
                 5 assign 0
                 5 poll 0:1 1:1",
                &["duplicate"],
            ),
            (
                "another value between: out of place, not out of order",
                "1 send 1 @0
                 1 send 2 @1
                 5 poll 0:1 1:2 2:1",
                &["duplicate"],
            ),
            (
                "read twice by two consumers at one offset",
                "1 send 1 @0
                 5 poll 0:1
                 6 is consumer
                 6 assign 0
                 6 poll 0:1",
                &[],
            ),
            (
                "a plain producer that does not retry",
                "2 send 1 @0
                 5 poll 0:1 1:1",
                &["duplicate"],
            ),
            (
                "a plain producer that retries",
                "3 send 1 @1
                 5 poll 0:1 1:1",
                &[],
            ),
            (
                "a plain producer's send with an unknown outcome",
                "2 send 1 unknown
                 5 poll 0:1 1:1",
                &[],
            ),
        ],
    );
}

#[test]
fn inconsistent_offsets() {
    check(
        ALL,
        &[
            (
                "two acknowledgements",
                "1 send 1 @0
                 2 send 2 @0
                 5 poll 0:2",
                &["lost-write", "inconsistent-offsets", "nonmonotonic-send"],
            ),
            (
                "two polls",
                "1 send 1 unknown
                 1 send 2 unknown
                 5 poll 0:1
                 6 is consumer
                 6 assign 0
                 6 poll 0:2",
                &["inconsistent-offsets"],
            ),
            (
                "more polls of the same two",
                "1 send 1 unknown
                 1 send 2 unknown
                 5 poll 0:1
                 5 assign 0
                 5 poll 0:2
                 5 assign 0
                 5 poll 0:2
                 5 assign 0
                 5 poll 0:1",
                &["inconsistent-offsets"],
            ),
            (
                "a poll after an acknowledgement",
                "1 send 2 open
                 2 send 1 @0
                 5 poll 0:2",
                &["lost-write", "inconsistent-offsets"],
            ),
            (
                "an acknowledgement after a poll",
                "1 send 1 unknown
                 2 send 2 open
                 5 poll 0:1
                 2 sent 2 @0",
                &["lost-write", "inconsistent-offsets"],
            ),
            (
                "the same offset in two partitions",
                "1 send 1 @0
                 1 send b/2 @0
                 5 assign 0 b/0
                 5 poll 0:1 b/0:2",
                &[],
            ),
        ],
    );
}

#[test]
fn aborted_reads_and_phantoms() {
    check(
        ALL,
        &[
            (
                "a failed send is read",
                "1 send 1 fail
                 5 poll 0:1",
                &["aborted-read"],
            ),
            (
                "read before it fails",
                "1 send 1 open
                 5 poll 0:1
                 1 sent 1 fail",
                &["aborted-read"],
            ),
            (
                "an unknown send is read",
                "1 send 1 unknown
                 5 poll 0:1",
                &[],
            ),
            (
                "read before it is acknowledged",
                "1 send 1 open
                 5 poll 0:1
                 1 sent 1 @0",
                &[],
            ),
            ("a value nobody sent", "5 poll 0:1", &["phantom"]),
            ("a record without a value", "5 poll 0:0", &["phantom"]),
            (
                "sent only afterwards",
                "5 poll 0:1
                 1 send 1 @0",
                &["lost-write", "phantom", "nonmonotonic-send"],
            ),
            (
                "under another key",
                "1 send 1 @0
                 5 poll 0:1k2",
                &["phantom"],
            ),
            (
                "in another partition",
                "1 send b/1 unknown
                 5 poll 0:1",
                &["phantom"],
            ),
            (
                "in another partition, and so not seen in its own",
                "1 send b/1 @0
                 5 poll 0:1",
                &["unseen", "phantom"],
            ),
        ],
    );
}

#[test]
fn nonmonotonic_sends() {
    check(
        ALL,
        &[
            (
                "one idempotent producer's values swapped",
                "1 send 1 open
                 1 send 2 open
                 1 sent 1 @1
                 1 sent 2 @0
                 5 poll 0:2 1:1",
                &["nonmonotonic-send"],
            ),
            (
                "the later one's outcome unknown",
                "1 send 1 open
                 1 send 2 unknown
                 1 sent 1 @1
                 5 poll 0:2 1:1",
                &["nonmonotonic-send"],
            ),
            (
                "the earlier one's outcome unknown: given up, and late",
                "1 send 1 unknown
                 1 send 2 open
                 1 sent 2 @0
                 5 poll 0:2 1:1",
                &[],
            ),
            (
                "what is late is not measured against: the next one is in order",
                "1 send 1 unknown
                 1 send 2 open
                 1 send 3 open
                 1 sent 3 @0
                 1 sent 2 @2
                 5 poll 0:3 1:1 2:2",
                &["nonmonotonic-send"],
            ),
            (
                "a plain producer with several in flight",
                "3 send 1 open
                 3 send 2 open
                 3 sent 1 @1
                 3 sent 2 @0
                 5 poll 0:2 1:1",
                &[],
            ),
            (
                "two producers' values between one another",
                "1 send 1 open
                 3 send 2 open
                 1 send 3 open
                 1 sent 1 @0
                 3 sent 2 @2
                 1 sent 3 @1
                 5 poll 0:1 1:3 2:2",
                &[],
            ),
            (
                "two idempotent producers, each in order",
                "4 is idempotent
                 4 send 1 open
                 1 send 2 open
                 1 sent 2 @0
                 4 sent 1 @1
                 5 poll 0:2 1:1",
                &[],
            ),
            (
                "doubled by a retry, and one of the two before what was taken",
                "1 send 1 @1
                 3 send 2 @2
                 5 poll 0:2 1:1 2:2",
                &["nonmonotonic-send"],
            ),
            (
                "sent when a later offset was acknowledged",
                "1 send 1 @1
                 3 send 2 @0
                 5 poll 0:2 1:1",
                &["nonmonotonic-send"],
            ),
            (
                "acknowledged later, but sent before",
                "3 send 2 open
                 1 send 3 @1
                 3 sent 2 @0
                 5 poll 0:2 1:3",
                &[],
            ),
            (
                "sent when a later offset was read",
                "3 send 1 open
                 5 seek 1
                 5 poll 1:1
                 3 send 2 unknown
                 5 seek 0
                 5 poll 0:2",
                &["nonmonotonic-send"],
            ),
            (
                "sent when the log was longer",
                "ends 0..5
                 1 send 1 @4
                 5 poll 4:1",
                &["nonmonotonic-send"],
            ),
        ],
    );
}

#[test]
fn an_anomaly_names_what_proves_it_each_once() {
    let verdict = judged(
        "1 is idempotent
         2 is plain
         5 is consumer
         5 assign 0
         1 send 1 @0
         2 send 2 @0
         5 poll 0:2 1:1",
    );
    let all: Vec<_> = verdict.anomalies.iter().map(ToString::to_string).collect();
    let expected = [
        "duplicate a-0: value 1 is at offset 0, and at 1 [op 6 by 1 at 0.004 s] [op 8 by 5 at 0.006 s]",
        "inconsistent-offsets a-0: offset 0 has value 1, and value 2 [op 6 by 1 at 0.004 s] [op 7 by 2 at 0.005 s]",
        "nonmonotonic-send a-0: value 2 is at 0, sent when 0 was taken [op 7 by 2 at 0.005 s]",
    ];
    assert_eq!(all, expected);
    let duplicate = &verdict.anomalies[0];
    assert_eq!((&duplicate.offsets[..], &duplicate.values[..]), (&[0, 1][..], &[1][..]));
}
