//! The front: listeners and connections. Knows frames, order and backpressure; what a request means is `handlers`' matter.
//!
//! A connection is one task. It reads a frame, begins the request and lets answers leave in request order. Only
//! consecutive Produce requests overlap; any other request begins when every earlier one of its connection has been
//! answered. Nothing here waits for one client on behalf of another, except for memory under a bound of `limits`.

mod answers;
mod buffers;
mod connection;
mod file;
mod frames;
mod listener;
mod outbox;
#[cfg(test)]
mod tests;

pub use listener::{BindError, BoundListener, bind, serve};

use crate::{
    config::Config,
    handlers::{self, Begun, Ctx},
    limits::{CONNECTIONS_MAX, OpenFiles},
    session::Session,
};
use bytes::Bytes;
use std::{sync::Arc, time::Duration};

/// What a connection does with a frame: `handlers::begin`, or a stand-in in tests.
trait Dispatch: Clone + Send + Sync + 'static {
    fn begin(&self, session: &mut Session, frame: Bytes) -> impl Future<Output = Begun> + Send;
}

impl Dispatch for Arc<Ctx> {
    fn begin(&self, session: &mut Session, frame: Bytes) -> impl Future<Output = Begun> + Send {
        handlers::begin(self, session, frame)
    }
}

/// What a user may set about connections.
#[derive(Debug, Clone, Copy)]
struct Settings {
    /// `socket.request.max.bytes`.
    request_bytes_max: usize,
    /// `max.connections`, of one listener; less when the process may not open as many files. May change.
    connections_max: usize,
    /// `socket.listen.backlog.size`: connections that may wait to be accepted.
    backlog: i32,
    /// `connections.max.idle.ms`; None: never.
    idle: Option<Duration>,
}

impl Settings {
    fn of(config: &Config) -> Settings {
        // What one listener does not use another could: but so nobody has to count together.
        let files = OpenFiles::of_process().connections / config.listeners.len().max(1);
        let most = files.min(CONNECTIONS_MAX);
        Settings {
            request_bytes_max: usize::try_from(config.socket_request_max_bytes).unwrap_or(0),
            connections_max: usize::try_from(config.max_connections).unwrap_or(0).min(most),
            backlog: config.socket_listen_backlog_size,
            idle: u64::try_from(config.connections_max_idle_ms).ok().map(Duration::from_millis),
        }
    }
}
