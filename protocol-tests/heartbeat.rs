//! Heartbeat: v0-4.

use crate::codes::{
    ILLEGAL_GENERATION, INVALID_GROUP_ID, NONE, REBALANCE_IN_PROGRESS, UNKNOWN_MEMBER_ID,
};
use crate::fixtures::{group, unique};
use crate::members::{JOIN, Member, heartbeat, two_joined};

#[test]
fn every_version() {
    let group = group("heartbeat");
    let member = Member::alone(&group, b"1");
    for version in 0..=4 {
        assert_eq!(heartbeat(version, &group, &member.id, 1), NONE, "v{version}");
        for generation in [0, 2, -1] {
            let code = heartbeat(version, &group, &member.id, generation);
            assert_eq!(code, ILLEGAL_GENERATION, "v{version} {generation}");
        }
        assert_eq!(heartbeat(version, &group, "x", 1), UNKNOWN_MEMBER_ID, "v{version}");
        let unknown = unique("heartbeat-unknown");
        assert_eq!(heartbeat(version, &unknown, "x", 1), UNKNOWN_MEMBER_ID, "v{version}");
        assert_eq!(heartbeat(version, "", "x", 1), INVALID_GROUP_ID, "v{version}");
    }
}

/// Preparing: 27, so that the member joins. Completing: 0, for it has joined.
#[test]
fn by_the_groups_state() {
    let group = group("heartbeat-state");
    let mut first = Member::alone(&group, b"1");
    let mut second = Member::new(&group);
    assert_eq!(second.heartbeat(), UNKNOWN_MEMBER_ID, "an id alone is no member");
    let request = second.join_request();
    let waiting = second.client.send(JOIN, &request);
    first.until_rebalance();
    assert_eq!(heartbeat(3, &group, &second.id, 1), REBALANCE_IN_PROGRESS);
    first.join();
    let response =
        second.client.receive::<kafka_protocol::messages::JoinGroupRequest>(JOIN, waiting);
    second.joined(response);
    assert_eq!((first.heartbeat(), second.heartbeat()), (NONE, NONE), "completing");
    assert_eq!(heartbeat(3, &group, &first.id, 1), ILLEGAL_GENERATION);
}

#[test]
fn of_an_empty_group() {
    let group = group("heartbeat-empty");
    let mut member = Member::alone(&group, b"1");
    member.leave();
    assert_eq!(member.heartbeat(), UNKNOWN_MEMBER_ID);
}

/// Members that do not sync hold up nobody's heartbeat.
#[test]
fn while_completing() {
    let group = group("heartbeat-completing");
    let (mut leader, mut follower) = two_joined(&group);
    for _ in 0..3 {
        assert_eq!((leader.heartbeat(), follower.heartbeat()), (NONE, NONE));
    }
}
