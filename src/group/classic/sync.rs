//! SyncGroup: the leader's assignment, and the members that wait for it (Kafka: `classicGroupSync`).

use super::{Group, Id, State, Timer, Turn};
use crate::{
    group::command::{SyncGroup, Synced},
    machine::Caller,
    wire::ErrorCode,
};
use bytes::Bytes;
use std::collections::HashMap;

impl Group {
    /// Answers now, or when the leader has assigned.
    pub fn sync(&mut self, turn: &mut Turn<'_>, caller: Caller, request: SyncGroup) {
        if let Err(error) = self.check_sync(&request) {
            return turn.reply_sync(caller, Err(error));
        }
        self.pending_syncs.remove(&*request.member_id);
        if self.pending_syncs.is_empty() {
            turn.timers.cancel(Timer::Sync(self.id.clone()));
        }
        let Some(member) = self.members.get_mut(&*request.member_id) else { return };
        if self.state == State::Stable {
            let assignment = member.assignment.clone();
            return turn.reply_sync(caller, Ok(self.synced(assignment)));
        }
        // A repeated request takes the place of the earlier one, which Kafka never answers.
        if let Some(earlier) = member.sync.replace(caller) {
            turn.reply_sync(earlier, Err(ErrorCode::RebalanceInProgress));
        }
        if self.is_leader(&request.member_id) {
            self.assign(turn, request.assignments.into_iter().collect());
        }
    }

    fn check_sync(&self, request: &SyncGroup) -> Result<(), ErrorCode> {
        let differs = |asked: &Option<String>, ours: &Option<String>| {
            asked.as_ref().zip(ours.as_ref()).is_some_and(|(asked, ours)| asked != ours)
        };
        self.check_member(&request.member_id, request.instance_id.as_deref())?;
        if request.generation != self.generation {
            return Err(ErrorCode::IllegalGeneration);
        }
        if differs(&request.protocol_type, &self.protocol_type)
            || differs(&request.protocol, &self.protocol)
        {
            return Err(ErrorCode::InconsistentGroupProtocol);
        }
        match self.state {
            State::Empty => Err(ErrorCode::UnknownMemberId),
            State::PreparingRebalance => Err(ErrorCode::RebalanceInProgress),
            State::CompletingRebalance | State::Stable => Ok(()),
        }
    }

    /// Stores the generation and answers everyone who waits. Members the leader forgot get nothing.
    fn assign(&mut self, turn: &mut Turn<'_>, assignments: HashMap<String, Bytes>) {
        let share = |id: &Id| assignments.get(&**id).cloned().unwrap_or_default();
        let record = self.record(|id, _| share(id));
        if !turn.settings.fits(&record) {
            self.fail_syncs(turn, ErrorCode::UnknownServerError);
            return self.prepare_rebalance(turn);
        }
        turn.out.write(record);
        for (id, member) in &mut self.members {
            member.assignment = share(id);
        }
        self.answer_syncs(turn);
        self.enter(turn, State::Stable);
    }

    fn answer_syncs(&mut self, turn: &mut Turn<'_>) {
        for id in self.members.keys().cloned().collect::<Vec<Id>>() {
            let Some(member) = self.members.get_mut(&id) else { continue };
            if let Some(caller) = member.sync.take() {
                let assignment = member.assignment.clone();
                turn.reply_sync(caller, Ok(self.synced(assignment)));
                self.renew_session(turn, &id);
            }
        }
    }

    /// No assignment comes of this generation.
    pub(super) fn fail_syncs(&mut self, turn: &mut Turn<'_>, error: ErrorCode) {
        for id in self.members.keys().cloned().collect::<Vec<Id>>() {
            let Some(member) = self.members.get_mut(&id) else { continue };
            member.assignment = Bytes::new();
            if let Some(caller) = member.sync.take() {
                turn.reply_sync(caller, Err(error));
                self.renew_session(turn, &id);
            }
        }
    }

    fn synced(&self, assignment: Bytes) -> Synced {
        Synced {
            protocol_type: self.protocol_type.clone(),
            protocol: self.protocol.clone(),
            assignment,
        }
    }
}
