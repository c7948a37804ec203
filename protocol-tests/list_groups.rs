//! ListGroups: v0-5.

use kafka_protocol::messages::ListGroupsRequest;
use kafka_protocol::messages::list_groups_response::ListedGroup;

use crate::client::{call, text};
use crate::codes::NONE;
use crate::fixtures::group;
use crate::members::Member;

fn list(version: i16, request: &ListGroupsRequest, group: &str) -> Option<ListedGroup> {
    let response = call(version, request);
    assert_eq!(response.error_code, NONE, "v{version}");
    let mut named = response.groups.into_iter().filter(|it| &**it.group_id == group);
    let found = named.next();
    assert!(named.next().is_none(), "v{version}: listed twice");
    found
}

#[test]
fn every_version_lists_the_group() {
    let group = group("list");
    let mut member = Member::alone(&group, b"1");
    for version in 0..=5 {
        let listed = list(version, &ListGroupsRequest::default(), &group).unwrap();
        assert_eq!(&*listed.protocol_type, "consumer", "v{version}");
        assert_eq!(&*listed.group_state, if version < 4 { "" } else { "Stable" }, "v{version}");
        assert_eq!(&*listed.group_type, if version < 5 { "" } else { "classic" }, "v{version}");
    }
    member.leave();
    let listed = list(4, &ListGroupsRequest::default(), &group).unwrap();
    assert_eq!(&*listed.group_state, "Empty");
}

#[test]
fn filters() {
    let group = group("list-filter");
    let _member = Member::alone(&group, b"1");
    let states = |states: &[&str]| {
        let states = states.iter().map(|it| text(it)).collect();
        list(4, &ListGroupsRequest::default().with_states_filter(states), &group).is_some()
    };
    assert!(states(&[]));
    assert!(states(&["Stable"]));
    assert!(states(&["Empty", "Stable"]));
    assert!(states(&["stable"]), "in any case");
    assert!(!states(&["Empty"]));
    assert!(!states(&["NoSuchState"]));

    let types = |types: &[&str]| {
        let types = types.iter().map(|it| text(it)).collect();
        list(5, &ListGroupsRequest::default().with_types_filter(types), &group).is_some()
    };
    assert!(types(&[]));
    assert!(types(&["classic"]));
    assert!(types(&["Classic"]), "in any case");
    assert!(!types(&["consumer"]));
    assert!(!types(&["NoSuchType"]));
}
