//! A group coordinator on the simulated node: what `machine::runner` and `broker::shard` do, one input at a time.

use super::hosted::{Hosted, Message, Who};
use crate::{
    broker::shard::{self, PartitionJournal},
    cluster::Image,
    config::Config,
    group::{Event, GroupMachine, command::Command, command::Reply},
    machine::{
        Caller, Input, Machine, Mono, Now, Outcome,
        clock::Clock,
        runner::{CallError, Journal, JournalError, Ticket},
    },
    partition::{Acks, Appended, producers::Origin, replica::Refused},
    storage::StorageError,
};
use futures_util::FutureExt;
use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

/// Between two attempts to load, in milliseconds.
const RELOAD_PAUSE_MS: i64 = 500;

pub enum Mail {
    Command(u64, Command),
    Event(Event),
}

struct Parked {
    until: Option<Ticket>,
    expires: Mono,
    call: u64,
    reply: Reply,
}

/// The coordinator of the one partition of `__consumer_offsets`.
pub struct Shard {
    /// None: its journal failed and it has not been loaded again.
    machine: Option<GroupMachine>,
    pub mailbox: VecDeque<Mail>,
    pub answers: Vec<(u64, Result<Reply, CallError>)>,
    /// How often it was loaded since the node started.
    pub loads: u64,
    callers: HashMap<Caller, u64>,
    next_caller: u64,
    /// Replies of the step whose batch is on its way into the partition.
    appending: Option<(Now, Vec<(Caller, Reply)>)>,
    journal: PartitionJournal,
    appended: Option<Ticket>,
    committed: Option<Ticket>,
    parked: VecDeque<Parked>,
    reload_at: Mono,
    timeout_ms: i64,
}

impl Shard {
    /// Replays what the partition holds.
    pub fn load(
        partition: &mut Hosted,
        config: &Config,
        image: &Arc<Image>,
        now: Now,
    ) -> Result<Shard, StorageError> {
        let mut shard = Shard {
            machine: None,
            mailbox: VecDeque::new(),
            answers: Vec::new(),
            loads: 0,
            callers: HashMap::new(),
            next_caller: 1,
            appending: None,
            journal: PartitionJournal::new(partition.handle.clone(), Clock::start()),
            appended: None,
            committed: None,
            parked: VecDeque::new(),
            reload_at: Mono(0),
            timeout_ms: i64::from(config.offsets_commit_timeout_ms),
        };
        shard.reload(partition, config, image, now)?;
        Ok(shard)
    }

    fn reload(
        &mut self,
        partition: &mut Hosted,
        config: &Config,
        image: &Arc<Image>,
        now: Now,
    ) -> Result<(), StorageError> {
        self.machine = Some(replayed(partition, config)?);
        self.journal = PartitionJournal::new(partition.handle.clone(), Clock::start());
        (self.appended, self.committed) = (None, None);
        self.commit(now);
        self.loads += 1;
        let epoch = partition.view().leader_epoch.0;
        self.step(partition, now, Input::Elected { epoch });
        self.mailbox.push_back(Mail::Event(Event::Topics(image.clone())));
        Ok(())
    }

    pub fn is_up(&self) -> bool {
        self.machine.is_some()
    }

    pub fn next_deadline(&self) -> Option<Mono> {
        let Some(machine) = &self.machine else { return Some(self.reload_at) };
        let expiry = self.parked.front().map(|parked| parked.expires);
        machine.next_deadline().into_iter().chain(expiry).min()
    }

    pub fn has_work(&self, now: Now) -> bool {
        let due = self.next_deadline().is_some_and(|at| at <= now.mono);
        let news = self.journal.has_news();
        self.appending.is_none() && (due || (self.is_up() && (news || !self.mailbox.is_empty())))
    }

    /// Does one thing; says what.
    pub fn progress(
        &mut self,
        partition: &mut Hosted,
        config: &Config,
        image: &Arc<Image>,
        now: Now,
    ) -> String {
        if self.machine.is_none() {
            self.reload_at = now.mono.after_ms(RELOAD_PAUSE_MS);
            if !shard::is_settled(&partition.view()) {
                return "waits until it can be loaded".to_owned();
            }
            return match self.reload(partition, config, image, now) {
                Ok(()) => "loaded again".to_owned(),
                Err(error) => format!("not loaded: {error}"),
            };
        }
        if self.commit(now) {
            return format!("committed {:?}, up {}", self.committed, self.is_up());
        }
        while self.parked.front().is_some_and(|it| it.expires <= now.mono)
            && let Some(parked) = self.parked.pop_front()
        {
            self.answers.push((parked.call, Err(CallError::TimedOut)));
        }
        match self.mailbox.pop_front() {
            Some(Mail::Command(call, command)) => {
                let what = format!("{command:?}");
                let caller = Caller(self.next_caller);
                self.next_caller += 1;
                self.callers.insert(caller, call);
                self.step(partition, now, Input::Command(caller, command));
                what
            }
            Some(Mail::Event(event)) => {
                let what = format!("{event:?}");
                self.step(partition, now, Input::Event(event));
                what
            }
            None => {
                let machine = self.machine.as_ref().expect("checked above");
                if machine.next_deadline().is_some_and(|at| at <= now.mono) {
                    self.step(partition, now, Input::Tick);
                }
                "tick".to_owned()
            }
        }
    }

    fn step(&mut self, partition: &mut Hosted, now: Now, input: Input<GroupMachine>) {
        let Some(machine) = &mut self.machine else { return };
        let mut outcome = Outcome::default();
        machine.step(now, input, &mut outcome);
        let Some(batch) = outcome.batch else { return self.park(now, outcome.replies) };
        batch.records.iter().for_each(|record| machine.apply(record, batch.kind));
        machine.check_invariants();
        let encoded = shard::encode(&batch, now.wall_ms).expect("short");
        self.appending = Some((now, outcome.replies));
        partition.inbox.push_back(Message::Append {
            batch: encoded.into(),
            acks: Acks::Assigned,
            origin: Origin::Coordinator,
            who: Who::Journal,
        });
    }

    /// The partition has given the batch its place, or refused it.
    pub fn journaled(&mut self, now: Now, answer: Result<Appended, Refused>) {
        let Some((began, replies)) = self.appending.take() else { return };
        let gone = |refused: Refused| JournalError::Failed(refused.code.to_string());
        match answer.map_err(gone).and_then(|place| self.journal.appended(place)) {
            Ok(ticket) => {
                assert!(Some(ticket) > self.appended, "tickets grow");
                self.appended = Some(ticket);
                self.park(began, replies);
            }
            Err(_) => self.fail(now),
        }
    }

    /// Looks at what the journal says, if it says anything.
    fn commit(&mut self, now: Now) -> bool {
        match self.journal.committed().now_or_never() {
            None => return false,
            Some(Ok(ticket)) => {
                self.committed = Some(ticket);
                self.release();
            }
            Some(Err(_)) => self.fail(now),
        }
        true
    }

    fn park(&mut self, now: Now, replies: Vec<(Caller, Reply)>) {
        for (caller, reply) in replies {
            let call = self.callers.remove(&caller).expect("a caller is answered once");
            let expires = now.mono.after_ms(self.timeout_ms);
            self.parked.push_back(Parked { until: self.appended, expires, call, reply });
        }
        self.release();
    }

    fn release(&mut self) {
        while self.parked.front().is_some_and(|it| it.until <= self.committed)
            && let Some(parked) = self.parked.pop_front()
        {
            self.answers.push((parked.call, Ok(parked.reply)));
        }
    }

    /// *The journal failed*: whoever waits is told that nobody knows.
    fn fail(&mut self, now: Now) {
        self.machine = None;
        self.appending = None;
        self.reload_at = now.mono.after_ms(RELOAD_PAUSE_MS);
        let waiting = self.callers.drain().map(|(_, call)| call);
        let mail = self.mailbox.drain(..).filter_map(|mail| match mail {
            Mail::Command(call, _) => Some(call),
            Mail::Event(_) => None,
        });
        let parked = self.parked.drain(..).map(|parked| parked.call);
        let mut calls: Vec<u64> = waiting.chain(mail).chain(parked).collect();
        calls.sort_unstable();
        self.answers.extend(calls.into_iter().map(|call| (call, Err(CallError::Gone))));
    }

    /// What replay makes of the log is what runs; only when nothing is in flight.
    pub fn check(&self, partition: &mut Hosted, config: &Config) {
        let Some(machine) = &self.machine else { return };
        machine.check_invariants();
        let end = self.appended.map_or(0, |ticket| ticket.0);
        if self.appending.is_some() || partition.view().high_watermark < end as i64 {
            return;
        }
        let again = replayed(partition, config).expect("the log is readable");
        assert!(machine.is_durably(&again), "group state: live {machine:#?}\nreplayed {again:#?}");
    }
}

fn replayed(partition: &mut Hosted, config: &Config) -> Result<GroupMachine, StorageError> {
    shard::load(&partition.handle, config).now_or_never().expect("memory never waits")
}
