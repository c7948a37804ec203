//! Where the broker says its logs begin and end: `end-regression`, `log-start-moved`.
//!
//! A log's end is above every offset that was known before the broker was asked. Nothing is ever deleted from the topics
//! of a run, so logs begin at 0.

use crate::{
    history::End,
    order::{Order, PartitionId},
    verdict::{Anomaly, Findings, Kind, Witness},
};
use std::collections::HashMap;

#[derive(Default)]
pub(crate) struct Ends {
    /// The floor of each log when the broker was asked, by operation.
    asked: HashMap<u64, Vec<i64>>,
}

impl Ends {
    pub(crate) fn invoked(&mut self, op: u64, order: &Order) {
        self.asked.insert(op, order.logs.iter().map(|log| log.floor).collect());
    }

    pub(crate) fn answered(
        &self,
        at: PartitionId,
        End(partition, start, end): &End,
        order: &mut Order,
        by: Witness,
        findings: &mut Findings,
    ) {
        let log = &mut order.logs[at as usize];
        log.end = Some(*end);
        log.floor = log.floor.max(end.saturating_sub(1));
        let floors = self.asked.get(&by.op);
        let floor = floors.and_then(|floors| floors.get(at as usize)).copied().unwrap_or(-1);
        let found = |why: String, offsets: [i64; 2]| {
            Anomaly::new(why).partition(partition).offsets(offsets).witnesses([by])
        };
        if *end <= floor {
            findings.add(Kind::EndRegression, || {
                found(format!("the log ends at {end}, though {floor} was known"), [*end, floor])
            });
        }
        if *start != 0 {
            findings.add(Kind::LogStartMoved, || {
                found(format!("the log begins at {start}"), [*start, *end])
            });
        }
    }

    pub(crate) fn completed(&mut self, op: u64) {
        self.asked.remove(&op);
    }
}
