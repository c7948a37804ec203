//! Members of two groups, and offsets that are committed by them and by hand.

use super::{checks::History, clients::some_partition, node::Node, random::Random};
use crate::{
    group::command::{
        Command, CommittedOffset, Heartbeat, JoinGroup, LeavingMember, OffsetCommit, Protocol,
        Reply, SyncGroup,
    },
    machine::runner::CallError,
    wire::ErrorCode,
};
use bytes::Bytes;
use std::collections::BTreeMap;

const GROUPS: [&str; 2] = ["a", "b"];
/// Nobody joins it.
const BY_HAND: &str = "hand";

#[derive(Debug, Clone)]
enum State {
    Out,
    Joined { generation: i32, members: Vec<String> },
    Stable { generation: i32 },
}

#[derive(Debug)]
struct Member {
    group: &'static str,
    instance_id: Option<String>,
    id: String,
    state: State,
    /// The call it waits for.
    waits: Option<u64>,
}

type Key = (String, String, i32);

/// What a call that is not a member's own was about.
enum Asked {
    Committed(Key, u64),
    Fetched(Key, u64),
}

pub struct Members {
    members: Vec<Member>,
    asked: BTreeMap<u64, Asked>,
    next_value: i64,
}

impl Members {
    pub fn new() -> Members {
        let member = |at: usize| Member {
            group: GROUPS[at % 2],
            instance_id: (at > 3).then(|| format!("static-{at}")),
            id: String::new(),
            state: State::Out,
            waits: None,
        };
        Members { members: (0..6).map(member).collect(), asked: BTreeMap::new(), next_value: 1 }
    }

    pub fn act(
        &mut self,
        node: &mut Node,
        random: &mut Random,
        history: &mut History,
        call: u64,
    ) -> String {
        let at = random.below(self.members.len() + 4);
        let command = if at < self.members.len() {
            let member = &self.members[at];
            if member.waits.is_some() {
                return "a member waits".to_owned();
            }
            match &member.state {
                State::Out => member.join(random),
                State::Joined { generation, members } => member.sync(random, *generation, members),
                State::Stable { generation } => match random.below(10) {
                    0..3 => member.heartbeat(*generation),
                    3..8 => {
                        let (group, id) = (member.group, member.id.clone());
                        let instance_id = member.instance_id.clone();
                        let who = (group, id, instance_id, *generation);
                        return self.commit(node, random, history, call, who);
                    }
                    8 => member.leave(),
                    _ => member.join(random),
                },
            }
        } else if at < self.members.len() + 2 {
            let who = (BY_HAND, String::new(), None, -1);
            return self.commit(node, random, history, call, who);
        } else {
            let group = *random.pick(&[GROUPS[0], GROUPS[1], BY_HAND]);
            let (topic, index) = some_partition(node, random);
            let key = (group.to_owned(), topic.to_owned(), index);
            self.asked.insert(call, Asked::Fetched(key.clone(), history.floor(&key)));
            let topics = Some(vec![(topic.to_owned(), vec![index])]);
            node.ask_group(call, Command::Fetch { group: group.to_owned(), topics });
            return format!("call {call}: offset of {key:?}?");
        };
        self.members[at].waits = Some(call);
        let what = format!("call {call}: {command:?}");
        node.ask_group(call, command);
        what
    }

    fn commit(
        &mut self,
        node: &mut Node,
        random: &mut Random,
        history: &mut History,
        call: u64,
        (group, member_id, instance_id, generation): (&str, String, Option<String>, i32),
    ) -> String {
        let (topic, partition) = some_partition(node, random);
        let Some(topic_id) = node.process.image.topic(topic).map(|it| it.id) else {
            return "no topic to commit for".to_owned();
        };
        let key = (group.to_owned(), topic.to_owned(), partition);
        let offset = self.next_value;
        self.next_value += 1;
        let at = history.commit_sent(key.clone(), offset);
        self.asked.insert(call, Asked::Committed(key, at));
        let committed =
            CommittedOffset { partition, offset, leader_epoch: -1, metadata: String::new() };
        let command = Command::Commit(OffsetCommit {
            group: group.to_owned(),
            member_id,
            instance_id,
            generation,
            retention_ms: -1,
            knows_group_id_not_found: true,
            topics: vec![(topic.to_owned(), vec![committed])],
            topic_ids: [(topic.to_owned(), topic_id)].into(),
        });
        let what = format!("call {call}: {command:?}");
        node.ask_group(call, command);
        what
    }

    pub fn receive(
        &mut self,
        history: &mut History,
        life: u64,
        call: u64,
        answer: Result<Reply, CallError>,
    ) {
        match self.asked.remove(&call) {
            Some(Asked::Committed(key, at)) => {
                if let Ok(Reply::Commit(results)) = answer
                    && results[0].1[0].1.is_ok()
                {
                    history.commit_answered(&key, at);
                }
                return;
            }
            Some(Asked::Fetched(key, floor)) => {
                if let Ok(Reply::Fetch(Ok(topics))) = answer {
                    history.committed(&key, floor, topics[0].1[0].offset);
                }
                return;
            }
            None => {}
        }
        let Some(member) = self.members.iter_mut().find(|it| it.waits == Some(call)) else {
            return;
        };
        member.waits = None;
        let error = match answer {
            Ok(Reply::Join(Ok(joined))) => {
                let is_leader = joined.leader == joined.member_id;
                assert_eq!(is_leader, !joined.members.is_empty(), "only the leader sees all");
                history.joined(life, member.group, joined.generation, &joined.leader);
                member.id = joined.member_id;
                let members = joined.members.into_iter().map(|it| it.member_id).collect();
                member.state = State::Joined { generation: joined.generation, members };
                return;
            }
            Ok(Reply::Sync(Ok(synced))) => {
                if let State::Joined { generation, .. } = member.state {
                    history.synced(member.group, generation, &member.id, &synced.assignment);
                    member.state = State::Stable { generation };
                }
                return;
            }
            Ok(Reply::Heartbeat(Ok(()))) => return,
            Ok(Reply::Leave(_)) => {
                member.id.clear();
                member.state = State::Out;
                return;
            }
            Ok(Reply::Join(Err(refused))) => {
                if refused.error == ErrorCode::MemberIdRequired {
                    member.id = refused.member_id;
                }
                refused.error
            }
            Ok(Reply::Sync(Err(error)) | Reply::Heartbeat(Err(error))) => error,
            Ok(other) => panic!("{other:?} answers another question"),
            Err(_) => ErrorCode::NotCoordinator,
        };
        member.state = State::Out;
        if matches!(error, ErrorCode::UnknownMemberId | ErrorCode::FencedInstanceId) {
            member.id.clear();
        }
    }

    pub fn lost(&mut self) {
        self.asked.clear();
        for member in &mut self.members {
            if member.waits.take().is_some() {
                member.state = State::Out;
            }
        }
    }

    pub fn outstanding(&self) -> impl Iterator<Item = u64> {
        self.asked.keys().copied().chain(self.members.iter().filter_map(|it| it.waits))
    }
}

impl Member {
    fn join(&self, random: &mut Random) -> Command {
        Command::Join(JoinGroup {
            group: self.group.to_owned(),
            member_id: self.id.clone(),
            instance_id: self.instance_id.clone(),
            client_id: "c".to_owned(),
            client_host: "/127.0.0.1".to_owned(),
            session_timeout_ms: 6_000,
            rebalance_timeout_ms: 3_000,
            protocol_type: "consumer".to_owned(),
            protocols: vec![Protocol { name: "range".to_owned(), metadata: Bytes::new() }],
            requires_known_member_id: self.instance_id.is_none(),
            can_skip_assignment: false,
            uuid: random.uuid(),
        })
    }

    /// The leader gives everyone a share that nobody else ever had.
    fn sync(&self, random: &mut Random, generation: i32, members: &[String]) -> Command {
        let nonce = random.uuid();
        let share = |member: &String| (member.clone(), Bytes::from(format!("{member}/{nonce}")));
        Command::Sync(SyncGroup {
            group: self.group.to_owned(),
            member_id: self.id.clone(),
            instance_id: self.instance_id.clone(),
            generation,
            protocol_type: None,
            protocol: None,
            assignments: members.iter().map(share).collect(),
        })
    }

    fn heartbeat(&self, generation: i32) -> Command {
        Command::Heartbeat(Heartbeat {
            group: self.group.to_owned(),
            member_id: self.id.clone(),
            instance_id: self.instance_id.clone(),
            generation,
        })
    }

    fn leave(&self) -> Command {
        let member =
            LeavingMember { member_id: self.id.clone(), instance_id: self.instance_id.clone() };
        Command::Leave { group: self.group.to_owned(), members: vec![member] }
    }
}
