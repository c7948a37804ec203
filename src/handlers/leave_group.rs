//! LeaveGroup: v0-5.
//!
//! Versions: 1 throttle time · 3 several members, static ones by instance id alone (KIP-345) · 4 flexible · 5 reason
//! (KIP-800). Up to v2 the one member's error is the top-level error; from v3 on an unknown member leaves that at 0.
//! Not here: the rules are in `group::classic`. The reason is only logged.

use super::Ctx;
use crate::{
    group::command::{Command, LeavingMember, LeftMember, Reply, group_id},
    session::Session,
    wire::{
        self, Api, ErrorCode, StrBytes,
        messages::{
            LeaveGroupRequest, LeaveGroupResponse, leave_group_request::MemberIdentity,
            leave_group_response::MemberResponse,
        },
    },
};
use tracing::debug;

pub const API: Api = Api::new(13, "LeaveGroup", 0, 5, 4);

pub async fn handle(
    ctx: &Ctx,
    _session: &mut Session,
    version: i16,
    mut request: LeaveGroupRequest,
) -> LeaveGroupResponse {
    if version < 3 {
        let member = MemberIdentity::default().with_member_id(request.member_id.clone());
        request.members = vec![member];
    }
    let left = match leave(ctx, &request).await {
        Ok(left) => left,
        Err(error) => return LeaveGroupResponse::default().with_error_code(error.code()),
    };
    if version < 3 {
        let code = left.first().map_or(0, |it| wire::code(&it.result));
        return LeaveGroupResponse::default().with_error_code(code);
    }
    let members = left.into_iter().map(|it| {
        MemberResponse::default()
            .with_error_code(wire::code(&it.result))
            .with_member_id(StrBytes::from_string(it.member_id))
            .with_group_instance_id(it.instance_id.map(StrBytes::from_string))
    });
    LeaveGroupResponse::default().with_members(members.collect())
}

async fn leave(ctx: &Ctx, request: &LeaveGroupRequest) -> Result<Vec<LeftMember>, ErrorCode> {
    let group = group_id(&request.group_id)?;
    for it in &request.members {
        if let Some(reason) = it.reason.as_ref().filter(|it| !it.is_empty()) {
            debug!(%group, member = %it.member_id, %reason, "a member leaves");
        }
    }
    let members = || {
        request.members.iter().map(|it| LeavingMember {
            member_id: it.member_id.to_string(),
            instance_id: it.group_instance_id.as_ref().map(ToString::to_string),
        })
    };
    let command = Command::Leave { group: group.clone(), members: members().collect() };
    match ctx.groups.call(&group, command).await? {
        Reply::Leave(Err(ErrorCode::UnknownMemberId)) => {
            let unknown = members().map(|it| LeftMember {
                member_id: it.member_id,
                instance_id: it.instance_id,
                result: Err(ErrorCode::UnknownMemberId),
            });
            Ok(unknown.collect())
        }
        Reply::Leave(result) => result,
        _ => Err(ErrorCode::UnknownServerError),
    }
}
