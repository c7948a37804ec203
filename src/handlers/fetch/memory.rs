//! Memory of Fetch answers on their way out, for all connections of a broker. Nobody waits for it: a reader that finds too
//! little gets fewer bytes, the first batch in any case. File ranges take none.

use crate::{limits, partition::Slice};
use bytes::Bytes;
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// What one permit stands for.
const UNIT: usize = 1 << 10;

/// The budget.
#[derive(Clone)]
pub struct Memory(Arc<Semaphore>);

impl Default for Memory {
    fn default() -> Memory {
        Memory::of(limits::FETCH_MEMORY_BYTES_MAX)
    }
}

impl Memory {
    pub(super) fn of(bytes: usize) -> Memory {
        Memory(Arc::new(Semaphore::new(bytes / UNIT)))
    }

    #[cfg(test)]
    pub(super) fn available(&self) -> usize {
        self.0.available_permits() * UNIT
    }
}

/// What one answer holds of it.
#[derive(Default)]
pub(super) struct Held(Option<OwnedSemaphorePermit>);

impl Held {
    /// Takes up to `bytes` more; says how many of them may be used.
    pub fn reserve(&mut self, memory: &Memory, bytes: usize) -> usize {
        let units = bytes.div_ceil(UNIT).min(memory.0.available_permits());
        let units = u32::try_from(units).unwrap_or(u32::MAX);
        let Ok(permit) = memory.0.clone().try_acquire_many_owned(units) else { return 0 };
        let granted = permit.num_permits() * UNIT;
        match &mut self.0 {
            Some(held) => held.merge(permit),
            held => *held = Some(permit),
        }
        granted.min(bytes)
    }

    /// Gives back all but what `bytes` take.
    pub fn shrink(&mut self, bytes: usize) {
        if let Some(held) = &mut self.0 {
            let excess = held.num_permits().saturating_sub(bytes.div_ceil(UNIT));
            drop(held.split(excess));
        }
    }

    /// The slices, which give the memory back when the last of them that lies in memory is gone.
    pub fn until_sent(self, mut slices: Vec<Slice>) -> Vec<Slice> {
        let Some(permit) = self.0.filter(|permit| permit.num_permits() > 0) else { return slices };
        let last = slices.iter_mut().rev().find_map(|slice| match slice {
            Slice::Bytes(bytes) => Some(bytes),
            Slice::File(_) => None,
        });
        if let Some(bytes) = last {
            *bytes = Bytes::from_owner(Last { bytes: bytes.clone(), _permit: permit });
        }
        slices
    }
}

struct Last {
    bytes: Bytes,
    _permit: OwnedSemaphorePermit,
}

impl AsRef<[u8]> for Last {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}
