//! The bugs of a start: what they make of a disk before the next broker sees it.

use super::{
    batches, lease,
    plant::{Plant, Plants},
};
use crate::{
    ids::{LogId, Offset},
    storage::{LogOptions, LogStore, NewBatch, OpenLog, Summary, mem::Mem},
};
use std::collections::HashMap;

/// The broker that opens the log sets them again.
const OPTIONS: LogOptions = LogOptions {
    segment_bytes: 1 << 30,
    segment_ms: i64::MAX,
    segment_jitter_ms: 0,
    jitter_seed: 0,
};

/// Logs whose producers are not known any more, and where they ended then.
#[derive(Debug, Clone, Default)]
pub struct Forgotten(HashMap<LogId, Offset>);

impl Forgotten {
    pub fn has(&self, log: LogId) -> bool {
        self.0.contains_key(&log)
    }

    /// Takes the producers from what was written before.
    pub fn hide(&self, log: LogId, summaries: &mut [Summary]) {
        let Some(end) = self.0.get(&log) else { return };
        for summary in summaries.iter_mut().filter(|summary| summary.last_offset < *end) {
            summary.producer_id = -1;
        }
    }
}

/// Lets every planted bug of a start act on every log.
pub fn act(mem: &Mem, plants: &Plants) -> Forgotten {
    let mut forgotten = Forgotten::default();
    let mut logs = mem.logs().unwrap_or_default();
    logs.sort_unstable_by_key(|log| log.0);
    for log in logs {
        let act = |plant, bug: fn(&Mem, LogId) -> Option<()>| {
            if plants.wants(plant) && bug(mem, log).is_some() {
                plants.count(plant);
            }
        };
        if lease::is_of_coordinator(mem, log) {
            act(Plant::ForgetCommit, forget_commit);
            continue;
        }
        act(Plant::CutAtRestart, cut);
        act(Plant::ReorderAtRestart, reorder);
        if plants.wants(Plant::LoseDedupe)
            && let Some(last) = summaries(mem, log).last()
        {
            forgotten.0.insert(log, last.last_offset + 1);
            plants.count(Plant::LoseDedupe);
        }
    }
    forgotten
}

/// What the log holds, in order.
fn summaries(mem: &Mem, log: LogId) -> Vec<Summary> {
    mem.summaries(log, 0, Offset::MAX, usize::MAX).unwrap_or_default()
}

fn stored(mem: &Mem, log: LogId, summary: &Summary) -> Option<NewBatch> {
    batches::parse(&mem.batch(log, summary.base_offset).ok()?)
}

fn cut(mem: &Mem, log: LogId) -> Option<()> {
    let last = summaries(mem, log).pop()?;
    rewrite(mem, log, last.base_offset, Vec::new())
}

fn reorder(mem: &Mem, log: LogId) -> Option<()> {
    let all = summaries(mem, log);
    let [.., a, b] = &all[..] else { return None };
    let (first, second) = batches::swapped(&stored(mem, log, a)?, &stored(mem, log, b)?);
    rewrite(mem, log, a.base_offset, vec![first, second])
}

fn forget_commit(mem: &Mem, log: LogId) -> Option<()> {
    let all = summaries(mem, log);
    let commit = |batch: &Summary| {
        mem.batch(log, batch.base_offset).is_ok_and(|bytes| batches::is_commit(&bytes))
    };
    let at = all.iter().rposition(commit)?;
    let after = all[at + 1..].iter().map(|batch| stored(mem, log, batch)).collect::<Option<_>>()?;
    rewrite(mem, log, all[at].base_offset, after)
}

/// Replaces everything from `from` on.
fn rewrite(mem: &Mem, log: LogId, from: Offset, with: Vec<NewBatch>) -> Option<()> {
    let OpenLog { high_watermark, epochs, .. } = mem.open(log, OPTIONS).ok()?;
    mem.truncate(log, from).try_recv().ok()?.ok()?;
    for batch in with {
        mem.append(log, batch);
    }
    // Those from `from` on went with it.
    for (epoch, start) in epochs.into_iter().filter(|(_, start)| *start >= from) {
        mem.set_epoch_start(log, epoch, start);
    }
    mem.sync(log);
    mem.set_high_watermark(log, high_watermark);
    Some(())
}
