//! Produce requests as fast as answers come: every connection keeps so many in flight and sends the next when one is
//! answered. One thread for all connections, which costs the least and treats all alike: it waits until answers can be
//! read on any (epoll), takes what is there, and sends. Sending blocks; a broker that does not read makes all wait.

use crate::{
    client::Connection,
    clock,
    outcome::{Latencies, latencies, record},
    produce::{self, Requests},
    ready::Ready,
};
use anyhow::Result;
use std::{collections::VecDeque, time::Instant};

/// A connection and when each request was sent that waits for its answer there.
struct Line {
    connection: Connection,
    sent: VecDeque<Instant>,
}

/// What is still to be sent: requests for the partitions in turn.
struct Rest {
    requests: Requests,
    next: u64,
    total: u64,
}

/// Sends `total` requests and takes their answers.
pub fn drive(
    connections: Vec<Connection>,
    requests: Requests,
    in_flight: usize,
    total: u64,
) -> Result<Latencies> {
    let mut all = latencies();
    let mut rest = Rest { requests, next: 0, total };
    let line = |connection| Line { connection, sent: VecDeque::with_capacity(in_flight) };
    let mut lines: Vec<_> = connections.into_iter().map(line).collect();
    let mut ready = Ready::of(lines.iter().map(|line| &line.connection.receiver))?;
    for line in &mut lines {
        (0..in_flight).try_for_each(|_| line.send(&mut rest))?;
    }
    while all.len() < total {
        for index in ready.wait()? {
            lines[index].take(&mut rest, &mut all)?;
        }
    }
    Ok(all)
}

impl Line {
    /// Sends the next request, if there is one.
    fn send(&mut self, rest: &mut Rest) -> Result<()> {
        if rest.next == rest.total {
            return Ok(());
        }
        let partition = rest.next as usize % rest.requests.frames.len();
        rest.next += 1;
        self.sent.push_back(clock::now());
        self.connection.sender.send(&mut rest.requests.frames[partition])
    }

    /// Reads once, and sends a request for each answer that has come.
    fn take(&mut self, rest: &mut Rest, all: &mut Latencies) -> Result<()> {
        self.connection.receiver.read()?;
        while let Some(answer) = self.connection.receiver.next()? {
            produce::check(answer)?;
            if let Some(at) = self.sent.pop_front() {
                record(all, clock::now() - at);
            }
            self.send(rest)?;
        }
        Ok(())
    }
}
