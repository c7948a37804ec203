//! One node simulated from a seed: it crashes at any moment, restarts, and must have kept what it promised.
//!
//! No runtime, no time, one thread. The pure machines (controller, replicas, group coordinator) run over the memory store
//! with faults and an ideal quorum, driven one effect at a time by a scheduler whose choices are drawn from the seed:
//! `node` is the broker, with `hosted` in the place of the partition actor and `shard` in that of the machine runner;
//! `clients` and `members` ask, `checks` knows what was promised. What tests of single modules cover is not here: the wire,
//! sessions, the runner and the actors themselves, openraft, the disk; nor what expires.
//!
//! A failure names its seed; `SIM_SEED=n cargo test sim -- --nocapture` runs that one and prints everything it did,
//! `SIM_SEEDS=n` runs the first n.

mod checks;
mod clients;
mod hosted;
mod members;
mod node;
mod random;
mod shard;

use checks::Counts;
use clients::{Clients, TOPICS};
use hosted::{Hosted, Message};
use node::Node;
use random::Random;
use std::{
    collections::VecDeque,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
};

/// Without optimisation a seed takes a tenth of a second.
const SEEDS: u64 = if cfg!(debug_assertions) { 50 } else { 200 };
const STEPS: usize = 1500;
/// Actions that a failure shows.
const SHOWN: usize = 60;
/// Milliseconds within which whoever asked must have an answer once nothing fails any more.
const ANSWER_MS_MAX: u64 = 60_000;

struct Sim {
    random: Random,
    node: Node,
    clients: Clients,
    log: VecDeque<String>,
    is_verbose: bool,
    shard_loads: u64,
    /// How often something goes wrong, in a thousand actions.
    trouble: usize,
}

impl Sim {
    fn new(seed: u64, is_verbose: bool) -> Sim {
        let mut random = Random::new(seed);
        let trouble = *random.pick(&[1, 3, 6, 12]);
        Sim {
            trouble,
            random,
            node: Node::new(),
            clients: Clients::new(),
            log: VecDeque::new(),
            is_verbose,
            shard_loads: 0,
        }
    }

    fn run(&mut self) {
        for step in 0..STEPS {
            let what = self.act();
            self.after(what);
            if step % 40 == 0 && self.node.process.serving {
                self.clients.history.look(&mut self.node);
            }
        }
        self.heal();
    }

    fn act(&mut self) -> String {
        let Sim { random, node, clients, trouble, .. } = self;
        let broken = node.process.poisoned.is_some() || node.has_io_failure();
        if random.chance(if broken { 60 } else { *trouble }) {
            return self.crash();
        }
        let serves = node.process.serving && node.process.poisoned.is_none();
        if random.chance(*trouble) {
            return match random.below(6) {
                0 => {
                    node.mem.fail_next_write();
                    "the next write fails".to_owned()
                }
                1 => {
                    node.mem.fail_next_sync();
                    "the next sync fails".to_owned()
                }
                2..4 => node.set_full(true),
                _ if serves => clients.elect(node, random),
                _ => node.progress(random),
            };
        }
        match random.below(1000) {
            0..20 if node.full => node.set_full(false),
            20..60 => {
                let due = node.next_deadline().unwrap_or(100).clamp(1, 20_000);
                let short = 1 + random.below(100) as u64;
                let ms = if due < 500 || random.chance(100) { due } else { short };
                node.pass(ms);
                format!("{ms} ms pass")
            }
            60..300 if serves => clients.act(node, random),
            _ if node.has_work() => node.progress(random),
            _ if serves => clients.act(node, random),
            _ => node.progress(random),
        }
    }

    fn crash(&mut self) -> String {
        let Sim { random, node, clients, .. } = self;
        let what = match random.below(5) {
            0..2 => {
                clients.history.power_cut(node);
                clients.power_cut();
                node.crash(&mut |n| random.below(n + 1));
                "POWER CUT"
            }
            2 if node.process.serving && !node.has_io_failure() => {
                for hosted in node.process.partitions.values_mut() {
                    hosted.inbox.push_back(Message::Stop);
                }
                for _ in 0..10_000 {
                    if node.process.partitions.values().all(|it| it.stopped) || !node.has_work() {
                        break;
                    }
                    node.progress(random);
                }
                clients.receive(node);
                clients.history.crash();
                // A store that cannot write closes all the same.
                let _ = crate::storage::LogStore::close(&*node.mem);
                node.crash(&mut |n| n);
                "STOP"
            }
            _ => {
                clients.history.crash();
                node.crash(&mut |n| n);
                "KILL -9"
            }
        };
        clients.lost();
        self.shard_loads = 0;
        what.to_owned()
    }

    fn after(&mut self, what: String) {
        if self.is_verbose {
            println!("{:>7} {what}", self.node.now.mono.0);
        }
        if self.log.len() == SHOWN {
            self.log.pop_front();
        }
        self.log.push_back(what);
        let loads = self.node.process.shard.as_ref().map_or(0, |it| it.loads);
        let is_down = self.node.process.shard.as_ref().is_none_or(|it| !it.is_up());
        if is_down || loads != self.shard_loads {
            self.shard_loads = loads;
            self.clients.disturbances += 1;
            self.clients.history.crash();
        }
        self.clients.receive(&mut self.node);
        self.clients.history.glance(&self.node);
    }

    /// Goes on until nothing is left to do; time passes only to let whoever waits run out of it.
    fn drain(&mut self) {
        let mut passed = 0;
        loop {
            while self.node.has_work() {
                let what = self.node.progress(&mut self.random);
                self.after(what);
            }
            let waits = !self.clients.outstanding().is_empty();
            let Some(ms) = self.node.next_deadline().filter(|_| waits) else { return };
            passed += ms.max(1);
            if passed > ANSWER_MS_MAX || self.node.process.poisoned.is_some() {
                return;
            }
            self.node.pass(ms.max(1));
        }
    }

    /// Nothing fails any more: everyone is answered, and after one more kill everything promised is there.
    fn heal(&mut self) {
        self.node.set_full(false);
        self.after("HEAL".to_owned());
        self.drain();
        let broken = self.node.process.poisoned.is_some() || self.node.has_io_failure();
        if self.node.process.serving && !broken {
            for topic in TOPICS {
                for index in 0..3 {
                    clients::elect(&mut self.node, (topic, index), Some(crate::ids::NodeId(1)));
                }
            }
            self.drain();
            let waits = self.clients.outstanding();
            let broken = self.node.process.poisoned.is_some() || self.node.has_io_failure();
            assert!(broken || waits.is_empty(), "never answered: {waits:?}");
        }
        self.clients.history.crash();
        self.node.crash(&mut |n| n);
        self.clients.lost();
        self.after("KILL -9 at the end".to_owned());
        self.restarted();
        for topic in TOPICS {
            for index in 0..3 {
                clients::elect(&mut self.node, (topic, index), Some(crate::ids::NodeId(1)));
            }
        }
        self.drain();
        self.clients.history.settled(&mut self.node);
        for _ in 0..20 {
            if !self.clients.retry(&mut self.node) {
                break;
            }
            self.drain();
        }
        assert!(!self.clients.retry(&mut self.node), "a producer never gets its batches through");
        self.clients.history.settled(&mut self.node);
    }

    /// Until the node serves: a process may die while it creates what a crash kept from being created.
    fn restarted(&mut self) {
        for _ in 0..100 {
            self.drain();
            if self.node.process.serving && self.node.process.poisoned.is_none() {
                return;
            }
            self.node.crash(&mut |n| n);
            self.after("KILL -9".to_owned());
        }
        panic!("the node does not come up: {:?}", self.node.process.poisoned);
    }
}

impl Node {
    fn has_io_failure(&self) -> bool {
        self.process.hosted().any(Hosted::has_io_failure)
    }
}

fn run(seed: u64, is_verbose: bool) -> Counts {
    let mut sim = Sim::new(seed, is_verbose);
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| sim.run())) {
        let last: Vec<String> = sim.log.into_iter().collect();
        eprintln!("seed {seed} failed; run it alone with SIM_SEED={seed}. It did, last:");
        eprintln!("  {}", last.join("\n  "));
        resume_unwind(panic);
    }
    sim.clients.history.counts
}

#[test]
fn what_was_promised_is_kept() {
    match std::env::var("SIM_SEED") {
        Ok(seed) => println!("{:?}", run(seed.parse().expect("SIM_SEED is a number"), true)),
        Err(_) => {
            let seeds =
                std::env::var("SIM_SEEDS").map_or(SEEDS, |it| it.parse().expect("a number"));
            let all: Vec<Counts> = (0..seeds).map(|seed| run(seed, false)).collect();
            let sum = |of: fn(&Counts) -> u64| all.iter().map(of).sum::<u64>() / seeds;
            let mean = Counts {
                acknowledged: sum(|it| it.acknowledged),
                committed: sum(|it| it.committed),
                fetched_offsets: sum(|it| it.fetched_offsets),
                assigned: sum(|it| it.assigned),
                deleted: sum(|it| it.deleted),
                duplicates: sum(|it| it.duplicates),
                deletions: sum(|it| it.deletions),
            };
            println!("per seed: {mean:?}");
        }
    }
}
