//! Histories about the order in which consumers got records.

use crate::{check, script::judged};

/// Values 1 to 5 at offsets 0 to 4, a consumer 5 that reads from the start, one 7 in a group; 8 has read all.
const LOG: &str = "
    1 is idempotent
    1 send 1 @0
    1 send 2 @1
    1 send 3 @2
    1 send 4 @3
    1 send 5 @4
    8 is consumer
    8 assign 0
    8 poll 0:1 1:2 2:3 3:4 4:5
    5 is consumer
    5 assign 0
    7 is group
";

#[test]
fn skips() {
    check(
        LOG,
        &[
            ("within a poll", "5 poll 0:1 2:3", &["int-poll-skip"]),
            (
                "between polls",
                "5 poll 0:1
                 5 poll 2:3",
                &["poll-skip"],
            ),
            (
                "an empty poll between them",
                "5 poll 0:1
                 5 poll
                 5 poll 2:3",
                &["poll-skip"],
            ),
            ("at the assigned start", "5 poll 1:2", &["poll-skip"]),
            (
                "what was skipped is known only afterwards",
                "1 send 6 open
                 1 send 7 open
                 5 seek 5
                 5 poll 6:7
                 1 sent 6 @5
                 1 sent 7 @6
                 8 poll 5:6 6:7",
                &["poll-skip"],
            ),
            (
                "over a hole in the log",
                "1 send 7 @6
                 5 seek 4
                 5 poll 4:5 6:7
                 5 seek 5
                 5 poll 6:7
                 8 poll 6:7",
                &[],
            ),
            (
                "after a seek",
                "5 poll 0:1
                 5 seek 2
                 5 poll 2:3",
                &[],
            ),
            (
                "after a new assignment",
                "5 poll 0:1
                 5 assign 2
                 5 poll 2:3",
                &[],
            ),
            (
                "not what was sought",
                "5 seek 2
                 5 poll 3:4",
                &["poll-skip"],
            ),
            (
                "two processes have two positions",
                "5 poll 0:1
                 6 is consumer
                 6 assign 2
                 6 poll 2:3
                 5 poll 1:2",
                &[],
            ),
        ],
    );
}

#[test]
fn rewinds() {
    check(
        LOG,
        &[
            ("within a poll", "5 poll 0:1 1:2 0:1", &["int-nonmonotonic-poll"]),
            ("the same record twice within a poll", "5 poll 0:1 0:1", &["int-nonmonotonic-poll"]),
            (
                "between polls",
                "5 poll 0:1 1:2
                 5 poll 1:2",
                &["nonmonotonic-poll"],
            ),
            (
                "below the assigned start",
                "5 assign 2
                 5 poll 1:2",
                &["nonmonotonic-poll"],
            ),
            (
                "after a seek",
                "5 poll 0:1 1:2
                 5 seek 1
                 5 poll 1:2",
                &[],
            ),
            (
                "another process begins anew",
                "5 poll 0:1 1:2
                 5 crash
                 6 is consumer
                 6 assign 0
                 6 poll 0:1",
                &[],
            ),
            (
                "two partitions have two positions",
                "1 send b/6 @0
                 5 assign 0 b/0
                 5 poll 0:1 1:2 b/0:6",
                &[],
            ),
        ],
    );
}

#[test]
fn starts_after_a_rebalance() {
    check(
        LOG,
        &[
            (
                "nothing committed: from the log start",
                "7 subscribe
                 7 rebalance +a
                 7 poll 0:1 1:2",
                &[],
            ),
            (
                "nothing committed: not from the middle",
                "7 subscribe
                 7 rebalance +a
                 7 poll 1:2",
                &["wrong-start"],
            ),
            (
                "at the commit",
                "7 commit 2 ok
                 7 subscribe
                 7 rebalance +a
                 7 poll 2:3",
                &[],
            ),
            (
                "before the commit",
                "7 commit 2 ok
                 7 subscribe
                 7 rebalance +a
                 7 poll 1:2",
                &["wrong-start"],
            ),
            (
                "after the commit",
                "7 commit 2 ok
                 7 subscribe
                 7 rebalance +a
                 7 poll 3:4",
                &["wrong-start"],
            ),
            (
                "at a commit that was replaced before",
                "7 commit 1 ok
                 7 commit 3 ok
                 7 subscribe
                 7 rebalance +a
                 7 poll 1:2",
                &["wrong-start"],
            ),
            (
                "at a commit that was replaced while it asked",
                "7 commit 1 ok
                 7 subscribe
                 7 rebalance +a
                 7 commit 3 ok
                 7 poll 1:2",
                &[],
            ),
            (
                "back to the commit after having read on: at least once",
                "7 commit 1 ok
                 7 subscribe
                 7 rebalance +a
                 7 poll 1:2 2:3 3:4
                 7 rebalance -a
                 7 rebalance +a
                 7 poll 1:2",
                &[],
            ),
            (
                "a partition that is kept keeps its position",
                "7 commit 1 ok
                 7 subscribe
                 7 rebalance +a
                 7 poll 1:2 2:3 3:4
                 7 rebalance +b
                 7 poll 1:2",
                &["nonmonotonic-poll"],
            ),
            (
                "at a commit with an unknown outcome",
                "7 commit 1 ok
                 7 commit 3 unknown
                 7 subscribe
                 7 rebalance +a
                 7 poll 3:4",
                &[],
            ),
            (
                "and at the one before it",
                "7 commit 1 ok
                 7 commit 3 unknown
                 7 subscribe
                 7 rebalance +a
                 7 poll 1:2",
                &[],
            ),
            (
                "at a commit that failed",
                "7 commit 1 ok
                 7 commit 3 fail
                 7 subscribe
                 7 rebalance +a
                 7 poll 3:4",
                &["wrong-start"],
            ),
            (
                "past a hole at the commit",
                "1 send 7 @6
                 8 poll 6:7
                 7 commit 5 ok
                 7 subscribe
                 7 rebalance +a
                 7 poll 6:7",
                &[],
            ),
            (
                "a subscription forgets positions",
                "7 assign 0
                 7 poll 0:1 1:2
                 7 subscribe
                 7 poll 0:1",
                &[],
            ),
        ],
    );
}

#[test]
fn staleness_is_the_age_of_what_a_poll_withheld() {
    let stalest = |script: &str| {
        let verdict = judged(&format!("1 is idempotent\n5 is consumer\n{script}"));
        verdict.stalest.map(|stale| (stale.value, stale.nanoseconds / 1_000_000))
    };
    let table = [
        ("5 poll\n 1 send 1 @0\n wait 2\n 5 poll", Some((1, 2000))),
        ("5 poll\n 1 send 1 @0\n wait 2\n 5 poll 0:1", None),
        ("5 poll\n 1 send 1 @0\n 1 send 2 @1\n wait 2\n 5 poll 0:1", Some((2, 2000))),
        ("5 poll\n 1 send 1 unknown\n 1 send 2 @1\n wait 2\n 5 poll", Some((2, 2000))),
        ("5 poll\n 5 polling\n 1 send 1 @0\n wait 2\n 5 polled", None),
        ("1 send 1 @0\n wait 2\n 5 poll", None),
        ("5 poll\n 5 assign b/0\n 1 send 1 @0\n wait 2\n 5 poll", None),
        ("7 is group\n 7 seek 0\n 7 poll\n 1 send 1 @0\n wait 2\n 7 poll", Some((1, 2000))),
        ("7 is group\n 7 seek 0\n 7 poll\n 7 rebalance -a\n 1 send 1 @0\n wait 2\n 7 poll", None),
        (
            "1 send 1 @0\n 5 poll 0:1\n 1 send 2 @1\n wait 2\n 5 poll\n wait 1\n 5 poll",
            Some((2, 3001)),
        ),
    ];
    for (script, expected) in table {
        let found = stalest(&format!("5 assign 0\n{script}"));
        let close = match (found, expected) {
            (Some((value, found)), Some((wanted, expected))) => {
                value == wanted && found.abs_diff(expected) <= 3
            }
            (found, expected) => found == expected,
        };
        assert!(close, "{script}: {found:?}, expected {expected:?}");
    }
}
