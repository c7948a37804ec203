//! Histories about what groups committed.

use crate::check;

/// 1 commits, 2 commits and asks.
const GROUP: &str = "
    1 is group
    2 is group
";

#[test]
fn what_the_broker_says_is_committed() {
    check(
        GROUP,
        &[
            (
                "the newest",
                "1 commit 5 ok
                 1 commit 7 ok
                 2 committed 7",
                &[],
            ),
            (
                "the one before",
                "1 commit 5 ok
                 1 commit 7 ok
                 2 committed 5",
                &["commit-regression"],
            ),
            (
                "the newest, though its offset is lower: a rewind is a commit",
                "1 commit 7 ok
                 1 commit 5 ok
                 2 committed 5",
                &[],
            ),
            (
                "none",
                "1 commit 5 ok
                 2 committed none",
                &["commit-regression"],
            ),
            ("none before the first", "2 committed none", &[]),
            (
                "none while the first is in progress",
                "1 commit 5 open
                 2 committed none
                 1 committing 5 ok",
                &[],
            ),
            (
                "none, asked while the first was in progress",
                "1 commit 5 open
                 2 asking
                 1 committing 5 ok
                 2 told none",
                &[],
            ),
            (
                "either while a commit is in progress",
                "1 commit 5 ok
                 1 commit 7 open
                 2 committed 5
                 2 committed 7
                 1 committing 7 ok",
                &[],
            ),
            (
                "either of two at the same time",
                "1 commit 5 open
                 2 commit 7 open
                 1 committing 5 ok
                 2 committing 7 ok
                 2 committed 5
                 2 committed 7",
                &[],
            ),
            (
                "neither of two that a third came after",
                "1 commit 5 open
                 2 commit 7 open
                 1 committing 5 ok
                 2 committing 7 ok
                 1 commit 9 ok
                 2 committed 5
                 2 committed 7",
                &["commit-regression*2"],
            ),
            (
                "the one before, asked while the next was in progress",
                "1 commit 5 ok
                 1 commit 7 open
                 2 asking
                 1 committing 7 ok
                 2 told 5",
                &[],
            ),
            (
                "the one before, asked after the next was done",
                "1 commit 5 ok
                 1 commit 7 open
                 1 committing 7 ok
                 2 asking
                 2 told 5",
                &["commit-regression"],
            ),
            (
                "an unknown one, late",
                "1 commit 5 unknown
                 1 commit 7 ok
                 2 committed 5",
                &[],
            ),
            (
                "a failed one",
                "1 commit 5 ok
                 1 commit 7 fail
                 2 committed 7",
                &["phantom-commit"],
            ),
            (
                "what nobody committed",
                "1 commit 5 ok
                 2 committed 6",
                &["phantom-commit"],
            ),
            (
                "what another partition has",
                "1 commit 5 ok
                 1 commit b/6 ok
                 2 committed 6",
                &["phantom-commit"],
            ),
        ],
    );
}

#[test]
fn a_commit_is_within_the_log() {
    check(
        GROUP,
        &[
            (
                "beyond the end",
                "1 commit 5 ok
                 2 committed 5
                 ends 0..4",
                &["commit-beyond-end"],
            ),
            (
                "at the end",
                "1 commit 5 ok
                 2 committed 5
                 ends 0..5",
                &[],
            ),
        ],
    );
}
