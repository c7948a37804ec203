//! `group`: many members join an empty group at the same time; the time until all are settled in one generation.

use super::Target;
use crate::{
    clock,
    member::{self, Member, Settled, find_coordinator},
    outcome::{Figures, Stopwatch, latencies, record},
    topics,
};
use anyhow::{Context, Result, ensure};
use std::{
    sync::mpsc::{Receiver, channel},
    time::{Duration, Instant},
};

/// How long a group may take to settle.
const PATIENCE: Duration = Duration::from_secs(120);

#[derive(Debug, Clone, serde::Serialize, clap::Args)]
pub struct Group {
    #[arg(long, default_value_t = 20)]
    pub members: usize,
    /// Between two heartbeats, which is when a member learns that it has to join again.
    #[arg(long, default_value_t = 20)]
    pub heartbeat_ms: u64,
}

pub fn run(arguments: &Group, target: &Target) -> Result<Figures> {
    let heartbeat = Duration::from_millis(arguments.heartbeat_ms);
    ensure!(arguments.members > 0 && !heartbeat.is_zero(), "no members, or no pause");
    let group = topics::unique("group");
    find_coordinator(&mut target.connect()?, &group)?;
    // The coordinator may still have to load; one member that comes and goes waits for that.
    let (tell, told) = channel();
    let first = Member::start(target.connect()?, &group, 0, heartbeat, tell);
    wait(&told, 1)?;
    member::leave(vec![first]);

    let connections = target.connect_many(arguments.members)?;
    let (tell, told) = channel();
    let watch = Stopwatch::start(target.server())?;
    let start =
        |(number, connection)| Member::start(connection, &group, number, heartbeat, tell.clone());
    let members: Vec<_> = connections.into_iter().enumerate().map(start).collect();
    let at = wait(&told, members.len())?;
    let mut all = latencies();
    record(&mut all, at - watch.began());
    let figures = watch.stop(arguments.members as u64, 0, &all)?;
    member::leave(members);
    Ok(figures)
}

/// Until members 0, 1, ... `count` are all settled in the same generation: when that was.
pub fn wait(told: &Receiver<Result<Settled>>, count: usize) -> Result<Instant> {
    let mut latest: Vec<Option<Settled>> = vec![None; count];
    let until = clock::now() + PATIENCE;
    loop {
        let left = until.saturating_duration_since(clock::now());
        let settled = told.recv_timeout(left).context("the group does not settle")??;
        *latest.get_mut(settled.member).context("an unknown member")? = Some(settled);
        if let Some(at) = last(&latest) {
            return Ok(at);
        }
    }
}

fn last(latest: &[Option<Settled>]) -> Option<Instant> {
    let all: Option<Vec<_>> = latest.iter().copied().collect();
    let all = all?;
    let generation = all.first()?.generation;
    let agree = all.iter().all(|settled| settled.generation == generation);
    all.iter().map(|settled| settled.at).max().filter(|_| agree)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settled_is_when_the_last_is_in_the_generation_of_all() {
        let now = clock::now();
        let one = |member, generation, ms| {
            let at = now + Duration::from_millis(ms);
            Some(Settled { member, generation, at })
        };
        assert_eq!(last(&[one(0, 2, 5), None]), None);
        assert_eq!(last(&[one(0, 2, 5), one(1, 1, 9)]), None);
        let at = last(&[one(0, 2, 9), one(1, 2, 5)]);
        assert_eq!(at, Some(now + Duration::from_millis(9)));
    }
}
