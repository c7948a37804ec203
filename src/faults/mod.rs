//! A store in memory whose disk can be slow, full, broken or without power, and whose code can be wrong on purpose: for
//! programs that run a broker in their own process and must see what it makes of that.
//!
//! A `Store` outlives the brokers that run on it, one after the other (`Broker::start_on`). Each of them holds a `Lease`: once
//! the store has crashed, or the next broker has started, whatever the old one still does is refused. Faults
//! (`slow`, `fail_next_write`, `full`, ...) are the disk's and end with `heal`, at the latest; a `Plant` is a bug of the
//! broker and stays.
//!
//! Only with the cargo feature `faults`. What is synced, and what a crash leaves of the rest, is `storage::mem::faults`.
//!
//! # A broker that dies
//!
//! ```ignore
//! let store = Store::new();
//! let runtime = tokio::runtime::Runtime::new()?;
//! let broker = runtime.block_on(Broker::start_on(config.clone(), &store))?;
//! // Nothing that the broker does from here on counts, ...
//! store.crash();
//! // ... and this closes its sockets; the port is free when it returns.
//! runtime.shutdown_timeout(Duration::from_secs(1));
//! let runtime = tokio::runtime::Runtime::new()?;
//! let broker = runtime.block_on(Broker::start_on(config, &store))?;
//! ```

mod batches;
mod lease;
mod plant;
mod queue;
mod random;
mod restart;
#[cfg(test)]
mod tests;

pub use plant::Plant;

use crate::storage::{LogStore, mem::Mem};
use lease::Lease;
use parking_lot::Mutex;
use plant::Plants;
use random::Random;
use restart::Forgotten;
use std::{sync::Arc, time::Duration};
use tokio::sync::watch;

const SLOW_MAX: Duration = Duration::from_secs(24 * 3600);

/// A disk in memory, and the faults of it. Clones are the same disk.
#[derive(Clone)]
pub struct Store(Arc<Shared>);

struct Shared {
    disk: Mutex<Disk>,
    controls: Arc<Controls>,
}

struct Disk {
    mem: Arc<Mem>,
    /// A broker has been started on `mem`.
    leased: bool,
    full: bool,
    forgotten: Forgotten,
}

/// What every lease of a store looks at while it works.
pub(crate) struct Controls {
    slow: watch::Sender<Duration>,
    plants: Plants,
}

impl Default for Store {
    fn default() -> Store {
        Store::new()
    }
}

impl Store {
    /// An empty disk without faults.
    pub fn new() -> Store {
        let mem = Arc::new(Mem::with_faults());
        let disk = Disk { mem, leased: false, full: false, forgotten: Forgotten::default() };
        let controls = Controls { slow: watch::Sender::default(), plants: Plants::default() };
        Store(Arc::new(Shared { disk: Mutex::new(disk), controls: Arc::new(controls) }))
    }

    /// The process dies: everything written is kept, synced or not, and nothing is written any more until the next
    /// `Broker::start_on`. Answers that wait for storage never come.
    pub fn crash(&self) {
        self.restart(&mut |n| n);
    }

    /// The power goes: of what is not synced, any part is lost. The write-ahead log loses a tail, and the bytes of batches
    /// above 4 KiB are lost or kept one by one; which, is decided by `seed`.
    pub fn power_cut(&self, seed: u64) {
        let mut random = Random::new(seed);
        self.restart(&mut |n| random.below(n as u64 + 1) as usize);
    }

    /// Every change takes so much longer until it is written, and a sync as long again until it is durable, those on their
    /// way included. Changes wait in a queue, callers do not. Zero: at once. At most a day.
    pub fn slow(&self, by: Duration) {
        self.0.controls.slow.send_replace(by.min(SLOW_MAX));
    }

    /// The next write fails; as with a disk, that stops all writing until the broker is started anew. Reads go on.
    pub fn fail_next_write(&self) {
        self.0.disk.lock().mem.fail_next_write();
    }

    /// The next sync fails; the same follows.
    pub fn fail_next_sync(&self) {
        self.0.disk.lock().mem.fail_next_sync();
    }

    /// Every write fails from now on until the broker is started anew.
    pub fn fail_writes(&self) {
        self.0.disk.lock().mem.fail_writes();
    }

    /// Takes away the free space, or gives it back. Without space appends are refused, everything else goes on; a crash
    /// changes nothing.
    pub fn full(&self, full: bool) {
        let mut disk = self.0.disk.lock();
        disk.full = full;
        disk.mem.set_full(full);
    }

    /// Ends slowness, lack of space, and failures that have not happened yet. Writing that a failed write stopped goes on
    /// only when the broker is started anew.
    pub fn heal(&self) {
        self.slow(Duration::ZERO);
        self.full(false);
        self.0.disk.lock().mem.forget_failures();
    }

    /// Plants a bug, with a chance of 1 in `one_in` (0 counts as 1) each time it could act; `Plant::usual_odds` shows it
    /// within a minute of load. Planted again, it starts anew.
    pub fn plant(&self, plant: Plant, one_in: u32, seed: u64) {
        self.0.controls.plants.plant(plant, one_in, seed);
    }

    /// How often a planted bug has acted.
    pub fn acted(&self, plant: Plant) -> u64 {
        self.0.controls.plants.acted(plant)
    }

    /// What a new broker works on; the one before is cut off. Call it in the new broker's runtime.
    pub(crate) fn lease(&self) -> Arc<dyn LogStore> {
        if self.0.disk.lock().leased {
            self.crash();
        }
        let mut disk = self.0.disk.lock();
        disk.leased = true;
        let (mem, forgotten) = (disk.mem.clone(), disk.forgotten.clone());
        Arc::new(Lease::new(mem, self.0.controls.clone(), forgotten))
    }

    fn restart(&self, choose: &mut dyn FnMut(usize) -> usize) {
        let mut disk = self.0.disk.lock();
        let mem = disk.mem.crash(choose);
        disk.forgotten = restart::act(&mem, &self.0.controls.plants);
        mem.set_full(disk.full);
        disk.mem = Arc::new(mem);
        disk.leased = false;
    }
}
