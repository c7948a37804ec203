//! `storm`: many clients connect, ask for ApiVersions, and stay until all have.

use super::Target;
use crate::{
    client::Connection,
    clock,
    outcome::{Figures, Stopwatch, latencies, record},
    threads::in_threads,
};
use anyhow::{Result, ensure};
use ottla::wire::messages::ApiVersionsRequest;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::sync::Mutex;

/// Handles beside those of the connections.
const SPARE: u64 = 64;

#[derive(Debug, Clone, serde::Serialize, clap::Args)]
pub struct Storm {
    #[arg(long, default_value_t = 5000)]
    pub connects: usize,
    /// How many connect at the same time.
    #[arg(long, default_value_t = 16)]
    pub at_once: usize,
}

pub fn run(arguments: &Storm, target: &Target) -> Result<Figures> {
    let Storm { connects, at_once } = *arguments;
    ensure!(connects > 0 && at_once > 0, "nobody connects");
    allow_handles(connects as u64 + SPARE)?;
    let open = Mutex::new(Vec::with_capacity(connects));
    let watch = Stopwatch::start(target.server())?;
    let connect = |index| {
        let share = (index..connects).step_by(at_once).count();
        let open = &open;
        move || {
            let mut all = latencies();
            for _ in 0..share {
                let began = clock::now();
                let mut connection = Connection::open(&target.bootstrap)?;
                connection.call(0, &ApiVersionsRequest::default())?;
                record(&mut all, clock::now() - began);
                if let Ok(mut open) = open.lock() {
                    open.push(connection);
                }
            }
            Ok(all)
        }
    };
    let latencies = in_threads((0..at_once).map(connect).collect())?;
    watch.stop(connects as u64, 0, &latencies)
}

fn allow_handles(wanted: u64) -> Result<()> {
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_some_and(|current| current < wanted) {
        ensure!(
            limit.maximum.is_none_or(|maximum| maximum >= wanted),
            "{wanted} open files are not allowed"
        );
        let limit = Rlimit { current: Some(wanted), maximum: limit.maximum };
        setrlimit(Resource::Nofile, limit)?;
    }
    Ok(())
}
