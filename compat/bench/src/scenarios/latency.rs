//! `latency`: from the moment a record is due at its producer to its arrival at a consumer that waits in a long poll. One
//! partition; the time stands in the record's value.

use super::Target;
use crate::{
    client::Connection,
    clock, fetch,
    outcome::{Figures, Latencies, Stopwatch, latencies, record},
    paced::{self, Schedule},
    produce::{Records, Requests},
    threads::in_threads,
    topics,
};
use anyhow::{Context, Result, ensure};
use std::time::{Duration, Instant};

/// The first record is due when the consumer surely waits.
const LEAD: Duration = Duration::from_millis(100);
/// The time in a value: nanoseconds since the schedule's start.
const TIME_BYTES: usize = 8;
/// Behind the value: how many headers the record has, none.
const BEHIND_VALUE: usize = 1;

#[derive(Debug, Clone, serde::Serialize, clap::Args)]
pub struct Latency {
    /// Records a second, each in a request of its own.
    #[arg(long, default_value_t = 500.0)]
    pub rate: f64,
    #[arg(long, default_value_t = 2000)]
    pub requests: u64,
    #[arg(long, default_value_t = 100)]
    pub record_bytes: usize,
    #[arg(long, default_value_t = -1, allow_negative_numbers = true, value_parser = clap::value_parser!(i16).range(-1..=1))]
    pub acks: i16,
    /// A setting of the topic, NAME=VALUE.
    #[arg(long = "config")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub configs: Vec<String>,
}

pub fn run(arguments: &Latency, target: &Target) -> Result<Figures> {
    let Latency { rate, requests: total, record_bytes, acks, configs } = arguments;
    ensure!(*acks != 0 && *rate > 0.0, "acks=0 and a rate of nothing cannot be measured");
    ensure!(*record_bytes >= TIME_BYTES, "a value needs {TIME_BYTES} bytes for the time");
    let name = topics::unique("latency");
    let mut control = target.connect()?;
    topics::create(&mut control, &name, 1, configs)?;
    let records = Records { records: 1, record_bytes: *record_bytes };
    let mut requests = Requests::new(&name, 1, *acks, &records)?;
    requests.send_each(&mut control)?;
    let (producer, consumer) = (target.connect()?, target.connect()?);

    let watch = Stopwatch::start(target.server())?;
    let schedule = Schedule { start: clock::now() + LEAD, rate: *rate, total: *total };
    let batch_bytes = requests.batch_bytes;
    let stamp = |frame: &mut [u8], due: Instant| {
        let batch_at = frame.len() - batch_bytes;
        stamp(&mut frame[batch_at..], *record_bytes, due - schedule.start);
    };
    let work: [Box<dyn FnOnce() -> Result<Latencies> + Send>; 2] = [
        // The latencies of the acknowledgements are not those that are asked for.
        Box::new(|| paced::drive(vec![producer], requests, schedule, stamp).map(|_| latencies())),
        Box::new(|| consume(consumer, &name, schedule, *record_bytes)),
    ];
    let latencies = in_threads(work.into())?;
    let figures = watch.stop(*total, total * batch_bytes as u64, &latencies)?;
    topics::delete(&mut control, &name);
    Ok(figures)
}

/// Takes the records of the schedule as they come; the topic holds one older record.
fn consume(
    mut connection: Connection,
    topic: &str,
    schedule: Schedule,
    record_bytes: usize,
) -> Result<Latencies> {
    let mut all = latencies();
    let settings = fetch::Settings {
        fetch_max_bytes: 52_428_800,
        max_partition_fetch_bytes: 1_048_576,
        fetch_min_bytes: 1,
        fetch_max_wait_ms: 5000,
    };
    let mut offset = 1;
    while all.len() < schedule.total {
        connection.sender.send(&mut fetch::request(topic, &[(0, offset)], &settings)?)?;
        let answer = fetch::answer(connection.receiver.receive()?)?;
        let arrived = clock::now();
        for (header, batch) in answer.iter().flat_map(|fetched| fetch::batches(fetched.records)) {
            offset = header.last_offset() + 1;
            let due = schedule.start + stamped(batch, record_bytes)?;
            record(&mut all, arrived.saturating_duration_since(due));
        }
    }
    Ok(all)
}

/// Writes the time into the value of a batch's one record and corrects the checksum.
fn stamp(batch: &mut [u8], record_bytes: usize, time: Duration) {
    let value = batch.len() - BEHIND_VALUE - record_bytes;
    batch[value..value + TIME_BYTES].copy_from_slice(&clock::nanoseconds(time).to_be_bytes());
    let checksum = crc32c::crc32c(&batch[21..]);
    batch[17..21].copy_from_slice(&checksum.to_be_bytes());
}

fn stamped(batch: &[u8], record_bytes: usize) -> Result<Duration> {
    let value = batch.len().checked_sub(BEHIND_VALUE + record_bytes);
    let time = value.and_then(|value| batch.get(value..)?.first_chunk());
    Ok(Duration::from_nanos(u64::from_be_bytes(*time.context("not a batch of ours")?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ottla::wire;

    #[test]
    fn a_stamped_batch_is_whole_and_gives_its_time_back() {
        let records = Records { records: 1, record_bytes: 100 };
        let requests = Requests::new("t", 1, -1, &records).unwrap();
        let frame = &requests.frames[0];
        let mut batch = frame[frame.len() - requests.batch_bytes..].to_vec();
        stamp(&mut batch, 100, Duration::from_nanos(77));
        assert_eq!(stamped(&batch, 100).unwrap(), Duration::from_nanos(77));
        let checked = wire::batch::check(7, batch.into(), 1 << 20).unwrap();
        let payload = checked.payload();
        assert_eq!(wire::records(&checked.header, &payload).filter(Result::is_ok).count(), 1);
    }
}
