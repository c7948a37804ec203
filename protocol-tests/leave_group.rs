//! LeaveGroup: v0-5.

use kafka_protocol::messages::LeaveGroupRequest;
use kafka_protocol::messages::leave_group_request::MemberIdentity;

use crate::client::{Client, call, text};
use crate::codes::{FENCED_INSTANCE_ID, INVALID_GROUP_ID, NONE, UNKNOWN_MEMBER_ID};
use crate::fixtures::{group, unique};
use crate::members::{Member, group_id, heartbeat, join_request, two_stable};

fn request(version: i16, group: &str, member: &str) -> LeaveGroupRequest {
    let request = LeaveGroupRequest::default().with_group_id(group_id(group));
    if version < 3 {
        return request.with_member_id(text(member));
    }
    request.with_members(vec![MemberIdentity::default().with_member_id(text(member))])
}

/// (top-level error, the errors of members)
fn leave(version: i16, request: &LeaveGroupRequest) -> (i16, Vec<i16>) {
    let response = call(version, request);
    (response.error_code, response.members.iter().map(|it| it.error_code).collect())
}

/// An error of a member: below v3 it is the answer's; from v3 on it is the member's and the answer is fine.
fn member_error(version: i16, code: i16) -> (i16, Vec<i16>) {
    if version < 3 { (code, vec![]) } else { (NONE, vec![code]) }
}

#[test]
fn every_version_leaves() {
    for version in 0..=5 {
        let group = group("leave");
        let member = Member::alone(&group, b"1");
        let unknown = leave(version, &request(version, &group, "x"));
        assert_eq!(unknown, member_error(version, UNKNOWN_MEMBER_ID), "v{version}");
        assert_eq!(heartbeat(3, &group, &member.id, 1), NONE, "v{version}");
        let left = leave(version, &request(version, &group, &member.id));
        assert_eq!(left, member_error(version, NONE), "v{version}");
        assert_eq!(heartbeat(3, &group, &member.id, 1), UNKNOWN_MEMBER_ID, "v{version}");
        let again = leave(version, &request(version, &group, &member.id));
        assert_eq!(again, member_error(version, UNKNOWN_MEMBER_ID), "v{version}");
        let nowhere = leave(version, &request(version, &unique("leave-x"), "x"));
        assert_eq!(nowhere, member_error(version, UNKNOWN_MEMBER_ID), "v{version}: unknown group");
        let no_group = leave(version, &request(version, "", "x")).0;
        assert_eq!(no_group, INVALID_GROUP_ID, "v{version}");
    }
}

#[test]
fn the_others_rebalance() {
    let group = group("leave-two");
    let (mut first, mut second) = two_stable(&group);
    first.leave();
    second.until_rebalance();
    let response = second.join();
    assert_eq!((response.generation_id, &*response.leader), (3, &*second.id));
}

#[test]
fn several_members_at_once() {
    let group = group("leave-several");
    let (first, second) = two_stable(&group);
    let members = [&first.id, "x", &second.id]
        .map(|id| MemberIdentity::default().with_member_id(text(id)))
        .to_vec();
    let request =
        LeaveGroupRequest::default().with_group_id(group_id(&group)).with_members(members);
    let response = call(4, &request);
    let answered: Vec<_> =
        response.members.iter().map(|it| (it.member_id.to_string(), it.error_code)).collect();
    let expected =
        [(first.id.clone(), NONE), ("x".to_owned(), UNKNOWN_MEMBER_ID), (second.id.clone(), NONE)];
    assert_eq!((response.error_code, answered), (NONE, expected.to_vec()));
    assert_eq!(heartbeat(3, &group, &second.id, 2), UNKNOWN_MEMBER_ID);
}

/// A static member is put out by its instance id; the member id may be missing, but not another one.
#[test]
fn by_instance_id() {
    let group = group("leave-static");
    let join = join_request(&group, "").with_group_instance_id(Some(text("one")));
    let joined = Client::connect().call(5, &join);
    assert_eq!(joined.error_code, NONE);
    let out = |member: &str, instance: &str| {
        let identity = MemberIdentity::default()
            .with_member_id(text(member))
            .with_group_instance_id(Some(text(instance)));
        let request = LeaveGroupRequest::default()
            .with_group_id(group_id(&group))
            .with_members(vec![identity]);
        leave(3, &request)
    };
    assert_eq!(out("", "two"), (NONE, vec![UNKNOWN_MEMBER_ID]));
    assert_eq!(out("another", "one"), (NONE, vec![FENCED_INSTANCE_ID]));
    assert_eq!(out("", "one"), (NONE, vec![NONE]));
    assert_eq!(heartbeat(3, &group, &joined.member_id, 1), UNKNOWN_MEMBER_ID);
}
