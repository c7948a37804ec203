//! Produce requests at a fixed rate, two threads a connection. They are sent when they are due, whatever the answers do,
//! and a latency counts from the moment the request was *due*: a broker that stalls makes the requests behind the stall
//! late, and they are counted so (coordinated omission).

use crate::{
    client::{Connection, Receiver, Sender},
    clock,
    outcome::{Latencies, latencies, record},
    produce::{self, Requests},
    threads::in_threads,
};
use anyhow::Result;
use std::time::{Duration, Instant};

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
pub fn drive(
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
}
