//! When faults were in force, and what they excuse.

use crate::history::{Acks, POWER_CUT};

/// Nanoseconds: how long after an acknowledgement, or around a fault, a record that was not promised to be safe may
/// still be lost to it. The broker's sockets are drained and its logs synced in far less.
pub const GRACE: u64 = 10_000_000_000;

#[derive(Debug, Default)]
pub(crate) struct Faults(Vec<Fault>);

#[derive(Debug)]
struct Fault {
    op: u64,
    power_cut: bool,
    from: u64,
    /// `u64::MAX` while it lasts.
    to: u64,
}

impl Faults {
    pub(crate) fn injected(&mut self, op: u64, name: &str, time: u64) {
        self.0.push(Fault { op, power_cut: name == POWER_CUT, from: time, to: u64::MAX });
    }

    pub(crate) fn healed(&mut self, op: u64, time: u64) {
        for fault in self.0.iter_mut().filter(|fault| fault.op == op) {
            fault.to = time;
        }
    }

    /// Whether a send with these acks, in progress from `invoked` to `completed`, may be lost although it is `ok`.
    ///
    /// - acks=0: bytes handed to a socket. Lost with the connection, so by any fault near it.
    /// - acks=1: written, not yet synced. A process that dies leaves what it has written to the operating system, so
    ///   on one node only a power cut takes it.
    /// - acks=all: never.
    pub(crate) fn excuse(&self, acks: Acks, invoked: u64, completed: u64) -> bool {
        let (since, until) = (invoked.saturating_sub(GRACE), completed.saturating_add(GRACE));
        match acks {
            Acks::None => self.0.iter().any(|fault| fault.from <= until && fault.to >= since),
            Acks::Leader => {
                let mut cuts = self.0.iter().filter(|fault| fault.power_cut);
                cuts.any(|cut| cut.from <= until && cut.to >= invoked)
            }
            Acks::All => false,
        }
    }
}
