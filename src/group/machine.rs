//! The machine of one `__consumer_offsets` partition: takes commands to the group or the offsets they are about.
//!
//! Durable is what `Durable` holds. Groups in `groups` are volatile; they are made from it once, when the shard is elected.

use super::{
    Settings,
    classic::{Group, Id, State, Turn, without_repeats},
    command::{
        Command, Described, Heartbeat, JoinGroup, JoinRefused, OffsetCommit, Reply, SyncGroup,
    },
    durable::Durable,
    offsets::{self, Incarnations},
    records::Record,
    timers::{Timer, Timers},
};
use crate::{
    cluster::Image,
    ids::TopicId,
    limits::DELETED_TOPICS_MAX,
    machine::{BatchKind, Caller, Input, Machine, Mono, Now, Outcome},
    wire::ErrorCode,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
};
use tracing::warn;

/// The coordinator of the groups whose ids fall into one partition.
#[derive(Debug)]
pub struct GroupMachine {
    settings: Settings,
    durable: Durable,
    groups: BTreeMap<Id, Group>,
    timers: Timers,
    /// Topics whose offsets have still to be removed.
    deleted_topics: Incarnations,
    /// Topics deleted of late: a commit that was on its way is refused.
    gone: BTreeSet<TopicId>,
    /// There were too many groups when another was asked for.
    is_full: bool,
}

/// What a shard is told.
#[derive(Clone)]
pub enum Event {
    /// These topics exist no more. Told before anybody can know that there are others of the same names.
    TopicsDeleted(Vec<(String, TopicId)>),
    /// What exists, told to a machine that was just loaded: no offset in its log is of a topic younger than that.
    Topics(Arc<Image>),
    /// `max.message.bytes` of the log is this much now.
    MessageMaxBytes(usize),
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Event::TopicsDeleted(topics) => {
                f.write_str("TopicsDeleted")?;
                topics.iter().try_for_each(|(name, id)| write!(f, " {name} {}", id.0.as_u128()))
            }
            Event::Topics(image) => {
                f.write_str("Topics")?;
                let mut topics = image.topics();
                topics.try_for_each(|it| write!(f, " {} {}", it.name, it.id.0.as_u128()))
            }
            Event::MessageMaxBytes(max) => write!(f, "MessageMaxBytes {max}"),
        }
    }
}

/// A shard asks for nothing but records and replies.
#[derive(Debug)]
pub enum Effect {}

impl GroupMachine {
    /// A machine that has read nothing yet.
    pub fn new(settings: Settings) -> GroupMachine {
        GroupMachine {
            settings,
            durable: Durable::default(),
            groups: BTreeMap::new(),
            timers: Timers::default(),
            deleted_topics: Incarnations::new(),
            gone: BTreeSet::new(),
            is_full: false,
        }
    }
}

impl Machine for GroupMachine {
    type Command = Command;
    type Reply = Reply;
    type Record = Record;
    type Effect = Effect;
    type Event = Event;

    fn apply(&mut self, record: &Record, kind: BatchKind) {
        self.durable.apply(record, kind);
    }

    fn step(&mut self, now: Now, input: Input<Self>, out: &mut Outcome<Self>) {
        match input {
            Input::Elected { .. } => self.elected(now, out),
            Input::Command(caller, command) => self.command(now, caller, command, out),
            Input::Event(Event::TopicsDeleted(topics)) => {
                if self.gone.len() + topics.len() > DELETED_TOPICS_MAX {
                    self.gone.clear();
                }
                self.gone.extend(topics.iter().map(|(_, id)| *id).take(DELETED_TOPICS_MAX));
                for (name, id) in topics {
                    self.deleted_topics.entry(name).or_default().extend([None, Some(id)]);
                }
                self.forget_deleted_topics(now, out);
            }
            Input::Event(Event::MessageMaxBytes(max)) => self.settings.message_max_bytes = max,
            Input::Event(Event::Topics(image)) => {
                for (name, ids) in offsets::missing_topics(&self.durable, &image) {
                    self.deleted_topics.entry(name).or_default().extend(ids);
                }
                self.forget_deleted_topics(now, out);
            }
            Input::Tick => {
                while let Some(timer) = self.timers.due(now.mono) {
                    self.timeout(now, timer, out);
                    // One batch a step: what is written must be applied before the next decision.
                    if out.batch.is_some() {
                        break;
                    }
                }
            }
        }
    }

    fn next_deadline(&self) -> Option<Mono> {
        self.timers.next()
    }
}

impl GroupMachine {
    fn elected(&mut self, now: Now, out: &mut Outcome<Self>) {
        let mut turn =
            Turn { now, settings: &self.settings, timers: &mut self.timers, out: &mut *out };
        for (group, stored) in self.durable.groups() {
            let id: Id = group.as_str().into();
            self.groups.insert(id.clone(), Group::load(id, stored, &mut turn));
        }
        for (group, _) in self.durable.all_offsets() {
            let id: Id = group.as_str().into();
            self.groups.entry(id.clone()).or_insert_with(|| Group::new(id, now.wall_ms));
        }
        self.schedule_expiration(now);
    }

    fn command(&mut self, now: Now, caller: Caller, command: Command, out: &mut Outcome<Self>) {
        let reply = match command {
            Command::Join(request) => return self.join(now, caller, request, out),
            Command::Sync(request) => return self.sync(now, caller, request, out),
            Command::Heartbeat(request) => Reply::Heartbeat(self.heartbeat(now, &request, out)),
            Command::Leave { group, members } => {
                let mut turn = Turn {
                    now,
                    settings: &self.settings,
                    timers: &mut self.timers,
                    out: &mut *out,
                };
                Reply::Leave(match self.groups.get_mut(&*group) {
                    Some(group) => Ok(group.leave(&mut turn, members)),
                    None => Err(ErrorCode::UnknownMemberId),
                })
            }
            Command::Describe { groups } => Reply::Describe(self.describe(groups)),
            Command::List { states, types } => self.list(&states, &types),
            Command::Delete { groups } => self.delete(now, groups, out),
            Command::Commit(request) => self.commit(now, request, out),
            Command::Fetch { group, topics } => {
                Reply::Fetch(offsets::fetch(&self.durable, &group, topics))
            }
            Command::DeleteOffsets { group, topics } => {
                let found = (&*group, self.groups.get(&*group));
                let deleted = offsets::delete(&self.settings, &self.durable, found, topics);
                Reply::DeleteOffsets(deleted.map(|(results, records)| {
                    records.into_iter().for_each(|it| out.write(it));
                    results
                }))
            }
        };
        out.reply(caller, reply);
    }

    fn join(&mut self, now: Now, caller: Caller, mut request: JoinGroup, out: &mut Outcome<Self>) {
        let refuse = |out: &mut Outcome<Self>, error| {
            let member_id = request.member_id.clone();
            out.reply(caller, Reply::Join(Err(JoinRefused { error, member_id })));
        };
        let sessions =
            self.settings.group_min_session_timeout_ms..=self.settings.group_max_session_timeout_ms;
        if !sessions.contains(&request.session_timeout_ms) {
            return refuse(out, ErrorCode::InvalidSessionTimeout);
        }
        let is_known = self.groups.contains_key(&*request.group);
        if !is_known && !request.member_id.is_empty() {
            return refuse(out, ErrorCode::UnknownMemberId);
        }
        if !is_known && !self.has_room() {
            return refuse(out, ErrorCode::CoordinatorNotAvailable);
        }
        without_repeats(&mut request.protocols);
        let id: Id = request.group.as_str().into();
        let group = self.groups.entry(id.clone()).or_insert_with(|| Group::new(id, now.wall_ms));
        let mut turn =
            Turn { now, settings: &self.settings, timers: &mut self.timers, out: &mut *out };
        group.join(&mut turn, caller, request);
        if !is_known {
            // A group exists from the first request on, even one that was refused.
            out.write(group.first_record());
        }
    }

    /// Whether there may be one more group.
    fn has_room(&mut self) -> bool {
        let is_full = self.groups.len() >= self.settings.groups_max;
        if is_full && !self.is_full {
            warn!(groups = self.groups.len(), "no group is taken in any more");
        }
        self.is_full = is_full;
        !is_full
    }

    fn sync(&mut self, now: Now, caller: Caller, request: SyncGroup, out: &mut Outcome<Self>) {
        let mut turn =
            Turn { now, settings: &self.settings, timers: &mut self.timers, out: &mut *out };
        match self.groups.get_mut(&*request.group) {
            Some(group) => group.sync(&mut turn, caller, request),
            None => out.reply(caller, Reply::Sync(Err(ErrorCode::UnknownMemberId))),
        }
    }

    fn heartbeat(
        &mut self,
        now: Now,
        request: &Heartbeat,
        out: &mut Outcome<Self>,
    ) -> Result<(), ErrorCode> {
        let group = self.groups.get_mut(&*request.group).ok_or(ErrorCode::UnknownMemberId)?;
        let mut turn = Turn { now, settings: &self.settings, timers: &mut self.timers, out };
        group.heartbeat(&mut turn, request)
    }

    fn describe(&self, groups: Vec<String>) -> Vec<Described> {
        let described = groups.into_iter().map(|group| match self.groups.get(&*group) {
            Some(found) => found.describe(),
            None => Described { group, found: None },
        });
        described.collect()
    }

    fn list(&self, states: &[String], types: &[String]) -> Reply {
        let passes = |filter: &[String], value: &str| {
            filter.is_empty() || filter.iter().any(|it| it.trim().eq_ignore_ascii_case(value))
        };
        let listed = self
            .groups
            .values()
            .filter(|group| passes(states, group.state().name()) && passes(types, "classic"));
        Reply::List(listed.map(Group::listed).collect())
    }

    fn delete(&mut self, now: Now, groups: Vec<String>, out: &mut Outcome<Self>) -> Reply {
        let mut records = Vec::new();
        let mut results = Vec::with_capacity(groups.len());
        let mut gone = Vec::new();
        for id in groups {
            let result = match self.groups.get(&*id) {
                None => Err(ErrorCode::GroupIdNotFound),
                Some(group) if group.state() != State::Empty => Err(ErrorCode::NonEmptyGroup),
                Some(_) => Ok(()),
            };
            if result.is_ok() {
                records.extend(offsets::tombstones(&self.durable, &id));
                records.push(Record::Group { group: id.clone(), value: None });
                gone.push(id.clone());
            }
            results.push((id, result));
        }
        if !self.settings.fit(&records) {
            let too_large = |(id, _)| (id, Err(ErrorCode::UnknownServerError));
            return Reply::Delete(results.into_iter().map(too_large).collect());
        }
        gone.iter().for_each(|id| self.drop_group(now, id, out));
        records.into_iter().for_each(|it| out.write(it));
        Reply::Delete(results)
    }

    fn commit(&mut self, now: Now, request: OffsetCommit, out: &mut Outcome<Self>) -> Reply {
        let mut turn =
            Turn { now, settings: &self.settings, timers: &mut self.timers, out: &mut *out };
        let known = self.groups.get(&*request.group);
        let known = known.map(|group| group.check_commit(&mut turn, &request));
        let checked = match known {
            Some(checked) => checked,
            // Whoever assigns partitions by hand or administers makes a group by committing to it.
            None if request.generation < 0 => match self.has_room() {
                true => Ok(()),
                false => Err(ErrorCode::CoordinatorNotAvailable),
            },
            None if request.knows_group_id_not_found => Err(ErrorCode::GroupIdNotFound),
            None => Err(ErrorCode::IllegalGeneration),
        };
        let id: Id = request.group.as_str().into();
        let all = |error: ErrorCode, topics: &[(String, Vec<i32>)]| -> Reply {
            let of_topic = |(topic, partitions): &(String, Vec<i32>)| {
                (topic.clone(), partitions.iter().map(|it| (*it, Err(error))).collect())
            };
            Reply::Commit(topics.iter().map(of_topic).collect())
        };
        let asked: Vec<(String, Vec<i32>)> = request
            .topics
            .iter()
            .map(|(topic, them)| (topic.clone(), them.iter().map(|it| it.partition).collect()))
            .collect();
        if let Err(error) = checked {
            return all(error, &asked);
        }
        let Some((results, records)) = offsets::commit(&self.settings, now, request, &self.gone)
        else {
            return all(ErrorCode::UnknownServerError, &asked);
        };
        if !records.is_empty() {
            self.groups.entry(id.clone()).or_insert_with(|| Group::new(id, now.wall_ms));
        }
        records.into_iter().for_each(|it| out.write(it));
        Reply::Commit(results)
    }

    fn timeout(&mut self, now: Now, timer: Timer, out: &mut Outcome<Self>) {
        let (id, member) = match &timer {
            Timer::Expiration => return self.expire(now, out),
            Timer::TopicsDeleted => return self.forget_deleted_topics(now, out),
            Timer::Session(group, member) => (group, Some(member)),
            Timer::Join(group) | Timer::Sync(group) => (group, None),
        };
        let Some(group) = self.groups.get_mut(id) else { return };
        let mut turn = Turn { now, settings: &self.settings, timers: &mut self.timers, out };
        match member {
            Some(member) => group.session_timeout(&mut turn, member),
            None if matches!(timer, Timer::Join(_)) => group.join_timeout(&mut turn),
            None => group.sync_timeout(&mut turn),
        }
    }

    /// Removes expired offsets, and empty groups that have none left. What does not fit into one batch comes at once.
    fn expire(&mut self, now: Now, out: &mut Outcome<Self>) {
        let mut gone = Vec::new();
        let mut room = self.settings.batch_bytes_max();
        let mut is_full = false;
        for (id, group) in &self.groups {
            let (records, all) =
                offsets::expired(&self.settings, &self.durable, id, group, now.wall_ms);
            let has_expired = all && group.state() == State::Empty;
            let tombstone = Record::Group { group: id.to_string(), value: None };
            for record in records.into_iter().chain(has_expired.then_some(tombstone)) {
                is_full = record.size() > room;
                if is_full {
                    break;
                }
                room -= record.size();
                if matches!(record, Record::Group { .. }) {
                    gone.push(id.to_string());
                }
                out.write(record);
            }
            if is_full {
                break;
            }
        }
        gone.iter().for_each(|id| self.drop_group(now, id, out));
        if is_full {
            self.timers.schedule(Timer::Expiration, now.mono);
        } else {
            self.schedule_expiration(now);
        }
    }

    fn forget_deleted_topics(&mut self, now: Now, out: &mut Outcome<Self>) {
        let mut room = self.settings.batch_bytes_max();
        for record in offsets::of_deleted_topics(&self.durable, &self.deleted_topics) {
            if record.size() > room {
                self.timers.schedule(Timer::TopicsDeleted, now.mono);
                return;
            }
            room -= record.size();
            out.write(record);
        }
        self.deleted_topics.clear();
    }

    fn drop_group(&mut self, now: Now, id: &str, out: &mut Outcome<Self>) {
        if let Some(group) = self.groups.remove(id) {
            let timers = &mut self.timers;
            group.cancel_timers(&mut Turn { now, settings: &self.settings, timers, out });
        }
    }

    fn schedule_expiration(&mut self, now: Now) {
        let interval_ms = self.settings.offsets_retention_check_interval_ms;
        self.timers.schedule(Timer::Expiration, now.mono.after_ms(interval_ms));
    }
}

#[cfg(test)]
impl GroupMachine {
    /// What must hold between two steps.
    pub(crate) fn check_invariants(&self) {
        for (id, group) in &self.groups {
            group.check_invariants(&self.timers, self.durable.group(id));
        }
        for (id, _) in self.durable.groups() {
            assert!(self.groups.contains_key(&**id), "{id} is stored but not served");
        }
        for (id, _) in self.durable.all_offsets() {
            assert!(self.groups.contains_key(&**id), "{id} has offsets but is not served");
        }
    }

    /// Whether another machine would survive a restart as this one.
    pub(crate) fn is_durably(&self, other: &GroupMachine) -> bool {
        self.durable == other.durable
    }

    pub(super) fn durable(&self) -> &Durable {
        &self.durable
    }

    pub(super) fn settings(&self) -> &Settings {
        &self.settings
    }

    pub(super) fn has_stable_group(&self) -> bool {
        self.groups.values().any(|it| it.state() == State::Stable)
    }
}
