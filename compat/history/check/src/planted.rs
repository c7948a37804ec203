//! Whether the checker finds bugs: each one that can be planted, in a run of its own with the faults that show it.

use crate::{
    node::Target,
    plan::{Fault, Plan, Step},
    run::{Broker, Options, Outcome, Plant, run},
};
use anyhow::{Context, Result};
use ottla::faults::Plant as Bug;
use std::{path::PathBuf, time::Duration};

/// Runs those named; no names mean all, and `none`: the faults without a bug, which must find nothing.
pub async fn all(names: Vec<String>, lasting: Duration, seed: u64, out: PathBuf) -> Result<bool> {
    let mut bugs = Vec::new();
    for name in &names {
        bugs.push(match name.as_str() {
            "none" => None,
            name => Some(name.parse::<Bug>().context("planted")?),
        });
    }
    if bugs.is_empty() {
        bugs.push(None);
        bugs.extend(Bug::ALL.map(Some));
    }
    let (mut passed, mut failed) = (0, 0);
    for bug in bugs {
        let name = bug.map_or("none", Bug::name);
        let options = Options {
            seed,
            lasting,
            out: out.join(name),
            broker: Broker::Ours(Target::Mem),
            plant: Some(Plant { bug, plan: plan(bug, seed) }),
            talks: false,
        };
        let outcome = run(options).await.with_context(|| name.to_owned())?;
        let (good, what) = match (bug, outcome.is_clean()) {
            (None, true) => (true, "nothing is found where nothing is".into()),
            (None, false) => (false, format!("found without a bug: {}", found(&outcome))),
            (Some(_), _) if outcome.acted == 0 => (false, "the bug never acted".into()),
            (Some(_), true) => (false, format!("acted {} times, not found", outcome.acted)),
            (Some(_), false) => {
                (true, format!("acted {} times, found: {}", outcome.acted, found(&outcome)))
            }
        };
        println!("{} planted {name}: {what}", if good { "ok   " } else { "FAIL " });
        if good { passed += 1 } else { failed += 1 }
    }
    println!("{passed} passed, {failed} failed");
    Ok(failed == 0)
}

fn found(outcome: &Outcome) -> String {
    let kinds = outcome.verdict.totals.iter().map(|(kind, total)| format!("{kind} {total}"));
    let complaints = outcome.notes.complaints.first().map(|first| format!("complaint \"{first}\""));
    kinds.chain(complaints).collect::<Vec<_>>().join(", ")
}

/// The faults without which a bug does not show.
fn plan(bug: Option<Bug>, seed: u64) -> Plan {
    let crash = |_| Fault::Crash { slow: 30, down: 0 };
    let power_cut = |number| Fault::PowerCut { slow: 30, seed: seed + number, down: 0 };
    // Long enough for consumers to come by while something is written and not synced.
    let slow_power_cut = |number| Fault::PowerCut { slow: 150, seed: seed + number, down: 0 };
    let both = |number| if number % 2 == 0 { crash(number) } else { power_cut(number) };
    let node = match bug {
        None => steps(both),
        Some(
            Bug::DropAcknowledged
            | Bug::RepeatBatch
            | Bug::SwapBatches
            | Bug::WrongOffset
            | Bug::SkipBatch
            | Bug::StaleRead,
        ) => vec![],
        Some(Bug::ServeBeyondHighWatermark) => steps(slow_power_cut),
        Some(Bug::TornAck) => steps(power_cut),
        Some(Bug::ForgetCommit | Bug::LoseDedupe | Bug::ReorderAtRestart | Bug::CutAtRestart) => {
            steps(crash)
        }
    };
    Plan { node, wire: vec![] }
}

/// Every four seconds.
fn steps(fault: impl Fn(u64) -> Fault) -> Vec<Step> {
    let step = |number| Step { at: Duration::from_secs(4 * (number + 1)), fault: fault(number) };
    (0..6).map(step).collect()
}
