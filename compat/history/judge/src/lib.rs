//! Judges a history: what clients asked of a broker, what it answered, and what that proves against it.
//!
//! - [`history`]: the events, one JSON line each; [`lines`]: reading and writing them.
//! - [`judge`]: the judgement. [`verdict`]: what it says, and the names of the anomalies.
//! - The families of anomalies, one file each: `lost`, `doubled`, `foreign`, `sent_order`, `polls`, `commits`, `ends`;
//!   and the figure in [`staleness`]. What they look at: `order`, the version order of each partition, and [`faults`],
//!   what a fault excuses.
//! - For people: [`timeline`], the course of the run; [`report`], text; [`plot`], a picture.
//!
//! Nothing here knows a client, a socket or a clock: a history is all it sees.
//!
//! # What is held against a broker, and what is not
//!
//! What was acknowledged with acks=all, and what anybody has read, is in the log for ever, at one offset, in the order
//! that was promised, and is handed out in that order without gaps. acks=1 means the same on one node, except that a
//! power cut may take the last of it. acks=0 promises something only while there is no fault.
//!
//! Legal, and so never an anomaly: a send whose outcome is unknown, present or absent; doubles and reordering by plain
//! producers that retry; foreign values between the sends of one process; a consumer in a group that begins again at
//! what its group had committed; staleness.

mod commits;
mod dense;
mod doubled;
mod ends;
pub mod faults;
mod foreign;
pub mod history;
pub mod judge;
pub mod lines;
mod lost;
mod order;
pub mod plot;
mod polls;
pub mod report;
mod sent_order;
pub mod staleness;
pub mod tally;
pub mod timeline;
pub mod verdict;

pub use judge::{Judge, judge};
pub use timeline::Timeline;
pub use verdict::{Anomaly, Kind, Verdict};
