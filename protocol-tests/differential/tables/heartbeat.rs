//! Heartbeat: v0-4.

use super::{Case, case, check};
use crate::client::text;
use crate::members::{JOIN, Member, two_joined};

const CASES: &[Case] = &[
    case("in a stable group", 0..=4, |t| {
        let group = t.group();
        let member = t.member(&group);
        t.ask(&member.heartbeat_request());
    }),
    case("wrong generations, another member", 0..=4, |t| {
        let group = t.group();
        let member = t.member(&group);
        for generation in [0, 2, -1] {
            t.note(&format!("generation {generation}"));
            t.ask(&member.heartbeat_request().with_generation_id(generation));
        }
        t.note("another member").ask(&member.heartbeat_request().with_member_id(text("x")));
        t.note("no member").ask(&member.heartbeat_request().with_member_id(text("")));
    }),
    case("an unknown group, no group id", 0..=4, |t| {
        let mut member = Member::unknown(&t.group());
        member.id = "x".to_owned();
        t.ask(&member.heartbeat_request());
        member.group.clear();
        t.ask(&member.heartbeat_request());
    }),
    case("a group without members", 0..=4, |t| {
        let group = t.group();
        let mut member = t.member(&group);
        member.leave();
        t.ask(&member.heartbeat_request());
    }),
    case("a member that has an id and has not joined", 0..=4, |t| {
        let group = t.group();
        let member = t.known(Member::new(&group));
        t.ask(&member.heartbeat_request());
        t.ask(&member.heartbeat_request().with_generation_id(0));
    }),
    case("while the members wait for their assignment", 0..=4, |t| {
        let group = t.group();
        let (first, _second) = two_joined(&group);
        let first = t.known(first);
        t.ask(&first.heartbeat_request());
    }),
    case("while a rebalance begins", 0..=4, |t| {
        let group = t.group();
        let mut first = t.member(&group);
        let mut second = Member::new(&group);
        let join = second.join_request();
        second.client.send(JOIN, &join);
        first.until_rebalance();
        t.ask(&first.heartbeat_request());
        t.ask(&first.heartbeat_request().with_generation_id(7));
    }),
    case("an unknown instance", 3..=4, |t| {
        let group = t.group();
        let member = t.member(&group);
        t.ask(&member.heartbeat_request().with_group_instance_id(Some(text("i"))));
    }),
];

#[test]
fn heartbeat() {
    check("heartbeat", 12, CASES);
}
