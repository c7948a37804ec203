//! Counts what a history contains.

use crate::history::{Action, Event, Phase};
use serde::Serialize;
use std::collections::BTreeMap;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    pub events: u64,
    /// By the name of the action. What merely happens is counted as `ok`.
    pub operations: BTreeMap<&'static str, Outcomes>,
    /// Records that polls returned.
    pub polled: u64,
    /// Nanoseconds from the start of the run to the last event.
    pub duration: u64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Outcomes {
    pub ok: u64,
    pub fail: u64,
    pub unknown: u64,
    /// Invoked and not completed; at the end of a history that means unknown too.
    pub open: u64,
}

impl Tally {
    pub(crate) fn count(&mut self, event: &Event) {
        self.events += 1;
        self.duration = event.time;
        let outcomes = self.operations.entry(event.action.name()).or_default();
        match event.phase {
            Phase::Invoke => return outcomes.open += 1,
            Phase::Ok => outcomes.ok += 1,
            Phase::Fail => outcomes.fail += 1,
            Phase::Unknown => outcomes.unknown += 1,
        }
        outcomes.open -= u64::from(event.action.is_operation());
        if let Action::Poll { records } = &event.action {
            self.polled += records.iter().map(|polled| polled.records.len() as u64).sum::<u64>();
        }
    }
}
