//! Random events from a seed. After each the invariants hold, nobody is answered twice, and in the end everybody is
//! answered, replay equals live, and what was deleted stays deleted.

use super::*;
use crate::{
    ids::TopicId,
    machine::{Caller, Input, Mono, Now, Outcome},
};
use std::collections::BTreeSet;

/// SplitMix64.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut value = self.0;
        value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (value ^ (value >> 31)) % end
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len() as u64) as usize]
    }
}

struct World {
    machine: GroupMachine,
    log: Vec<Batch<super::super::records::Record>>,
    now: Now,
    waiting: BTreeSet<Caller>,
    next: u64,
    /// Member ids that were ever told.
    ids: Vec<String>,
}

impl World {
    fn new() -> World {
        let settings = Settings {
            group_initial_rebalance_delay_ms: 300,
            group_min_session_timeout_ms: 0,
            group_max_size: 5,
            offsets_retention_minutes: 1,
            offsets_retention_check_interval_ms: 30_000,
            message_max_bytes: 700,
            ..Settings::default()
        };
        let now = Now { mono: Mono(0), wall_ms: 1_700_000_000_000 };
        let machine = GroupMachine::new(settings);
        let (log, waiting, ids) = (Vec::new(), BTreeSet::new(), vec![String::new(), "x".into()]);
        World { machine, log, now, waiting, next: 0, ids }
    }

    fn step(&mut self, input: Input<GroupMachine>) {
        if let Input::Command(caller, _) = &input {
            self.waiting.insert(*caller);
        }
        let mut out = Outcome::default();
        self.machine.step(self.now, input, &mut out);
        if let Some(batch) = out.batch {
            for record in &batch.records {
                let (key, value) = record.encode();
                let decoded = super::super::records::Record::decode(&key, value.as_deref());
                assert_eq!(decoded, Ok(Some(record.clone())), "a record survives its bytes");
                self.machine.apply(record, batch.kind);
            }
            self.log.push(batch);
        }
        for (caller, reply) in out.replies {
            assert!(self.waiting.remove(&caller), "{caller:?} is answered twice: {reply:?}");
            if let super::super::command::Reply::Join(Err(refused)) = &reply {
                self.ids.push(refused.member_id.clone());
            }
            if let super::super::command::Reply::Join(Ok(joined)) = &reply {
                self.ids.push(joined.member_id.clone());
            }
        }
        self.machine.check_invariants();
    }

    fn sleep(&mut self, ms: u64) {
        let end = Mono(self.now.mono.0 + ms);
        let mut ticks = 0;
        while let Some(at) = self.machine.next_deadline().filter(|at| *at <= end) {
            let passed = at.0.saturating_sub(self.now.mono.0);
            self.now.mono = self.now.mono.max(at);
            self.now.wall_ms += passed as i64;
            self.step(Input::Tick);
            ticks += 1;
            assert!(ticks < 10_000, "ticks make progress");
        }
        self.now.wall_ms += (end.0 - self.now.mono.0) as i64;
        self.now.mono = end;
    }

    fn restart(&mut self) {
        let mut fresh = GroupMachine::new(self.machine.settings().clone());
        for batch in &self.log {
            batch.records.iter().for_each(|it| fresh.apply(it, batch.kind));
        }
        assert_eq!(fresh.durable(), self.machine.durable(), "replay equals live");
        self.machine = fresh;
        // Whoever waits is told by the runner that it is gone.
        self.waiting.clear();
        self.step(Input::Elected { epoch: 1 });
    }

    fn random_command(&mut self, dice: &mut Dice) -> Command {
        let recent = self.ids.len().saturating_sub(12);
        let member_id = dice.pick(&self.ids[recent..]).clone();
        let group = (*dice.pick(&["g", "h"])).to_owned();
        let instance_id = dice.pick(&[None, None, None, Some("i"), Some("j")]).map(str::to_owned);
        let generation = dice.below(12) as i32 - 1;
        match dice.below(14) {
            0..=4 => {
                let all = [protocol("a", "1"), protocol("b", "2"), protocol("a", "3")];
                let protocols = (0..=dice.below(2)).map(|_| dice.pick(&all).clone()).collect();
                let is_new = dice.below(3) == 0;
                self.next += 1;
                Command::Join(JoinGroup {
                    member_id: if is_new { String::new() } else { member_id },
                    instance_id,
                    session_timeout_ms: 1_000 + dice.below(4_000) as i32,
                    rebalance_timeout_ms: 500 + dice.below(3_000) as i32,
                    protocols,
                    requires_known_member_id: dice.below(2) == 0,
                    can_skip_assignment: dice.below(2) == 0,
                    uuid: Uuid::from_u128(u128::from(self.next)),
                    group,
                    ..join("")
                })
            }
            5..=7 => {
                let share = Bytes::from(vec![b'x'; dice.below(60) as usize]);
                let assignments = vec![(member_id.clone(), share)];
                let (protocol_type, protocol) = (None, None);
                Command::Sync(SyncGroup {
                    group,
                    member_id,
                    instance_id,
                    generation,
                    protocol_type,
                    protocol,
                    assignments,
                })
            }
            8 | 9 => Command::Heartbeat(Heartbeat { group, member_id, instance_id, generation }),
            10 => Command::Leave { group, members: vec![LeavingMember { member_id, instance_id }] },
            11 => Command::Commit(commit_of(&group, &member_id, generation)),
            12 => Command::Delete { groups: vec![group] },
            _ => Command::DeleteOffsets { group, topics: vec![("t".into(), vec![0])] },
        }
    }
}

/// Members that follow what they are told, so that groups also become stable.
fn obedient_round(world: &mut World, dice: &mut Dice) {
    let Command::Join(request) = world.random_command(dice) else { return };
    let group = request.group.clone();
    world.next += 1;
    let caller = Caller(world.next);
    world.step(Input::Command(caller, Command::Join(request)));
    world.sleep(400);
    let Some(member_id) = world.ids.last().cloned() else { return };
    for generation in 0..20 {
        world.next += 1;
        let caller = Caller(world.next);
        let assignments = Vec::new();
        let request = SyncGroup {
            group: group.clone(),
            member_id: member_id.clone(),
            instance_id: None,
            generation,
            protocol_type: None,
            protocol: None,
            assignments,
        };
        world.step(Input::Command(caller, Command::Sync(request)));
    }
}

#[test]
fn random_events_break_nothing() {
    let seeds = match std::env::var("GROUP_SEED") {
        Ok(seed) => vec![seed.parse().unwrap()],
        Err(_) => (0..40).collect::<Vec<u64>>(),
    };
    let mut was_stable = 0;
    for seed in seeds {
        let mut dice = Dice(seed);
        let mut world = World::new();
        world.step(Input::Elected { epoch: 0 });
        for _ in 0..600 {
            match dice.below(60) {
                0 => world.restart(),
                1 => world.step(Input::Event(Event::TopicsDeleted(vec![(
                    "t".into(),
                    TopicId(Uuid::nil()),
                )]))),
                2..=14 => world.sleep(dice.below(1_500)),
                15..=24 => obedient_round(&mut world, &mut dice),
                _ => {
                    let command = world.random_command(&mut dice);
                    world.next += 1;
                    let caller = Caller(world.next);
                    world.step(Input::Command(caller, command));
                }
            }
            was_stable += usize::from(world.machine.has_stable_group());
        }
        // Nobody is heard of any more: all sessions end, all offsets expire, all groups go.
        world.sleep(1_000_000);
        assert_eq!(world.waiting, BTreeSet::new(), "seed {seed}: callers without an answer");
        let left = world.machine.durable();
        assert_eq!(left.groups().count() + left.all_offsets().count(), 0, "seed {seed}: {left:?}");
        world.restart();
    }
    assert!(was_stable > 500, "groups were stable {was_stable} times: the test reaches too little");
}
