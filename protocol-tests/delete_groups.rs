//! DeleteGroups: v0-2.

use kafka_protocol::messages::DeleteGroupsRequest;

use crate::client::call;
use crate::codes::{GROUP_ID_NOT_FOUND, NON_EMPTY_GROUP, NONE};
use crate::fixtures::{group, topic, unique};
use crate::members::{Member, group_id};
use crate::offset_commit::commit_simple;
use crate::offset_fetch::committed;

fn delete(version: i16, groups: &[&str]) -> Vec<(String, i16)> {
    let request = DeleteGroupsRequest::default()
        .with_groups_names(groups.iter().map(|name| group_id(name)).collect());
    let response = call(version, &request);
    response.results.iter().map(|it| (it.group_id.to_string(), it.error_code)).collect()
}

fn delete_one(version: i16, group: &str) -> i16 {
    let results = delete(version, &[group]);
    assert_eq!((results.len(), &*results[0].0), (1, group));
    results[0].1
}

#[test]
fn every_version_deletes() {
    let topic = topic("delete-groups", 1);
    for version in 0..=2 {
        let group = group("delete-group");
        let mut member = Member::alone(&group, b"1");
        assert_eq!(delete_one(version, &group), NON_EMPTY_GROUP, "v{version}");
        assert_eq!(member.heartbeat(), NONE, "v{version}: not harmed");
        member.leave();
        assert_eq!(commit_simple(&group, &topic, 0, 42), NONE, "v{version}");
        assert_eq!(delete_one(version, &group), NONE, "v{version}");
        assert_eq!(delete_one(version, &group), GROUP_ID_NOT_FOUND, "v{version}");
        assert_eq!(committed(&group, &topic, 0).0, -1, "v{version}: its offsets are gone");
    }
}

#[test]
fn a_group_of_offsets_only() {
    let topic = topic("delete-simple", 1);
    let group = group("delete-simple");
    assert_eq!(commit_simple(&group, &topic, 0, 42), NONE);
    assert_eq!(delete_one(2, &group), NONE);
    assert_eq!(committed(&group, &topic, 0).0, -1);
}

#[test]
fn several_groups() {
    let topic = topic("delete-several-groups", 1);
    let (known, unknown) = (group("delete-known"), unique("delete-unknown-group"));
    assert_eq!(commit_simple(&known, &topic, 0, 1), NONE);
    let mut answered = delete(2, &[&unknown, &known, ""]);
    answered.sort();
    let mut expected =
        vec![(unknown, GROUP_ID_NOT_FOUND), (known, NONE), (String::new(), GROUP_ID_NOT_FOUND)];
    expected.sort();
    assert_eq!(answered, expected);
    assert_eq!(delete(2, &[]), []);
}
