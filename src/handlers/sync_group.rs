//! SyncGroup: v0-5.
//!
//! Versions: 1 throttle time · 3 group.instance.id (KIP-345) · 4 flexible · 5 protocol type and name, which must be there
//! (KIP-559).
//! Not here: the rules are in `group::classic`. A member without an assignment gets an empty byte string, as from Kafka.

use super::Ctx;
use crate::{
    group::command::{Command, Reply, SyncGroup, Synced, group_id},
    session::Session,
    wire::{
        Api, ErrorCode, StrBytes,
        messages::{SyncGroupRequest, SyncGroupResponse},
    },
};
use bytes::Bytes;

pub const API: Api = Api::new(14, "SyncGroup", 0, 5, 4);

pub async fn handle(
    ctx: &Ctx,
    _session: &mut Session,
    version: i16,
    request: SyncGroupRequest,
) -> SyncGroupResponse {
    match sync(ctx, version, request).await {
        Ok(synced) => SyncGroupResponse::default()
            .with_protocol_type(synced.protocol_type.map(StrBytes::from_string))
            .with_protocol_name(synced.protocol.map(StrBytes::from_string))
            .with_assignment(synced.assignment),
        Err(error) => SyncGroupResponse::default().with_error_code(error.code()),
    }
}

async fn sync(ctx: &Ctx, version: i16, request: SyncGroupRequest) -> Result<Synced, ErrorCode> {
    let names_protocol = request.protocol_type.is_some() && request.protocol_name.is_some();
    if version >= 5 && !names_protocol {
        return Err(ErrorCode::InconsistentGroupProtocol);
    }
    let group = group_id(&request.group_id)?;
    let assignments = request
        .assignments
        .iter()
        .map(|it| (it.member_id.to_string(), Bytes::copy_from_slice(&it.assignment)));
    let command = Command::Sync(SyncGroup {
        group: group.clone(),
        member_id: request.member_id.to_string(),
        instance_id: request.group_instance_id.as_ref().map(ToString::to_string),
        generation: request.generation_id,
        protocol_type: request.protocol_type.as_ref().map(ToString::to_string),
        protocol: request.protocol_name.as_ref().map(ToString::to_string),
        assignments: assignments.collect(),
    });
    match ctx.await_group(&group, command).await? {
        Reply::Sync(result) => result,
        _ => Err(ErrorCode::UnknownServerError),
    }
}
