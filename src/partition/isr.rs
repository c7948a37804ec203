//! The in-sync replicas of a partition as its leader sees them, and how far each has come.
//!
//! Owned by the replica. Not here yet: proposing changes (KIP-497); until then the maximal set, which the high watermark
//! respects, is the committed one.

use crate::ids::{NodeId, Offset};

/// In-sync replicas and what each acknowledged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Isr {
    me: NodeId,
    committed: Vec<NodeId>,
    /// Of every other replica: the offset below which it has everything. It counts from its leader's epoch on.
    others: Vec<(NodeId, Offset)>,
}

impl Isr {
    /// As the image says. Nothing is known of the others until they fetch.
    pub fn new(me: NodeId, committed: Vec<NodeId>, replicas: &[NodeId]) -> Isr {
        let others = replicas.iter().filter(|id| **id != me).map(|id| (*id, 0)).collect();
        Isr { me, committed, others }
    }

    /// The same replicas under the same leader with another set in sync; what they acknowledged stays.
    pub fn change(&mut self, committed: Vec<NodeId>, replicas: &[NodeId]) {
        let mut next = Isr::new(self.me, committed, replicas);
        for (id, offset) in &mut next.others {
            *offset = self.others.iter().find(|(other, _)| other == id).map_or(0, |(_, end)| *end);
        }
        *self = next;
    }

    /// A replica fetched from `offset`, so it has everything below. False when it is none of the replicas.
    pub fn acknowledge(&mut self, replica: NodeId, offset: Offset) -> bool {
        match self.others.iter_mut().find(|(id, _)| *id == replica) {
            Some((_, end)) => {
                *end = offset;
                true
            }
            None => false,
        }
    }

    /// How many must have a record before the high watermark covers it.
    pub fn maximal_len(&self) -> usize {
        self.committed.len()
    }

    /// The offset below which every replica of the maximal set has everything, this one having it below `own`.
    pub fn common_end(&self, own: Offset) -> Offset {
        let of =
            |id: &NodeId| self.others.iter().find(|(other, _)| other == id).map(|(_, end)| *end);
        self.committed.iter().filter_map(of).fold(own, Offset::min)
    }
}
