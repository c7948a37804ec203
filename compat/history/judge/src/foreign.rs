//! `aborted-read`: a poll returned a value whose send had certainly failed. `phantom`: a value that nobody had sent, not
//! with this key, or not to this partition.
//!
//! Both isolation levels are judged alike as long as there are no transactions: a send that failed for certain is in no
//! log. `precommitted-read` has no meaning before there are any.

use crate::{
    history::{Partition, Record},
    order::{Order, Outcome, PartitionId, Sent},
    verdict::{Anomaly, Findings, Kind, Witness},
};
use std::collections::HashMap;

#[derive(Default)]
pub(crate) struct Foreign {
    /// Values that were polled before their send's outcome was known; few, for most are acknowledged by then.
    early: HashMap<u64, (i64, Witness)>,
}

impl Foreign {
    pub(crate) fn polled(
        &mut self,
        order: &Order,
        id: PartitionId,
        partition: &Partition,
        record: Record,
        by: Witness,
        findings: &mut Findings,
    ) {
        let Record { offset, key, value } = record;
        let phantom = |findings: &mut Findings, why: String, sent: Option<&Sent>| {
            findings.add(Kind::Phantom, || {
                Anomaly::new(why)
                    .partition(partition)
                    .offsets([offset])
                    .values([value])
                    .witnesses(sent.map(Sent::witness).into_iter().chain([by]).collect::<Vec<_>>())
            });
        };
        let Some(sent) = order.sent(value) else {
            let why = match value {
                0 => format!("offset {offset} has a record with no value of ours"),
                _ => format!("offset {offset} has value {value}, which nobody had sent"),
            };
            return phantom(findings, why, None);
        };
        if sent.partition != id {
            let why = format!("value {value} is at offset {offset}, but was sent elsewhere");
            return phantom(findings, why, Some(sent));
        }
        if sent.key != key {
            let why = format!("value {value} has key {key} at {offset}, sent with {}", sent.key);
            return phantom(findings, why, Some(sent));
        }
        match sent.outcome {
            Outcome::Fail => aborted(partition, value, offset, [sent.witness(), by], findings),
            Outcome::Open => {
                self.early.entry(value).or_insert((offset, by));
            }
            Outcome::Unsent | Outcome::Ok | Outcome::Unknown => (),
        }
    }

    /// The send's outcome is known now.
    pub(crate) fn completed(
        &mut self,
        value: u64,
        sent: &Sent,
        partition: &Partition,
        findings: &mut Findings,
    ) {
        let Some((offset, by)) = self.early.remove(&value) else { return };
        if sent.outcome == Outcome::Fail {
            aborted(partition, value, offset, [sent.witness(), by], findings);
        }
    }
}

fn aborted(
    partition: &Partition,
    value: u64,
    offset: i64,
    witnesses: [Witness; 2],
    findings: &mut Findings,
) {
    findings.add(Kind::AbortedRead, || {
        Anomaly::new(format!("value {value} was read at offset {offset}, but its send failed"))
            .partition(partition)
            .offsets([offset])
            .values([value])
            .witnesses(witnesses)
    });
}
