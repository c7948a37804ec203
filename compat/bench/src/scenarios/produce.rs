//! `produce`: batches from several connections, closed loop or at a fixed rate.

use super::Target;
use crate::{
    clock, closed,
    outcome::{Figures, Stopwatch},
    paced,
    produce::{Records, Requests},
    topics,
};
use anyhow::{Result, ensure};
use std::time::Duration;

/// The first request at a fixed rate is due so much after its threads begin.
const LEAD: Duration = Duration::from_millis(50);

#[derive(Debug, Clone, serde::Serialize, clap::Args)]
pub struct Produce {
    #[command(flatten)]
    pub connections: Connections,
    #[command(flatten)]
    pub records: Records,
    #[command(flatten)]
    pub topic: Topic,
    #[command(flatten)]
    pub amount: Amount,
    /// -1: all in-sync replicas, 1: the leader.
    #[arg(long, default_value_t = -1, allow_negative_numbers = true, value_parser = clap::value_parser!(i16).range(-1..=1))]
    pub acks: i16,
    /// Requests a second of all connections together, sent when they are due; --in-flight has no meaning then.
    #[arg(long)]
    pub rate: Option<f64>,
}

#[derive(Debug, Clone, serde::Serialize, clap::Args)]
pub struct Connections {
    #[arg(long, default_value_t = 16)]
    pub connections: usize,
    /// Requests that wait for their answer, on each connection.
    #[arg(long, default_value_t = 1)]
    pub in_flight: usize,
}

#[derive(Debug, Clone, serde::Serialize, clap::Args)]
pub struct Topic {
    #[arg(long, default_value_t = 6)]
    pub partitions: i32,
    /// A setting of the topic, NAME=VALUE.
    #[arg(long = "config")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub configs: Vec<String>,
    /// Its name; it is made if it does not exist and stays. Without this a topic of its own is made and deleted.
    #[arg(long)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub topic: Option<String>,
}

#[derive(Debug, Clone, serde::Serialize, clap::Args)]
pub struct Amount {
    /// How many requests.
    #[arg(long, conflicts_with = "megabytes")]
    pub requests: Option<u64>,
    /// As many requests as carry so much, in units of 10^6 bytes of batches; 100 without either.
    #[arg(long)]
    pub megabytes: Option<u64>,
}

impl Amount {
    pub fn requests(&self, batch_bytes: usize) -> u64 {
        let bytes = self.megabytes.unwrap_or(100) * 1_000_000;
        self.requests.unwrap_or(bytes.div_ceil(batch_bytes as u64)).max(1)
    }
}

pub fn run(arguments: &Produce, target: &Target) -> Result<Figures> {
    let Produce { connections, records, topic, amount, acks, rate } = arguments;
    ensure!(*acks != 0, "acks=0 has no answers to measure");
    ensure!(connections.connections > 0 && connections.in_flight > 0, "nothing to send on");
    ensure!(rate.is_none_or(|rate| rate > 0.0), "a rate of nothing");
    let name = topic.topic.clone().unwrap_or_else(|| topics::unique("produce"));
    let mut control = target.connect()?;
    if !topics::has_leaders(&topics::metadata(&mut control, Some(&name))?, 1) {
        topics::create(&mut control, &name, topic.partitions, &topic.configs)?;
    }
    let mut requests = Requests::new(&name, topic.partitions, *acks, records)?;
    requests.send_each(&mut control)?;
    let batch_bytes = requests.batch_bytes;
    let total = amount.requests(batch_bytes);
    let open = target.connect_many(connections.connections)?;

    let watch = Stopwatch::start(target.server())?;
    let latencies = match rate {
        None => closed::drive(open, requests, connections.in_flight, total)?,
        Some(rate) => {
            let schedule = paced::Schedule { start: clock::now() + LEAD, rate: *rate, total };
            paced::drive(open, requests, schedule, |_, _| {})?
        }
    };
    let figures = watch.stop(total, total * batch_bytes as u64, &latencies)?;
    if topic.topic.is_none() {
        topics::delete(&mut control, &name);
    }
    Ok(figures)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn megabytes_are_rounded_up_to_requests() {
        let amount = |requests, megabytes| Amount { requests, megabytes }.requests(300_000);
        assert_eq!((amount(Some(7), None), amount(None, Some(1)), amount(None, None)), (7, 4, 334));
    }
}
