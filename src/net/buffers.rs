//! Memory for frames that are too large to be copied: recycled, and bounded for all connections of a listener. Produce
//! requests and all others have budgets of their own, because others may wait for long with their frame in hand.
//!
//! A buffer takes its permits before it exists and returns them when the last reference to its frame is gone. A frame of
//! up to `FIRST_BYTES_MAX` gets all it announces at once, when a read's worth of it has arrived. A larger one gets that much
//! first, from the same budget, and the rest from a second budget when the first part has arrived: whoever announces 100 MB
//! and sends nothing holds nothing, and whoever holds the second budget needs nothing more, so nobody waits in a circle.
//! While somebody waits, a frame must arrive at a pace that is worth what it holds (`frames`).

use crate::limits;
use parking_lot::Mutex;
use std::{
    mem,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// What a frame gets before any of it has arrived.
pub(super) const FIRST_BYTES_MAX: usize = 1 << 20;
/// The smallest buffer, and the unit of permits.
const UNIT: usize = 32 << 10;
const CLASSES: usize = (FIRST_BYTES_MAX / UNIT).ilog2() as usize + 1;

pub(super) struct Buffers {
    produce: Arc<Lane>,
    other: Arc<Lane>,
    /// Buffers to be used again, by size class: class n holds `UNIT << n` bytes.
    free: Mutex<Free>,
}

/// The budgets of one kind of request.
pub(super) struct Lane {
    first: Arc<Semaphore>,
    rest: Arc<Semaphore>,
    /// Frames that wait for one of them.
    waiting: AtomicUsize,
}

#[derive(Default)]
struct Free {
    classes: [Vec<Vec<u8>>; CLASSES],
    bytes: usize,
}

impl Buffers {
    /// `request_bytes_max`: the largest frame there can be; one always fits.
    pub fn new(request_bytes_max: usize) -> Arc<Buffers> {
        Arc::new(Buffers {
            produce: Lane::of(
                limits::FRAMES_BYTES_MAX,
                limits::LARGE_FRAMES_BYTES_MAX.max(request_bytes_max),
            ),
            other: Lane::of(
                limits::OTHER_FRAMES_BYTES_MAX,
                limits::OTHER_FRAMES_BYTES_MAX.max(limits::FRAME_BYTES_MAX),
            ),
            free: Mutex::default(),
        })
    }

    /// Waits until a frame of `len` bytes may be begun.
    pub async fn take(self: &Arc<Buffers>, len: usize, is_produce: bool) -> Buffer {
        let lane = if is_produce { &self.produce } else { &self.other };
        let class = class_of(len.min(FIRST_BYTES_MAX));
        let permit = lane.acquire(&lane.first, UNIT << class).await;
        let bytes = self.free.lock().take(class);
        let bytes = bytes.unwrap_or_else(|| Vec::with_capacity(UNIT << class));
        let lane = lane.clone();
        Buffer { bytes, len, pool: self.clone(), _first: permit, lane, rest: None }
    }

    #[cfg(test)]
    pub fn available(&self) -> usize {
        let lanes = [&self.produce, &self.other];
        let free =
            |lane: &Arc<Lane>| lane.first.available_permits() + lane.rest.available_permits();
        lanes.into_iter().map(free).sum::<usize>() * UNIT
    }
}

impl Lane {
    fn of(first: usize, rest: usize) -> Arc<Lane> {
        let semaphore = |bytes: usize| Arc::new(Semaphore::new(bytes.div_ceil(UNIT)));
        let waiting = AtomicUsize::new(0);
        Arc::new(Lane { first: semaphore(first), rest: semaphore(rest), waiting })
    }

    /// Whether a frame waits for memory.
    pub fn is_contended(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > 0
    }

    async fn acquire(&self, budget: &Arc<Semaphore>, bytes: usize) -> OwnedSemaphorePermit {
        let units = u32::try_from(bytes.div_ceil(UNIT)).unwrap_or(u32::MAX);
        // Nothing is free while others wait, so this overtakes nobody.
        if let Ok(permit) = budget.clone().try_acquire_many_owned(units) {
            return permit;
        }
        let _waiting = Waiting::at(&self.waiting);
        budget.clone().acquire_many_owned(units).await.expect("the semaphore is never closed")
    }
}

/// Counts one as long as it lives.
struct Waiting<'a>(&'a AtomicUsize);

impl Waiting<'_> {
    fn at(count: &AtomicUsize) -> Waiting<'_> {
        count.fetch_add(1, Ordering::Relaxed);
        Waiting(count)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Free {
    fn take(&mut self, class: usize) -> Option<Vec<u8>> {
        let bytes = self.classes[class].pop()?;
        self.bytes -= UNIT << class;
        Some(bytes)
    }

    fn put(&mut self, mut bytes: Vec<u8>) {
        let class = class_of(bytes.capacity());
        if bytes.capacity() == UNIT << class
            && class < CLASSES
            && self.bytes + bytes.capacity() <= limits::FRAME_BUFFERS_KEPT_BYTES_MAX
        {
            bytes.clear();
            self.bytes += bytes.capacity();
            self.classes[class].push(bytes);
        }
    }
}

fn class_of(len: usize) -> usize {
    len.div_ceil(UNIT).next_power_of_two().ilog2() as usize
}

/// A frame on its way in; as `Bytes`, a frame in use.
pub(super) struct Buffer {
    bytes: Vec<u8>,
    len: usize,
    pool: Arc<Buffers>,
    _first: OwnedSemaphorePermit,
    /// Where its permits come from.
    lane: Arc<Lane>,
    rest: Option<OwnedSemaphorePermit>,
}

impl Buffer {
    pub fn extend(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    pub fn lane(&self) -> Arc<Lane> {
        self.lane.clone()
    }

    /// Bytes of the frame that have not arrived.
    pub fn missing(&self) -> usize {
        self.len - self.bytes.len()
    }

    /// Where to put what arrives, and how much of it there is room for; waits for memory when the first part is full.
    pub async fn room(&mut self) -> (&mut Vec<u8>, usize) {
        if self.bytes.len() == self.bytes.capacity() && self.missing() > 0 {
            if self.rest.is_none() {
                self.rest = Some(self.lane.acquire(&self.lane.rest, self.len).await);
            }
            self.bytes.reserve_exact(self.len - self.bytes.len());
        }
        let room = self.missing().min(self.bytes.capacity() - self.bytes.len());
        (&mut self.bytes, room)
    }
}

impl AsRef<[u8]> for Buffer {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        self.pool.free.lock().put(mem::take(&mut self.bytes));
    }
}
