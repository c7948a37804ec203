//! Every anomaly in a history of a few lines, and beside it the legal history that differs least from it.

mod broken;
mod commits;
mod logs;
mod polls;
mod script;
mod sends;

use script::judged;

/// A name, a script, and the anomalies expected of it: `kind` or `kind*2`, in the order of [`judge::Kind`].
type Case = (&'static str, &'static str, &'static [&'static str]);

/// Judges each script, after `prelude`.
fn check(prelude: &str, cases: &[Case]) {
    let mut wrong = vec![];
    for (name, script, expected) in cases {
        let verdict = judged(&format!("{prelude}\n{script}"));
        let times = |total: u64| if total == 1 { String::new() } else { format!("*{total}") };
        let found: Vec<_> =
            verdict.totals.iter().map(|(kind, total)| format!("{kind}{}", times(*total))).collect();
        if found != *expected {
            let all: Vec<_> = verdict.anomalies.iter().map(ToString::to_string).collect();
            wrong.push(format!("{name}: {found:?}, expected {expected:?}\n  {}", all.join("\n  ")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
