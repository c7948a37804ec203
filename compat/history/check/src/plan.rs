//! What goes wrong in a run, and when: drawn from the seed before the run begins, so that a seed can be run again.
//!
//! Two tracks at once, each one fault after the other: the node (its process, its storage, its clock) and the wire (the
//! proxy in front of it). How many faults of each kind there are depends on the duration alone, their order and times on
//! the seed. A fault that takes longer than planned (a slow start) delays those after it: the report has the real times.

use crate::random::Random;
use std::{fmt, time::Duration};

/// A kind of fault, before its details are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Kill,
    Terminate,
    Pause,
    Full,
    Slow,
    FailWrite,
    Crash,
    PowerCut,
    Clock,
    Cut,
    Stall,
}

/// Times are milliseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// SIGKILL; started again on the same directory after `down`.
    Kill {
        down: u64,
    },
    /// SIGTERM; started again on the same directory after `down`.
    Terminate {
        down: u64,
    },
    /// SIGSTOP, and SIGCONT after `lasting`.
    Pause {
        lasting: u64,
    },
    /// No space left on the disk for `lasting`.
    Full {
        lasting: u64,
    },
    /// Every write takes `write` longer, for `lasting`.
    Slow {
        write: u64,
        lasting: u64,
    },
    /// The next write, or sync, fails, which stops all writing; `lasting` later the broker starts anew on the same store.
    FailWrite {
        sync: bool,
        lasting: u64,
    },
    /// The broker inside its process is dropped, and starts anew on the same store. Before it writes take `slow` longer, so
    /// that something is on its way.
    Crash {
        slow: u64,
        down: u64,
    },
    /// The same, and what was not synced is lost, or any part of it, as `seed` says.
    PowerCut {
        slow: u64,
        seed: u64,
        down: u64,
    },
    /// The wall clock jumps to this offset; the machine's is not touched. Less than an hour: further ahead, by default,
    /// records may not be (`message.timestamp.after.max.ms`).
    Clock {
        to: i64,
    },
    Cut {
        how: Cut,
        whose: Whose,
    },
    /// Connections stay open, and nothing passes.
    Stall {
        way: Way,
        lasting: u64,
    },
}

/// How a connection ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// At once, both sides see a reset.
    Reset,
    /// Both sides see an orderly end.
    Finish,
    /// Half of the next bytes pass, then a reset.
    Torn,
}

/// Which connections are cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    All,
    /// Every second one, by the order in which they came.
    Odd,
    Even,
}

/// What a stall holds up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    ToBroker,
    ToClient,
    Both,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Since the load began.
    pub at: Duration,
    pub fault: Fault,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Plan {
    pub node: Vec<Step>,
    pub wire: Vec<Step>,
}

/// What a node can go through: kinds with their shares, and how far apart its faults are.
#[derive(Debug, Clone, Default)]
pub struct Menu {
    pub node: Vec<(Kind, u64)>,
    /// Of the node's faults; those of the wire keep their own.
    pub slot: Duration,
    /// False when nothing stands between clients and broker.
    pub wire: bool,
}

/// No fault begins before this: the clients must have come.
const QUIET_AT_FIRST: Duration = Duration::from_secs(3);
/// Nor this long before the end.
const QUIET_AT_LAST: Duration = Duration::from_secs(4);
/// Of the wall clock, in milliseconds.
const CLOCK_OFFSETS: [i64; 7] = [-3_000_000, -10_000, -500, 0, 500, 10_000, 3_000_000];
const WIRE_SLOT: Duration = Duration::from_millis(5_500);

impl Plan {
    pub fn draw(seed: u64, lasting: Duration, menu: &Menu) -> Plan {
        let mut random = Random::new(seed, "plan");
        let node = track(&mut random, lasting, menu.slot, &menu.node);
        let wire = if menu.wire {
            track(&mut random, lasting, WIRE_SLOT, &[(Kind::Cut, 2), (Kind::Stall, 1)])
        } else {
            Vec::new()
        };
        Plan { node, wire }
    }
}

/// One fault a slot, at a random moment of its first half; of each kind as many as its share says, rounded down, and the
/// first kind of the menu for what is left.
fn track(
    random: &mut Random,
    lasting: Duration,
    slot: Duration,
    menu: &[(Kind, u64)],
) -> Vec<Step> {
    let Some((first, _)) = menu.first() else { return Vec::new() };
    let usable = lasting.saturating_sub(QUIET_AT_FIRST + QUIET_AT_LAST);
    let slots = usable.as_millis() as u64 / slot.as_millis() as u64;
    let shares: u64 = menu.iter().map(|(_, share)| share).sum();
    let mut kinds: Vec<Kind> = menu
        .iter()
        .flat_map(|(kind, share)| std::iter::repeat_n(*kind, (slots * share / shares) as usize))
        .collect();
    kinds.resize(slots as usize, *first);
    random.shuffle(&mut kinds);
    let steps = kinds.into_iter().enumerate().map(|(index, kind)| {
        let jitter = Duration::from_millis(random.between(0, slot.as_millis() as u64 / 2));
        Step { at: QUIET_AT_FIRST + slot * index as u32 + jitter, fault: draw(random, kind) }
    });
    steps.collect()
}

fn draw(random: &mut Random, kind: Kind) -> Fault {
    // Mostly short; now and then longer than a request may take (3 s), or a session (6 s).
    let lasting = match random.between(0, 12) {
        0 => random.between(6_500, 8_000),
        1 | 2 => random.between(3_000, 5_000),
        _ => random.between(100, 1_500),
    };
    match kind {
        Kind::Kill => Fault::Kill { down: random.between(0, 600) },
        Kind::Terminate => Fault::Terminate { down: random.between(0, 600) },
        Kind::Pause => Fault::Pause { lasting },
        Kind::Full => Fault::Full { lasting: random.between(500, 4_000) },
        Kind::Slow => Fault::Slow { write: random.pick(&[2, 20, 100, 400]), lasting },
        Kind::FailWrite => {
            Fault::FailWrite { sync: random.once_in(2), lasting: random.between(100, 2_500) }
        }
        Kind::Crash => {
            Fault::Crash { slow: random.pick(&[0, 20, 100]), down: random.between(0, 600) }
        }
        Kind::PowerCut => Fault::PowerCut {
            slow: random.pick(&[0, 20, 100]),
            seed: random.between(0, 1 << 32),
            down: random.between(0, 600),
        },
        Kind::Clock => Fault::Clock { to: random.pick(&CLOCK_OFFSETS) },
        Kind::Cut => Fault::Cut {
            how: random.pick(&[Cut::Reset, Cut::Finish, Cut::Torn]),
            whose: random.pick(&[Whose::All, Whose::Odd, Whose::Even]),
        },
        Kind::Stall => {
            Fault::Stall { way: random.pick(&[Way::ToBroker, Way::ToClient, Way::Both]), lasting }
        }
    }
}

impl Fault {
    /// In the history.
    pub fn name(&self) -> &'static str {
        match self {
            Fault::Kill { .. } => "kill",
            Fault::Terminate { .. } => "terminate",
            Fault::Pause { .. } => "pause",
            Fault::Full { .. } => "full",
            Fault::Slow { .. } => "slow",
            Fault::FailWrite { .. } => "fail-write",
            Fault::Crash { .. } => "crash",
            Fault::PowerCut { .. } => judge::history::POWER_CUT,
            Fault::Clock { .. } => "clock",
            Fault::Cut { .. } => "cut",
            Fault::Stall { .. } => "stall",
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Kill { down } => write!(out, "SIGKILL, start after {down} ms"),
            Fault::Terminate { down } => write!(out, "SIGTERM, start after {down} ms"),
            Fault::Pause { lasting } => write!(out, "SIGSTOP for {lasting} ms"),
            Fault::Full { lasting } => write!(out, "disk full for {lasting} ms"),
            Fault::Slow { write, lasting } => {
                write!(out, "writes slower by {write} ms for {lasting} ms")
            }
            Fault::FailWrite { sync, lasting } => {
                let what = if *sync { "sync" } else { "write" };
                write!(out, "a {what} fails, start anew after {lasting} ms")
            }
            Fault::Crash { slow, down } => {
                write!(out, "in its process, writes slower by {slow} ms, start after {down} ms")
            }
            Fault::PowerCut { slow, seed, down } => {
                write!(out, "seed {seed}, writes slower by {slow} ms, start after {down} ms")
            }
            Fault::Clock { to } => write!(out, "wall clock jumps to {to} ms off"),
            Fault::Cut { how, whose } => {
                let whose = match whose {
                    Whose::All => "all connections",
                    Whose::Odd | Whose::Even => "every second connection",
                };
                let how = match how {
                    Cut::Reset => "reset",
                    Cut::Finish => "closed",
                    Cut::Torn => "reset in the middle of the next bytes",
                };
                write!(out, "{whose} {how}")
            }
            Fault::Stall { way, lasting } => {
                let way = match way {
                    Way::ToBroker => "to the broker",
                    Way::ToClient => "to the clients",
                    Way::Both => "both ways",
                };
                write!(out, "connections stalled {way} for {lasting} ms")
            }
        }
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut steps: Vec<&Step> = self.node.iter().chain(&self.wire).collect();
        steps.sort_by_key(|step| step.at);
        for Step { at, fault } in steps {
            writeln!(out, "{:8.3} s  {fault}", at.as_secs_f64())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEN_MINUTES: Duration = Duration::from_secs(600);

    fn menu() -> Menu {
        Menu {
            node: vec![(Kind::Kill, 5), (Kind::Terminate, 1), (Kind::Pause, 2), (Kind::Full, 1)],
            slot: Duration::from_secs(4),
            wire: true,
        }
    }

    #[test]
    fn a_plan_follows_from_its_seed() {
        let plan = Plan::draw(1, TEN_MINUTES, &menu());
        assert_eq!(plan, Plan::draw(1, TEN_MINUTES, &menu()));
        assert_ne!(plan, Plan::draw(2, TEN_MINUTES, &menu()));
    }

    #[test]
    fn there_are_as_many_of_a_kind_as_its_share_says() {
        for seed in 0..10 {
            let plan = Plan::draw(seed, TEN_MINUTES, &menu());
            let kill = |step: &&Step| matches!(step.fault, Fault::Kill { .. });
            let pause = |step: &&Step| matches!(step.fault, Fault::Pause { .. });
            let count = (
                plan.node.len(),
                plan.node.iter().filter(kill).count(),
                plan.node.iter().filter(pause).count(),
            );
            assert_eq!(count, (148, 84, 32), "seed {seed}");
        }
    }

    #[test]
    fn faults_are_in_order_and_leave_a_quiet_start_and_end() {
        let plan = Plan::draw(3, TEN_MINUTES, &menu());
        for track in [&plan.node, &plan.wire] {
            assert!(track.is_sorted_by_key(|step| step.at));
            assert!(track.iter().all(|step| step.at >= QUIET_AT_FIRST));
            assert!(track.iter().all(|step| step.at + QUIET_AT_LAST <= TEN_MINUTES));
        }
    }

    #[test]
    fn too_short_a_run_has_no_faults_and_no_wire_no_cuts() {
        assert_eq!(Plan::draw(1, Duration::from_secs(5), &menu()), Plan::default());
        assert_eq!(Plan::draw(1, TEN_MINUTES, &Menu { wire: false, ..menu() }).wire, []);
    }
}
