//! DescribeGroups: v0-6.

use kafka_protocol::messages::{DescribeGroupsRequest, JoinGroupRequest};

use super::offset_commit;
use super::{Case, case, check};
use crate::client::call;
use crate::members::{JOIN, Member, group_id, two_joined, two_stable};

fn of(groups: &[&str]) -> DescribeGroupsRequest {
    DescribeGroupsRequest::default().with_groups(groups.iter().map(|it| group_id(it)).collect())
}

const CASES: &[Case] = &[
    case("a stable group of two", 0..=6, |t| {
        let group = t.group();
        let (first, second) = two_stable(&group);
        t.known(first);
        t.known(second);
        t.sorted(&["members"]).ask(&of(&[&group]));
    }),
    case("an unknown group", 0..=6, |t| {
        let group = t.group();
        t.ask(&of(&[&group]));
    }),
    case("a static member", 0..=6, |t| {
        let group = t.group();
        let mut member = Member::unknown(&group);
        member.instance = Some("i".to_owned());
        let request = member.join_request();
        let joined = member.client.call(JOIN, &request);
        (member.id, member.generation) = (joined.member_id.to_string(), joined.generation_id);
        member.sync(&[b"mine"]);
        t.ask(&of(&[&group]));
    }),
    case("the states of a group", 0..=6, |t| {
        let group = t.group();
        let (first, second) = two_joined(&group);
        let (mut first, mut second) = (t.known(first), t.known(second));
        t.note("they wait for their assignment").sorted(&["members"]).ask(&of(&[&group]));
        let mut third = t.known(Member::new(&group));
        let request = third.join_request();
        let waiting = third.client.send(JOIN, &request);
        first.until_rebalance();
        t.note("a rebalance begins").sorted(&["members"]).ask(&of(&[&group]));
        first.leave();
        second.leave();
        third.client.receive::<JoinGroupRequest>(JOIN, waiting);
        third.leave();
        t.note("they are gone").ask(&of(&[&group]));
    }),
    case("a group that has only committed", 0..=6, |t| {
        let (topic, group) = (t.topic(1), t.group());
        call(8, &offset_commit::one(&group, &topic.name, 3));
        t.ask(&of(&[&group]));
    }),
    case("a group twice, and none", 0..=6, |t| {
        let group = t.group();
        t.member(&group);
        t.ask(&of(&[&group, &group]));
        t.ask(&of(&[]));
    }),
    case("operations allowed", 3..=6, |t| {
        let group = t.group();
        let member = t.member(&group);
        t.ask(&of(&[&group]).with_include_authorized_operations(true));
        drop(member);
    }),
];

#[test]
fn describe_groups() {
    check("describe_groups", 15, CASES);
}
