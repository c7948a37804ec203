//! JoinGroup: new, static and returning members (Kafka: `classicGroupJoin*`).
//!
//! A member that joins again while it still waits takes its earlier request's place, and that one is told to retry. Kafka
//! never answers it.

use super::{Group, Id, Member, State, Turn};
use crate::{
    group::command::{JoinGroup, Joined, JoinedMember, Protocol},
    limits::{GROUP_MEMBER_BYTES_MAX, GROUP_MEMBERS_MAX},
    machine::Caller,
    wire::ErrorCode,
};

/// How long a new member may wait for its first rebalance to complete; it has no id yet that it could send heartbeats
/// with, and its connection's end is not noticed while its request is parked.
const NEW_MEMBER_JOIN_TIMEOUT_MS: i32 = 5 * 60 * 1000;

impl Group {
    /// Takes a member in, or on; answers now or when the rebalance completes.
    pub fn join(&mut self, turn: &mut Turn<'_>, caller: Caller, request: JoinGroup) {
        if !self.has_room(turn, &request) {
            self.drop_member(turn, &request.member_id, ErrorCode::GroupMaxSizeReached);
            turn.refuse_join(caller, ErrorCode::GroupMaxSizeReached, "");
        } else if !self.supports(&request.protocol_type, &request.protocols) {
            let error = ErrorCode::InconsistentGroupProtocol;
            turn.refuse_join(caller, error, &request.member_id);
        } else if request.member_id.is_empty() {
            self.join_new(turn, caller, request);
        } else {
            self.join_again(turn, caller, request);
        }
    }

    /// Whether one more fits: by `group.max.size`, where members that are already counted go on, and by our own bounds.
    fn has_room(&self, turn: &Turn<'_>, request: &JoinGroup) -> bool {
        let max = turn.settings.group_max_size();
        let member = self.members.get(&*request.member_id);
        let by_setting = match self.state {
            State::Empty => true,
            // Those that wait are counted, so that a group above a lowered limit loses the last to come back.
            State::PreparingRebalance => {
                member.is_some_and(|it| it.join.is_some()) || self.joining < max
            }
            State::CompletingRebalance | State::Stable => {
                member.is_some() || self.members.len() < max
            }
        };
        let count = self.members.len() + self.pending_joins.len();
        let known = member.is_some() || self.pending_joins.contains(&*request.member_id);
        let size: usize = request.protocols.iter().map(|it| it.metadata.len()).sum();
        by_setting
            && (known || count < GROUP_MEMBERS_MAX)
            && self.footprint + size <= GROUP_MEMBER_BYTES_MAX
    }

    fn join_new(&mut self, turn: &mut Turn<'_>, caller: Caller, request: JoinGroup) {
        let name = request.instance_id.as_deref().unwrap_or(&request.client_id);
        let id: Id = format!("{name}-{}", request.uuid).into();
        if let Some(instance_id) = &request.instance_id {
            match self.static_members.get(instance_id).cloned() {
                Some(holder) => self.replace_static(turn, caller, &holder, id, request),
                None => self.add_and_rebalance(turn, caller, id, request),
            }
        } else if request.requires_known_member_id {
            turn.schedule(self.session(&id), request.session_timeout_ms);
            turn.refuse_join(caller, ErrorCode::MemberIdRequired, &id);
            self.pending_joins.insert(id);
        } else {
            self.add_and_rebalance(turn, caller, id, request);
        }
    }

    fn join_again(&mut self, turn: &mut Turn<'_>, caller: Caller, request: JoinGroup) {
        if let Some(id) = self.pending_joins.get(&*request.member_id).cloned() {
            // A pending id is a dynamic member's: a static one is never asked to come back with an id.
            if request.instance_id.is_some() {
                turn.refuse_join(caller, ErrorCode::UnknownServerError, &request.member_id);
            } else {
                self.add_and_rebalance(turn, caller, id, request);
            }
            return;
        }
        if let Err(error) = self.check_member(&request.member_id, request.instance_id.as_deref()) {
            return turn.refuse_join(caller, error, &request.member_id);
        }
        let unchanged = self
            .members
            .get(&*request.member_id)
            .is_some_and(|member| member.protocols == request.protocols);
        let is_leader = self.is_leader(&request.member_id);
        match self.state {
            // The answer to its first request got lost.
            State::CompletingRebalance if unchanged => {
                turn.reply_join(caller, Ok(self.joined(&request.member_id)));
            }
            // A leader joins again to have the partitions assigned anew, whatever else has not changed.
            State::Stable if unchanged && !is_leader => {
                turn.reply_join(caller, Ok(self.joined(&request.member_id)));
            }
            _ => {
                self.update_member(turn, Some(caller), request);
                self.rebalance_or_complete(turn);
            }
        }
    }

    fn add_and_rebalance(
        &mut self,
        turn: &mut Turn<'_>,
        caller: Caller,
        id: Id,
        request: JoinGroup,
    ) {
        if let Some(delay) = &mut self.initial_delay {
            delay.member_added = true;
        }
        if self.members.is_empty() {
            self.protocol_type = Some(request.protocol_type);
        }
        let member = Member {
            instance_id: request.instance_id,
            client_id: request.client_id,
            client_host: request.client_host,
            rebalance_timeout_ms: request.rebalance_timeout_ms,
            session_timeout_ms: request.session_timeout_ms,
            protocols: request.protocols,
            assignment: Default::default(),
            join: Some(caller),
            sync: None,
            is_new: true,
        };
        turn.schedule(self.session(&id), NEW_MEMBER_JOIN_TIMEOUT_MS);
        self.add(id, member);
        self.rebalance_or_complete(turn);
    }

    /// What a member says now replaces what it said before.
    fn update_member(&mut self, turn: &mut Turn<'_>, caller: Option<Caller>, request: JoinGroup) {
        let Some((id, mut member)) = self.members.remove_entry(&*request.member_id) else { return };
        self.count_out(&member);
        if let Some(earlier) = member.join.take() {
            turn.refuse_join(earlier, ErrorCode::RebalanceInProgress, &id);
        }
        member.join = caller;
        member.protocols = request.protocols;
        member.rebalance_timeout_ms = request.rebalance_timeout_ms;
        member.session_timeout_ms = request.session_timeout_ms;
        self.count_in(&member);
        self.members.insert(id, member);
    }

    /// A static member came back without its id (it was restarted): it gets a new one and whoever uses the old one is
    /// fenced (KIP-345). A stable group is not disturbed by it unless another protocol would win.
    fn replace_static(
        &mut self,
        turn: &mut Turn<'_>,
        caller: Caller,
        old_id: &Id,
        new_id: Id,
        request: JoinGroup,
    ) {
        let leader_before = self.leader.as_ref().map(|it| it.to_string()).unwrap_or_default();
        let can_skip_assignment = request.can_skip_assignment;
        let before = self.members.get(old_id).cloned();
        self.rename_member(turn, old_id, &new_id);
        let parked = (self.state == State::PreparingRebalance).then_some(caller);
        let request = JoinGroup { member_id: new_id.to_string(), ..request };
        self.update_member(turn, parked, request);
        match self.state {
            State::PreparingRebalance => self.complete_join_if_ready(turn),
            State::Stable if self.vote() == self.protocol => {
                let record = self.record(|_, member| member.assignment.clone());
                if !turn.settings.fits(&record) {
                    self.rename_member(turn, &new_id, old_id);
                    if let Some(before) = before {
                        self.restore_member(old_id, before);
                    }
                    return turn.refuse_join(caller, ErrorCode::UnknownServerError, "");
                }
                turn.out.write(record);
                let mut joined = self.joined(&new_id);
                joined.skip_assignment = can_skip_assignment && self.is_leader(&new_id);
                if !can_skip_assignment {
                    // The old id, so that it does not take itself for the leader, which would have to assign.
                    joined.leader = leader_before;
                    joined.members.clear();
                }
                turn.reply_join(caller, Ok(joined));
            }
            // While members sync the leader may already have seen the old id, and would assign to nobody.
            State::Stable | State::CompletingRebalance | State::Empty => {
                if let Some(member) = self.members.get_mut(&new_id) {
                    member.join = Some(caller);
                    self.joining += 1;
                }
                self.rebalance_or_complete(turn);
            }
        }
    }

    fn rename_member(&mut self, turn: &mut Turn<'_>, old_id: &Id, new_id: &Id) {
        let Some(mut member) = self.members.remove(old_id) else { return };
        self.count_out(&member);
        if let Some(caller) = member.join.take() {
            turn.refuse_join(caller, ErrorCode::FencedInstanceId, old_id);
        }
        if let Some(caller) = member.sync.take() {
            turn.reply_sync(caller, Err(ErrorCode::FencedInstanceId));
        }
        member.is_new = false;
        self.count_in(&member);
        if let Some(instance_id) = &member.instance_id {
            self.static_members.insert(instance_id.clone(), new_id.clone());
        }
        if self.is_leader(old_id) {
            self.leader = Some(new_id.clone());
        }
        if self.pending_syncs.remove(old_id) {
            self.pending_syncs.insert(new_id.clone());
        }
        turn.timers.cancel(self.session(old_id));
        turn.schedule(self.session(new_id), member.session_timeout_ms);
        self.members.insert(new_id.clone(), member);
    }

    fn restore_member(&mut self, id: &Id, before: Member) {
        if let Some(member) = self.members.remove(id) {
            self.count_out(&member);
            self.count_in(&before);
            self.members.insert(id.clone(), before);
        }
    }

    /// The current generation as `member_id` is told of it: all members for the leader, none for others.
    pub(super) fn joined(&self, member_id: &str) -> Joined {
        let protocol = self.protocol.as_deref().unwrap_or_default();
        let all = self.members.iter().map(|(id, member)| JoinedMember {
            member_id: id.to_string(),
            instance_id: member.instance_id.clone(),
            metadata: member.metadata(protocol),
        });
        Joined {
            generation: self.generation,
            protocol_type: self.protocol_type.clone(),
            protocol: self.protocol.clone(),
            leader: self.leader.as_ref().map(|it| it.to_string()).unwrap_or_default(),
            skip_assignment: false,
            member_id: member_id.to_owned(),
            members: if self.is_leader(member_id) { all.collect() } else { Vec::new() },
        }
    }
}

/// Of several protocols with one name the first counts.
pub(in crate::group) fn without_repeats(protocols: &mut Vec<Protocol>) {
    let mut seen = std::collections::BTreeSet::new();
    protocols.retain(|it| seen.insert(it.name.clone()));
}
