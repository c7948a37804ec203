//! `idle`: memory of a broker that nobody asks anything, and the CPU time it takes nevertheless.

use super::Target;
use crate::outcome::{Figures, Stopwatch, latencies};
use anyhow::{Result, ensure};
use std::{thread, time::Duration};

#[derive(Debug, Clone, serde::Serialize, clap::Args)]
pub struct Idle {
    #[arg(long, default_value_t = 2.0)]
    pub seconds: f64,
}

pub fn run(arguments: &Idle, target: &Target) -> Result<Figures> {
    ensure!(target.pid.is_some(), "whose memory? name the broker's process with --pid");
    let watch = Stopwatch::start(target.server())?;
    thread::sleep(Duration::try_from_secs_f64(arguments.seconds)?);
    watch.stop(0, 0, &latencies())
}
