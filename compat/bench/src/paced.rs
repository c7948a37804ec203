//! Produce requests at a fixed rate: one thread sends on all connections in turn, another takes the answers. Requests are
//! sent when they are due, whatever the answers do, and a latency counts from the moment the request was *due*: a broker
//! that stalls makes the requests behind the stall late, and they are counted so (coordinated omission).

use crate::{
    client::{Connection, Receiver, Sender},
    clock,
    outcome::{Latencies, latencies, record},
    produce::{self, Requests},
    ready::Ready,
    threads::in_threads,
};
use anyhow::Result;
use std::time::{Duration, Instant};

/// When each request is due: request `n` at `start + n / rate`, on connection `n` modulo their number.
#[derive(Clone, Copy)]
pub struct Schedule {
    pub start: Instant,
    /// Requests a second, of all connections together.
    pub rate: f64,
    pub total: u64,
}

impl Schedule {
    fn due(&self, number: u64) -> Instant {
        self.start + Duration::from_secs_f64(number as f64 / self.rate)
    }
}

/// Sends requests when they are due. `prepare` may change a frame before it goes, and is told when it was due.
pub fn drive(
    connections: Vec<Connection>,
    requests: Requests,
    schedule: Schedule,
    prepare: impl Fn(&mut [u8], Instant) + Send,
) -> Result<Latencies> {
    let ends = connections.into_iter().map(|connection| (connection.sender, connection.receiver));
    let (senders, receivers) = ends.unzip();
    let work: [Box<dyn FnOnce() -> Result<Latencies> + Send>; 2] = [
        Box::new(|| send(senders, requests, schedule, prepare)),
        Box::new(|| take_answers(receivers, schedule)),
    ];
    in_threads(work.into())
}

fn send(
    mut senders: Vec<Sender>,
    mut requests: Requests,
    schedule: Schedule,
    prepare: impl Fn(&mut [u8], Instant),
) -> Result<Latencies> {
    let (connections, partitions) = (senders.len() as u64, requests.frames.len() as u64);
    for number in 0..schedule.total {
        let due = schedule.due(number);
        let frame = &mut requests.frames[(number % partitions) as usize];
        clock::wait_until(due);
        prepare(frame, due);
        senders[(number % connections) as usize].send(frame)?;
    }
    Ok(latencies())
}

fn take_answers(mut receivers: Vec<Receiver>, schedule: Schedule) -> Result<Latencies> {
    let mut all = latencies();
    let mut ready = Ready::of(receivers.iter())?;
    // Which request's answer comes next on each connection.
    let mut next: Vec<_> = (0..receivers.len() as u64).collect();
    while all.len() < schedule.total {
        for index in ready.wait()? {
            receivers[index].read()?;
            let arrived = clock::now();
            while let Some(answer) = receivers[index].next()? {
                produce::check(answer)?;
                record(&mut all, arrived.saturating_duration_since(schedule.due(next[index])));
                next[index] += next.len() as u64;
            }
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{null, topics};
    use std::net::TcpListener;

    #[test]
    fn a_latency_counts_from_when_the_request_was_due() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        std::thread::spawn(move || null::serve(listener));
        let connect = || Connection::open(&address).unwrap();
        topics::create(&mut connect(), "t", 3, &[]).unwrap();
        let records = produce::Records { records: 1, record_bytes: 10 };
        let requests = Requests::new("t", 3, -1, &records).unwrap();
        // As if everything had stood still for a minute: request n was due 60 s - n / 10 s ago.
        let start = clock::now() - Duration::from_secs(60);
        let schedule = Schedule { start, rate: 10.0, total: 101 };
        let all = drive(vec![connect(), connect()], requests, schedule, |_, _| {}).unwrap();
        assert_eq!(all.len(), 101);
        // The histogram keeps three digits.
        let (least, most) = (all.min() / 100_000_000, all.max() / 100_000_000);
        assert!((499..510).contains(&least) && (599..620).contains(&most), "{least} {most}");
    }
}
