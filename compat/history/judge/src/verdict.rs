//! What a judgement says: anomalies with all that is needed to find them in the history, and some figures.
//!
//! The names are those of Jepsen's `kafka` workload where it has one for the thing.

use crate::{history::Partition, staleness::Stale, tally::Tally};
use serde::Serialize;
use std::{collections::BTreeMap, fmt};

/// Anomalies of one kind that are kept with their particulars; all are counted.
pub const KEPT_MAX: u64 = 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A value that must be there, and that readers went past without seeing it.
    LostWrite,
    /// A value that must be there, and that no reader came to.
    Unseen,
    /// One value at two offsets.
    Duplicate,
    /// Two values at one offset.
    InconsistentOffsets,
    /// A poll returned a value whose send had certainly failed. Jepsen's G1a.
    AbortedRead,
    /// A poll returned what nobody had sent: the value, or its key or partition.
    Phantom,
    /// Between two polls, or at an assigned start, records were jumped over.
    PollSkip,
    /// Within one poll, records were jumped over.
    IntPollSkip,
    /// A poll went back behind an earlier one, or began below its assigned start.
    NonmonotonicPoll,
    /// A poll went back within itself.
    IntNonmonotonicPoll,
    /// Sends that followed one another are in the log in another order.
    NonmonotonicSend,
    /// After a rebalance a consumer began where its group had committed nothing that could have been current.
    WrongStart,
    /// The broker named a commit older than one it had acknowledged, or none.
    CommitRegression,
    /// The broker named a commit that nobody had made.
    PhantomCommit,
    /// A group's commit lies beyond the end of the log.
    CommitBeyondEnd,
    /// A log ended before what was known to be in it.
    EndRegression,
    /// A log began above 0, though nothing was ever to be deleted.
    LogStartMoved,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Anomaly {
    pub kind: Kind,
    /// One line.
    pub why: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partition: Option<Partition>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub offsets: Vec<i64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<u64>,
    /// The operations that prove it, in the order of `why`.
    pub witnesses: Vec<Witness>,
}

/// An event of the history.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Witness {
    pub process: u32,
    pub op: u64,
    /// Nanoseconds since the run began.
    pub time: u64,
}

#[derive(Debug, Clone, Serialize)]
pub struct Verdict {
    /// By kind, then in the order found; at most [`KEPT_MAX`] of a kind.
    pub anomalies: Vec<Anomaly>,
    /// How many there are of each kind that occurs.
    pub totals: BTreeMap<Kind, u64>,
    pub tally: Tally,
    /// The longest time for which a poll withheld an acknowledged record. A figure, not an anomaly.
    pub stalest: Option<Stale>,
}

impl Verdict {
    pub fn is_clean(&self) -> bool {
        self.totals.is_empty()
    }
}

/// Collects anomalies; builds only those that are kept.
#[derive(Default)]
pub(crate) struct Findings {
    pub(crate) kept: Vec<Anomaly>,
    pub(crate) totals: BTreeMap<Kind, u64>,
}

impl Findings {
    pub(crate) fn add(&mut self, kind: Kind, build: impl FnOnce() -> Anomaly) {
        let total = self.totals.entry(kind).or_default();
        *total += 1;
        if *total <= KEPT_MAX {
            self.kept.push(Anomaly { kind, ..build() });
        }
    }
}

impl Anomaly {
    /// Without a kind: [`Findings::add`] sets it.
    pub(crate) fn new(why: String) -> Anomaly {
        Anomaly {
            kind: Kind::LostWrite,
            why,
            partition: None,
            offsets: vec![],
            values: vec![],
            witnesses: vec![],
        }
    }

    pub(crate) fn partition(self, partition: &Partition) -> Anomaly {
        Anomaly { partition: Some(partition.clone()), ..self }
    }

    pub(crate) fn offsets(self, offsets: impl Into<Vec<i64>>) -> Anomaly {
        Anomaly { offsets: offsets.into(), ..self }
    }

    pub(crate) fn values(self, values: impl Into<Vec<u64>>) -> Anomaly {
        Anomaly { values: values.into(), ..self }
    }

    pub(crate) fn witnesses(self, witnesses: impl Into<Vec<Witness>>) -> Anomaly {
        let mut witnesses = witnesses.into();
        witnesses.dedup();
        Anomaly { witnesses, ..self }
    }
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Kind::LostWrite => "lost-write",
            Kind::Unseen => "unseen",
            Kind::Duplicate => "duplicate",
            Kind::InconsistentOffsets => "inconsistent-offsets",
            Kind::AbortedRead => "aborted-read",
            Kind::Phantom => "phantom",
            Kind::PollSkip => "poll-skip",
            Kind::IntPollSkip => "int-poll-skip",
            Kind::NonmonotonicPoll => "nonmonotonic-poll",
            Kind::IntNonmonotonicPoll => "int-nonmonotonic-poll",
            Kind::NonmonotonicSend => "nonmonotonic-send",
            Kind::WrongStart => "wrong-start",
            Kind::CommitRegression => "commit-regression",
            Kind::PhantomCommit => "phantom-commit",
            Kind::CommitBeyondEnd => "commit-beyond-end",
            Kind::EndRegression => "end-regression",
            Kind::LogStartMoved => "log-start-moved",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Anomaly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.kind)?;
        if let Some(partition) = &self.partition {
            write!(f, " {partition}")?;
        }
        write!(f, ": {}", self.why)?;
        for Witness { process, op, time } in &self.witnesses {
            write!(f, " [op {op} by {process} at {:.3} s]", *time as f64 / 1e9)?;
        }
        Ok(())
    }
}
