//! DescribeGroups: v0-6.
//!
//! Versions: 1 throttle time · 3 authorized operations (KIP-430) · 4 group.instance.id (KIP-345) · 5 flexible · 6 error
//! message, and GROUP_ID_NOT_FOUND for an unknown group (KIP-1043), which before is a Dead group without error.

use super::Ctx;
use crate::{
    group::command::{Command, Described, Description, Reply},
    session::Session,
    wire::{
        Api, ErrorCode, StrBytes,
        messages::{
            DescribeGroupsRequest, DescribeGroupsResponse,
            describe_groups_response::{DescribedGroup, DescribedGroupMember},
        },
    },
};
use std::collections::BTreeSet;

pub const API: Api = Api::new(15, "DescribeGroups", 0, 6, 5);

/// What anyone may do to a group without an authorizer, as bits of KIP-430: read, delete, describe, and describe and alter
/// its configs.
const ALL_OPERATIONS: i32 = 1 << 3 | 1 << 6 | 1 << 8 | 1 << 10 | 1 << 11;

pub async fn handle(
    ctx: &Ctx,
    _session: &mut Session,
    version: i16,
    request: DescribeGroupsRequest,
) -> DescribeGroupsResponse {
    let mut groups = Vec::with_capacity(request.groups.len());
    // Once each, however often it is named: a description may be large.
    let ids: BTreeSet<String> = request.groups.iter().map(|it| it.to_string()).collect();
    for (shard, ids) in ctx.groups.by_shard(ids.into_iter()) {
        let command = Command::Describe { groups: ids.clone() };
        match ctx.groups.call_shard(shard, command).await {
            Ok(Reply::Describe(described)) => groups.extend(
                described
                    .into_iter()
                    .map(|it| describe(it, version, request.include_authorized_operations)),
            ),
            other => {
                let error = other.err().unwrap_or(ErrorCode::UnknownServerError);
                groups.extend(ids.into_iter().map(|id| {
                    DescribedGroup::default()
                        .with_group_id(StrBytes::from_string(id).into())
                        .with_error_code(error.code())
                }));
            }
        }
    }
    DescribeGroupsResponse::default().with_groups(groups)
}

fn describe(described: Described, version: i16, with_operations: bool) -> DescribedGroup {
    let group = StrBytes::from_string(described.group);
    let Some(found) = described.found else {
        let dead = DescribedGroup::default().with_group_state(StrBytes::from_static_str("Dead"));
        let dead = with_operations_if(dead, (3..6).contains(&version) && with_operations);
        return match version {
            6.. => dead.with_error_code(ErrorCode::GroupIdNotFound.code()).with_error_message(
                Some(StrBytes::from_string(format!("Group {} not found.", group.as_str()))),
            ),
            _ => dead,
        }
        .with_group_id(group.into());
    };
    let Description { state, protocol_type, protocol, members } = found;
    let members = members.into_iter().map(|it| {
        DescribedGroupMember::default()
            .with_member_id(StrBytes::from_string(it.member_id))
            .with_group_instance_id(it.instance_id.map(StrBytes::from_string))
            .with_client_id(StrBytes::from_string(it.client_id))
            .with_client_host(StrBytes::from_string(it.client_host))
            .with_member_metadata(it.metadata)
            .with_member_assignment(it.assignment)
    });
    let alive = DescribedGroup::default()
        .with_group_id(group.into())
        .with_group_state(StrBytes::from_static_str(state))
        .with_protocol_type(StrBytes::from_string(protocol_type))
        .with_protocol_data(StrBytes::from_string(protocol))
        .with_members(members.collect());
    with_operations_if(alive, version >= 3 && with_operations)
}

fn with_operations_if(group: DescribedGroup, asked: bool) -> DescribedGroup {
    if asked { group.with_authorized_operations(ALL_OPERATIONS) } else { group }
}
