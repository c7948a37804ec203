//! The events of a history. The contract between whoever drives the clients and the judgement.
//!
//! # Events
//!
//! A history is a file of JSON lines, one [`Event`] each, in the order of their times:
//!
//! ```json
//! {"t":1500,"p":3,"op":17,"is":"invoke","do":{"send":{"to":"check-0","key":1,"value":9}}}
//! {"t":2900,"p":3,"op":17,"is":"ok","do":{"send":{"to":"check-0","key":1,"value":9,"offset":4}}}
//! ```
//!
//! - An operation is two events with the same `op`: its invocation, recorded *before* the client is called, and its
//!   completion, recorded *after* the client answered. Between the two times the operation took effect, if it did.
//!   An invocation without completion means unknown. `op` numbers are used once in a history.
//! - What merely happens ([`Action::Start`], [`Action::Crash`], [`Action::Assign`], [`Action::Subscribe`],
//!   [`Action::Seek`], [`Action::Rebalance`]) is one event with [`Phase::Ok`].
//! - A fault is an operation of process 0: invoked just before it is injected, `ok` when everything is healed and the
//!   broker serves again.
//!
//! # Processes
//!
//! A process is one life of one client: [`Action::Start`] is its first event and says what may be held against it, a
//! [`Action::Crash`] (the client was dropped, whatever it was doing) its last one, if there is one. The number is never
//! used again: the client that takes its place is another process. Process 0 is the checker itself
//! ([`Role::Checker`], the first event of the history); faults and [`Action::Ends`] are its operations.
//!
//! # Values
//!
//! Every send has a value of its own, **unique over the whole history**; a program never sends a value twice (a client
//! may retry inside one send, see [`Role::Producer`]). The values that one process sends to one partition **increase**
//! in the order in which they were handed to the client. Counting up from 1 for all processes together does both, and
//! keeps the judgement small: it holds a table indexed by value. In a poll, 0 stands for a record that carries no value.
//!
//! # Completions
//!
//! - `ok`: done; for a send with acks 1 or all, acknowledged by the broker.
//! - `fail`: **certainly not done** and never will be: refused by the client before it left, or refused by the broker
//!   with an error that says so. A value of a failed send that appears anywhere is an anomaly.
//! - `unknown`: may have happened, may happen yet. Timeouts and lost connections are unknown, never failed.
//!
//! # Polls and positions
//!
//! A poll's completion holds the records handed out since the process' previous event: when a rebalance or a seek comes
//! in the middle, the poll is completed first with what it has, and another one begins after it. So the events of one
//! process are in the order in which things really happened to it. An empty poll is recorded too, it says that there was
//! nothing to see. Consumers never commit by themselves (auto-commit off), and start at the log start where their group
//! has committed nothing (`auto.offset.reset=earliest`).

use serde::{Deserialize, Serialize};
use std::fmt;

/// The name of the one fault that takes away what the broker had not synced, as a power cut does. A send with acks 1
/// shortly before it is not promised to survive; with acks=all it is, so a broker that acknowledges before it syncs
/// must not be tried with it. All other names are free.
pub const POWER_CUT: &str = "power-cut";

/// One line of a history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Event {
    /// Nanoseconds since the run began, monotonic over the whole file.
    #[serde(rename = "t")]
    pub time: u64,
    #[serde(rename = "p")]
    pub process: u32,
    /// The same in invocation and completion, otherwise used once.
    pub op: u64,
    #[serde(rename = "is")]
    pub phase: Phase,
    #[serde(rename = "do")]
    pub action: Action,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    Invoke,
    /// Done.
    Ok,
    /// Certainly not done, and never will be.
    Fail,
    /// May have happened, may happen yet.
    Unknown,
}

/// What was asked for (in an invocation) and what came of it (in a completion).
///
/// Transactions will be further variants, and a field of their own in `Send` and `Poll`; an unknown variant or field is
/// an error, so an older judge refuses such a history instead of judging it wrongly.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Action {
    Start(Role),
    Crash,
    /// `offset`: in the completion, when the client was told one (not with acks=0, nor when a retry was found to be a
    /// duplicate).
    Send {
        to: Partition,
        key: u32,
        value: u64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        offset: Option<i64>,
    },
    /// Empty in the invocation. In the completion each partition occurs at most once.
    Poll {
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        records: Vec<Polled>,
    },
    /// The process reads exactly these partitions from now on, each from the given offset.
    Assign {
        from: Vec<Position>,
    },
    /// The process is in its group for these topics from now on, and owns nothing yet.
    Subscribe {
        topics: Vec<String>,
    },
    /// What the group gave to this process and took from it. Recorded at the start of the client's callback, so before
    /// it asks where to start. `assigned`: only what is new, to be started at the committed offset (an eager rebalance
    /// revokes everything and assigns everything anew). Lost partitions are revoked ones.
    Rebalance {
        assigned: Vec<Partition>,
        revoked: Vec<Partition>,
    },
    /// The next record of this partition is to be the first one at or above the offset.
    Seek {
        to: Position,
    },
    /// `offset`: the next record to be read. `ok` and `fail` say the same of every partition in it; a mixed answer is
    /// recorded as unknown.
    Commit {
        group: String,
        offsets: Vec<Position>,
    },
    /// What the broker says is committed. The invocation names the partitions, with no offset; the completion has `None`
    /// where the broker knows of no commit.
    Committed {
        group: String,
        offsets: Vec<Committed>,
    },
    /// Name and particulars. Every fault of the run is one.
    Fault {
        name: String,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        detail: String,
    },
    /// Where the logs begin and end. Empty in the invocation. Asked at any time, and once at the end of the run, before
    /// the final readers.
    Ends {
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        ends: Vec<End>,
    },
}

/// What a process is, and so what may be held against it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Role {
    /// Process 0. `target`: what is judged and under which plan, in words for the report.
    Checker { seed: u64, target: String },
    /// `idempotent` (with acks=all): nothing doubled, nothing reordered. `retries`: a plain client may send a record
    /// again by itself, so that it may be doubled or overtaken; says nothing when idempotent.
    Producer { idempotent: bool, acks: Acks, retries: bool },
    /// With a group: by `Subscribe`, or by `Assign` and only committing to it. Without: by `Assign`.
    Consumer {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        group: Option<String>,
        isolation: Isolation,
    },
    /// A reader after everything is healed: assigns every partition from its start, and polls until each was read up to
    /// its end.
    Final,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Acks {
    /// Promises nothing.
    #[serde(rename = "0")]
    None,
    #[serde(rename = "1")]
    Leader,
    #[serde(rename = "all")]
    All,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Isolation {
    ReadUncommitted,
    ReadCommitted,
}

/// A topic's partition; in JSON as Kafka prints it, `topic-index`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Partition {
    pub topic: String,
    /// From 0.
    pub index: u32,
}

/// `["topic-index", offset]`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position(pub Partition, pub i64);

/// `["topic-index", offset or null]`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Committed(pub Partition, pub Option<i64>);

/// `["topic-index", log start offset, log end offset]`; the end is the offset that the next record will get.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct End(pub Partition, pub i64, pub i64);

/// The records of one partition in one poll, in the order in which the client handed them out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Polled {
    pub from: Partition,
    pub records: Vec<Record>,
}

/// `[offset, key, value]`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(i64, u32, u64)", into = "(i64, u32, u64)")]
pub struct Record {
    pub offset: i64,
    pub key: u32,
    pub value: u64,
}

impl Action {
    /// As in the JSON.
    pub fn name(&self) -> &'static str {
        match self {
            Action::Start(_) => "start",
            Action::Crash => "crash",
            Action::Send { .. } => "send",
            Action::Poll { .. } => "poll",
            Action::Assign { .. } => "assign",
            Action::Subscribe { .. } => "subscribe",
            Action::Rebalance { .. } => "rebalance",
            Action::Seek { .. } => "seek",
            Action::Commit { .. } => "commit",
            Action::Committed { .. } => "committed",
            Action::Fault { .. } => "fault",
            Action::Ends { .. } => "ends",
        }
    }

    /// Whether it is recorded twice, as invocation and completion.
    pub fn is_operation(&self) -> bool {
        match self {
            Action::Send { .. }
            | Action::Poll { .. }
            | Action::Commit { .. }
            | Action::Committed { .. }
            | Action::Fault { .. }
            | Action::Ends { .. } => true,
            Action::Start(_)
            | Action::Crash
            | Action::Assign { .. }
            | Action::Subscribe { .. }
            | Action::Rebalance { .. }
            | Action::Seek { .. } => false,
        }
    }
}

impl Partition {
    pub fn new(topic: impl Into<String>, index: u32) -> Partition {
        Partition { topic: topic.into(), index }
    }
}

impl fmt::Display for Partition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.topic, self.index)
    }
}

impl From<Partition> for String {
    fn from(partition: Partition) -> String {
        partition.to_string()
    }
}

impl TryFrom<String> for Partition {
    type Error = NotAPartition;

    fn try_from(mut text: String) -> Result<Partition, NotAPartition> {
        let parts = text.rsplit_once('-').and_then(|(topic, index)| {
            (!topic.is_empty()).then_some((topic.len(), index.parse().ok()?))
        });
        let Some((length, index)) = parts else { return Err(NotAPartition(text)) };
        text.truncate(length);
        Ok(Partition { topic: text, index })
    }
}

#[derive(Debug, thiserror::Error)]
#[error("{0:?} is not topic-index")]
pub struct NotAPartition(String);

impl From<(i64, u32, u64)> for Record {
    fn from((offset, key, value): (i64, u32, u64)) -> Record {
        Record { offset, key, value }
    }
}

impl From<Record> for (i64, u32, u64) {
    fn from(record: Record) -> (i64, u32, u64) {
        (record.offset, record.key, record.value)
    }
}
