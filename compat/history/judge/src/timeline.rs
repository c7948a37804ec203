//! The course of a run, second by second: what was acknowledged and read, how long sends took, and when faults were in
//! force. For people to look at ([`crate::report`], [`crate::plot`]); it judges nothing.
//!
//! A send counts in the second in which it was acknowledged. Sends with acks=0 are left out: nobody acknowledges them.

use crate::history::{Acks, Action, Event, Phase, Role};
use std::collections::{HashMap, HashSet};

/// Longer runs are shown up to here only.
pub const SECONDS_MAX: usize = 86_400;

#[derive(Debug, Default)]
pub struct Timeline {
    /// As the history names them; empty and 0 when it does not.
    pub target: String,
    pub seed: u64,
    pub seconds: Vec<Second>,
    /// In the order of their injection.
    pub faults: Vec<Fault>,
    /// Without an acknowledged send, while there was something to acknowledge.
    pub sends_stalled: Pause,
    /// Without a polled record, until the last one.
    pub polls_stalled: Pause,
    /// All sends.
    pub latency: Latency,
    acked_at: u64,
    /// Something was sent since the last acknowledgement that left nothing to wait for.
    busy: bool,
    polled_at: Option<u64>,
    waiting: HashMap<u64, u64>,
    unacknowledged: HashSet<u32>,
}

#[derive(Debug, Clone, Default)]
pub struct Second {
    pub acked: u64,
    pub polled: u64,
    pub latency: Latency,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    pub name: String,
    pub detail: String,
    op: u64,
    /// Nanoseconds since the run began.
    pub from: u64,
    /// None: it lasted to the end.
    pub to: Option<u64>,
}

/// A time in which nothing happened, in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pause {
    pub from: u64,
    pub length: u64,
}

/// How long things took: exact up to 16 microseconds, then to an eighth.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Latency {
    /// By bucket of microseconds.
    counts: Vec<u32>,
    /// Nanoseconds.
    pub max: u64,
}

impl Timeline {
    /// Takes the next event of the history.
    pub fn event(&mut self, event: &Event) {
        let now = event.time;
        let invoked = event.phase == Phase::Invoke;
        match &event.action {
            Action::Start(Role::Checker { seed, target }) => {
                (self.seed, self.target) = (*seed, target.clone());
            }
            Action::Start(Role::Producer { acks: Acks::None, .. }) => {
                self.unacknowledged.insert(event.process);
            }
            Action::Send { .. } if self.unacknowledged.contains(&event.process) => (),
            Action::Send { .. } if invoked => {
                if !self.busy {
                    (self.busy, self.acked_at) = (true, now);
                }
                self.waiting.insert(event.op, now);
                self.sends_stalled.stretch(self.acked_at, now);
            }
            Action::Send { .. } => {
                let Some(invoked) = self.waiting.remove(&event.op) else { return };
                self.sends_stalled.stretch(self.acked_at, now);
                if event.phase == Phase::Ok {
                    (self.busy, self.acked_at) = (!self.waiting.is_empty(), now);
                    self.latency.add(now - invoked);
                    let second = self.second(now);
                    second.acked += 1;
                    second.latency.add(now - invoked);
                }
            }
            Action::Poll { records } => {
                let records: usize = records.iter().map(|polled| polled.records.len()).sum();
                if records > 0 {
                    self.second(now).polled += records as u64;
                    let before = self.polled_at.replace(now).unwrap_or(now);
                    self.polls_stalled.stretch(before, now);
                }
            }
            Action::Fault { name, detail } if invoked => {
                let (name, detail) = (name.clone(), detail.clone());
                self.faults.push(Fault { name, detail, op: event.op, from: now, to: None });
            }
            Action::Fault { .. } => {
                let fault = self.faults.iter_mut().rfind(|fault| fault.op == event.op);
                fault.into_iter().for_each(|fault| fault.to = Some(now));
            }
            _ => (),
        }
    }

    fn second(&mut self, time: u64) -> &mut Second {
        let index = ((time / 1_000_000_000) as usize).min(SECONDS_MAX - 1);
        if self.seconds.len() <= index {
            self.seconds.resize(index + 1, Second::default());
        }
        &mut self.seconds[index]
    }
}

impl Pause {
    fn stretch(&mut self, from: u64, to: u64) {
        if to - from > self.length {
            *self = Pause { from, length: to - from };
        }
    }
}

impl Second {
    /// Several seconds as one.
    pub fn sum(seconds: &[Second]) -> Second {
        let mut sum = Second::default();
        for Second { acked, polled, latency } in seconds {
            sum.acked += acked;
            sum.polled += polled;
            sum.latency.merge(latency);
        }
        sum
    }
}

impl Latency {
    pub fn add(&mut self, nanoseconds: u64) {
        let bucket = bucket(nanoseconds / 1000);
        if self.counts.len() <= bucket {
            self.counts.resize(bucket + 1, 0);
        }
        self.counts[bucket] = self.counts[bucket].saturating_add(1);
        self.max = self.max.max(nanoseconds);
    }

    fn merge(&mut self, other: &Latency) {
        if self.counts.len() < other.counts.len() {
            self.counts.resize(other.counts.len(), 0);
        }
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count = count.saturating_add(*more);
        }
        self.max = self.max.max(other.max);
    }

    /// Nanoseconds that this share (0 to 1) took at most, to an eighth; None: nothing was measured.
    pub fn quantile(&self, share: f64) -> Option<u64> {
        let total: u64 = self.counts.iter().map(|count| u64::from(*count)).sum();
        let rank = ((total as f64 * share).ceil() as u64).clamp(1, total.max(1));
        let mut seen = 0;
        let bucket = self.counts.iter().position(|count| {
            seen += u64::from(*count);
            seen >= rank
        });
        bucket.map(|bucket| (floor(bucket + 1) * 1000).min(self.max))
    }
}

fn bucket(microseconds: u64) -> usize {
    if microseconds < 16 {
        return microseconds as usize;
    }
    let power = microseconds.ilog2();
    let eighth = (microseconds >> (power - 3)) & 7;
    16 + (power as usize - 4) * 8 + eighth as usize
}

/// The least number of microseconds in a bucket.
fn floor(bucket: usize) -> u64 {
    let Some(above) = bucket.checked_sub(16) else { return bucket as u64 };
    let (power, eighth) = (above / 8 + 4, (above % 8) as u64);
    (8 + eighth) << (power - 3).min(60)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::{Partition, Polled, Record};

    #[test]
    fn buckets_have_no_gaps_and_hold_what_is_in_them() {
        for number in 0..300 {
            assert_eq!(bucket(floor(number)), number);
            assert_eq!(bucket(floor(number + 1) - 1), number);
        }
        let last = bucket(u64::MAX / 1000);
        assert!(floor(last) <= u64::MAX / 1000 && last < 500);
    }

    #[test]
    fn quantiles_are_within_an_eighth() {
        let mut latency = Latency::default();
        assert_eq!(latency.quantile(0.5), None);
        (1..=1000).for_each(|n| latency.add(n * 1_000_000));
        for (share, exact) in [(0.5, 500e6), (0.99, 990e6), (0.0, 1e6)] {
            let found = latency.quantile(share).unwrap() as f64;
            assert!((exact..=exact * 1.125).contains(&found), "{share}: {found}");
        }
        assert_eq!(latency.quantile(1.0), Some(1_000_000_000));
    }

    /// Seconds, process, op, phase, action.
    fn seen(events: impl IntoIterator<Item = (f64, u32, u64, Phase, Action)>) -> Timeline {
        let mut timeline = Timeline::default();
        for (seconds, process, op, phase, action) in events {
            let time = (seconds * 1e9) as u64;
            timeline.event(&Event { time, process, op, phase, action });
        }
        timeline
    }

    fn send(value: u64) -> Action {
        Action::Send { to: Partition::new("a", 0), key: 1, value, offset: None }
    }

    fn poll(records: u64) -> Action {
        let record = |value| Record { offset: value as i64, key: 1, value };
        let records = (0..records).map(record).collect();
        Action::Poll { records: vec![Polled { from: Partition::new("a", 0), records }] }
    }

    #[test]
    fn seconds_pauses_and_faults() {
        let plain =
            |acks| Action::Start(Role::Producer { idempotent: false, acks, retries: false });
        let kill = || Action::Fault { name: "kill".into(), detail: "-9".into() };
        let timeline = seen([
            (0.0, 0, 1, Phase::Ok, Action::Start(Role::Checker { seed: 7, target: "x".into() })),
            (0.0, 1, 2, Phase::Ok, plain(Acks::All)),
            (0.0, 2, 3, Phase::Ok, plain(Acks::None)),
            (1.0, 1, 4, Phase::Invoke, send(1)),
            (1.5, 1, 4, Phase::Ok, send(1)),
            (1.6, 3, 5, Phase::Ok, poll(3)),
            (2.0, 0, 6, Phase::Invoke, kill()),
            (2.0, 1, 7, Phase::Invoke, send(2)),
            (2.5, 2, 8, Phase::Invoke, send(3)),
            (2.5, 2, 8, Phase::Ok, send(3)),
            (3.0, 1, 9, Phase::Invoke, send(4)),
            (4.0, 1, 9, Phase::Unknown, send(4)),
            (5.0, 0, 6, Phase::Ok, kill()),
            (6.0, 1, 7, Phase::Ok, send(2)),
            (6.1, 3, 10, Phase::Ok, poll(0)),
            (6.2, 3, 11, Phase::Ok, poll(1)),
            (60.0, 1, 12, Phase::Invoke, send(5)),
            (60.5, 1, 12, Phase::Ok, send(5)),
            (61.0, 0, 13, Phase::Invoke, kill()),
        ]);
        let unanswered = seen([
            (1.0, 1, 1, Phase::Invoke, send(1)),
            (2.0, 1, 1, Phase::Unknown, send(1)),
            (4.0, 1, 2, Phase::Invoke, send(2)),
            (5.0, 1, 2, Phase::Unknown, send(2)),
        ]);
        assert_eq!(unanswered.sends_stalled, Pause { from: 1_000_000_000, length: 4_000_000_000 });
        assert_eq!((timeline.seed, timeline.target.as_str()), (7, "x"));
        let counted = |index: usize| {
            let second = &timeline.seconds[index];
            (second.acked, second.polled, second.latency.max)
        };
        assert_eq!(counted(1), (1, 3, 500_000_000));
        assert_eq!(counted(2), (0, 0, 0));
        assert_eq!(counted(6), (1, 1, 4_000_000_000));
        assert_eq!(timeline.seconds.len(), 61);
        assert_eq!(timeline.sends_stalled, Pause { from: 2_000_000_000, length: 4_000_000_000 });
        assert_eq!(timeline.polls_stalled, Pause { from: 1_600_000_000, length: 4_600_000_000 });
        let faults: Vec<_> = timeline.faults.iter().map(|fault| (fault.from, fault.to)).collect();
        assert_eq!(faults, [(2_000_000_000, Some(5_000_000_000)), (61_000_000_000, None)]);
    }
}
