//! A classic group: its members and where its rebalance stands (Kafka: `ClassicGroup`). All of it is volatile; what
//! survives is the last `Generation` written.
//!
//! Here: the members, the choice of a protocol, Heartbeat and what may be committed. `join` takes members in, `rebalance`
//! brings a generation about, `sync` hands out the assignment, `membership` lets members go. The state table is in
//! `group`'s module doc.

mod join;
mod membership;
mod rebalance;
mod subscription;
mod sync;

pub(super) use join::without_repeats;

use super::{
    Settings,
    command::{Described, DescribedMember, Description, Heartbeat, Listed, OffsetCommit, Protocol},
    command::{JoinRefused, Joined, Reply, Synced},
    machine::GroupMachine,
    records::{Generation, Record, StoredMember},
    timers::{Timer, Timers},
};
use crate::{
    machine::{Caller, Now, Outcome},
    wire::ErrorCode,
};
use bytes::Bytes;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// A group's or a member's id; shared, since timers carry it too.
pub(super) type Id = Arc<str>;

/// The protocol type of consumers; what their metadata says is known to the coordinator.
const CONSUMER: &str = "consumer";

/// See `group`'s module doc. A group that is Dead does not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Empty,
    PreparingRebalance,
    CompletingRebalance,
    Stable,
}

impl State {
    pub fn name(self) -> &'static str {
        match self {
            State::Empty => "Empty",
            State::PreparingRebalance => "PreparingRebalance",
            State::CompletingRebalance => "CompletingRebalance",
            State::Stable => "Stable",
        }
    }
}

/// One step's surroundings, for whichever group it concerns.
pub(super) struct Turn<'a> {
    pub now: Now,
    pub settings: &'a Settings,
    pub timers: &'a mut Timers,
    pub out: &'a mut Outcome<GroupMachine>,
}

impl Turn<'_> {
    fn schedule(&mut self, timer: Timer, ms: i32) {
        self.timers.schedule(timer, self.now.mono.after_ms(ms.into()));
    }

    fn reply_join(&mut self, caller: Caller, result: Result<Joined, JoinRefused>) {
        self.out.reply(caller, Reply::Join(result));
    }

    fn refuse_join(&mut self, caller: Caller, error: ErrorCode, member_id: &str) {
        self.reply_join(caller, Err(JoinRefused { error, member_id: member_id.to_owned() }));
    }

    fn reply_sync(&mut self, caller: Caller, result: Result<Synced, ErrorCode>) {
        self.out.reply(caller, Reply::Sync(result));
    }
}

/// A member, in the group or joining it.
#[derive(Debug, Clone)]
pub(super) struct Member {
    instance_id: Option<String>,
    client_id: String,
    client_host: String,
    rebalance_timeout_ms: i32,
    session_timeout_ms: i32,
    protocols: Vec<Protocol>,
    assignment: Bytes,
    /// Waits for the rebalance to complete.
    join: Option<Caller>,
    /// Waits for the leader's assignment.
    sync: Option<Caller>,
    /// Has not seen a generation yet, so it cannot send heartbeats: it may expire while it waits.
    is_new: bool,
}

impl Member {
    fn metadata(&self, protocol: &str) -> Bytes {
        self.protocols
            .iter()
            .find(|it| it.name == protocol)
            .map(|it| it.metadata.clone())
            .unwrap_or_default()
    }

    /// Bytes it keeps in memory, roughly.
    fn footprint(&self) -> usize {
        let protocols = self.protocols.iter().map(|it| it.name.len() + it.metadata.len());
        protocols.sum::<usize>() + self.client_id.len() + self.client_host.len() + 256
    }
}

/// The delay that lets a new group's members arrive together (KIP-134).
#[derive(Debug, Clone, Copy)]
struct InitialDelay {
    /// The one that runs.
    delay_ms: i32,
    /// How much longer it may become.
    remaining_ms: i32,
    /// Someone came while it ran.
    member_added: bool,
}

/// A group.
#[derive(Debug)]
pub(super) struct Group {
    id: Id,
    state: State,
    /// When it came to be in `state`, in wall milliseconds; -1: not known.
    state_timestamp: i64,
    protocol_type: Option<String>,
    protocol: Option<String>,
    generation: i32,
    leader: Option<Id>,
    members: BTreeMap<Id, Member>,
    /// Of `members`, by instance id.
    static_members: BTreeMap<String, Id>,
    /// Ids that were given out and are expected to join.
    pending_joins: BTreeSet<Id>,
    /// Members of this generation that have not sent SyncGroup.
    pending_syncs: BTreeSet<Id>,
    /// How many members support a protocol.
    supported: BTreeMap<String, usize>,
    /// How many members wait for the rebalance to complete.
    joining: usize,
    /// Bytes of all members.
    footprint: usize,
    /// Topics of all members; None: not known.
    subscribed: Option<BTreeSet<String>>,
    /// Some while a rebalance that began in Empty goes on.
    initial_delay: Option<InitialDelay>,
}

impl Group {
    pub fn new(id: Id, wall_ms: i64) -> Group {
        Group {
            id,
            state: State::Empty,
            state_timestamp: wall_ms,
            protocol_type: None,
            protocol: None,
            generation: 0,
            leader: None,
            members: BTreeMap::new(),
            static_members: BTreeMap::new(),
            pending_joins: BTreeSet::new(),
            pending_syncs: BTreeSet::new(),
            supported: BTreeMap::new(),
            joining: 0,
            footprint: 0,
            subscribed: None,
            initial_delay: None,
        }
    }

    /// A group as its last generation left it; every member gets a fresh session. One that had been rebalancing is
    /// again what it was before, as in Kafka: whoever was in the newer generation is told so (ILLEGAL_GENERATION,
    /// UNKNOWN_MEMBER_ID) and joins again.
    pub fn load(id: Id, stored: &Generation, turn: &mut Turn<'_>) -> Group {
        let mut group = Group::new(id, stored.state_timestamp);
        group.protocol_type = Some(stored.protocol_type.clone()).filter(|it| !it.is_empty());
        group.protocol = stored.protocol.clone();
        group.generation = stored.generation;
        for member in &stored.members {
            let protocol = stored.protocol.clone().unwrap_or_default();
            let rebalance_timeout_ms = match member.rebalance_timeout_ms {
                -1 => member.session_timeout_ms,
                ms => ms,
            };
            let id: Id = member.member_id.as_str().into();
            group.add(
                id.clone(),
                Member {
                    instance_id: member.instance_id.clone(),
                    client_id: member.client_id.clone(),
                    client_host: member.client_host.clone(),
                    rebalance_timeout_ms,
                    session_timeout_ms: member.session_timeout_ms,
                    protocols: vec![Protocol {
                        name: protocol,
                        metadata: member.subscription.clone(),
                    }],
                    assignment: member.assignment.clone(),
                    join: None,
                    sync: None,
                    is_new: false,
                },
            );
            group.renew_session(turn, &id);
        }
        if let Some(leader) = &stored.leader
            && let Some((id, _)) = group.members.get_key_value(leader.as_str())
        {
            group.leader = Some(id.clone());
        }
        if !group.members.is_empty() {
            group.state = State::Stable;
        }
        group.subscribed = group.subscriptions();
        if group.members.len() > turn.settings.group_max_size() {
            group.prepare_rebalance(turn);
        }
        group
    }

    pub fn state(&self) -> State {
        self.state
    }

    /// In wall milliseconds; None: not known.
    pub fn state_timestamp(&self) -> Option<i64> {
        Some(self.state_timestamp).filter(|it| *it != -1)
    }

    pub fn has_protocol_type(&self) -> bool {
        self.protocol_type.is_some()
    }

    pub fn is_consumer(&self) -> bool {
        self.protocol_type.as_deref() == Some(CONSUMER)
    }

    /// Topics that members consume, as far as known.
    pub fn knows_subscriptions(&self) -> bool {
        self.subscribed.is_some()
    }

    /// Whether a member may consume `topic`: unknown counts as yes for consumers.
    pub fn is_subscribed_to(&self, topic: &str) -> bool {
        match &self.subscribed {
            Some(topics) => topics.contains(topic),
            None => self.is_consumer(),
        }
    }

    /// Heartbeat. It keeps the session alive even when it is answered REBALANCE_IN_PROGRESS.
    pub fn heartbeat(&mut self, turn: &mut Turn<'_>, request: &Heartbeat) -> Result<(), ErrorCode> {
        self.check_member(&request.member_id, request.instance_id.as_deref())?;
        if request.generation != self.generation {
            return Err(ErrorCode::IllegalGeneration);
        }
        self.renew_session(turn, &request.member_id);
        match self.state {
            State::Empty => Err(ErrorCode::UnknownMemberId),
            State::PreparingRebalance => Err(ErrorCode::RebalanceInProgress),
            State::CompletingRebalance | State::Stable => Ok(()),
        }
    }

    /// Whether `request` may commit; it keeps the session alive unless members are syncing.
    pub fn check_commit(
        &self,
        turn: &mut Turn<'_>,
        request: &OffsetCommit,
    ) -> Result<(), ErrorCode> {
        if request.generation < 0 && self.state == State::Empty {
            return Ok(());
        }
        let names_a_member = request.generation >= 0
            || !request.member_id.is_empty()
            || request.instance_id.is_some();
        if !names_a_member {
            return Err(ErrorCode::UnknownMemberId);
        }
        self.check_member(&request.member_id, request.instance_id.as_deref())?;
        if request.generation != self.generation {
            return Err(ErrorCode::IllegalGeneration);
        }
        if self.state == State::CompletingRebalance {
            return Err(ErrorCode::RebalanceInProgress);
        }
        self.renew_session(turn, &request.member_id);
        Ok(())
    }

    /// For DescribeGroups.
    pub fn describe(&self) -> Described {
        let stable = self.state == State::Stable;
        let protocol = self.protocol.clone().filter(|_| stable).unwrap_or_default();
        let members = self.members.iter().map(|(id, member)| DescribedMember {
            member_id: id.to_string(),
            instance_id: member.instance_id.clone(),
            client_id: member.client_id.clone(),
            client_host: member.client_host.clone(),
            metadata: if stable { member.metadata(&protocol) } else { Bytes::new() },
            assignment: member.assignment.clone(),
        });
        let found = Description {
            state: self.state.name(),
            protocol_type: self.protocol_type.clone().unwrap_or_default(),
            members: members.collect(),
            protocol,
        };
        Described { group: self.id.to_string(), found: Some(found) }
    }

    /// For ListGroups.
    pub fn listed(&self) -> Listed {
        Listed {
            group: self.id.to_string(),
            protocol_type: self.protocol_type.clone().unwrap_or_default(),
            state: self.state.name(),
        }
    }

    /// Ends every timer of a group that is about to be deleted.
    pub fn cancel_timers(&self, turn: &mut Turn<'_>) {
        for member in self.members.keys().chain(&self.pending_joins) {
            turn.timers.cancel(self.session(member));
        }
        turn.timers.cancel(Timer::Join(self.id.clone()));
        turn.timers.cancel(Timer::Sync(self.id.clone()));
    }

    /// The record that makes this generation durable, with what `assign` gives each member.
    fn record(&self, assign: impl Fn(&Id, &Member) -> Bytes) -> Record {
        let protocol = self.protocol.as_deref().unwrap_or_default();
        let members = self.members.iter().map(|(id, member)| StoredMember {
            member_id: id.to_string(),
            instance_id: member.instance_id.clone(),
            client_id: member.client_id.clone(),
            client_host: member.client_host.clone(),
            rebalance_timeout_ms: member.rebalance_timeout_ms,
            session_timeout_ms: member.session_timeout_ms,
            subscription: member.metadata(protocol),
            assignment: assign(id, member),
        });
        let value = Generation {
            protocol_type: self.protocol_type.clone().unwrap_or_default(),
            generation: self.generation,
            protocol: self.protocol.clone(),
            leader: self.leader.as_ref().map(|it| it.to_string()),
            state_timestamp: self.state_timestamp,
            members: members.collect(),
        };
        Record::Group { group: self.id.to_string(), value: Some(value) }
    }

    /// The record of a group that no member has joined yet.
    pub fn first_record(&self) -> Record {
        let value = Generation {
            protocol_type: String::new(),
            generation: 0,
            protocol: None,
            leader: None,
            state_timestamp: self.state_timestamp,
            members: Vec::new(),
        };
        Record::Group { group: self.id.to_string(), value: Some(value) }
    }

    fn session(&self, member: &Id) -> Timer {
        Timer::Session(self.id.clone(), member.clone())
    }

    fn renew_session(&self, turn: &mut Turn<'_>, member_id: &str) {
        if let Some((id, member)) = self.members.get_key_value(member_id) {
            turn.schedule(self.session(id), member.session_timeout_ms);
        }
    }

    /// The member is in the group and, if static, the current holder of its instance id.
    fn check_member(&self, member_id: &str, instance_id: Option<&str>) -> Result<(), ErrorCode> {
        if let Some(instance_id) = instance_id {
            match self.static_members.get(instance_id) {
                None => return Err(ErrorCode::UnknownMemberId),
                Some(holder) if **holder != *member_id => return Err(ErrorCode::FencedInstanceId),
                Some(_) => {}
            }
        }
        if self.members.contains_key(member_id) { Ok(()) } else { Err(ErrorCode::UnknownMemberId) }
    }

    fn is_leader(&self, member_id: &str) -> bool {
        self.leader.as_deref() == Some(member_id)
    }

    fn enter(&mut self, turn: &Turn<'_>, state: State) {
        self.state = state;
        self.state_timestamp = turn.now.wall_ms;
    }

    fn add(&mut self, id: Id, member: Member) {
        if let Some(instance_id) = &member.instance_id {
            self.static_members.insert(instance_id.clone(), id.clone());
        }
        self.pending_joins.remove(&id);
        self.leader.get_or_insert_with(|| id.clone());
        self.count_in(&member);
        self.members.insert(id, member);
    }

    /// Takes a member or a pending one out. Its timer and its callers are the caller's to end.
    fn remove(&mut self, member_id: &str) -> Option<Member> {
        self.pending_joins.remove(member_id);
        self.pending_syncs.remove(member_id);
        let member = self.members.remove(member_id)?;
        self.count_out(&member);
        if let Some(instance_id) = &member.instance_id {
            self.static_members.remove(instance_id);
        }
        if self.is_leader(member_id) {
            self.leader = self.members.keys().next().cloned();
        }
        Some(member)
    }

    fn count_in(&mut self, member: &Member) {
        for protocol in &member.protocols {
            *self.supported.entry(protocol.name.clone()).or_default() += 1;
        }
        self.joining += usize::from(member.join.is_some());
        self.footprint += member.footprint();
    }

    fn count_out(&mut self, member: &Member) {
        for protocol in &member.protocols {
            if let Some(count) = self.supported.get_mut(&protocol.name) {
                *count -= 1;
                if *count == 0 {
                    self.supported.remove(&protocol.name);
                }
            }
        }
        self.joining -= usize::from(member.join.is_some());
        self.footprint -= member.footprint();
    }

    /// A member's wait for the rebalance, ended.
    fn take_join(&mut self, member_id: &str) -> Option<Caller> {
        let caller = self.members.get_mut(member_id)?.join.take()?;
        self.joining -= 1;
        Some(caller)
    }

    fn all_have_joined(&self) -> bool {
        self.joining == self.members.len() && self.pending_joins.is_empty()
    }

    fn rebalance_timeout_ms(&self) -> i32 {
        self.members.values().map(|it| it.rebalance_timeout_ms).max().unwrap_or(0).max(0)
    }

    /// Whether a member with these protocols could be in the group together with all others.
    fn supports(&self, protocol_type: &str, protocols: &[Protocol]) -> bool {
        if self.state == State::Empty {
            return !protocol_type.is_empty() && !protocols.is_empty();
        }
        let by_all = |it: &Protocol| {
            self.supported.get(&it.name).copied().unwrap_or(0) == self.members.len()
        };
        self.protocol_type.as_deref() == Some(protocol_type) && protocols.iter().any(by_all)
    }

    /// The protocol that all members support and most of them like best; of equals the first by name.
    fn vote(&self) -> Option<String> {
        let candidate = |name: &str| self.supported.get(name) == Some(&self.members.len());
        let mut votes: BTreeMap<&str, usize> = BTreeMap::new();
        for member in self.members.values() {
            if let Some(first) = member.protocols.iter().find(|it| candidate(&it.name)) {
                *votes.entry(&first.name).or_default() += 1;
            }
        }
        let winner = votes.iter().rev().max_by_key(|(_, count)| **count)?;
        Some((*winner.0).to_owned())
    }
}

#[cfg(test)]
impl Group {
    /// What must hold between two steps.
    pub fn check_invariants(&self, timers: &Timers, durable: Option<&Generation>) {
        let waiting = self.members.values().filter(|it| it.join.is_some()).count();
        assert_eq!(self.joining, waiting, "{}: members that wait", self.id);
        let footprint: usize = self.members.values().map(Member::footprint).sum();
        assert_eq!(self.footprint, footprint, "{}: footprint", self.id);
        assert_eq!(self.leader.is_none(), self.members.is_empty(), "{}: a leader", self.id);
        for (instance_id, holder) in &self.static_members {
            assert_eq!(self.members[holder].instance_id.as_ref(), Some(instance_id));
        }
        for pending in &self.pending_joins {
            assert!(!self.members.contains_key(pending), "{pending} is pending and joined");
            assert!(timers.is_scheduled(&self.session(pending)), "{pending} never expires");
        }
        for (id, member) in &self.members {
            let excused = !member.is_new && (member.join.is_some() || member.sync.is_some());
            let watched = excused || timers.is_scheduled(&self.session(id));
            assert!(watched, "{}: {id} never expires", self.id);
            assert!(member.join.is_none() || self.state == State::PreparingRebalance);
            assert!(member.sync.is_none() || self.state == State::CompletingRebalance);
        }
        let join_timer = timers.is_scheduled(&Timer::Join(self.id.clone()));
        assert_eq!(join_timer, self.state == State::PreparingRebalance, "{}: join timer", self.id);
        match self.state {
            State::Empty => assert!(self.members.is_empty()),
            State::PreparingRebalance => {}
            State::CompletingRebalance => {
                assert!(!self.members.is_empty());
                let sync_timer = timers.is_scheduled(&Timer::Sync(self.id.clone()));
                assert!(sync_timer, "{}: sync timer", self.id);
            }
            State::Stable => {
                let stored = durable.expect("a stable group is stored");
                assert_eq!(stored.generation, self.generation);
                let stored: Vec<_> = stored.members.iter().map(|it| &*it.member_id).collect();
                let live: Vec<_> = self.members.keys().map(|it| &**it).collect();
                assert_eq!(stored, live, "{}: members", self.id);
                assert!(self.protocol.is_some() && self.protocol == self.vote());
            }
        }
    }
}
