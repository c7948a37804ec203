//! LeaveGroup: v0-5.

use kafka_protocol::messages::LeaveGroupRequest;
use kafka_protocol::messages::leave_group_request::MemberIdentity;

use super::{Case, case, check};
use crate::client::text;
use crate::members::{Member, group_id, two_stable};

/// In the version's fields for members.
fn of(version: i16, group: &str, members: &[&str]) -> LeaveGroupRequest {
    let request = LeaveGroupRequest::default().with_group_id(group_id(group));
    if version < 3 {
        return request.with_member_id(text(members[0]));
    }
    let identity = |id: &&str| MemberIdentity::default().with_member_id(text(id));
    request.with_members(members.iter().map(identity).collect())
}

const CASES: &[Case] = &[
    case("a member, and once more", 0..=5, |t| {
        let group = t.group();
        let member = t.member(&group);
        t.ask(&of(t.version, &group, &[&member.id]));
        t.ask(&of(t.version, &group, &[&member.id]));
    }),
    case("an unknown member, no member", 0..=5, |t| {
        let group = t.group();
        t.member(&group);
        t.ask(&of(t.version, &group, &["x"]));
        t.ask(&of(t.version, &group, &[""]));
    }),
    case("an unknown group, no group id", 0..=5, |t| {
        let group = t.group();
        t.ask(&of(t.version, &group, &["x"]));
        t.ask(&of(t.version, "", &["x"]));
    }),
    case("a member that has an id and has not joined", 0..=5, |t| {
        let group = t.group();
        let member = t.known(Member::new(&group));
        t.ask(&of(t.version, &group, &[&member.id]));
    }),
    case("two members and a stranger, in the order of the request", 3..=5, |t| {
        let group = t.group();
        let (first, second) = two_stable(&group);
        let (first, second) = (t.known(first), t.known(second));
        t.ask(&of(t.version, &group, &[&second.id, "x", &first.id]));
    }),
    case("no members", 3..=5, |t| {
        let group = t.group();
        t.member(&group);
        t.ask(&of(t.version, &group, &[]));
    }),
    case("by instance", 3..=5, |t| {
        let group = t.group();
        let mut member = Member::unknown(&group);
        member.instance = Some("i".to_owned());
        let request = member.join_request();
        member.id = member.client.call(crate::members::JOIN, &request).member_id.to_string();
        let member = t.known(member);
        let identity = |id: &str, instance: &str| {
            MemberIdentity::default()
                .with_member_id(text(id))
                .with_group_instance_id(Some(text(instance)))
        };
        let leave = |identity| {
            LeaveGroupRequest::default()
                .with_group_id(group_id(&group))
                .with_members(vec![identity])
        };
        t.note("an unknown instance").ask(&leave(identity("", "j")));
        t.note("another member's id").ask(&leave(identity("x", "i")));
        t.note("an instance that is not the member's").ask(&leave(identity(&member.id, "j")));
        t.note("the instance alone").ask(&leave(identity("", "i")));
    }),
    case("with a reason", 5..=5, |t| {
        let group = t.group();
        let member = t.member(&group);
        let mut request = of(5, &group, &[&member.id]);
        request.members[0].reason = Some(text("enough"));
        t.ask(&request);
    }),
];

#[test]
fn leave_group() {
    check("leave_group", 13, CASES);
}
