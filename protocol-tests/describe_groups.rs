//! DescribeGroups: v0-6.

use kafka_protocol::messages::describe_groups_response::DescribedGroup;
use kafka_protocol::messages::{DescribeGroupsRequest, JoinGroupRequest};

use crate::client::call;
use crate::codes::{GROUP_ID_NOT_FOUND, NONE};
use crate::fixtures::{group, unique};
use crate::members::{JOIN, Member, group_id, subscription, two_joined, two_stable};

fn describe(version: i16, group: &str) -> DescribedGroup {
    let request = DescribeGroupsRequest::default().with_groups(vec![group_id(group)]);
    let mut response = call(version, &request);
    assert_eq!(response.groups.len(), 1);
    assert_eq!(&**response.groups[0].group_id, group);
    response.groups.remove(0)
}

#[test]
fn a_stable_group_at_every_version() {
    let group = group("describe");
    let (first, second) = two_stable(&group);
    for version in 0..=6 {
        let described = describe(version, &group);
        assert_eq!((described.error_code, &described.error_message), (NONE, &None), "v{version}");
        assert_eq!(&*described.group_state, "Stable", "v{version}");
        assert_eq!(&*described.protocol_type, "consumer", "v{version}");
        assert_eq!(&*described.protocol_data, "range", "v{version}");
        assert_eq!(described.authorized_operations, i32::MIN, "v{version}");
        assert_eq!(described.members.len(), 2, "v{version}");
        for (id, assignment) in [(&first.id, b"one"), (&second.id, b"two")] {
            let member = described.members.iter().find(|it| &*it.member_id == id).unwrap();
            assert_eq!(&*member.client_id, "protocol-tests", "v{version}");
            assert!(member.client_host.starts_with('/'), "v{version}: {}", member.client_host);
            assert_eq!(member.member_metadata, subscription(&["range"]), "v{version}");
            assert_eq!(&*member.member_assignment, assignment, "v{version}");
            assert_eq!(member.group_instance_id, None, "v{version}");
        }
    }
}

/// An unknown group is "Dead"; only from v6 on is that an error.
#[test]
fn an_unknown_group() {
    for version in 0..=6 {
        let described = describe(version, &unique("describe-unknown"));
        let expected = if version < 6 { NONE } else { GROUP_ID_NOT_FOUND };
        assert_eq!(described.error_code, expected, "v{version}");
        assert_eq!(&*described.group_state, "Dead", "v{version}");
        assert_eq!(described.error_message.is_some(), version >= 6, "v{version}");
        assert_eq!((&*described.protocol_type, &*described.protocol_data), ("", ""), "v{version}");
        assert!(described.members.is_empty(), "v{version}");
    }
}

#[test]
fn the_states_of_a_group() {
    let group = group("describe-states");
    let (mut first, mut second) = two_joined(&group);
    let described = describe(5, &group);
    assert_eq!(&*described.group_state, "CompletingRebalance");
    assert_eq!(&*described.protocol_data, "", "not shown before the group is stable");
    for member in &described.members {
        assert!(member.member_metadata.is_empty());
        let before = if *member.member_id == *first.id { &b"1"[..] } else { b"" };
        assert_eq!(member.member_assignment, before, "what it had in the last generation");
    }

    let mut third = Member::new(&group);
    let request = third.join_request();
    let waiting = third.client.send(JOIN, &request);
    first.until_rebalance();
    let described = describe(5, &group);
    assert_eq!((&*described.group_state, described.members.len()), ("PreparingRebalance", 3));

    first.leave();
    second.leave();
    let response = third.client.receive::<JoinGroupRequest>(JOIN, waiting);
    third.joined(response);
    third.leave();
    let described = describe(5, &group);
    assert_eq!((&*described.group_state, described.members.len()), ("Empty", 0));
    assert_eq!(&*described.protocol_type, "consumer", "kept");
}

#[test]
fn a_static_member_and_the_operations() {
    let group = group("describe-static");
    let mut member = Member::unknown(&group);
    member.instance = Some("one".to_owned());
    let response = member.client.call(JOIN, &member.join_request());
    member.id = response.member_id.to_string();
    member.joined(response);
    member.sync(&[b"1"]);
    let described = describe(4, &group);
    assert_eq!(described.members[0].group_instance_id.as_deref(), Some("one"));

    let request = DescribeGroupsRequest::default()
        .with_groups(vec![group_id(&group)])
        .with_include_authorized_operations(true);
    assert_eq!(call(3, &request).groups[0].authorized_operations, 3400);
}

#[test]
fn several_groups_and_none() {
    let known = group("describe-several");
    let _member = Member::alone(&known, b"1");
    let unknown = unique("describe-several-unknown");
    let request = DescribeGroupsRequest::default().with_groups(vec![
        group_id(&unknown),
        group_id(&known),
        group_id(""),
    ]);
    let response = call(5, &request);
    let mut answered: Vec<_> = response
        .groups
        .iter()
        .map(|it| (it.group_id.to_string(), it.error_code, it.group_state.to_string()))
        .collect();
    answered.sort();
    let mut expected = vec![
        (unknown, NONE, "Dead".to_owned()),
        (known, NONE, "Stable".to_owned()),
        (String::new(), NONE, "Dead".to_owned()),
    ];
    expected.sort();
    assert_eq!(answered, expected);
    assert!(call(5, &DescribeGroupsRequest::default()).groups.is_empty());
}
