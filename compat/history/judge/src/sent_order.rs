//! `nonmonotonic-send`: sends that followed one another are in the log in another order.
//!
//! - One idempotent producer's values, which increase in the order in which they were handed to it, increase in the log
//!   too, whatever was retried. A value whose send ended unknown may come late: the client gave it up and went on under
//!   another producer id, while the request was still on its way. A plain producer with several requests in flight may
//!   be reordered.
//! - Any producer's send that began when an offset was already known to others is not put at or before that offset.
//!
//! `int-nonmonotonic-send` and `int-send-skip` are about several sends in one operation: they come with transactions
//! (and the latter is legal: Kafka does not isolate writes).

use crate::{
    doubled::Doubled,
    faults::Faults,
    history::{Partition, Role},
    order::{Order, Outcome, PartitionId, Sent},
    verdict::{Anomaly, Findings, Kind},
};
use std::collections::HashMap;

/// At the end of the history.
pub(crate) fn judge<'a>(
    order: &Order,
    faults: &Faults,
    partitions: &[Partition],
    doubled: &Doubled,
    role: impl Fn(u32) -> Option<&'a Role>,
    findings: &mut Findings,
) {
    behind_the_floor(order, partitions, findings);
    let twice = doubled.values();
    for (id, partition) in partitions.iter().enumerate() {
        let mut last: HashMap<u32, (i64, u64)> = HashMap::new();
        for (offset, value) in order.claims(id as PartitionId, 0, i64::MAX, faults) {
            let Some(sent) = order.sent(value).filter(|sent| sent.partition == id as u32) else {
                continue;
            };
            let idempotent =
                matches!(role(sent.process), Some(Role::Producer { idempotent: true, .. }));
            if !idempotent || twice.contains(&value) {
                continue;
            }
            let (before_at, before) = *last.entry(sent.process).or_insert((offset, value));
            if before <= value {
                last.insert(sent.process, (offset, value));
                continue;
            }
            if sent.outcome != Outcome::Ok {
                continue;
            }
            findings.add(Kind::NonmonotonicSend, || {
                let why = format!("value {before} at {before_at} is before {value} at {offset}");
                let witnesses: Vec<_> =
                    order.sent(before).into_iter().chain([sent]).map(Sent::witness).collect();
                Anomaly::new(why)
                    .partition(partition)
                    .offsets([before_at, offset])
                    .values([before, value])
                    .witnesses(witnesses)
            });
        }
    }
}

fn behind_the_floor(order: &Order, partitions: &[Partition], findings: &mut Findings) {
    for (value, sent) in order.all_sent() {
        let known = [sent.acked_at, sent.seen_at].into_iter().filter(|offset| *offset >= 0);
        let Some(offset) = known.min().filter(|offset| *offset <= sent.floor) else { continue };
        findings.add(Kind::NonmonotonicSend, || {
            let floor = sent.floor;
            Anomaly::new(format!("value {value} is at {offset}, sent when {floor} was taken"))
                .partition(&partitions[sent.partition as usize])
                .offsets([offset, floor])
                .values([value])
                .witnesses([sent.witness()])
        });
    }
}
