//! Drives a broker with Produce requests, one thread a connection (two at a fixed rate), and takes the latency of each.
//!
//! Without a rate a connection keeps so many requests in flight and sends the next when an answer comes. At a fixed rate
//! requests are sent when they are due, whatever the answers do, and a latency counts from the moment the request was
//! *due*: a broker that stalls makes the requests behind the stall late, and they are counted so (coordinated omission).

use crate::{
    client::{Connection, Receiver, Sender},
    clock,
    outcome::{Latencies, latencies, record},
    produce::{self, Requests},
};
use anyhow::{Result, anyhow};
use std::{
    collections::VecDeque,
    sync::atomic::{AtomicU64, Ordering},
    thread,
    time::{Duration, Instant},
};

/// Sends `total` requests, closed loop.
pub fn closed(
    connections: Vec<Connection>,
    requests: &Requests,
    in_flight: usize,
    total: u64,
) -> Result<Latencies> {
    let next = AtomicU64::new(0);
    let next = &next;
    let work = |connection| {
        let requests = requests.clone();
        move || one_closed(connection, requests, in_flight, total, next)
    };
    in_threads(connections.into_iter().map(work).collect())
}

fn one_closed(
    Connection { mut sender, mut receiver }: Connection,
    mut requests: Requests,
    in_flight: usize,
    total: u64,
    next: &AtomicU64,
) -> Result<Latencies> {
    let mut all = latencies();
    let mut sent = VecDeque::with_capacity(in_flight);
    loop {
        while sent.len() < in_flight {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= total {
                break;
            }
            let partition = number as usize % requests.frames.len();
            sent.push_back(clock::now());
            sender.send(&mut requests.frames[partition])?;
        }
        let Some(at) = sent.pop_front() else { return Ok(all) };
        produce::check(receiver.receive()?)?;
        record(&mut all, clock::now() - at);
    }
}

/// When each request of each connection is due: request `n` of all at `start + n / rate`.
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

    /// The requests of connection `index` of `count`, each with the time it is due.
    fn of(self, index: u64, count: u64) -> impl Iterator<Item = (u64, Instant)> {
        let numbers = (index..self.total).step_by(count as usize);
        numbers.map(move |number| (number, self.due(number)))
    }
}

/// Sends requests when they are due. `prepare` may change a frame before it goes, and is told when it was due.
pub fn paced(
    connections: Vec<Connection>,
    requests: &Requests,
    schedule: Schedule,
    prepare: impl Fn(&mut [u8], Instant) + Sync,
) -> Result<Latencies> {
    let count = connections.len() as u64;
    let prepare = &prepare;
    let mut work: Vec<Box<dyn FnOnce() -> Result<Latencies> + Send>> = vec![];
    for (index, Connection { sender, receiver }) in connections.into_iter().enumerate() {
        let (index, requests) = (index as u64, requests.clone());
        work.push(Box::new(move || {
            send_paced(sender, requests, schedule.of(index, count), prepare)?;
            Ok(latencies())
        }));
        work.push(Box::new(move || take_answers(receiver, schedule.of(index, count))));
    }
    in_threads(work)
}

fn send_paced(
    mut sender: Sender,
    mut requests: Requests,
    due: impl Iterator<Item = (u64, Instant)>,
    prepare: &impl Fn(&mut [u8], Instant),
) -> Result<()> {
    let partitions = requests.frames.len();
    for (number, due) in due {
        let frame = &mut requests.frames[number as usize % partitions];
        clock::wait_until(due);
        prepare(frame, due);
        sender.send(frame)?;
    }
    Ok(())
}

fn take_answers(
    mut receiver: Receiver,
    due: impl Iterator<Item = (u64, Instant)>,
) -> Result<Latencies> {
    let mut all = latencies();
    for (_, due) in due {
        produce::check(receiver.receive()?)?;
        record(&mut all, clock::now().saturating_duration_since(due));
    }
    Ok(all)
}

/// Runs each in a thread of its own and adds up what they measured. The first that fails fails the whole, when all have
/// ended.
pub fn in_threads<F: FnOnce() -> Result<Latencies> + Send>(work: Vec<F>) -> Result<Latencies> {
    let results: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> = work.into_iter().map(|work| scope.spawn(work)).collect();
        threads.into_iter().map(|thread| thread.join()).collect()
    });
    let mut all = latencies();
    for result in results {
        all += result.map_err(|_| anyhow!("a thread panicked"))??;
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_share_the_requests_and_each_is_due_in_its_turn() {
        let start = clock::now();
        let schedule = Schedule { start, rate: 100.0, total: 5 };
        let of = |index| {
            let due = schedule.of(index, 2);
            due.map(|(number, due)| (number, (due - start).as_millis())).collect::<Vec<_>>()
        };
        assert_eq!(of(0), [(0, 0), (2, 20), (4, 40)]);
        assert_eq!(of(1), [(1, 10), (3, 30)]);
    }

    #[test]
    fn one_that_fails_fails_all() {
        let work = |good: bool| move || if good { Ok(latencies()) } else { Err(anyhow!("no")) };
        assert!(in_threads(vec![work(true), work(true)]).is_ok());
        assert_eq!(in_threads(vec![work(true), work(false)]).unwrap_err().to_string(), "no");
    }
}
