//! ListGroups: v0-5.
//!
//! Versions: 1 throttle time · 3 flexible · 4 filter by state (KIP-518) · 5 type of a group, filter by it (KIP-848).
//! Answers for the groups this node coordinates; a client asks every node.

use super::Ctx;
use crate::{
    session::Session,
    wire::{
        Api, StrBytes,
        messages::{ListGroupsRequest, ListGroupsResponse, list_groups_response::ListedGroup},
    },
};

pub const API: Api = Api::new(16, "ListGroups", 0, 5, 3);

pub async fn handle(
    ctx: &Ctx,
    _session: &mut Session,
    _version: i16,
    request: ListGroupsRequest,
) -> ListGroupsResponse {
    let strings =
        |filter: &[StrBytes]| -> Vec<String> { filter.iter().map(ToString::to_string).collect() };
    let (states, types) = (strings(&request.states_filter), strings(&request.types_filter));
    match ctx.groups.list(&states, &types).await {
        Ok(groups) => {
            let listed = groups.into_iter().map(|it| {
                ListedGroup::default()
                    .with_group_id(StrBytes::from_string(it.group).into())
                    .with_protocol_type(StrBytes::from_string(it.protocol_type))
                    .with_group_state(StrBytes::from_static_str(it.state))
                    .with_group_type(StrBytes::from_static_str("classic"))
            });
            ListGroupsResponse::default().with_groups(listed.collect())
        }
        Err(error) => ListGroupsResponse::default().with_error_code(error.code()),
    }
}
