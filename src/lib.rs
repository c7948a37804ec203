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
//! # The way of a Produce request, and what it costs
//!
//! One small record on disk, alone on its connection, is 8 system calls and 14 allocations (`protocol-tests/costs.rs` keeps it
//! so): wait for the socket and read it (the frame is copied once, small as it is); decode and check; a message to the
//! partition's actor; a command to the writing thread, which is woken once for all tasks that can run (`storage`'s queue); one
//! write to the write-ahead log for the whole group; the actor is woken by what is written, and answers; one write to the
//! socket. Under load all but the socket's read and write is shared: with 16 clients a group is 6 to 9 requests. A third of
//! the processor time is then the kernel's network, a seventh the log, the rest is flat.
//!
//! A batch of 64 KiB is read into a recycled buffer of the frame's size and written from there to its segment file: the only
//! copies are the kernel's, from the socket and into the page cache, and the latter is two fifths of all it costs. What is
//! fetched leaves from the page cache by sendfile. In memory (`--dev`) the batch is copied once into fresh memory, where each
//! page is a fault: a third of all. Huge pages were dearer still, on a machine whose host must supply them.
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
