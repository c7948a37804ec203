//! How stale polls were: for how long an acknowledged record was withheld from a consumer that asked for it.
//!
//! A poll is stale when it does not bring its process to a record that was acknowledged before it was invoked; by how
//! much is the time between the two. Only for partitions in which the consumer had come to the end before: one that is
//! still reading what was there when it began is late, not misled. Outages count, which is what the figure is for.

use crate::{
    history::Partition,
    order::{Order, PartitionId},
    polls::{Cursor, Cursors, Next},
};
use serde::Serialize;

/// Offsets looked at for the next acknowledged record: those before it have an unknown outcome.
const AHEAD_MAX: i64 = 64;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Stale {
    pub nanoseconds: u64,
    pub partition: Partition,
    pub process: u32,
    /// The poll.
    pub op: u64,
    /// Nanoseconds since the run began.
    pub invoked: u64,
    /// The record withheld.
    pub value: u64,
}

#[derive(Default)]
pub(crate) struct Staleness {
    pub(crate) worst: Option<Stale>,
}

impl Staleness {
    /// A poll invoked at `invoked` brought its process to these cursors.
    pub(crate) fn poll(
        &mut self,
        cursors: &mut Cursors,
        order: &Order,
        partitions: &[Partition],
        (process, op, invoked): (u32, u64, u64),
    ) {
        for (&id, cursor) in &mut cursors.0 {
            let withheld = withheld(cursor, id, order).filter(|(_, acked)| *acked < invoked);
            let Some((value, acked)) = withheld else {
                cursor.caught_up |= matches!(cursor.next, Next::From(_));
                continue;
            };
            let nanoseconds = invoked - acked;
            let worse = self.worst.as_ref().is_none_or(|worst| nanoseconds > worst.nanoseconds);
            if cursor.caught_up && worse {
                let partition = partitions[id as usize].clone();
                self.worst = Some(Stale { nanoseconds, partition, process, op, invoked, value });
            }
        }
    }
}

/// The cursor's next acknowledged record, and when it was acknowledged.
fn withheld(cursor: &Cursor, id: PartitionId, order: &Order) -> Option<(u64, u64)> {
    let Next::From(next) = cursor.next else { return None };
    let log = &order.logs[id as usize];
    let ahead = next..log.floor.saturating_add(1).min(next.saturating_add(AHEAD_MAX));
    let mut acked = ahead.map(|offset| log.slot(offset).acked).filter(|value| *value != 0);
    let value = acked.next()?;
    Some((value, order.sent(value)?.completed))
}
