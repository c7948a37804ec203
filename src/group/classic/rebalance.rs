//! From "someone came, went or changed" to the next generation (Kafka: `prepareRebalance`, `completeClassicGroupJoin`).

use super::{Group, Id, InitialDelay, State, Timer, Turn};
use crate::wire::ErrorCode;
use bytes::Bytes;
use tracing::info;

impl Group {
    /// Begins a rebalance, or sees whether the one that goes on is complete.
    pub(super) fn rebalance_or_complete(&mut self, turn: &mut Turn<'_>) {
        if self.state == State::PreparingRebalance {
            self.complete_join_if_ready(turn);
        } else {
            self.prepare_rebalance(turn);
        }
    }

    /// Asks all members to join. A group that was empty waits a while for others to come.
    pub(super) fn prepare_rebalance(&mut self, turn: &mut Turn<'_>) {
        if self.state == State::CompletingRebalance {
            self.fail_syncs(turn, ErrorCode::RebalanceInProgress);
        }
        self.pending_syncs.clear();
        turn.timers.cancel(Timer::Sync(self.id.clone()));

        if self.state == State::Empty {
            let delay_ms = turn.settings.group_initial_rebalance_delay_ms.max(0);
            let remaining_ms = (self.rebalance_timeout_ms() - delay_ms).max(0);
            let delay = InitialDelay { delay_ms, remaining_ms, member_added: false };
            self.initial_delay = Some(delay);
            self.enter(turn, State::PreparingRebalance);
            turn.schedule(Timer::Join(self.id.clone()), delay_ms);
        } else {
            self.initial_delay = None;
            self.enter(turn, State::PreparingRebalance);
            if self.all_have_joined() {
                self.complete_join(turn);
            } else {
                turn.schedule(Timer::Join(self.id.clone()), self.rebalance_timeout_ms());
            }
        }
    }

    /// Completes the rebalance if nobody is missing; the initial delay is waited out.
    pub(super) fn complete_join_if_ready(&mut self, turn: &mut Turn<'_>) {
        let waits_for_time = self.initial_delay.is_some();
        if self.state == State::PreparingRebalance && !waits_for_time && self.all_have_joined() {
            self.complete_join(turn);
        }
    }

    /// The time to join is over.
    pub fn join_timeout(&mut self, turn: &mut Turn<'_>) {
        if let Some(delay) = &mut self.initial_delay
            && delay.member_added
            && delay.remaining_ms > 0
        {
            let next_ms =
                turn.settings.group_initial_rebalance_delay_ms.max(0).min(delay.remaining_ms);
            delay.remaining_ms = (delay.remaining_ms - delay.delay_ms).max(0);
            delay.delay_ms = next_ms;
            delay.member_added = false;
            return turn.schedule(Timer::Join(self.id.clone()), next_ms);
        }
        self.complete_join(turn);
    }

    /// Goes on with those that have joined. Static members stay although they have not: their session decides.
    pub(super) fn complete_join(&mut self, turn: &mut Turn<'_>) {
        turn.timers.cancel(Timer::Join(self.id.clone()));
        let late =
            self.members.iter().filter(|(_, it)| it.join.is_none() && it.instance_id.is_none());
        for id in late.map(|(id, _)| id.clone()).collect::<Vec<Id>>() {
            turn.timers.cancel(self.session(&id));
            self.remove(&id);
        }
        if !self.members.is_empty() && !self.elect_joined_leader() {
            // Nobody could assign: sessions end, or someone joins.
            if let Some(delay) = &mut self.initial_delay {
                delay.remaining_ms = 0;
            }
            return turn.schedule(Timer::Join(self.id.clone()), self.rebalance_timeout_ms());
        }
        self.initial_delay = None;
        self.generation = self.generation.saturating_add(1);
        self.pending_syncs.clear();
        self.protocol = self.vote();
        self.subscribed = self.subscriptions();
        let (generation, members) = (self.generation, self.members.len());
        info!(group = &*self.id, generation, members, "a generation begins");
        if self.members.is_empty() {
            self.enter(turn, State::Empty);
            turn.out.write(self.record(|_, _| Bytes::new()));
        } else {
            self.enter(turn, State::CompletingRebalance);
            self.answer_joins(turn);
            turn.schedule(Timer::Sync(self.id.clone()), self.rebalance_timeout_ms());
        }
    }

    fn answer_joins(&mut self, turn: &mut Turn<'_>) {
        for id in self.members.keys().cloned().collect::<Vec<Id>>() {
            if let Some(caller) = self.take_join(&id) {
                turn.reply_join(caller, Ok(self.joined(&id)));
            }
            if let Some(member) = self.members.get_mut(&id) {
                member.is_new = false;
            }
            self.renew_session(turn, &id);
            self.pending_syncs.insert(id);
        }
    }

    /// The leader assigns, so it must be one that has joined. False: nobody has.
    fn elect_joined_leader(&mut self) -> bool {
        let has_joined = |id: &Id| self.members.get(id).is_some_and(|it| it.join.is_some());
        if !self.leader.as_ref().is_some_and(has_joined) {
            let joined = self.members.iter().find(|(_, it)| it.join.is_some());
            let Some((id, _)) = joined else { return false };
            self.leader = Some(id.clone());
        }
        true
    }
}
