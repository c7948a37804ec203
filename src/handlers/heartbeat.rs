//! Heartbeat: v0-4.
//!
//! Versions: 1 throttle time · 3 group.instance.id (KIP-345) · 4 flexible.
//! Not here: the rules are in `group::classic`.

use super::Ctx;
use crate::{
    group::command::{Command, Heartbeat, Reply, group_id},
    session::Session,
    wire::{
        self, Api, ErrorCode,
        messages::{HeartbeatRequest, HeartbeatResponse},
    },
};

pub const API: Api = Api::new(12, "Heartbeat", 0, 4, 4);

pub async fn handle(
    ctx: &Ctx,
    _session: &mut Session,
    _version: i16,
    request: HeartbeatRequest,
) -> HeartbeatResponse {
    let result = heartbeat(ctx, request).await;
    HeartbeatResponse::default().with_error_code(wire::code(&result))
}

async fn heartbeat(ctx: &Ctx, request: HeartbeatRequest) -> Result<(), ErrorCode> {
    let group = group_id(&request.group_id)?;
    let command = Command::Heartbeat(Heartbeat {
        group: group.clone(),
        member_id: request.member_id.to_string(),
        instance_id: request.group_instance_id.as_ref().map(ToString::to_string),
        generation: request.generation_id,
    });
    match ctx.groups.call(&group, command).await? {
        Reply::Heartbeat(result) => result,
        _ => Err(ErrorCode::UnknownServerError),
    }
}
