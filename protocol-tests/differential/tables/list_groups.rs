//! ListGroups: v0-5.

use kafka_protocol::messages::ListGroupsRequest;

use super::offset_commit;
use super::{Case, Run, case, check};
use crate::client::{call, text};
use crate::members::Member;

/// A stable group, and one that has only committed.
fn groups(t: &mut Run) -> Member {
    let (topic, empty, stable) = (t.topic(1), t.group(), t.group());
    call(8, &offset_commit::one(&empty, &topic.name, 3));
    t.member(&stable)
}

fn ask(t: &mut Run, request: &ListGroupsRequest) {
    t.only_ours("groups").sorted(&["groups"]).ask(request);
}

const CASES: &[Case] = &[
    case("a stable group, and one that has only committed", 0..=5, |t| {
        let _member = groups(t);
        ask(t, &ListGroupsRequest::default());
    }),
    case("by state", 4..=5, |t| {
        let _member = groups(t);
        for states in [&["Stable"][..], &["stable"], &["Empty", "Stable"], &["Dead"], &["x"]] {
            t.note(&format!("{states:?}"));
            let states = states.iter().map(|state| text(state)).collect();
            ask(t, &ListGroupsRequest::default().with_states_filter(states));
        }
    }),
    case("by type", 5..=5, |t| {
        let _member = groups(t);
        for types in [&["classic"][..], &["Classic"], &["consumer"], &["x", "classic"]] {
            t.note(&format!("{types:?}"));
            let types = types.iter().map(|kind| text(kind)).collect();
            ask(t, &ListGroupsRequest::default().with_types_filter(types));
        }
    }),
];

#[test]
fn list_groups() {
    check("list_groups", 16, CASES);
}
