//! JoinGroup: v0-9.
//!
//! Versions: 1 rebalance timeout (before: the session timeout) · 2 throttle time · 4 MEMBER_ID_REQUIRED (KIP-394) · 5
//! group.instance.id (KIP-345) · 6 flexible · 7 protocol type in the answer, null protocol name · 8 reason (KIP-800) · 9
//! skip_assignment (KIP-814).
//! Not here: the rules are in `group::classic`. The reason is only logged.

use super::Ctx;
use crate::{
    group::command::{Command, JoinGroup, JoinRefused, Joined, Protocol, Reply, group_id},
    ids::fresh_uuid,
    session::Session,
    wire::{
        Api, ErrorCode, StrBytes,
        messages::{
            JoinGroupRequest, JoinGroupResponse, join_group_response::JoinGroupResponseMember,
        },
        text,
    },
};
use bytes::Bytes;
use std::net::IpAddr;
use tracing::debug;

pub const API: Api = Api::new(11, "JoinGroup", 0, 9, 6);

pub async fn handle(
    ctx: &Ctx,
    session: &mut Session,
    version: i16,
    request: JoinGroupRequest,
) -> JoinGroupResponse {
    if let Some(reason) = request.reason.as_ref().filter(|it| !it.is_empty()) {
        debug!(group = %*request.group_id, member = %request.member_id, %reason, "a member joins");
    }
    let response = match join(ctx, session, version, request).await {
        Ok(joined) => response(joined),
        Err(refused) => JoinGroupResponse::default()
            .with_error_code(refused.error.code())
            .with_protocol_name(None)
            .with_member_id(StrBytes::from_string(refused.member_id)),
    };
    // Null is known from v7 on.
    match &response.protocol_name {
        None if version < 7 => response.with_protocol_name(Some(StrBytes::new())),
        _ => response,
    }
}

async fn join(
    ctx: &Ctx,
    session: &Session,
    version: i16,
    request: JoinGroupRequest,
) -> Result<Joined, JoinRefused> {
    let member_id = request.member_id.to_string();
    let group = group_id(&request.group_id)
        .map_err(|error| JoinRefused { error, member_id: member_id.clone() })?;
    let protocols = request.protocols.iter().map(|it| Protocol {
        name: it.name.to_string(),
        metadata: Bytes::copy_from_slice(&it.metadata),
    });
    let command = Command::Join(JoinGroup {
        group: group.clone(),
        member_id,
        instance_id: request.group_instance_id.as_ref().map(ToString::to_string),
        client_id: session.client_id.clone(),
        client_host: client_host(session.peer.ip()),
        session_timeout_ms: request.session_timeout_ms,
        rebalance_timeout_ms: match version {
            0 => request.session_timeout_ms,
            _ => request.rebalance_timeout_ms,
        },
        protocol_type: request.protocol_type.to_string(),
        protocols: protocols.collect(),
        requires_known_member_id: version >= 4,
        can_skip_assignment: version >= 9,
        uuid: fresh_uuid(),
    });
    let refused = |error| JoinRefused { error, member_id: String::new() };
    match ctx.await_group(&group, command).await.map_err(refused)? {
        Reply::Join(result) => result,
        _ => Err(refused(ErrorCode::UnknownServerError)),
    }
}

/// As Java prints an address: IPv6 without shortening.
fn client_host(ip: IpAddr) -> String {
    match ip.to_canonical() {
        IpAddr::V4(ip) => format!("/{ip}"),
        IpAddr::V6(ip) => {
            let segments = ip.segments().map(|it| format!("{it:x}"));
            format!("/{}", segments.join(":"))
        }
    }
}

fn response(joined: Joined) -> JoinGroupResponse {
    let members = joined.members.into_iter().map(|it| {
        JoinGroupResponseMember::default()
            .with_member_id(StrBytes::from_string(it.member_id))
            .with_group_instance_id(it.instance_id.map(StrBytes::from_string))
            .with_metadata(it.metadata)
    });
    JoinGroupResponse::default()
        .with_generation_id(joined.generation)
        .with_protocol_type(joined.protocol_type.as_deref().map(text))
        .with_protocol_name(joined.protocol.filter(|it| !it.is_empty()).map(StrBytes::from_string))
        .with_leader(StrBytes::from_string(joined.leader))
        .with_skip_assignment(joined.skip_assignment)
        .with_member_id(StrBytes::from_string(joined.member_id))
        .with_members(members.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_look_as_from_java() {
        for (ip, shown) in [
            ("127.0.0.1", "/127.0.0.1"),
            ("::ffff:10.0.0.1", "/10.0.0.1"),
            ("::1", "/0:0:0:0:0:0:0:1"),
            ("fe80::ab:0", "/fe80:0:0:0:0:0:ab:0"),
        ] {
            assert_eq!(client_host(ip.parse().unwrap()), shown);
        }
    }
}
