//! `duplicate`: one value at two offsets. `inconsistent-offsets`: two values at one offset.
//!
//! A plain producer whose client retries may double a value, and so may a plain one whose send ended unknown; neither
//! is held against the broker. An idempotent producer's value is once in the log, or not at all.

use crate::{
    faults::Faults,
    history::{Partition, Role},
    order::{Conflict, Order, Outcome, PartitionId, Sent},
    verdict::{Anomaly, Findings, Kind, Witness},
};
use std::collections::{HashMap, HashSet};

#[derive(Default)]
pub(crate) struct Doubled {
    /// Values at another offset than where they were known to be, judged when all outcomes are known.
    elsewhere: HashMap<(u64, i64), Witness>,
    /// Conflicts reported already: partition, offset, the later value.
    conflicts: HashSet<(PartitionId, i64, u64)>,
}

impl Doubled {
    /// A poll or an acknowledgement says that this value is at this offset; `sent` is as it was before.
    pub(crate) fn placed(&mut self, value: u64, sent: &Sent, offset: i64, by: Witness) {
        let (seen, acked) = (sent.seen_at, sent.acked_at);
        if (seen >= 0 || acked >= 0) && offset != seen && offset != acked {
            self.elsewhere.entry((value, offset)).or_insert(by);
        }
    }

    /// Whether the value is known to be at more than one offset.
    pub(crate) fn values(&self) -> HashSet<u64> {
        self.elsewhere.keys().map(|(value, _)| *value).collect()
    }

    pub(crate) fn conflict(
        &mut self,
        conflict: &Conflict,
        at: (PartitionId, &Partition, i64),
        by: Witness,
        order: &Order,
        findings: &mut Findings,
    ) {
        let (id, partition, offset) = at;
        let Conflict { before, now } = *conflict;
        if !self.conflicts.insert((id, offset, now)) {
            return;
        }
        findings.add(Kind::InconsistentOffsets, || {
            let senders = [before, now].map(|value| order.sent(value).map(Sent::witness));
            Anomaly::new(format!("offset {offset} has value {before}, and value {now}"))
                .partition(partition)
                .offsets([offset])
                .values([before, now])
                .witnesses(senders.into_iter().flatten().chain([by]).collect::<Vec<_>>())
        });
    }

    /// At the end of the history.
    pub(crate) fn judge<'a>(
        self,
        order: &Order,
        faults: &Faults,
        partitions: &[Partition],
        role: impl Fn(u32) -> Option<&'a Role>,
        findings: &mut Findings,
    ) {
        let mut elsewhere: Vec<_> = self.elsewhere.into_iter().collect();
        elsewhere.sort_unstable_by_key(|((value, offset), _)| (*value, *offset));
        for ((value, offset), by) in elsewhere {
            let Some(sent) = order.sent(value) else { continue };
            let Some(Role::Producer { idempotent, retries, .. }) = role(sent.process) else {
                continue;
            };
            let outcome_known = matches!(sent.outcome, Outcome::Ok | Outcome::Fail);
            let plain_may = !idempotent && (*retries || !outcome_known || sent.is_excused(faults));
            if plain_may {
                continue;
            }
            let first = if sent.seen_at >= 0 && sent.seen_at != offset {
                sent.seen_at
            } else {
                sent.acked_at
            };
            findings.add(Kind::Duplicate, || {
                Anomaly::new(format!("value {value} is at offset {first}, and at {offset}"))
                    .partition(&partitions[sent.partition as usize])
                    .offsets([first, offset])
                    .values([value])
                    .witnesses([sent.witness(), by])
            });
        }
    }
}
