//! `join`: a consumer joins a group of one that runs; the time until both are settled. The first learns of it from its
//! next heartbeat, so one interval of those is in it, whatever the broker does.

use super::{Target, group::wait};
use crate::{
    clock,
    member::{self, Member, find_coordinator},
    outcome::{Figures, Stopwatch, latencies, record},
    topics,
};
use anyhow::{Result, ensure};
use std::{sync::mpsc::channel, time::Duration};

#[derive(Debug, Clone, serde::Serialize, clap::Args)]
pub struct Join {
    /// So many groups, one after the other.
    #[arg(long, default_value_t = 5)]
    pub times: u64,
    #[arg(long, default_value_t = 20)]
    pub heartbeat_ms: u64,
}

pub fn run(arguments: &Join, target: &Target) -> Result<Figures> {
    let heartbeat = Duration::from_millis(arguments.heartbeat_ms);
    ensure!(arguments.times > 0 && !heartbeat.is_zero(), "no groups, or no pause");
    let watch = Stopwatch::start(target.server())?;
    let mut all = latencies();
    for time in 0..arguments.times {
        let group = format!("{}-{time}", topics::unique("join"));
        find_coordinator(&mut target.connect()?, &group)?;
        let (tell, told) = channel();
        let start = |number| -> Result<Member> {
            Ok(Member::start(target.connect()?, &group, number, heartbeat, tell.clone()))
        };
        let mut members = vec![start(0)?];
        wait(&told, members.len())?;
        let began = clock::now();
        members.push(start(1)?);
        record(&mut all, wait(&told, members.len())? - began);
        member::leave(members);
    }
    watch.stop(arguments.times, 0, &all)
}
