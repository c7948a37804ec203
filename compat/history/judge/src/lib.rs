//! Judges a history: what clients asked of a broker, what it answered, and what that proves against it.
//!
//! - [`history`]: the events, one JSON line each.
//! - [`lines`]: reading and writing them.
//!
//! Nothing here knows a client, a socket or a clock: a history is all it sees.

pub mod history;
pub mod lines;
