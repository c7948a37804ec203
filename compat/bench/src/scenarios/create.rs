//! `create`: one topic with many partitions; the time until every one has a leader.

use super::Target;
use crate::{
    clock,
    outcome::{Figures, Stopwatch, latencies, record},
    topics,
};
use anyhow::Result;

#[derive(Debug, Clone, serde::Serialize, clap::Args)]
pub struct Create {
    #[arg(long, default_value_t = 1000)]
    pub partitions: i32,
}

pub fn run(arguments: &Create, target: &Target) -> Result<Figures> {
    let name = topics::unique("create");
    let mut control = target.connect()?;
    let watch = Stopwatch::start(target.server())?;
    topics::create(&mut control, &name, arguments.partitions, &[])?;
    let mut all = latencies();
    record(&mut all, clock::now() - watch.began());
    let figures = watch.stop(1, 0, &all)?;
    topics::delete(&mut control, &name);
    Ok(figures)
}
