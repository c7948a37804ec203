//! `stop`: asks the broker's process to end (SIGTERM); the time until it has.

use super::Target;
use crate::{clock, outcome::Figures};
use anyhow::{Context, Result};
use std::time::Duration;

#[derive(Debug, Clone, serde::Serialize, clap::Args)]
pub struct Stop {
    /// Seconds to wait.
    #[arg(long, default_value_t = 60)]
    #[serde(skip)]
    pub patience: u64,
}

pub fn run(arguments: &Stop, target: &Target) -> Result<Figures> {
    let server = target.server().context("whose end? name the broker's process with --pid")?;
    let began = clock::now();
    server.stop(Duration::from_secs(arguments.patience))?;
    Ok(Figures::time(clock::now() - began))
}
