//! The scenarios, one a file: what is asked of the broker, and what is measured. Each makes what it needs and removes it
//! afterwards; preparing is not measured.

pub mod create;
pub mod fetch;
pub mod group;
pub mod idle;
pub mod join;
pub mod latency;
pub mod produce;
pub mod stop;
pub mod storm;
pub mod usable;

use crate::{client::Connection, server::Server};
use anyhow::Result;

/// The broker under load.
#[derive(Debug, Clone, clap::Args)]
pub struct Target {
    /// Where the broker listens, HOST:PORT.
    #[arg(short, long, global = true, default_value = "127.0.0.1:9092")]
    pub bootstrap: String,
    /// The broker's process, whose CPU time and memory are read. Without it there are no such figures.
    #[arg(long, global = true)]
    pub pid: Option<i32>,
}

impl Target {
    pub fn connect(&self) -> Result<Connection> {
        Connection::open(&self.bootstrap)
    }

    pub fn connect_many(&self, count: usize) -> Result<Vec<Connection>> {
        (0..count).map(|_| self.connect()).collect()
    }

    pub fn server(&self) -> Option<Server> {
        self.pid.map(Server::new)
    }
}
