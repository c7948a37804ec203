//! JoinGroup: v0-9.

use std::time::{Duration, Instant};

use kafka_protocol::messages::JoinGroupRequest;

use crate::client::{Client, call, text};
use crate::codes::{
    FENCED_INSTANCE_ID, INCONSISTENT_GROUP_PROTOCOL, INVALID_GROUP_ID, INVALID_SESSION_TIMEOUT,
    MEMBER_ID_REQUIRED, NONE, UNKNOWN_MEMBER_ID,
};
use crate::fixtures::group;
use crate::members::{JOIN, Member, join_request, protocols, subscription, two_joined, two_stable};

fn without_rebalance_timeout(version: i16, request: JoinGroupRequest) -> JoinGroupRequest {
    if version == 0 { request.with_rebalance_timeout_ms(-1) } else { request }
}

/// Below v4 a member is in the group with its first request; from v4 on it must come back with the id it gets.
#[test]
fn every_version_joins() {
    for version in 0..=9 {
        let group = group("join");
        let mut client = Client::connect();
        let mut request = without_rebalance_timeout(version, join_request(&group, ""));
        if version >= 4 {
            let response = client.call(version, &request);
            assert_eq!(response.error_code, MEMBER_ID_REQUIRED, "v{version}");
            assert_eq!(response.generation_id, -1, "v{version}");
            assert_eq!((&*response.leader, response.members.len()), ("", 0), "v{version}");
            let name = if version < 7 { Some("") } else { None };
            assert_eq!(response.protocol_name.as_deref(), name, "v{version}");
            assert_eq!(response.protocol_type, None, "v{version}");
            request = request.with_member_id(response.member_id);
        }
        let response = client.call(version, &request);
        assert_eq!((response.error_code, response.generation_id), (NONE, 1), "v{version}");
        assert!(response.member_id.starts_with("protocol-tests-"), "v{version}: {response:?}");
        assert_eq!(response.member_id.len(), "protocol-tests-".len() + 36, "v{version}");
        assert_eq!(response.leader, response.member_id, "v{version}");
        assert_eq!(response.protocol_name.as_deref(), Some("range"), "v{version}");
        if version >= 7 {
            assert_eq!(response.protocol_type.as_deref(), Some("consumer"), "v{version}");
        }
        assert!(!response.skip_assignment, "v{version}");
        assert_eq!(response.members.len(), 1, "v{version}");
        let member = &response.members[0];
        assert_eq!(member.member_id, response.member_id, "v{version}");
        assert_eq!(member.metadata, subscription(&["range"]), "v{version}");
        assert_eq!(member.group_instance_id, None, "v{version}");
    }
}

#[test]
fn requests_that_are_refused() {
    let good = group("join-refused");
    let cases: [(&str, JoinGroupRequest, i16); 8] = [
        ("no group id", join_request("", ""), INVALID_GROUP_ID),
        (
            "a session too long",
            join_request(&good, "").with_session_timeout_ms(1_800_001),
            INVALID_SESSION_TIMEOUT,
        ),
        (
            "a session of 0",
            join_request(&good, "").with_session_timeout_ms(0),
            INVALID_SESSION_TIMEOUT,
        ),
        (
            "a negative session",
            join_request(&good, "").with_session_timeout_ms(-1),
            INVALID_SESSION_TIMEOUT,
        ),
        (
            "no protocol type",
            join_request(&good, "").with_protocol_type(text("")),
            INCONSISTENT_GROUP_PROTOCOL,
        ),
        (
            "no protocols",
            join_request(&good, "").with_protocols(vec![]),
            INCONSISTENT_GROUP_PROTOCOL,
        ),
        ("an unknown member", join_request(&good, "someone"), UNKNOWN_MEMBER_ID),
        (
            "an unknown static member",
            join_request(&good, "someone").with_group_instance_id(Some(text("x"))),
            UNKNOWN_MEMBER_ID,
        ),
    ];
    for (what, request, expected) in cases {
        let response = call(JOIN, &request);
        assert_eq!((response.error_code, response.generation_id), (expected, -1), "{what}");
        assert_eq!(response.member_id, request.member_id, "{what}");
        assert!(response.members.is_empty(), "{what}");
    }
}

/// v0 has no rebalance timeout: its session timeout is taken, not -1.
#[test]
fn v0_members_are_given_time() {
    let group = group("join-v0");
    let mut first = Client::connect();
    let request = join_request(&group, "").with_rebalance_timeout_ms(-1);
    let joined = first.call(0, &request);
    assert_eq!(joined.error_code, NONE);
    let mut second = Client::connect();
    let waiting = second.send(0, &request);
    let mut again = first.call(0, &request.clone().with_member_id(joined.member_id.clone()));
    while again.members.len() < 2 {
        again = first.call(0, &request.clone().with_member_id(joined.member_id.clone()));
    }
    let other = second.receive::<JoinGroupRequest>(0, waiting);
    assert_eq!((again.error_code, other.error_code), (NONE, NONE));
    assert_eq!(again.generation_id, other.generation_id);
    assert_eq!(other.leader, joined.member_id);
}

/// The leader sees every member, the others see none.
#[test]
fn a_second_member() {
    let group = group("join-two");
    let mut first = Member::alone(&group, b"1");
    let mut second = Member::new(&group);
    assert_eq!(first.heartbeat(), NONE, "an id alone starts no rebalance");
    let request = second.join_request();
    let correlation = second.client.send(JOIN, &request);
    first.until_rebalance();
    let leader = first.join();
    let follower = second.client.receive::<JoinGroupRequest>(JOIN, correlation);
    let mut seen: Vec<_> = leader.members.iter().map(|it| it.member_id.to_string()).collect();
    let mut expected = vec![first.id.clone(), second.id.clone()];
    seen.sort();
    expected.sort();
    assert_eq!(seen, expected);
    assert_eq!(&*follower.leader, first.id);
    assert!(follower.members.is_empty());
    assert_eq!((leader.generation_id, follower.generation_id), (2, 2));
}

/// The protocol must be one that all members know; of those, the one most members like best.
#[test]
fn the_choice_of_a_protocol() {
    let group = group("join-choice");
    let mut first = Member::with_protocols(&group, &["a", "b", "c"]);
    assert_eq!(first.join().protocol_name.as_deref(), Some("a"));
    first.sync(&[b"1"]);

    let stranger = join_request(&group, "").with_protocols(protocols(&["x", "y"]));
    assert_eq!(call(JOIN, &stranger).error_code, INCONSISTENT_GROUP_PROTOCOL);
    let other_type = join_request(&group, "")
        .with_protocols(protocols(&["a"]))
        .with_protocol_type("connect".into());
    assert_eq!(call(JOIN, &other_type).error_code, INCONSISTENT_GROUP_PROTOCOL);

    let mut second = Member::with_protocols(&group, &["x", "c", "b"]);
    let request = second.join_request();
    let waiting = second.client.send(JOIN, &request);
    first.until_rebalance();
    let response = first.join();
    let chosen = response.protocol_name.unwrap();
    assert!(["b", "c"].contains(&&*chosen), "{chosen}");
    for member in &response.members {
        assert_eq!(member.metadata, subscription(&[&chosen]));
    }
    let other = second.client.receive::<JoinGroupRequest>(JOIN, waiting);
    assert_eq!(other.protocol_name.as_deref(), Some(&*chosen));
}

/// A follower that joins again as it is changes nothing; the leader's join, or other metadata, starts a rebalance.
#[test]
fn joining_again() {
    let group = group("join-again");
    let (mut first, mut second) = two_stable(&group);
    let again = second.join();
    assert_eq!((again.generation_id, again.members.len()), (2, 0), "as before");
    assert_eq!(first.heartbeat(), NONE, "no rebalance");

    let changed = second.join_request().with_protocols(protocols(&["range", "other"]));
    let waiting = second.client.send(JOIN, &changed);
    first.until_rebalance();
    first.join();
    let response = second.client.receive::<JoinGroupRequest>(JOIN, waiting);
    assert_eq!((response.error_code, response.generation_id), (NONE, 3));
    second.joined(response);
    let id = first.id.clone();
    let request = first.sync_request(&[(&id, b"1")]);
    assert_eq!(first.client.call(3, &request).error_code, NONE);
    second.sync(&[]);

    let request = first.join_request();
    let waiting = first.client.send(JOIN, &request);
    second.until_rebalance();
    second.join();
    let response = first.client.receive::<JoinGroupRequest>(JOIN, waiting);
    assert_eq!(response.generation_id, 4);
}

/// Asked again before anybody has synced: the same answer.
#[test]
fn joining_again_before_the_sync() {
    let group = group("join-lost-answer");
    let (mut first, mut second) = two_joined(&group);
    let again = second.join();
    assert_eq!((again.generation_id, again.members.len()), (2, 0));
    let again = first.join();
    assert_eq!((again.generation_id, again.members.len()), (2, 2));
}

fn static_request(group: &str, member: &str, instance: &str) -> JoinGroupRequest {
    join_request(group, member).with_group_instance_id(Some(text(instance)))
}

/// A static member needs no second request, and is known by its instance id.
#[test]
fn a_static_member() {
    for version in 5..=9 {
        let group = group("join-static");
        let mut client = Client::connect();
        let response = client.call(version, &static_request(&group, "", "one"));
        assert_eq!((response.error_code, response.generation_id), (NONE, 1), "v{version}");
        assert!(response.member_id.starts_with("one-"), "v{version}: {}", response.member_id);
        assert_eq!(response.members[0].group_instance_id.as_deref(), Some("one"), "v{version}");
    }
}

/// Back after a restart, before its session ended: a new member id, no rebalance, and its assignment still there.
#[test]
fn a_static_member_comes_back() {
    for version in 5..=9 {
        let group = group("join-static-back");
        let mut old = Member::unknown(&group);
        old.instance = Some("one".to_owned());
        let joined = old.client.call(version, &old.join_request());
        old.id = joined.member_id.to_string();
        old.joined(joined);
        old.sync(&[b"mine"]);

        let mut new = Client::connect();
        let back = new.call(version, &static_request(&group, "", "one"));
        assert_eq!((back.error_code, back.generation_id), (NONE, 1), "v{version}: no rebalance");
        assert_ne!(&*back.member_id, old.id, "v{version}");
        if version >= 9 {
            assert!(back.skip_assignment, "v{version}");
            assert_eq!((&back.leader, back.members.len()), (&back.member_id, 1), "v{version}");
        } else {
            assert_eq!((&*back.leader, back.members.len()), (&*old.id, 0), "v{version}");
        }
        assert_eq!(old.heartbeat(), FENCED_INSTANCE_ID, "v{version}");
        let stale = old.client.call(version, &old.join_request());
        assert_eq!(stale.error_code, FENCED_INSTANCE_ID, "v{version}");

        let mut new =
            Member { client: new, id: back.member_id.to_string(), ..Member::unknown(&group) };
        (new.instance, new.generation) = (Some("one".to_owned()), 1);
        assert_eq!(&*new.sync(&[]).assignment, b"mine", "v{version}");
        assert_eq!(new.heartbeat(), NONE, "v{version}");
    }
}

/// Back while the others have not synced yet: nobody has its assignment, so there is a rebalance.
#[test]
fn a_static_member_comes_back_before_the_sync() {
    let group = group("join-static-early");
    let mut first = Member::unknown(&group);
    first.instance = Some("one".to_owned());
    let joined = first.client.call(JOIN, &first.join_request());
    first.id = joined.member_id.to_string();
    first.joined(joined);

    let back = call(JOIN, &static_request(&group, "", "one"));
    assert_eq!((back.error_code, back.generation_id), (NONE, 2));
    assert_ne!(&*back.member_id, first.id);
    assert_eq!((&back.leader, back.members.len()), (&back.member_id, 1));
    assert_eq!(first.heartbeat(), FENCED_INSTANCE_ID);
}

/// Who was given an id is waited for, but not longer than its session.
#[test]
fn a_member_that_never_comes_back() {
    let group = group("join-pending");
    let mut first = Member::alone(&group, b"1");
    let lost = join_request(&group, "").with_session_timeout_ms(6_000);
    assert_eq!(call(JOIN, &lost).error_code, MEMBER_ID_REQUIRED);
    let mut second = Member::new(&group);
    let request = second.join_request();
    let waiting = second.client.send(JOIN, &request);
    first.until_rebalance();
    let start = Instant::now();
    let response = first.join();
    assert_eq!((response.generation_id, response.members.len()), (2, 2));
    assert!(start.elapsed() > Duration::from_secs(3), "{:?}", start.elapsed());
    let response = second.client.receive::<JoinGroupRequest>(JOIN, waiting);
    second.joined(response);
}

/// A member whose session ends is taken out, and the others rebalance. (6 s is Kafka's shortest session.)
#[test]
fn a_session_ends() {
    let group = group("join-expire");
    let mut first = Member::alone(&group, b"1");
    let mut second = Member::new(&group);
    second.session_timeout_ms = 6_000;
    let request = second.join_request();
    let waiting = second.client.send(JOIN, &request);
    first.until_rebalance();
    first.join();
    let response = second.client.receive::<JoinGroupRequest>(JOIN, waiting);
    second.joined(response);
    first.sync(&[b"1"]);
    first.until_rebalance();
    let response = first.join();
    assert_eq!((response.generation_id, response.members.len()), (3, 1));
    assert_eq!(second.heartbeat(), UNKNOWN_MEMBER_ID);
}
