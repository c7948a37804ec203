//! Ottla: a Kafka wire-protocol server.
//!
//! # The map, in reading order
//!
//! - [`ids`], [`limits`], `config`: the names of things, every bound, what a user may set.
//! - [`machine`]: THE pattern. Read it first.
//! - [`wire`]: bytes to typed messages and back. Knows no broker.
//! - [`storage`]: logs and small values, on disk or in memory. Knows no topic.
//! - [`partition`]: one replica of one partition: the machine, the actor that runs it, its handle.
//! - [`group`]: the group coordinator.
//! - [`cluster`]: what the cluster looks like: records and the image they make.
//! - [`controller`]: decides what the cluster looks like; the quorum below it.
//! - [`handlers`]: one thin file per API.
//! - [`session`]: what is remembered between two requests of one client.
//! - [`net`]: listeners and connections.
//! - [`broker`]: puts it together; the only module that names all others.
//! - `faults` (a cargo feature): a store whose disk and code fail on demand, for programs that crash brokers.
//!
//! # Invariants of absence
//!
//! Storage knows no topics. Machines know no time, no I/O, no randomness. Handlers keep no state and never touch a socket
//! or storage. No answer leaves before the records it relies on are committed. Only `broker::reconcile` starts and stops
//! partitions.

pub mod broker;
pub mod cluster;
pub mod config;
pub mod controller;
#[cfg(any(test, feature = "faults"))]
pub mod faults;
pub mod group;
pub mod handlers;
pub mod ids;
pub mod limits;
pub mod machine;
pub mod net;
pub mod partition;
pub mod session;
#[cfg(test)]
mod sim;
pub mod storage;
#[cfg(test)]
mod tidy;
pub mod wire;

pub use broker::{Broker, StartError};
pub use config::Config;
