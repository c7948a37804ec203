//! After everything is healed: what the broker says of its logs and groups, and one reader of all there is.

use crate::{
    load::{
        World, consumer_settings,
        member::ask,
        reader::{Batch, Silent, assign_exactly},
    },
    recorder::{Process, now},
};
use anyhow::{Context, Result, bail};
use judge::history::{Action, End, Isolation, Partition, Phase, Position, Role};
use rdkafka::{
    Message,
    consumer::{BaseConsumer, Consumer},
};
use std::{collections::BTreeMap, time::Duration};

/// How long the reader may go without a new record before it is said to be stuck.
const STUCK: Duration = Duration::from_secs(15);
const PATIENCE: Duration = Duration::from_secs(30);
/// Records of one poll.
const POLL_RECORDS_MAX: usize = 2_000;

/// Asks for the ends of all logs and what `groups` have committed, then reads everything.
pub fn final_read(world: &World, checker: &Process, groups: &[String]) -> Result<()> {
    let consumer: BaseConsumer<Silent> =
        consumer_settings(world, &format!("{}-none", world.prefix))
            .create_with_context(Silent)
            .context("no consumer")?;
    let ends = ends(world, checker, &consumer)?;
    for group in groups {
        committed(world, group)?;
    }
    let process = world.recorder.process(Role::Final);
    let from = world.partitions().into_iter().map(|at| Position(at, 0)).collect();
    assign_exactly(world, &consumer, &process, from);
    read(world, &consumer, &process, ends)
}

fn ends(
    world: &World,
    checker: &Process,
    consumer: &BaseConsumer<Silent>,
) -> Result<BTreeMap<Partition, i64>> {
    let op = checker.invoke(Action::Ends { ends: vec![] });
    let mut ends = Vec::new();
    for at in world.partitions() {
        let until = now() + PATIENCE;
        let (start, end) = loop {
            match consumer.fetch_watermarks(&at.topic, at.index as i32, Duration::from_secs(5)) {
                Ok(ends) => break ends,
                Err(error) if now() > until => bail!("where does {at} end? {error}"),
                Err(_) => std::thread::sleep(Duration::from_millis(100)),
            }
        };
        ends.push(End(at, start, end));
    }
    checker.complete(op, Phase::Ok, Action::Ends { ends: ends.clone() });
    Ok(ends.into_iter().map(|End(at, _, end)| (at, end)).collect())
}

fn committed(world: &World, group: &str) -> Result<()> {
    let isolation = Isolation::ReadCommitted;
    let process = world.recorder.process(Role::Consumer { group: Some(group.into()), isolation });
    let consumer: BaseConsumer<Silent> =
        consumer_settings(world, group).create_with_context(Silent).context("no consumer")?;
    ask(world, &consumer, &process, group, world.partitions());
    Ok(())
}

fn read(
    world: &World,
    consumer: &BaseConsumer<Silent>,
    process: &Process,
    mut left: BTreeMap<Partition, i64>,
) -> Result<()> {
    left.retain(|_, end| *end > 0);
    let mut progress = now();
    while !left.is_empty() {
        let op = process.invoke(Action::Poll { records: vec![] });
        let (mut batch, until) = (Batch::default(), now() + Duration::from_millis(200));
        while batch.len() < POLL_RECORDS_MAX && now() < until && !left.is_empty() {
            match consumer.poll(Duration::from_millis(50)) {
                Some(Ok(message)) => {
                    batch.push_message(&message);
                    let at = Partition::new(message.topic(), message.partition() as u32);
                    if left.get(&at).is_some_and(|end| message.offset() + 1 >= *end) {
                        left.remove(&at);
                    }
                }
                Some(Err(error)) => world.recorder.error(format!("final read: {error}")),
                None => {}
            }
        }
        if batch.len() > 0 {
            progress = now();
        }
        process.complete(op, Phase::Ok, batch.into_action());
        if progress.elapsed() > STUCK {
            let left: Vec<String> = left.iter().map(|(at, end)| format!("{at} to {end}")).collect();
            bail!("the final reader is stuck, with these left to read: {}", left.join(", "));
        }
    }
    Ok(())
}
