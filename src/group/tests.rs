//! Transcripts of the coordinator. Answers are those of Kafka 4.1.1 in the same situation.

use super::{
    GroupMachine, Settings,
    command::{
        Command, CommittedOffset, Heartbeat, JoinGroup, LeavingMember, OffsetCommit, Protocol,
        SyncGroup,
    },
    machine::Event,
};
use crate::machine::{Batch, Machine, script::Script};
use bytes::Bytes;
use expect_test::{Expect, expect};
use std::collections::BTreeMap;
use uuid::Uuid;

mod offsets;
mod random;
mod restart;
mod states;
mod static_members;

/// No initial delay, so that a first member joins at once.
fn settings() -> Settings {
    Settings { group_initial_rebalance_delay_ms: 0, ..Settings::default() }
}

/// A machine that has just been elected over nothing.
fn script(settings: Settings) -> Script<GroupMachine> {
    let mut script = Script::new(GroupMachine::new(settings));
    script.elected(1).unchecked();
    script
}

/// Metadata of a consumer of `topics`.
fn subscription(topics: &[&str]) -> Bytes {
    let mut bytes = vec![0, 0];
    bytes.extend((topics.len() as i32).to_be_bytes());
    for topic in topics {
        bytes.extend((topic.len() as i16).to_be_bytes());
        bytes.extend(topic.as_bytes());
    }
    bytes.extend([0; 4]);
    bytes.into()
}

/// A consumer of group `g` with session and rebalance timeout 10 s, as a client below v4 joins.
fn join(member_id: &str) -> JoinGroup {
    JoinGroup {
        group: "g".into(),
        member_id: member_id.into(),
        instance_id: None,
        client_id: "c".into(),
        client_host: "/127.0.0.1".into(),
        session_timeout_ms: 10_000,
        rebalance_timeout_ms: 10_000,
        protocol_type: "consumer".into(),
        protocols: vec![protocol("range", "r")],
        requires_known_member_id: false,
        can_skip_assignment: false,
        uuid: Uuid::nil(),
    }
}

fn protocol(name: &str, metadata: &str) -> Protocol {
    Protocol { name: name.into(), metadata: Bytes::copy_from_slice(metadata.as_bytes()) }
}

/// Ids of new members: `c-1`, `c-2`, ... in full.
fn id(number: u128) -> String {
    format!("c-{}", Uuid::from_u128(number))
}

/// The number of the new member stands in its id.
fn new_member(number: u128) -> Command {
    Command::Join(JoinGroup { uuid: Uuid::from_u128(number), ..join("") })
}

fn rejoin(number: u128) -> Command {
    Command::Join(join(&id(number)))
}

fn sync(number: u128, generation: i32, assignments: &[(u128, &'static str)]) -> Command {
    let share = |(number, share): &(u128, &'static str)| {
        (id(*number), Bytes::from_static(share.as_bytes()))
    };
    Command::Sync(SyncGroup {
        group: "g".into(),
        member_id: id(number),
        instance_id: None,
        generation,
        protocol_type: None,
        protocol: None,
        assignments: assignments.iter().map(share).collect(),
    })
}

fn heartbeat(number: u128, generation: i32) -> Command {
    let (group, member_id) = ("g".into(), id(number));
    Command::Heartbeat(Heartbeat { group, member_id, instance_id: None, generation })
}

fn leave(member_id: &str) -> Command {
    let members = vec![LeavingMember { member_id: member_id.into(), instance_id: None }];
    Command::Leave { group: "g".into(), members }
}

fn commit(member_id: &str, generation: i32) -> Command {
    Command::Commit(commit_of("g", member_id, generation))
}

fn commit_of(group: &str, member_id: &str, generation: i32) -> OffsetCommit {
    let offset =
        CommittedOffset { partition: 0, offset: 5, leader_epoch: -1, metadata: "m".into() };
    OffsetCommit {
        group: group.into(),
        member_id: member_id.into(),
        instance_id: None,
        generation,
        retention_ms: -1,
        knows_group_id_not_found: true,
        topics: vec![("t".into(), vec![offset])],
        topic_ids: BTreeMap::new(),
    }
}

fn describe() -> Command {
    Command::Describe { groups: vec!["g".into()] }
}

/// Short ids, so that transcripts can be read.
trait Check {
    fn shows(&mut self, expected: Expect) -> &mut Self;
}

impl Check for Script<GroupMachine> {
    fn shows(&mut self, expected: Expect) -> &mut Self {
        self.machine().check_invariants();
        let text = self.transcript().replace("-00000000-0000-0000-0000-00000000000", "-");
        self.unchecked();
        expected.assert_eq(&text);
        self
    }
}

/// What a restart makes of everything written.
fn restarted(script: &Script<GroupMachine>, settings: Settings) -> Script<GroupMachine> {
    let replayed = script.replayed(GroupMachine::new(settings));
    assert_eq!(replayed.durable(), script.machine().durable(), "replay equals live");
    Script::new(replayed)
}
