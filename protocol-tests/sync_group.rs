//! SyncGroup: v0-5.

use kafka_protocol::messages::SyncGroupRequest;

use crate::client::{call, text};
use crate::codes::{
    ILLEGAL_GENERATION, INCONSISTENT_GROUP_PROTOCOL, INVALID_GROUP_ID, NONE, REBALANCE_IN_PROGRESS,
    UNKNOWN_MEMBER_ID,
};
use crate::fixtures::{group, unique};
use crate::members::{JOIN, Member, two_joined, two_stable};

fn with_protocol(version: i16, request: SyncGroupRequest) -> SyncGroupRequest {
    if version < 5 {
        return request;
    }
    request.with_protocol_type(Some(text("consumer"))).with_protocol_name(Some(text("range")))
}

#[test]
fn every_version_assigns() {
    for version in 0..=5 {
        let group = group("sync");
        let mut member = Member::new(&group);
        member.join();
        let id = member.id.clone();
        let request = with_protocol(version, member.sync_request(&[(&id, b"mine")]));
        for round in ["first", "again, when stable"] {
            let response = member.client.call(version, &request);
            assert_eq!(response.error_code, NONE, "v{version} {round}");
            assert_eq!(&*response.assignment, b"mine", "v{version} {round}");
            if version >= 5 {
                assert_eq!(response.protocol_type.as_deref(), Some("consumer"), "v{version}");
                assert_eq!(response.protocol_name.as_deref(), Some("range"), "v{version}");
            }
        }
    }
}

/// Followers wait for the leader; who is assigned nothing gets no bytes.
#[test]
fn followers_wait_for_the_leader() {
    for (theirs, expected) in [(true, &b"two"[..]), (false, b"")] {
        let group = group("sync-two");
        let (mut leader, mut follower) = two_joined(&group);
        let request = follower.sync_request(&[]);
        let waiting = follower.client.send(3, &request);
        let (own, other) = (leader.id.clone(), follower.id.clone());
        let mut assignments = vec![(&*own, &b"one"[..])];
        if theirs {
            assignments.push((&*other, b"two"));
        }
        let request = leader.sync_request(&assignments);
        assert_eq!(&*leader.client.call(3, &request).assignment, b"one");
        let response = follower.client.receive::<SyncGroupRequest>(3, waiting);
        assert_eq!((response.error_code, &*response.assignment), (NONE, expected));
    }
}

#[test]
fn requests_that_are_refused() {
    let group = group("sync-refused");
    let (mut leader, _follower) = two_stable(&group);
    let good = leader.sync_request(&[]);
    let cases = [
        ("an old generation", good.clone().with_generation_id(1), ILLEGAL_GENERATION),
        ("a coming generation", good.clone().with_generation_id(3), ILLEGAL_GENERATION),
        ("an unknown member", good.clone().with_member_id(text("x")), UNKNOWN_MEMBER_ID),
        (
            "an unknown group",
            good.clone().with_group_id(text(&unique("sync-x")).into()),
            UNKNOWN_MEMBER_ID,
        ),
        ("no group", good.clone().with_group_id(text("").into()), INVALID_GROUP_ID),
    ];
    for (what, request, expected) in cases {
        let response = leader.client.call(3, &request);
        assert_eq!((response.error_code, response.assignment.len()), (expected, 0), "{what}");
    }
    let protocol = |kind: Option<&str>, name: Option<&str>| {
        let request =
            good.clone().with_protocol_type(kind.map(text)).with_protocol_name(name.map(text));
        call(5, &request).error_code
    };
    assert_eq!(protocol(Some("consumer"), Some("range")), NONE);
    assert_eq!(protocol(Some("connect"), Some("range")), INCONSISTENT_GROUP_PROTOCOL);
    assert_eq!(protocol(Some("consumer"), Some("sticky")), INCONSISTENT_GROUP_PROTOCOL);
    assert_eq!(protocol(None, None), INCONSISTENT_GROUP_PROTOCOL, "v5 must name both");
}

#[test]
fn during_a_rebalance() {
    let group = group("sync-rebalance");
    let mut first = Member::alone(&group, b"1");
    let mut second = Member::new(&group);
    let request = second.join_request();
    second.client.send(JOIN, &request);
    first.until_rebalance();
    let request = first.sync_request(&[]);
    assert_eq!(first.client.call(3, &request).error_code, REBALANCE_IN_PROGRESS);
}

/// A waiting follower is told when a new rebalance starts.
#[test]
fn a_rebalance_ends_the_wait() {
    let group = group("sync-wait");
    let (_leader, mut follower) = two_joined(&group);
    let request = follower.sync_request(&[]);
    let waiting = follower.client.send(3, &request);
    let mut third = Member::new(&group);
    let request = third.join_request();
    third.client.send(JOIN, &request);
    let response = follower.client.receive::<SyncGroupRequest>(3, waiting);
    assert_eq!(response.error_code, REBALANCE_IN_PROGRESS);
}
