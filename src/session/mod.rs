//! What is remembered between two requests of one client.

pub mod fetch;

use std::net::SocketAddr;

/// One connection's session; owned by its task.
#[derive(Debug)]
pub struct Session {
    pub peer: SocketAddr,
    /// Index into `Config::listeners`: the listener it came in on decides the addresses it is told.
    pub listener: usize,
    /// `client_id` of the request in hand; empty when null.
    pub client_id: String,
    /// From ApiVersions v3+ (KIP-511).
    pub software_name: Option<String>,
    pub software_version: Option<String>,
}

impl Session {
    /// `listener`: index into `Config::listeners`.
    pub fn new(peer: SocketAddr, listener: usize) -> Session {
        Session {
            peer,
            listener,
            client_id: String::new(),
            software_name: None,
            software_version: None,
        }
    }
}
