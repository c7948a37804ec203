//! Where each consumer is in each partition, and what its next record must therefore be: `poll-skip`,
//! `nonmonotonic-poll`, their variants within one poll, and `wrong-start`.
//!
//! A consumer's next record is the first existing one at or above its position. The position is known after a record,
//! an `Assign` or a `Seek`. After a rebalance it is what the group had committed: Kafka is at-least-once, so going back
//! is legal, but only to a commit that could have been current while the consumer asked for it ([`crate::commits`]), or
//! to the log start where there may have been none. Jepsen allows any skip and rewind then; this is sharper.
//!
//! Which offsets exist is known only at the end of the history, so jumps are kept until then.

use crate::{
    commits::Commits,
    faults::Faults,
    history::Partition,
    order::{Order, PartitionId},
    verdict::{Anomaly, Findings, Kind, Witness},
};
use std::collections::BTreeMap;

/// One process' partitions.
#[derive(Default)]
pub(crate) struct Cursors(pub(crate) BTreeMap<PartitionId, Cursor>);

#[derive(Debug, Clone, Copy)]
pub(crate) struct Cursor {
    pub(crate) next: Next,
    /// What gave it this position.
    by: Witness,
    /// Whether it has ever come to the end of what was acknowledged.
    pub(crate) caught_up: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// The first record at or above this offset.
    From(i64),
    /// The first record at or above a commit that was current at this time or later.
    Committed { since: u64 },
}

/// A consumer went from `from` to the record at `to`. Legal if no record is between them.
struct Jump {
    kind: Kind,
    partition: PartitionId,
    from: i64,
    to: i64,
    witnesses: [Witness; 2],
}

#[derive(Default)]
pub(crate) struct Polls {
    jumps: Vec<Jump>,
}

impl Cursors {
    pub(crate) fn set(&mut self, partition: PartitionId, next: Next, by: Witness) {
        self.0.insert(partition, Cursor { next, by, caught_up: false });
    }
}

impl Polls {
    /// A record at this offset was handed out. `internal`: not the first of its partition in this poll.
    #[expect(clippy::too_many_arguments, reason = "one call, and each is another thing")]
    pub(crate) fn polled(
        &mut self,
        cursors: &mut Cursors,
        (id, partition): (PartitionId, &Partition),
        offset: i64,
        internal: bool,
        by: Witness,
        group: Option<&str>,
        commits: &mut Commits,
        findings: &mut Findings,
    ) {
        let cursor = cursors.0.get(&id).copied();
        let caught_up = cursor.is_some_and(|cursor| cursor.caught_up);
        cursors.0.insert(id, Cursor { next: Next::From(offset.saturating_add(1)), by, caught_up });
        let Some(cursor) = cursor else { return };
        let witnesses = [cursor.by, by];
        match cursor.next {
            Next::From(from) if offset < from => {
                let kind =
                    if internal { Kind::IntNonmonotonicPoll } else { Kind::NonmonotonicPoll };
                findings.add(kind, || {
                    Anomaly::new(format!("offset {offset} was read when {from} was next"))
                        .partition(partition)
                        .offsets([offset, from])
                        .witnesses(witnesses)
                });
            }
            Next::From(from) => {
                let kind = if internal { Kind::IntPollSkip } else { Kind::PollSkip };
                self.jump(kind, id, from, offset, witnesses);
            }
            Next::Committed { since } => {
                let group = group.unwrap_or_default();
                let current: Vec<_> = commits.current(group, id, since).collect();
                let starts = current.iter().map(|commit| commit.unwrap_or(0));
                if let Some(start) = starts.filter(|start| *start <= offset).max() {
                    return self.jump(Kind::WrongStart, id, start, offset, witnesses);
                }
                findings.add(Kind::WrongStart, || {
                    let current: Vec<_> = current.into_iter().flatten().collect();
                    let why = format!("began at {offset}, group {group} had committed {current:?}");
                    Anomaly::new(why)
                        .partition(partition)
                        .offsets([offset].into_iter().chain(current).take(16).collect::<Vec<_>>())
                        .witnesses(witnesses)
                });
            }
        }
    }

    fn jump(&mut self, kind: Kind, at: PartitionId, from: i64, to: i64, by: [Witness; 2]) {
        if from < to {
            self.jumps.push(Jump { kind, partition: at, from, to, witnesses: by });
        }
    }

    /// At the end of the history.
    pub(crate) fn judge(
        self,
        order: &Order,
        faults: &Faults,
        partitions: &[Partition],
        findings: &mut Findings,
    ) {
        for Jump { kind, partition, from, to, witnesses } in self.jumps {
            let mut skipped = order.claims(partition, from, to, faults);
            let Some(first) = skipped.next() else { continue };
            findings.add(kind, || {
                let some: Vec<_> = [first].into_iter().chain(skipped).take(16).collect();
                let (offsets, values): (Vec<_>, Vec<_>) = some.into_iter().unzip();
                let start = match kind {
                    Kind::WrongStart => "began at",
                    _ => "went on at",
                };
                let (at, value) = first;
                let why = format!("{start} {to} instead of {from}, past value {value} at {at}");
                Anomaly::new(why)
                    .partition(&partitions[partition as usize])
                    .offsets(offsets)
                    .values(values)
                    .witnesses(witnesses)
            });
        }
    }
}
