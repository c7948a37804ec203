//! What groups have committed, and so what the broker may say they have.
//!
//! A commit takes effect at some moment between its invocation and its completion; one with an unknown outcome at any
//! moment from its invocation on. So in a window of time (while the broker was asked, or while a consumer that got a
//! partition asked for its start) a commit could have been current unless another one, begun after it was over, was
//! acknowledged before the window. Anything else that the broker says is an anomaly:
//!
//! - `commit-regression`: a commit that had been replaced, or none although one was acknowledged;
//! - `phantom-commit`: an offset that nobody committed, or only in a commit that failed;
//! - `commit-beyond-end`: what was named at the end is above the log end. Consumers commit what they have read, so the
//!   log got shorter.

use crate::{
    history::Partition,
    order::{Order, PartitionId},
    verdict::{Anomaly, Findings, Kind, Witness},
};
use std::collections::HashMap;

#[derive(Default)]
pub(crate) struct Commits {
    groups: HashMap<String, HashMap<PartitionId, Committed>>,
}

/// One group's commits for one partition.
#[derive(Default)]
struct Committed {
    /// Those that may be current still, in the order of their invocations.
    active: Vec<Commit>,
    /// Those that were replaced, in the order in which that became certain.
    replaced: Vec<Commit>,
    /// When it was certain for the first time that something is committed.
    since: Option<u64>,
    /// The highest offset that the broker named.
    named_max: Option<(i64, Witness)>,
}

#[derive(Debug, Clone, Copy)]
struct Commit {
    offset: i64,
    process: u32,
    op: u64,
    invoked: u64,
    /// `u64::MAX`: not known to be done.
    completed: u64,
    /// `u64::MAX`: not known to be replaced.
    replaced: u64,
}

impl Commits {
    fn of(&mut self, group: &str, partition: PartitionId) -> &mut Committed {
        if !self.groups.contains_key(group) {
            self.groups.insert(group.to_owned(), HashMap::new());
        }
        let group = self.groups.get_mut(group).expect("inserted above");
        group.entry(partition).or_default()
    }

    pub(crate) fn invoked(&mut self, group: &str, at: PartitionId, offset: i64, by: Witness) {
        let Witness { process, op, time: invoked } = by;
        let (completed, replaced) = (u64::MAX, u64::MAX);
        let commit = Commit { offset, process, op, invoked, completed, replaced };
        self.of(group, at).active.push(commit);
    }

    pub(crate) fn acknowledged(&mut self, group: &str, at: PartitionId, op: u64, now: u64) {
        let committed = self.of(group, at);
        let Some(done) = committed.active.iter_mut().find(|commit| commit.op == op) else { return };
        done.completed = now;
        let invoked = done.invoked;
        committed.since.get_or_insert(now);
        let over = |commit: &mut Commit| commit.completed < invoked;
        let replaced = committed.active.extract_if(.., over);
        committed.replaced.extend(replaced.map(|commit| Commit { replaced: now, ..commit }));
    }

    pub(crate) fn failed(&mut self, group: &str, at: PartitionId, op: u64) {
        self.of(group, at).active.retain(|commit| commit.op != op);
    }

    /// What could have been current at some moment from `since` to now, the newest first; None: nothing committed.
    pub(crate) fn current(
        &mut self,
        group: &str,
        at: PartitionId,
        since: u64,
    ) -> impl Iterator<Item = Option<i64>> {
        self.of(group, at).current(since)
    }

    /// The broker says so, asked at `asked`.
    pub(crate) fn named(
        &mut self,
        group: &str,
        (id, partition): (PartitionId, &Partition),
        offset: Option<i64>,
        asked: u64,
        by: Witness,
        findings: &mut Findings,
    ) {
        let committed = self.of(group, id);
        let legal = committed.current(asked).any(|current| current == offset);
        if let Some(offset) = offset
            && committed.named_max.is_none_or(|(max, _)| offset > max)
        {
            committed.named_max = Some((offset, by));
        }
        if legal {
            return;
        }
        let all = || committed.replaced.iter().chain(&committed.active);
        let known = offset.is_none_or(|offset| all().any(|commit| commit.offset == offset));
        let newest = all().filter(|commit| commit.completed < asked).max_by_key(|c| c.completed);
        let kind = if known { Kind::CommitRegression } else { Kind::PhantomCommit };
        findings.add(kind, || {
            let said = offset.map_or("nothing".to_owned(), |offset| offset.to_string());
            let newest_offset = newest.map_or("nothing".to_owned(), |c| c.offset.to_string());
            let why =
                format!("group {group} has {said}, though {newest_offset} was acknowledged before");
            let acknowledged = newest.map(|commit| Witness {
                process: commit.process,
                op: commit.op,
                time: commit.completed,
            });
            Anomaly::new(why)
                .partition(partition)
                .offsets(offset.into_iter().chain(newest.map(|c| c.offset)).collect::<Vec<_>>())
                .witnesses(acknowledged.into_iter().chain([by]).collect::<Vec<_>>())
        });
    }

    /// At the end of the history.
    pub(crate) fn judge(self, order: &Order, partitions: &[Partition], findings: &mut Findings) {
        let mut groups: Vec<_> = self.groups.into_iter().collect();
        groups.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        for (group, committed) in groups {
            let mut committed: Vec<_> = committed.into_iter().collect();
            committed.sort_unstable_by_key(|(id, _)| *id);
            for (id, committed) in committed {
                let end = order.logs[id as usize].end;
                let (Some((offset, by)), Some(end)) = (committed.named_max, end) else { continue };
                if offset <= end {
                    continue;
                }
                findings.add(Kind::CommitBeyondEnd, || {
                    Anomaly::new(format!("group {group} has {offset}, the log ends at {end}"))
                        .partition(&partitions[id as usize])
                        .offsets([offset, end])
                        .witnesses([by])
                });
            }
        }
    }
}

impl Committed {
    fn current(&self, since: u64) -> impl Iterator<Item = Option<i64>> {
        let fresh = self.replaced.partition_point(|commit| commit.replaced < since);
        let possible = self.active.iter().rev().chain(self.replaced[fresh..].iter().rev());
        let none = self.since.is_none_or(|certain| certain >= since).then_some(None);
        possible.map(|commit| Some(commit.offset)).chain(none)
    }
}
