//! `lost-write` and `unseen`: values that must be there, and that the readers did not see.
//!
//! A value must be there when it was acknowledged (and no fault excuses its loss), or when somebody read it, whatever
//! its send was told. The readers that count are the final ones, which begin after everything is healed: a value that
//! consumers saw before a crash and that is gone after it is lost as well. A history without final readers is judged by
//! all its polls, as Jepsen does.
//!
//! Lost: the readers went past its offset, or the log ends before it. Unseen: they never came to it, which is a stuck
//! reader or a loss at the end of the log.

use crate::{
    faults::Faults,
    history::{Acks, Partition},
    order::{Log, Order, Outcome, Sent},
    verdict::{Anomaly, Findings, Kind},
};

/// At the end of the history. `finals`: whether it has final readers.
pub(crate) fn judge(
    order: &Order,
    faults: &Faults,
    partitions: &[Partition],
    finals: bool,
    findings: &mut Findings,
) {
    for (value, sent) in order.all_sent() {
        let read = if finals { sent.read_by_final } else { sent.seen_at >= 0 };
        if read || !must_be_there(sent, faults) {
            continue;
        }
        let partition = &partitions[sent.partition as usize];
        let log = &order.logs[sent.partition as usize];
        let offset = if sent.seen_at >= 0 { sent.seen_at } else { sent.acked_at };
        let kind = if is_behind(log, offset, finals) { Kind::LostWrite } else { Kind::Unseen };
        findings.add(kind, || {
            let claim = match (sent.seen_at >= 0, sent.acks) {
                (true, _) => "was read",
                (false, Acks::None) => "was sent, with no fault near,",
                (false, _) => "was acknowledged",
            };
            let place = if offset >= 0 { format!(" at {offset}") } else { String::new() };
            let to = match if finals { log.final_max } else { log.polled_max } {
                ..0 => "nowhere".to_owned(),
                to => to.to_string(),
            };
            let end = log.end.map(|end| format!(", the log ends at {end}")).unwrap_or_default();
            Anomaly::new(format!("value {value} {claim}{place}; readers came to {to}{end}"))
                .partition(partition)
                .offsets(if offset >= 0 { vec![offset] } else { vec![] })
                .values([value])
                .witnesses([sent.witness()])
        });
    }
}

fn must_be_there(sent: &Sent, faults: &Faults) -> bool {
    match sent.outcome {
        Outcome::Ok if !sent.is_excused(faults) => true,
        Outcome::Ok | Outcome::Open | Outcome::Unknown => sent.seen_at >= 0,
        Outcome::Unsent | Outcome::Fail => false,
    }
}

/// Whether the readers, who did not see it, have been where it would be. `offset` -1: anywhere in the log.
fn is_behind(log: &Log, offset: i64, finals: bool) -> bool {
    let read_max = if finals { log.final_max } else { log.polled_max };
    let at_end = log.end.is_some_and(|end| finals && read_max >= end.saturating_sub(1));
    if offset < 0 { at_end } else { offset <= read_max || log.end.is_some_and(|end| offset >= end) }
}
