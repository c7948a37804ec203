//! Small histories as text: one line an operation, a millisecond apart.
//!
//! ```text
//! 1 is idempotent                 idempotent | plain | retries | acks1 | acks0 | consumer | group | final
//! 1 send 5 @0                     @offset | ok | fail | unknown | open
//! 1 sent 5 @0                     completes an open one
//! 2 assign 0 b/0                  start offsets; partition a unless named
//! 2 poll 0:5 1:6 b/0:7            offset:value, with key 2 as in 0:5k2 (1 unless named)
//! 2 polling / 2 polled 0:5        the same in two lines
//! 2 seek 3 | 3 subscribe | 3 rebalance +a -b | 3 crash
//! 3 commit 5 ok                   ok | fail | unknown | open; completed by `3 committing 5 ok`
//! 3 committed 5                   offset | none; split: `3 asking` / `3 told 5`
//! fault kill / healed kill
//! ends 0..5 / asking-ends / told-ends 0..5
//! wait 20                         seconds
//! ```

use judge::{
    history::{
        Acks, Action, Committed, End, Event, Isolation, Partition, Phase, Polled, Position, Record,
        Role,
    },
    judge::{Broken, Judge},
    verdict::Verdict,
};
use std::collections::HashMap;

pub fn judged(script: &str) -> Verdict {
    try_judged(script).unwrap_or_else(|Broken(what)| panic!("{what} in {script}"))
}

pub fn try_judged(script: &str) -> Result<Verdict, Broken> {
    let mut judge = Judge::new();
    for event in events(script) {
        judge.event(&event)?;
    }
    Ok(judge.finish())
}

pub fn events(script: &str) -> Vec<Event> {
    let mut play = Play::default();
    play.one(0, Action::Start(Role::Checker { seed: 1, target: "a script".into() }));
    for line in script.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let words: Vec<_> = line.split_whitespace().collect();
        play.line(&words).unwrap_or_else(|| panic!("cannot read {line:?}"));
        play.time += 1_000_000;
    }
    play.events
}

#[derive(Default)]
struct Play {
    events: Vec<Event>,
    time: u64,
    op: u64,
    open: HashMap<String, (u64, Action)>,
}

impl Play {
    fn event(&mut self, process: u32, op: u64, phase: Phase, action: Action) {
        self.events.push(Event { time: self.time, process, op, phase, action });
    }

    fn one(&mut self, process: u32, action: Action) {
        self.op += 1;
        self.event(process, self.op, Phase::Ok, action);
    }

    fn begin(&mut self, process: u32, name: String, action: Action) {
        self.op += 1;
        self.event(process, self.op, Phase::Invoke, action.clone());
        self.open.insert(name, (self.op, action));
    }

    fn end(&mut self, process: u32, name: &str, phase: Phase, action: Option<Action>) {
        let (op, invoked) = self.open.remove(name).expect("the script began it");
        self.time += 1;
        self.event(process, op, phase, action.unwrap_or(invoked));
    }

    fn line(&mut self, words: &[&str]) -> Option<()> {
        match words {
            ["wait", seconds] => self.time += seconds.parse::<u64>().ok()? * 1_000_000_000,
            ["fault", name] => self.begin(0, name.to_string(), fault(name)),
            ["healed", name] => self.end(0, name, Phase::Ok, None),
            ["asking-ends"] => self.begin(0, "ends".into(), Action::Ends { ends: vec![] }),
            ["told-ends", ends @ ..] => {
                let ends = ends.iter().map(|end| end_of(end)).collect::<Option<Vec<_>>>()?;
                self.end(0, "ends", Phase::Ok, Some(Action::Ends { ends }));
            }
            ["ends", ends @ ..] => {
                self.line(&["asking-ends"])?;
                self.line(&[&["told-ends"], ends].concat())?;
            }
            [process, rest @ ..] => self.process(process.parse().ok()?, rest)?,
            [] => return None,
        }
        Some(())
    }

    fn process(&mut self, p: u32, words: &[&str]) -> Option<()> {
        let name = |what: &str| format!("{p} {what}");
        let group = || "g".to_owned();
        match words {
            ["is", role] => self.one(p, Action::Start(role_of(role)?)),
            ["crash"] => self.one(p, Action::Crash),
            ["send", place, outcome] => {
                let (to, value) = placed(place);
                let (key, value) = (1, value.parse().ok()?);
                let action = Action::Send { to, key, value, offset: None };
                self.begin(p, name(place), action);
                if *outcome != "open" {
                    self.process(p, &["sent", place, outcome])?;
                }
            }
            ["sent", place, outcome] => {
                let (to, value) = placed(place);
                let offset =
                    outcome.strip_prefix('@').map(|offset| offset.parse().expect("an offset"));
                let phase = phase_of(if offset.is_some() { "ok" } else { outcome })?;
                let action = Action::Send { to, key: 1, value: value.parse().ok()?, offset };
                self.end(p, &name(place), phase, Some(action));
            }
            ["poll", records @ ..] => {
                self.process(p, &["polling"])?;
                self.process(p, &[&["polled"], records].concat())?;
            }
            ["polling"] => self.begin(p, name("poll"), Action::Poll { records: vec![] }),
            ["polled", records @ ..] => {
                let mut polled: Vec<Polled> = vec![];
                for record in records {
                    let (from, record) = placed(record);
                    let record = record_of(record)?;
                    match polled.iter_mut().find(|polled| polled.from == from) {
                        Some(polled) => polled.records.push(record),
                        None => polled.push(Polled { from, records: vec![record] }),
                    }
                }
                let action = Action::Poll { records: polled };
                self.end(p, &name("poll"), Phase::Ok, Some(action));
            }
            ["assign", starts @ ..] => {
                let from = starts.iter().map(|start| position(start)).collect::<Option<_>>()?;
                self.one(p, Action::Assign { from });
            }
            ["seek", to] => self.one(p, Action::Seek { to: position(to)? }),
            ["subscribe"] => self.one(p, Action::Subscribe { topics: vec!["t".into()] }),
            ["rebalance", changes @ ..] => {
                let those = |sign| {
                    let names = changes.iter().filter_map(|change| change.strip_prefix(sign));
                    names.map(|name| Partition::new(name, 0)).collect()
                };
                self.one(p, Action::Rebalance { assigned: those('+'), revoked: those('-') });
            }
            ["commit", place, outcome] => {
                let offsets = vec![position(place)?];
                self.begin(p, name(place), Action::Commit { group: group(), offsets });
                if *outcome != "open" {
                    self.end(p, &name(place), phase_of(outcome)?, None);
                }
            }
            ["committing", place, outcome] => {
                self.end(p, &name(place), phase_of(outcome)?, None);
            }
            ["committed", place] => {
                self.process(p, &["asking"])?;
                self.process(p, &["told", place])?;
            }
            ["asking"] => {
                let offsets = vec![Committed(Partition::new("a", 0), None)];
                self.begin(p, name("asking"), Action::Committed { group: group(), offsets });
            }
            ["told", place] => {
                let (from, offset) = placed(place);
                let offsets = vec![Committed(from, offset.parse().ok())];
                let action = Action::Committed { group: group(), offsets };
                self.end(p, &name("asking"), Phase::Ok, Some(action));
            }
            _ => return None,
        }
        Some(())
    }
}

fn fault(name: &str) -> Action {
    Action::Fault { name: name.into(), detail: String::new() }
}

fn placed(word: &str) -> (Partition, &str) {
    let (topic, rest) = word.split_once('/').unwrap_or(("a", word));
    (Partition::new(topic, 0), rest)
}

fn position(word: &str) -> Option<Position> {
    let (partition, offset) = placed(word);
    Some(Position(partition, offset.parse().ok()?))
}

fn record_of(word: &str) -> Option<Record> {
    let (offset, rest) = word.split_once(':')?;
    let (value, key) = rest.split_once('k').unwrap_or((rest, "1"));
    Some(Record {
        offset: offset.parse().ok()?,
        key: key.parse().ok()?,
        value: value.parse().ok()?,
    })
}

fn end_of(word: &str) -> Option<End> {
    let (partition, range) = placed(word);
    let (start, end) = range.split_once("..")?;
    Some(End(partition, start.parse().ok()?, end.parse().ok()?))
}

fn phase_of(word: &str) -> Option<Phase> {
    Some(match word {
        "ok" => Phase::Ok,
        "fail" => Phase::Fail,
        "unknown" => Phase::Unknown,
        _ => return None,
    })
}

fn role_of(word: &str) -> Option<Role> {
    let producer = |idempotent, acks, retries| Role::Producer { idempotent, acks, retries };
    let isolation = Isolation::ReadUncommitted;
    Some(match word {
        "idempotent" => producer(true, Acks::All, true),
        "plain" => producer(false, Acks::All, false),
        "retries" => producer(false, Acks::All, true),
        "acks1" => producer(false, Acks::Leader, false),
        "acks0" => producer(false, Acks::None, false),
        "consumer" => Role::Consumer { group: None, isolation },
        "group" => Role::Consumer { group: Some("g".into()), isolation },
        "final" => Role::Final,
        _ => return None,
    })
}
