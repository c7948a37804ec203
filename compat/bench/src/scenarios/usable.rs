//! `usable`: the time from a given moment until a broker, which may be about to start, says where its brokers are and, if
//! a topic is named, that each of its partitions has a leader.

use super::Target;
use crate::{clock, outcome::Figures, server::Server, topics};
use anyhow::{Result, ensure};
use std::{thread, time::Duration};

#[derive(Debug, Clone, serde::Serialize, clap::Args)]
pub struct Usable {
    /// The moment, in nanoseconds since 1970 (`date +%s%N`).
    #[arg(long)]
    #[serde(skip)]
    pub began: u64,
    /// The process that starts the broker; if it ends before the broker is usable, that is an error at once.
    #[arg(long)]
    #[serde(skip)]
    pub starter: Option<i32>,
    #[arg(long)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub topic: Option<String>,
    #[arg(long, default_value_t = 1)]
    pub partitions: i32,
    /// Seconds to wait.
    #[arg(long, default_value_t = 120)]
    #[serde(skip)]
    pub patience: u64,
}

pub fn run(arguments: &Usable, target: &Target) -> Result<Figures> {
    let began = Duration::from_nanos(arguments.began);
    loop {
        let starts = arguments.starter.is_none_or(|starter| Server::new(starter).lives());
        if let Ok(true) = is_usable(arguments, target) {
            return Ok(Figures::time(clock::since_epoch().saturating_sub(began)));
        }
        let waited = clock::since_epoch().saturating_sub(began);
        ensure!(starts, "the broker has ended");
        ensure!(waited.as_secs() < arguments.patience, "not usable after {waited:?}");
        thread::sleep(Duration::from_millis(1));
    }
}

fn is_usable(arguments: &Usable, target: &Target) -> Result<bool> {
    let metadata = topics::metadata(&mut target.connect()?, arguments.topic.as_deref())?;
    let led = || topics::has_leaders(&metadata, arguments.partitions);
    Ok(!metadata.brokers.is_empty() && (arguments.topic.is_none() || led()))
}
