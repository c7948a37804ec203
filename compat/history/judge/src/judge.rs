//! The judgement: one pass over the events, then what can be said only when all are known.
//!
//! Owns what all families of anomalies look at: processes, open operations, the version order, the faults. Which event
//! concerns which family is decided here; what it proves, there.
//!
//! Memory: 64 bytes a value and 16 an offset, and little more. A gigabyte is a run of ten million sends.

use crate::{
    commits::Commits,
    doubled::Doubled,
    ends::Ends,
    faults::Faults,
    foreign::Foreign,
    history::{Acks, Action, Event, Partition, Phase, Polled, Position, Role},
    lines::{HistoryError, Reader},
    lost,
    order::{Log, Order, Outcome, PartitionId, Sent},
    polls::{Cursors, Next, Polls},
    sent_order,
    staleness::Staleness,
    tally::Tally,
    timeline::Timeline,
    verdict::{Findings, Verdict, Witness},
};
use std::{collections::HashMap, io::BufRead};

/// Judges a whole history, and shows its course.
pub fn judge(from: impl BufRead) -> Result<(Verdict, Timeline), HistoryError> {
    let mut reader = Reader::new(from);
    let (mut judge, mut timeline) = (Judge::new(), Timeline::default());
    while let Some(event) = reader.next() {
        let (event, line) = (event?, reader.line());
        judge.event(&event).map_err(|Broken(what)| HistoryError::Broken { line, what })?;
        timeline.event(&event);
    }
    Ok((judge.finish(), timeline))
}

/// An event that no history may have there: whoever recorded it is wrong, and the broker cannot be judged by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Broken(pub &'static str);

pub struct Judge {
    partitions: Vec<Partition>,
    ids: HashMap<Partition, PartitionId>,
    processes: HashMap<u32, Process>,
    open: HashMap<u64, Open>,
    order: Order,
    faults: Faults,
    findings: Findings,
    tally: Tally,
    doubled: Doubled,
    foreign: Foreign,
    polls: Polls,
    commits: Commits,
    ends: Ends,
    staleness: Staleness,
}

struct Process {
    role: Role,
    crashed: bool,
    cursors: Cursors,
    /// The last value sent to each partition.
    sent: HashMap<PartitionId, u64>,
}

/// An operation that was invoked and is not completed.
struct Open {
    process: u32,
    name: &'static str,
    invoked: u64,
}

impl Default for Judge {
    fn default() -> Judge {
        Judge::new()
    }
}

impl Judge {
    pub fn new() -> Judge {
        Judge {
            partitions: Vec::new(),
            ids: HashMap::new(),
            processes: HashMap::new(),
            open: HashMap::new(),
            order: Order::new(),
            faults: Faults::default(),
            findings: Findings::default(),
            tally: Tally::default(),
            doubled: Doubled::default(),
            foreign: Foreign::default(),
            polls: Polls::default(),
            commits: Commits::default(),
            ends: Ends::default(),
            staleness: Staleness::default(),
        }
    }

    /// Takes the next event of the history.
    pub fn event(&mut self, event: &Event) -> Result<(), Broken> {
        self.check_process(event)?;
        let invoked = self.check_operation(event)?;
        self.tally.count(event);
        let by = Witness { process: event.process, op: event.op, time: event.time };
        match &event.action {
            Action::Start(role) => self.start(event.process, role),
            Action::Crash => self.process(event.process)?.crashed = true,
            Action::Send { to, key, value, offset } => match event.phase {
                Phase::Invoke => self.send(to, *key, *value, by)?,
                phase => self.sent(to, *value, *offset, phase, by)?,
            },
            Action::Poll { records } => match event.phase {
                Phase::Invoke => (),
                Phase::Ok | Phase::Fail | Phase::Unknown => self.polled(records, invoked, by)?,
            },
            Action::Assign { from } => {
                self.process(event.process)?.cursors = Cursors::default();
                for position in from {
                    self.seek(position, by)?;
                }
            }
            Action::Subscribe { .. } => {
                self.process(event.process)?.cursors = Cursors::default();
            }
            Action::Rebalance { assigned, revoked } => self.rebalance(assigned, revoked, by)?,
            Action::Seek { to } => self.seek(to, by)?,
            Action::Commit { group, offsets } => self.commit(group, offsets, event.phase, by),
            Action::Committed { group, offsets } => {
                if event.phase == Phase::Ok {
                    for named in offsets {
                        let id = self.id(&named.0);
                        let at = (id, &named.0);
                        self.commits.named(group, at, named.1, invoked, by, &mut self.findings);
                    }
                }
            }
            Action::Fault { name, .. } => match event.phase {
                Phase::Invoke => self.faults.injected(event.op, name, event.time),
                Phase::Ok | Phase::Fail | Phase::Unknown => {
                    self.faults.healed(event.op, event.time);
                }
            },
            Action::Ends { ends } => {
                if event.phase == Phase::Invoke {
                    self.ends.invoked(event.op, &self.order);
                    return Ok(());
                }
                for end in ends {
                    let id = self.id(&end.0);
                    self.ends.answered(id, end, &mut self.order, by, &mut self.findings);
                }
                self.ends.completed(event.op);
            }
        }
        Ok(())
    }

    /// The history is over.
    pub fn finish(self) -> Verdict {
        let Judge { processes, order, faults, mut findings, .. } = self;
        let (partitions, found) = (&self.partitions[..], &mut findings);
        let role = |process: u32| processes.get(&process).map(|process| &process.role);
        let finals = processes.values().any(|process| process.role == Role::Final);
        lost::judge(&order, &faults, partitions, finals, found);
        sent_order::judge(&order, &faults, partitions, &self.doubled, role, found);
        self.doubled.judge(&order, &faults, partitions, role, found);
        self.polls.judge(&order, &faults, partitions, found);
        self.commits.judge(&order, partitions, found);
        let Findings { mut kept, totals } = findings;
        kept.sort_by_key(|anomaly| anomaly.kind);
        Verdict { anomalies: kept, totals, tally: self.tally, stalest: self.staleness.worst }
    }

    fn check_process(&self, event: &Event) -> Result<(), Broken> {
        let process = self.processes.get(&event.process);
        let begins = matches!(event.action, Action::Start(_));
        match process {
            Some(_) if begins => Err(Broken("a process begins twice")),
            None if !begins => Err(Broken("a process did not begin")),
            Some(process) if process.crashed && event.phase == Phase::Invoke => {
                Err(Broken("an operation of a crashed process"))
            }
            _ if matches!(event.action, Action::Fault { .. }) && event.process != 0 => {
                Err(Broken("a fault that is not of process 0"))
            }
            _ => Ok(()),
        }
    }

    /// When the operation was invoked.
    fn check_operation(&mut self, event: &Event) -> Result<u64, Broken> {
        let (process, name, invoked) = (event.process, event.action.name(), event.time);
        if !event.action.is_operation() {
            return match event.phase {
                Phase::Ok => Ok(invoked),
                _ => Err(Broken("what merely happens is ok")),
            };
        }
        if event.phase == Phase::Invoke {
            let before = self.open.insert(event.op, Open { process, name, invoked });
            return match before {
                Some(_) => Err(Broken("an operation is invoked twice")),
                None => Ok(invoked),
            };
        }
        let open =
            self.open.remove(&event.op).filter(|open| (open.process, open.name) == (process, name));
        open.map(|open| open.invoked).ok_or(Broken("a completion of what was not invoked"))
    }

    fn id(&mut self, partition: &Partition) -> PartitionId {
        if let Some(id) = self.ids.get(partition) {
            return *id;
        }
        let id = self.partitions.len() as PartitionId;
        self.partitions.push(partition.clone());
        self.ids.insert(partition.clone(), id);
        self.order.logs.push(Log::new());
        id
    }

    fn process(&mut self, process: u32) -> Result<&mut Process, Broken> {
        self.processes.get_mut(&process).ok_or(Broken("a process did not begin"))
    }

    fn start(&mut self, process: u32, role: &Role) {
        let (cursors, sent) = (Cursors::default(), HashMap::new());
        let process_begins = Process { role: role.clone(), crashed: false, cursors, sent };
        self.processes.insert(process, process_begins);
    }

    fn send(&mut self, to: &Partition, key: u32, value: u64, by: Witness) -> Result<(), Broken> {
        let id = self.id(to);
        let process = self.process(by.process)?;
        let Role::Producer { acks, .. } = process.role else {
            return Err(Broken("a send of a process that is no producer"));
        };
        if process.sent.insert(id, value).is_some_and(|last| last >= value) || value == 0 {
            return Err(Broken("a process' values for a partition do not increase from 1"));
        }
        if self.order.sent(value).is_some() {
            return Err(Broken("a value is sent twice"));
        }
        let floor = self.order.logs[id as usize].floor;
        *self.order.sent_mut(value) = Sent {
            process: by.process,
            partition: id,
            key,
            acks,
            outcome: Outcome::Open,
            op: by.op,
            invoked: by.time,
            floor,
            ..Sent::default()
        };
        Ok(())
    }

    fn sent(
        &mut self,
        to: &Partition,
        value: u64,
        offset: Option<i64>,
        phase: Phase,
        by: Witness,
    ) -> Result<(), Broken> {
        let id = self.id(to);
        let sent = self.order.sent(value).filter(|sent| (sent.op, sent.partition) == (by.op, id));
        if sent.is_none() {
            return Err(Broken("a send completes with another value or partition"));
        }
        let sent = self.order.sent_mut(value);
        sent.completed = by.time;
        sent.outcome = match phase {
            Phase::Ok => Outcome::Ok,
            Phase::Fail => Outcome::Fail,
            Phase::Invoke | Phase::Unknown => Outcome::Unknown,
        };
        let sent = sent.clone();
        self.foreign.completed(value, &sent, to, &mut self.findings);
        let Some(offset) = offset.filter(|_| phase == Phase::Ok && sent.acks != Acks::None) else {
            return Ok(());
        };
        if offset < 0 {
            return Err(Broken("a negative offset"));
        }
        self.doubled.placed(value, &sent, offset, by);
        if let Some(conflict) = self.order.acked(value, offset, &self.faults) {
            let at = (id, to, offset);
            self.doubled.conflict(&conflict, at, by, &self.order, &mut self.findings);
        }
        Ok(())
    }

    fn polled(&mut self, records: &[Polled], invoked: u64, by: Witness) -> Result<(), Broken> {
        for Polled { from, .. } in records {
            self.id(from);
        }
        let process = self.processes.get_mut(&by.process);
        let process = process.ok_or(Broken("a process did not begin"))?;
        let (by_final, group) = match &process.role {
            Role::Consumer { group, .. } => (false, group.as_deref()),
            Role::Final => (true, None),
            Role::Checker { .. } | Role::Producer { .. } => {
                return Err(Broken("a poll of a process that is no consumer"));
            }
        };
        for Polled { from, records } in records {
            let id = self.ids[from];
            for (number, &record) in records.iter().enumerate() {
                let (offset, value, internal) = (record.offset, record.value, number > 0);
                if offset < 0 {
                    return Err(Broken("a negative offset"));
                }
                self.foreign.polled(&self.order, id, from, record, by, &mut self.findings);
                if value != 0 {
                    if let Some(sent) = self.order.sent(value).filter(|sent| sent.partition == id) {
                        self.doubled.placed(value, sent, offset, by);
                    }
                    let order = &mut self.order;
                    if let Some(conflict) = order.polled(id, offset, value, by_final, &self.faults)
                    {
                        let at = (id, from, offset);
                        self.doubled.conflict(&conflict, at, by, order, &mut self.findings);
                    }
                }
                self.polls.polled(
                    &mut process.cursors,
                    (id, from),
                    offset,
                    internal,
                    by,
                    group,
                    &mut self.commits,
                    &mut self.findings,
                );
            }
        }
        if !by_final {
            let poll = (by.process, by.op, invoked);
            self.staleness.poll(&mut process.cursors, &self.order, &self.partitions, poll);
        }
        Ok(())
    }

    fn rebalance(
        &mut self,
        assigned: &[Partition],
        revoked: &[Partition],
        by: Witness,
    ) -> Result<(), Broken> {
        let in_group = |role: &Role| matches!(role, Role::Consumer { group: Some(_), .. });
        if !in_group(&self.process(by.process)?.role) {
            return Err(Broken("a rebalance of a process that is in no group"));
        }
        for partition in revoked {
            let id = self.id(partition);
            self.process(by.process)?.cursors.0.remove(&id);
        }
        for partition in assigned {
            let id = self.id(partition);
            let next = Next::Committed { since: by.time };
            self.process(by.process)?.cursors.set(id, next, by);
        }
        Ok(())
    }

    fn seek(&mut self, Position(partition, offset): &Position, by: Witness) -> Result<(), Broken> {
        let id = self.id(partition);
        self.process(by.process)?.cursors.set(id, Next::From(*offset), by);
        Ok(())
    }

    fn commit(&mut self, group: &str, offsets: &[Position], phase: Phase, by: Witness) {
        for Position(partition, offset) in offsets {
            let id = self.id(partition);
            match phase {
                Phase::Invoke => self.commits.invoked(group, id, *offset, by),
                Phase::Ok => self.commits.acknowledged(group, id, by.op, by.time),
                Phase::Fail => self.commits.failed(group, id, by.op),
                Phase::Unknown => (),
            }
        }
    }
}
