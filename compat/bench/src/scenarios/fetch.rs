//! `fetch`: writes a topic, then reads all of it from the start, as consumers do that have partitions of their own.

use super::{Target, produce::Amount, produce::Topic};
use crate::{
    client::Connection,
    clock, closed, fetch,
    outcome::{Figures, Latencies, Stopwatch, latencies, record},
    produce::{Records, Requests},
    threads::in_threads,
    topics,
};
use anyhow::{Result, ensure};
use std::sync::atomic::{AtomicU64, Ordering};

/// Writing is not measured.
const WRITERS: usize = 2;
const WRITES_IN_FLIGHT: usize = 5;

#[derive(Debug, Clone, serde::Serialize, clap::Args)]
pub struct Fetch {
    /// Consumers, which share the partitions.
    #[arg(long, default_value_t = 2)]
    pub connections: usize,
    #[command(flatten)]
    pub records: Records,
    #[command(flatten)]
    pub topic: Topic,
    #[command(flatten)]
    pub amount: Amount,
    #[command(flatten)]
    pub settings: fetch::Settings,
}

pub fn run(arguments: &Fetch, target: &Target) -> Result<Figures> {
    let Fetch { connections, records, topic, amount, settings } = arguments;
    ensure!(*connections > 0, "nothing to read with");
    let name = topic.topic.clone().unwrap_or_else(|| topics::unique("fetch"));
    let mut control = target.connect()?;
    topics::create(&mut control, &name, topic.partitions, &topic.configs)?;
    let mut requests = Requests::new(&name, topic.partitions, -1, records)?;
    requests.send_each(&mut control)?;
    let written = amount.requests(requests.batch_bytes);
    let expected = (written + requests.frames.len() as u64) * requests.batch_bytes as u64;
    closed::drive(target.connect_many(WRITERS)?, requests, WRITES_IN_FLIGHT, written)?;

    let bytes = AtomicU64::new(0);
    let (name, bytes_read) = (&name, &bytes);
    let reader = |(index, connection)| {
        let partitions = (index as i32..topic.partitions).step_by(*connections);
        let positions: Vec<_> = partitions.map(|partition| (partition, 0)).collect();
        move || read(connection, name, positions, settings, bytes_read)
    };
    let open = target.connect_many(*connections)?;
    let watch = Stopwatch::start(target.server())?;
    let latencies = in_threads(open.into_iter().enumerate().map(reader).collect())?;
    let bytes = bytes.load(Ordering::Relaxed);
    let figures = watch.stop(latencies.len(), bytes, &latencies)?;
    ensure!(bytes >= expected, "{bytes} bytes read of {expected} written");
    if topic.topic.is_none() {
        topics::delete(&mut control, name);
    }
    Ok(figures)
}

/// Reads these partitions to their end, one request at a time.
fn read(
    mut connection: Connection,
    topic: &str,
    mut positions: Vec<(i32, i64)>,
    settings: &fetch::Settings,
    bytes: &AtomicU64,
) -> Result<Latencies> {
    let mut all = latencies();
    while !positions.is_empty() {
        let mut request = fetch::request(topic, &positions, settings)?;
        let began = clock::now();
        connection.sender.send(&mut request)?;
        let answer = fetch::answer(connection.receiver.receive()?)?;
        record(&mut all, clock::now() - began);
        for fetched in answer {
            let Some(at) = positions.iter().position(|(it, _)| *it == fetched.partition) else {
                continue;
            };
            for (header, batch) in fetch::batches(fetched.records) {
                positions[at].1 = header.last_offset() + 1;
                bytes.fetch_add(batch.len() as u64, Ordering::Relaxed);
            }
            if positions[at].1 >= fetched.high_watermark {
                positions.swap_remove(at);
            }
        }
    }
    Ok(all)
}
