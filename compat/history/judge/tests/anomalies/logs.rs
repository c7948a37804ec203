//! Histories about where logs begin and end.

use crate::check;

const PREFIX: &str = "
    1 is idempotent
    5 is consumer
    5 assign 0
";

#[test]
fn ends_do_not_go_back() {
    check(
        PREFIX,
        &[
            (
                "before what was acknowledged",
                "1 send 1 @0
                 ends 0..0
                 ends 0..1
                 5 poll 0:1",
                &["end-regression"],
            ),
            (
                "asked before it was acknowledged",
                "1 send 1 open
                 asking-ends
                 1 sent 1 @0
                 told-ends 0..0
                 ends 0..1
                 5 poll 0:1",
                &[],
            ),
            (
                "before what was read",
                "1 send 1 unknown
                 5 poll 0:1
                 ends 0..0
                 ends 0..1",
                &["end-regression"],
            ),
            (
                "before an earlier end",
                "ends 0..5
                 ends 0..4",
                &["end-regression"],
            ),
            (
                "beyond what is known: unknown sends",
                "ends 0..5
                 ends 0..5
                 ends 0..9",
                &[],
            ),
            (
                "another partition",
                "ends 0..5 b/0..7
                 ends 0..5 b/0..7",
                &[],
            ),
        ],
    );
}

#[test]
fn logs_begin_at_0() {
    check(PREFIX, &[("moved", "ends 3..5", &["log-start-moved"]), ("not moved", "ends 0..5", &[])]);
}
