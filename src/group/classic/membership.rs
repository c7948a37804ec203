//! Members that go: LeaveGroup, sessions that end, members that joined and never synced (Kafka: `classicGroupLeave`,
//! `expireClassicGroupMemberHeartbeat`, `expirePendingSync`).

use super::{Group, Id, State, Turn};
use crate::{
    group::command::{LeavingMember, LeftMember},
    wire::ErrorCode,
};

impl Group {
    /// Lets members go; what is left of the group rebalances once.
    pub fn leave(&mut self, turn: &mut Turn<'_>, members: Vec<LeavingMember>) -> Vec<LeftMember> {
        let left = members.into_iter().map(|it| {
            let result = self.leave_one(turn, &it);
            LeftMember { member_id: it.member_id, instance_id: it.instance_id, result }
        });
        let left: Vec<_> = left.collect();
        if left.iter().any(|it| it.result.is_ok()) && self.state != State::Empty {
            self.rebalance_or_complete(turn);
        }
        left
    }

    fn leave_one(&mut self, turn: &mut Turn<'_>, leaving: &LeavingMember) -> Result<(), ErrorCode> {
        let id = if leaving.member_id.is_empty() {
            // An admin removes a static member by its instance id alone.
            let holder = leaving.instance_id.as_ref().and_then(|it| self.static_members.get(it));
            holder.cloned().ok_or(ErrorCode::UnknownMemberId)?
        } else {
            let id: Id = leaving.member_id.as_str().into();
            if !self.pending_joins.contains(&id) {
                self.check_member(&id, leaving.instance_id.as_deref())?;
            }
            id
        };
        self.drop_member(turn, &id, ErrorCode::UnknownMemberId);
        Ok(())
    }

    /// The member was not heard of within its session. One that waits for others is alive as long as it waits.
    pub fn session_timeout(&mut self, turn: &mut Turn<'_>, member_id: &Id) {
        if let Some(member) = self.members.get(member_id) {
            if !member.is_new && (member.join.is_some() || member.sync.is_some()) {
                return;
            }
        } else if !self.pending_joins.contains(member_id) {
            return;
        }
        let was_pending = !self.members.contains_key(member_id);
        self.drop_member(turn, member_id, ErrorCode::UnknownMemberId);
        match self.state {
            State::PreparingRebalance if self.all_have_joined() => self.complete_join(turn),
            State::CompletingRebalance | State::Stable if !was_pending => {
                self.prepare_rebalance(turn)
            }
            _ => {}
        }
    }

    /// Members of this generation have not asked for their share in time.
    pub fn sync_timeout(&mut self, turn: &mut Turn<'_>) {
        let late = std::mem::take(&mut self.pending_syncs);
        for id in &late {
            self.drop_member(turn, id, ErrorCode::UnknownMemberId);
        }
        if !late.is_empty() {
            self.prepare_rebalance(turn);
        }
    }

    /// Takes a member or a pending one out, with its timer; whoever waits in its name is told `error`.
    pub(super) fn drop_member(&mut self, turn: &mut Turn<'_>, member_id: &str, error: ErrorCode) {
        turn.timers.cancel(self.session(&member_id.into()));
        let Some(member) = self.remove(member_id) else { return };
        if let Some(caller) = member.join {
            turn.refuse_join(caller, error, "");
        }
        if let Some(caller) = member.sync {
            turn.reply_sync(caller, Err(error));
        }
    }
}
