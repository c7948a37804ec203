//! DeleteGroups: v0-2.

use kafka_protocol::messages::DeleteGroupsRequest;

use super::offset_commit;
use super::{Case, case, check};
use crate::client::call;
use crate::members::group_id;

fn of(groups: &[&str]) -> DeleteGroupsRequest {
    DeleteGroupsRequest::default().with_groups_names(groups.iter().map(|it| group_id(it)).collect())
}

const CASES: &[Case] = &[
    case("a group that has only committed, and once more", 0..=2, |t| {
        let (topic, group) = (t.topic(1), t.group());
        call(8, &offset_commit::one(&group, &topic.name, 3));
        t.ask(&of(&[&group]));
        t.ask(&of(&[&group]));
    }),
    case("a group with a member, and without it", 0..=2, |t| {
        let group = t.group();
        let mut member = t.member(&group);
        t.ask(&of(&[&group]));
        member.leave();
        t.ask(&of(&[&group]));
    }),
    case("an unknown one twice, none", 0..=2, |t| {
        let group = t.group();
        t.ask(&of(&[&group, &group]));
        t.ask(&of(&[]));
    }),
];

#[test]
fn delete_groups() {
    check("delete_groups", 42, CASES);
}
