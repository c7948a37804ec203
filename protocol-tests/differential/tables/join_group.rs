//! JoinGroup: v0-9.

use kafka_protocol::messages::JoinGroupRequest;

use super::{Case, case, check};
use crate::client::{Client, text};
use crate::members::{Member, join_request, protocols, two_stable};

/// In what the version has fields for.
fn of(version: i16, group: &str, member: &str) -> JoinGroupRequest {
    let request = join_request(group, member);
    if version == 0 { request.with_rebalance_timeout_ms(-1) } else { request }
}

fn static_member(version: i16, group: &str, member: &str) -> JoinGroupRequest {
    of(version, group, member).with_group_instance_id(Some(text("i")))
}

const CASES: &[Case] = &[
    case("the first member: with its id only, from v4 on", 0..=9, |t| {
        let group = t.group();
        let first = t.ask(&of(t.version, &group, ""));
        t.ask(&of(t.version, &group, &first.member_id));
    }),
    case("an unknown member id", 0..=9, |t| {
        let v = t.version;
        let group = t.group();
        t.note("unknown group").ask(&of(v, &group, "x"));
        t.member(&group);
        t.ask(&of(v, &group, "x"));
    }),
    case("no group id", 0..=9, |t| {
        t.ask(&of(t.version, "", ""));
        t.ask(&of(t.version, "", "x"));
    }),
    case("session timeouts that cannot be", 0..=9, |t| {
        let group = t.group();
        for timeout in [5_999, 1_800_001, 0, -1] {
            t.note(&format!("{timeout} ms"));
            t.ask(&of(t.version, &group, "").with_session_timeout_ms(timeout));
        }
    }),
    case("no protocol type, no protocols", 0..=9, |t| {
        let group = t.group();
        t.ask(&of(t.version, &group, "").with_protocol_type(text("")));
        t.ask(&of(t.version, &group, "").with_protocols(vec![]));
    }),
    case("protocols that do not fit", 0..=9, |t| {
        let group = t.group();
        t.member(&group);
        t.ask(&of(t.version, &group, "").with_protocols(protocols(&["roundrobin"])));
        t.ask(&of(t.version, &group, "").with_protocol_type(text("connect")));
    }),
    case("the leader of a stable group, again", 0..=9, |t| {
        let group = t.group();
        let member = t.member(&group);
        t.ask(&of(t.version, &group, &member.id));
    }),
    case("two members: only the leader is told of both", 0..=9, |t| {
        let v = t.version;
        let group = t.group();
        let mut first = t.member(&group);
        let second = t.known(Member::new(&group));
        let mut other = Client::connect();
        let waiting = other.send(v, &of(v, &group, &second.id));
        first.until_rebalance();
        t.sorted(&["members"]).ask(&of(v, &group, &first.id));
        t.show::<JoinGroupRequest>(&other.receive::<JoinGroupRequest>(v, waiting));
    }),
    case("a follower of a stable group, again: nothing changes", 0..=9, |t| {
        let group = t.group();
        let (first, second) = two_stable(&group);
        t.known(first);
        let second = t.known(second);
        t.ask(&of(t.version, &group, &second.id));
    }),
    case("a static member, and again without its id", 5..=9, |t| {
        let v = t.version;
        let group = t.group();
        let first = t.ask(&static_member(v, &group, ""));
        let mut member = Member::unknown(&group);
        (member.id, member.instance) = (first.member_id.to_string(), Some("i".to_owned()));
        member.generation = 1;
        member.sync(&[b"mine"]);
        t.note("a new id").ask(&static_member(v, &group, ""));
        t.note("the old id").ask(&static_member(v, &group, &first.member_id));
        t.note("no instance").ask(&of(v, &group, &first.member_id));
        t.note("an unknown id").ask(&static_member(v, &group, "x"));
    }),
    case("a reason", 8..=9, |t| {
        let group = t.group();
        let member = t.known(Member::new(&group));
        t.ask(&of(t.version, &group, &member.id).with_reason(Some(text("why not"))));
    }),
    case("an id that was given out in another version", 0..=3, |t| {
        let group = t.group();
        let member = t.known(Member::new(&group));
        t.ask(&of(t.version, &group, &member.id));
    }),
    case("the leader's choice of a protocol", 0..=9, |t| {
        let group = t.group();
        let first = t.ask(&of(t.version, &group, "").with_protocols(protocols(&["a", "b"])));
        let request = of(t.version, &group, &first.member_id);
        t.ask(&request.with_protocols(protocols(&["b", "a"])));
    }),
    case("another protocol type in an empty group", 0..=9, |t| {
        let group = t.group();
        t.member(&group).leave();
        t.ask(&of(t.version, &group, "").with_protocol_type(text("connect")));
    }),
];

#[test]
fn join_group() {
    check("join_group", 11, CASES);
}
