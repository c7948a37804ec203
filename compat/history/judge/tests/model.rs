//! A model of a broker and its clients, random from a seed: whatever it does is legal, and the judgement finds nothing;
//! with one thing broken in it, the judgement finds that.

use judge::{
    history::{
        Acks, Action, Committed, End, Event, Isolation, Partition, Phase, Polled, Position, Record,
        Role,
    },
    judge::Judge,
    lines::Writer,
    timeline::Timeline,
    verdict::{Kind, Verdict},
};
use std::collections::{BTreeMap, VecDeque};

const PARTITIONS: u32 = 4;
const CHECKER: u32 = 0;

/// What is wrong with the broker.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Planted {
    Nothing,
    DropsAcknowledged,
    Repeats,
    Swaps,
    ServesWhatItThenForgets,
    ForgetsACommit,
    SkipsInAFetch,
}

struct Model {
    random: u64,
    time: u64,
    op: u64,
    value: u64,
    planted: Planted,
    down: bool,
    logs: Vec<Vec<u64>>,
    commits: BTreeMap<u32, i64>,
    producers: Vec<Producer>,
    readers: Vec<(u32, Vec<i64>)>,
    members: Vec<Member>,
    /// Commits under way: operation, member, partition, offset, and whether the broker has taken it.
    committing: Vec<(u64, u32, u32, i64, bool)>,
    /// What clients have given up and the network has not.
    late_sends: Vec<(u32, u64)>,
    late_commits: Vec<(u32, i64)>,
    events: Vec<Event>,
}

struct Producer {
    process: u32,
    role: (bool, Acks, bool),
    /// Sends under way: operation, partition, value, offset.
    waiting: VecDeque<(u64, u32, u64, Option<i64>)>,
}

struct Member {
    process: u32,
    /// The partitions it owns, and where it is. None: it has not asked yet.
    owns: BTreeMap<u32, Option<i64>>,
}

impl Model {
    fn new(seed: u64, planted: Planted) -> Model {
        let mut model = Model {
            random: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
            time: 0,
            op: 0,
            value: 0,
            planted,
            down: false,
            logs: vec![vec![]; PARTITIONS as usize],
            commits: BTreeMap::new(),
            producers: vec![],
            readers: vec![],
            members: vec![],
            committing: vec![],
            late_sends: vec![],
            late_commits: vec![],
            events: vec![],
        };
        let target = "a model".to_owned();
        model.now(CHECKER, Action::Start(Role::Checker { seed, target }));
        let roles = [
            (true, Acks::All, true),
            (true, Acks::All, true),
            (false, Acks::All, true),
            (false, Acks::Leader, false),
            (false, Acks::None, false),
        ];
        for (process, (idempotent, acks, retries)) in (1..).zip(roles) {
            model.now(process, Action::Start(Role::Producer { idempotent, acks, retries }));
            let role = (idempotent, acks, retries);
            model.producers.push(Producer { process, role, waiting: VecDeque::new() });
        }
        for process in 10..13 {
            model.now(process, consumer(None));
            let from = (0..PARTITIONS).map(|index| Position(partition(index), 0)).collect();
            model.now(process, Action::Assign { from });
            model.readers.push((process, vec![0; PARTITIONS as usize]));
        }
        for process in 20..23 {
            model.now(process, consumer(Some("g".into())));
            model.now(process, Action::Subscribe { topics: vec!["t".into()] });
            model.members.push(Member { process, owns: BTreeMap::new() });
        }
        model
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random % bound
    }

    fn event(&mut self, process: u32, op: u64, phase: Phase, action: Action) {
        self.time += 1 + self.random % 200_000;
        self.events.push(Event { time: self.time, process, op, phase, action });
    }

    fn begin(&mut self, process: u32, action: Action) -> u64 {
        self.op += 1;
        self.event(process, self.op, Phase::Invoke, action);
        self.op
    }

    fn now(&mut self, process: u32, action: Action) {
        self.op += 1;
        self.event(process, self.op, Phase::Ok, action);
    }

    fn step(&mut self) {
        match self.below(100) {
            0..30 => self.send(),
            30..60 => self.take(),
            60..75 => self.complete(),
            75..85 => self.read(),
            85..92 => self.poll_in_group(),
            92..95 => self.commit(),
            95..97 => self.commit_goes_on(),
            97 => self.ask(),
            98 if self.below(4) == 0 => self.late(),
            98 if self.below(20) == 0 => self.rebalance(),
            99 if self.below(20) == 0 => self.fault(),
            _ => (),
        }
    }

    fn send(&mut self) {
        let number = self.below(self.producers.len() as u64) as usize;
        if self.producers[number].waiting.len() >= 5 {
            return;
        }
        self.value += 1;
        let (value, at) = (self.value, self.below(u64::from(PARTITIONS)) as u32);
        let process = self.producers[number].process;
        let op = self.begin(process, send(at, value, None));
        self.producers[number].waiting.push_back((op, at, value, None));
    }

    /// The broker takes a send: of an idempotent producer the first, of others any.
    fn take(&mut self) {
        if self.down {
            return;
        }
        let number = self.below(self.producers.len() as u64) as usize;
        let waiting = self.producers[number].waiting.iter().position(|send| send.3.is_none());
        let Some(mut index) = waiting else { return };
        let (idempotent, _, retries) = self.producers[number].role;
        let length = self.producers[number].waiting.len() as u64;
        if retries && !idempotent {
            index = self.below(length) as usize;
        }
        let (_, at, value, _) = self.producers[number].waiting[index];
        let mut offset = self.append(at, value, idempotent);
        if retries && !idempotent && self.below(10) == 0 {
            offset = self.append(at, value, idempotent);
        }
        self.producers[number].waiting[index].3 = Some(offset);
    }

    fn append(&mut self, at: u32, value: u64, idempotent: bool) -> i64 {
        let planted = idempotent && self.below(40) == 0;
        let log = &mut self.logs[at as usize];
        let offset = log.len() as i64;
        match self.planted {
            Planted::DropsAcknowledged if planted => return offset,
            Planted::Repeats if planted => log.push(value),
            Planted::Swaps if planted && offset > 0 => {
                let last = log.pop().expect("not empty");
                log.push(value);
                log.push(last);
                return offset;
            }
            _ => (),
        }
        self.logs[at as usize].push(value);
        offset
    }

    /// The client is told of the first of its sends, or gives it up.
    fn complete(&mut self) {
        let number = self.below(self.producers.len() as u64) as usize;
        let (process, (_, acks, _)) = (self.producers[number].process, self.producers[number].role);
        let lucky = self.below(50) > 0;
        let Some(&(op, at, value, offset)) = self.producers[number].waiting.front() else { return };
        let phase = match offset {
            Some(_) if lucky => Phase::Ok,
            None if acks == Acks::None && self.down => Phase::Ok,
            None if lucky => return,
            _ => Phase::Unknown,
        };
        self.producers[number].waiting.pop_front();
        if offset.is_none() && phase == Phase::Unknown {
            self.late_sends.push((at, value));
        }
        let told = offset.filter(|_| phase == Phase::Ok && acks != Acks::None);
        self.event(process, op, phase, send(at, value, told));
    }

    fn fetch(&mut self, at: u32, from: i64) -> Vec<Record> {
        let most = self.below(20) as usize;
        let hole = self.planted == Planted::SkipsInAFetch && self.below(100) == 0;
        let log = self.logs[at as usize].iter().enumerate().skip(from as usize + usize::from(hole));
        let record = |(offset, value): (usize, &u64)| Record {
            offset: offset as i64,
            key: at,
            value: *value,
        };
        if self.down { vec![] } else { log.take(most).map(record).collect() }
    }

    fn read(&mut self) {
        let number = self.below(self.readers.len() as u64) as usize;
        let process = self.readers[number].0;
        let op = self.begin(process, Action::Poll { records: vec![] });
        let mut records = vec![];
        for at in 0..PARTITIONS {
            let fetched = self.fetch(at, self.readers[number].1[at as usize]);
            let Some(last) = fetched.last() else { continue };
            self.readers[number].1[at as usize] = last.offset + 1;
            records.push(Polled { from: partition(at), records: fetched });
        }
        self.event(process, op, Phase::Ok, Action::Poll { records });
    }

    fn poll_in_group(&mut self) {
        let number = self.below(self.members.len() as u64) as usize;
        let process = self.members[number].process;
        let op = self.begin(process, Action::Poll { records: vec![] });
        let mut records = vec![];
        for (at, position) in self.members[number].owns.clone() {
            if self.down {
                continue;
            }
            let committed = self.commits.get(&at).copied();
            let from = position.or(committed).unwrap_or(0);
            let fetched = self.fetch(at, from);
            let next = fetched.last().map_or(from, |last| last.offset + 1);
            self.members[number].owns.insert(at, Some(next));
            if !fetched.is_empty() {
                records.push(Polled { from: partition(at), records: fetched });
            }
        }
        self.event(process, op, Phase::Ok, Action::Poll { records });
    }

    fn commit(&mut self) {
        let number = self.below(self.members.len() as u64) as usize;
        let (process, owned) = (self.members[number].process, self.members[number].owns.clone());
        for (at, position) in owned {
            let Some(offset) = position else { continue };
            let offsets = vec![Position(partition(at), offset)];
            let op = self.begin(process, Action::Commit { group: "g".into(), offsets });
            self.committing.push((op, process, at, offset, false));
        }
    }

    /// The broker takes a commit, or the client is told so, or gives it up.
    fn commit_goes_on(&mut self) {
        if self.committing.is_empty() || self.down {
            return;
        }
        let index = self.below(self.committing.len() as u64) as usize;
        let (op, process, at, offset, taken) = self.committing[index];
        let given_up = self.below(20) == 0;
        if !taken && given_up {
            self.late_commits.push((at, offset));
        } else if !taken {
            self.commits.insert(at, offset);
            self.committing[index].4 = true;
            return;
        }
        self.committing.remove(index);
        let phase = if given_up { Phase::Unknown } else { Phase::Ok };
        let offsets = vec![Position(partition(at), offset)];
        self.event(process, op, phase, Action::Commit { group: "g".into(), offsets });
    }

    /// The broker takes what a client has given up, or it is lost on the way.
    fn late(&mut self) {
        if self.down {
            return;
        }
        if let Some((at, value)) = self.late_sends.pop() {
            self.logs[at as usize].push(value);
        }
        if let Some((at, offset)) = self.late_commits.pop() {
            self.commits.insert(at, offset);
        }
        self.late_sends.truncate(3);
    }

    fn ask(&mut self) {
        let named = |offset: &dyn Fn(u32) -> Option<i64>| {
            let all = (0..PARTITIONS).map(|at| Committed(partition(at), offset(at))).collect();
            Action::Committed { group: "g".into(), offsets: all }
        };
        let op = self.begin(20, named(&|_| None));
        let answer = named(&|at| self.commits.get(&at).copied());
        let ends_op = self.begin(CHECKER, Action::Ends { ends: vec![] });
        self.event(20, op, Phase::Ok, answer);
        self.end(ends_op);
    }

    fn end(&mut self, op: u64) {
        let end = |at: u32| End(partition(at), 0, self.logs[at as usize].len() as i64);
        let ends = (0..PARTITIONS).map(end).collect();
        self.event(CHECKER, op, Phase::Ok, Action::Ends { ends });
    }

    fn rebalance(&mut self) {
        for number in 0..self.members.len() {
            let member = &mut self.members[number];
            let (process, owned) = (member.process, std::mem::take(&mut member.owns));
            let revoked = owned.into_keys().map(partition).collect();
            self.now(process, Action::Rebalance { assigned: vec![], revoked });
        }
        for at in 0..PARTITIONS {
            let number = self.below(self.members.len() as u64) as usize;
            let process = self.members[number].process;
            let assigned = vec![partition(at)];
            self.now(process, Action::Rebalance { assigned, revoked: vec![] });
            self.members[number].owns.insert(at, None);
        }
    }

    fn fault(&mut self) {
        let kill = || Action::Fault { name: "kill".into(), detail: String::new() };
        let op = self.begin(CHECKER, kill());
        self.down = true;
        match self.planted {
            Planted::ServesWhatItThenForgets => {
                self.logs.iter_mut().for_each(|log| log.truncate(log.len().saturating_sub(1)))
            }
            Planted::ForgetsACommit => drop(self.commits.pop_first()),
            _ => (),
        }
        for _ in 0..20 {
            self.step();
        }
        self.down = false;
        self.event(CHECKER, op, Phase::Ok, kill());
    }

    /// Heals, reads everything, and gives the history.
    fn finish(mut self) -> Vec<Event> {
        let op = self.begin(CHECKER, Action::Ends { ends: vec![] });
        self.end(op);
        self.now(90, Action::Start(Role::Final));
        let from = (0..PARTITIONS).map(|index| Position(partition(index), 0)).collect();
        self.now(90, Action::Assign { from });
        for at in 0..PARTITIONS {
            let mut next = 0;
            while (next as usize) < self.logs[at as usize].len() {
                let records = self.fetch(at, next);
                next = records.last().map_or(next, |last| last.offset + 1);
                let op = self.begin(90, Action::Poll { records: vec![] });
                let records = vec![Polled { from: partition(at), records }];
                self.event(90, op, Phase::Ok, Action::Poll { records });
            }
        }
        self.events
    }
}

fn partition(index: u32) -> Partition {
    Partition::new("t", index)
}

fn send(at: u32, value: u64, offset: Option<i64>) -> Action {
    Action::Send { to: partition(at), key: at, value, offset }
}

fn consumer(group: Option<String>) -> Action {
    Action::Start(Role::Consumer { group, isolation: Isolation::ReadCommitted })
}

fn run(seed: u64, planted: Planted, steps: u64) -> Vec<Event> {
    let mut model = Model::new(seed, planted);
    model.rebalance();
    (0..steps).for_each(|_| model.step());
    model.finish()
}

fn judged(events: &[Event]) -> Verdict {
    let mut judge = Judge::new();
    events.iter().for_each(|event| judge.event(event).expect("a history"));
    judge.finish()
}

#[test]
fn what_is_legal_is_clean() {
    for seed in 1..=40 {
        let verdict = judged(&run(seed, Planted::Nothing, 4000));
        let all: Vec<_> = verdict.anomalies.iter().map(ToString::to_string).collect();
        assert!(verdict.is_clean(), "seed {seed}: {:?}\n{}", verdict.totals, all.join("\n"));
    }
}

#[test]
fn what_is_planted_is_found() {
    let table = [
        (Planted::DropsAcknowledged, Kind::LostWrite),
        (Planted::Repeats, Kind::Duplicate),
        (Planted::Swaps, Kind::InconsistentOffsets),
        (Planted::ServesWhatItThenForgets, Kind::LostWrite),
        (Planted::ForgetsACommit, Kind::CommitRegression),
        (Planted::SkipsInAFetch, Kind::PollSkip),
    ];
    for (planted, kind) in table {
        for seed in 1..=5 {
            let totals = judged(&run(seed, planted, 10_000)).totals;
            assert!(totals.contains_key(&kind), "{kind}, seed {seed}: {totals:?}");
        }
    }
}

#[test]
fn a_file_of_it_is_judged_reported_and_drawn() {
    let events = run(7, Planted::Repeats, 20_000);
    let mut file = Writer::new(Vec::new());
    events.iter().for_each(|event| file.write(event).unwrap());
    let file = file.into_inner();
    let (verdict, timeline): (_, Timeline) = judge::judge(&file[..]).unwrap();
    assert_eq!(verdict.totals, judged(&events).totals);
    let report = judge::report::text(&verdict, &timeline);
    let total = verdict.totals[&Kind::Duplicate];
    assert!(report.contains(&format!("\nduplicate: {total}\n")), "{report}");
    assert!(report.contains(&format!("  and {} more\n", total - 20)), "{report}");
    let picture = judge::plot::svg(&timeline);
    assert!(picture.ends_with("</svg>\n") && !picture.contains("NaN"), "{picture}");
}
