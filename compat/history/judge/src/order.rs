//! The version order: which value is at which offset of each partition, and what became of every value.
//!
//! Two tables, indexed by offset and by value, built in one pass: from acknowledged sends and from *all* polls. A send
//! with an unknown outcome counts from the moment somebody reads its value. Offsets that nobody claims (transaction
//! markers, aborted records) are holes and not part of the order.
//!
//! An acknowledgement that a fault excuses ([`crate::faults`]) is no claim: the record may be gone and its offset given
//! to another one.

use crate::{dense::Dense, faults::Faults, history::Acks, verdict::Witness};

/// A partition's number within a judgement.
pub(crate) type PartitionId = u32;

pub(crate) struct Order {
    pub(crate) logs: Vec<Log>,
    sends: Dense<Sent>,
}

/// One partition.
pub(crate) struct Log {
    slots: Dense<Slot>,
    /// The highest offset that everybody must know of: acknowledged with acks=all, polled, or below an end that the
    /// broker named. -1: none.
    pub(crate) floor: i64,
    /// The highest offset that was polled by anyone, and by a final reader. -1: none.
    pub(crate) polled_max: i64,
    pub(crate) final_max: i64,
    /// The log end offset, as the broker named it last.
    pub(crate) end: Option<i64>,
}

/// An offset. 0: no value.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Slot {
    pub(crate) acked: u64,
    pub(crate) polled: u64,
}

/// A value, and its one send.
#[derive(Debug, Clone)]
pub(crate) struct Sent {
    pub(crate) process: u32,
    pub(crate) partition: PartitionId,
    pub(crate) key: u32,
    pub(crate) acks: Acks,
    pub(crate) outcome: Outcome,
    pub(crate) read_by_final: bool,
    pub(crate) op: u64,
    pub(crate) invoked: u64,
    /// `u64::MAX` while open.
    pub(crate) completed: u64,
    /// Where the acknowledgement put it. -1: it did not say.
    pub(crate) acked_at: i64,
    /// Where a poll saw it first. -1: never.
    pub(crate) seen_at: i64,
    /// The log's `floor` when it was invoked: it must come after that.
    pub(crate) floor: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Outcome {
    /// No such send.
    #[default]
    Unsent,
    Open,
    Ok,
    Fail,
    Unknown,
}

/// Two values claim one offset.
pub(crate) struct Conflict {
    pub(crate) before: u64,
    pub(crate) now: u64,
}

impl Order {
    pub(crate) fn new() -> Order {
        Order { logs: Vec::new(), sends: Dense::new() }
    }

    /// None: nobody sent it.
    pub(crate) fn sent(&self, value: u64) -> Option<&Sent> {
        let sent = self.sends.get(value)?;
        (sent.outcome != Outcome::Unsent).then_some(sent)
    }

    pub(crate) fn sent_mut(&mut self, value: u64) -> &mut Sent {
        self.sends.at(value)
    }

    /// All values that were sent, ascending.
    pub(crate) fn all_sent(&self) -> impl Iterator<Item = (u64, &Sent)> {
        let all = self.sends.range(0, u64::MAX);
        all.filter(|(_, sent)| sent.outcome != Outcome::Unsent)
    }

    /// The broker acknowledged this value at this offset.
    pub(crate) fn acked(&mut self, value: u64, offset: i64, faults: &Faults) -> Option<Conflict> {
        let sent = self.sent_mut(value);
        sent.acked_at = offset;
        let (partition, durable) = (sent.partition as usize, sent.acks == Acks::All);
        let slot = self.logs[partition].slot(offset);
        let before = self.claim(slot, faults);
        let log = &mut self.logs[partition];
        log.slots.at(offset as u64).acked = value;
        if durable {
            log.floor = log.floor.max(offset);
        }
        before.filter(|before| *before != value).map(|before| Conflict { before, now: value })
    }

    /// A poll returned this value from this offset.
    pub(crate) fn polled(
        &mut self,
        partition: PartitionId,
        offset: i64,
        value: u64,
        by_final: bool,
        faults: &Faults,
    ) -> Option<Conflict> {
        if self.sent(value).is_some_and(|sent| sent.partition == partition) {
            let sent = self.sent_mut(value);
            sent.read_by_final |= by_final;
            if sent.seen_at < 0 {
                sent.seen_at = offset;
            }
        }
        let slot = self.logs[partition as usize].slot(offset);
        let before = self.claim(slot, faults);
        let log = &mut self.logs[partition as usize];
        if slot.polled == 0 {
            log.slots.at(offset as u64).polled = value;
        }
        log.floor = log.floor.max(offset);
        log.polled_max = log.polled_max.max(offset);
        if by_final {
            log.final_max = log.final_max.max(offset);
        }
        before.filter(|before| *before != value).map(|before| Conflict { before, now: value })
    }

    /// The value that is proven to be in the slot.
    pub(crate) fn claim(&self, slot: Slot, faults: &Faults) -> Option<u64> {
        if slot.polled != 0 {
            return Some(slot.polled);
        }
        let sent = self.sent(slot.acked)?;
        (!sent.is_excused(faults)).then_some(slot.acked)
    }

    /// The offsets and values proven to be in `from..to`.
    pub(crate) fn claims<'a>(
        &'a self,
        partition: PartitionId,
        from: i64,
        to: i64,
        faults: &'a Faults,
    ) -> impl Iterator<Item = (i64, u64)> + 'a {
        let (from, to) = (from.max(0) as u64, to.max(0) as u64);
        let slots = self.logs[partition as usize].slots.range(from, to);
        slots.filter_map(|(offset, slot)| Some((offset as i64, self.claim(*slot, faults)?)))
    }
}

impl Log {
    pub(crate) fn new() -> Log {
        Log { slots: Dense::new(), floor: -1, polled_max: -1, final_max: -1, end: None }
    }

    /// `offset` is not negative.
    pub(crate) fn slot(&self, offset: i64) -> Slot {
        self.slots.get(offset as u64).copied().unwrap_or_default()
    }
}

impl Sent {
    pub(crate) fn is_excused(&self, faults: &Faults) -> bool {
        faults.excuse(self.acks, self.invoked, self.completed)
    }

    /// Its completion, or its invocation while there is none.
    pub(crate) fn witness(&self) -> Witness {
        let time = if self.completed == u64::MAX { self.invoked } else { self.completed };
        Witness { process: self.process, op: self.op, time }
    }
}

impl Default for Sent {
    fn default() -> Sent {
        Sent {
            process: 0,
            partition: 0,
            key: 0,
            acks: Acks::All,
            outcome: Outcome::Unsent,
            read_by_final: false,
            op: 0,
            invoked: 0,
            completed: u64::MAX,
            acked_at: -1,
            seen_at: -1,
            floor: -1,
        }
    }
}
