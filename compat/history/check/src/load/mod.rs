//! The clients: many at once, each living some 30 seconds, then dropped and made anew.
//!
//! Each client is a thread of its own (librdkafka's clients have further threads); a life of a client is a process of the
//! history. What a client draws at random comes from a stream of its own; the order in which clients act does not follow
//! from the seed.

mod crew;
pub mod member;
mod producer;
mod raw_asker;
mod raw_producer;
mod raw_reader;
pub mod reader;
mod settings;

use crate::{
    random::Random,
    recorder::{Recorder, now},
};
use judge::history::Partition;
use std::{
    sync::{
        Arc, Condvar, Mutex, PoisonError,
        atomic::{AtomicI64, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

pub use crew::{GROUPS, start_load};
pub use settings::consumer_settings;

/// What all clients know.
pub struct World {
    pub recorder: Arc<Recorder>,
    /// `HOST:PORT`.
    pub bootstrap: String,
    pub seed: u64,
    pub topics: Vec<Topic>,
    /// Prefix of the names of groups.
    pub prefix: String,
    stop: Stop,
}

pub struct Topic {
    pub name: String,
    /// Of each partition the highest offset that some client was told, so that readers may begin near the end.
    heads: Vec<AtomicI64>,
    /// Producers compress what they send here. Raw clients, which do not, stay away.
    pub packed: bool,
}

/// Tells all clients at once that the load is over.
#[derive(Default)]
struct Stop {
    stopped: Mutex<bool>,
    changed: Condvar,
}

pub struct Load {
    world: Arc<World>,
    clients: Vec<(String, JoinHandle<()>)>,
}

/// When a life is over.
#[derive(Clone, Copy)]
pub struct Life(Instant);

impl Topic {
    pub fn new(name: String, partitions: u32, packed: bool) -> Topic {
        Topic { name, heads: (0..partitions).map(|_| AtomicI64::new(-1)).collect(), packed }
    }

    pub fn partitions(&self) -> impl Iterator<Item = Partition> + '_ {
        (0..self.heads.len() as u32).map(|index| Partition::new(self.name.clone(), index))
    }
}

impl World {
    pub fn new(
        recorder: Arc<Recorder>,
        bootstrap: String,
        seed: u64,
        prefix: String,
        topics: Vec<Topic>,
    ) -> Arc<World> {
        Arc::new(World { recorder, bootstrap, seed, topics, prefix, stop: Stop::default() })
    }

    pub fn partitions(&self) -> Vec<Partition> {
        self.topics.iter().flat_map(Topic::partitions).collect()
    }

    pub fn stopped(&self) -> bool {
        *self.stop.stopped.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits; less when the load is over.
    pub fn sleep(&self, time: Duration) {
        let stopped = self.stop.stopped.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = self.stop.changed.wait_timeout_while(stopped, time, |stopped| !*stopped);
    }

    /// Some client was told of this offset.
    pub fn saw(&self, partition: &Partition, offset: i64) {
        if let Some(head) = self.head(partition) {
            head.fetch_max(offset, Ordering::Relaxed);
        }
    }

    /// Where a reader might begin: mostly a little before the end, so that lives do not get longer and longer.
    pub fn start_offset(&self, partition: &Partition, random: &mut Random) -> i64 {
        let head = self.head(partition).map_or(-1, |head| head.load(Ordering::Relaxed));
        if random.once_in(8) { 0 } else { (head - random.between(0, 1_000) as i64).max(0) }
    }

    fn head(&self, partition: &Partition) -> Option<&AtomicI64> {
        let topic = self.topics.iter().find(|topic| topic.name == partition.topic)?;
        topic.heads.get(partition.index as usize)
    }
}

impl Load {
    pub fn new(world: Arc<World>) -> Load {
        Load { world, clients: Vec::new() }
    }

    /// A client that lives again and again. `live` is one life: it must end soon after its time is over, or the load is.
    pub fn client(
        &mut self,
        name: impl Into<String>,
        live: impl Fn(&Arc<World>, &mut Random, Life) + Send + 'static,
    ) -> std::io::Result<()> {
        let name = name.into();
        let (world, mut random) = (self.world.clone(), Random::new(self.world.seed, &name));
        let thread = thread::Builder::new().name(name.clone()).spawn(move || {
            while !world.stopped() {
                let life = Life(now() + Duration::from_millis(random.between(10_000, 50_000)));
                live(&world, &mut random, life);
            }
        })?;
        self.clients.push((name, thread));
        Ok(())
    }

    /// Ends all clients and waits for them.
    pub fn stop(self) {
        *self.world.stop.stopped.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.world.stop.changed.notify_all();
        for (name, client) in self.clients {
            if client.join().is_err() {
                self.world.recorder.complain(format!("client {name} panicked"));
            }
        }
    }
}

impl Life {
    pub fn is_over(&self, world: &World) -> bool {
        world.stopped() || now() >= self.0
    }
}
