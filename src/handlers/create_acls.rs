//! CreateAcls: v1-3.
//!
//! Versions: 2 flexible · 3 user resources (KIP-373). Nobody checks ACLs here, and none are stored: SECURITY_DISABLED, as Kafka
//! says without an authorizer.

use super::{Ctx, describe_acls::UNKNOWN};
use crate::{
    session::Session,
    wire::{
        ErrorCode, StrBytes,
        api::Api,
        messages::{
            CreateAclsRequest, CreateAclsResponse, create_acls_response::AclCreationResult,
        },
    },
};

pub const API: Api = Api::new(30, "CreateAcls", 1, 3, 2);

/// None: the connection is to be closed.
pub async fn handle(
    _ctx: &Ctx,
    _session: &mut Session,
    _version: i16,
    request: CreateAclsRequest,
) -> Option<CreateAclsResponse> {
    let known = request.creations.iter().all(|it| {
        let codes = [it.resource_type, it.resource_pattern_type, it.operation, it.permission_type];
        !codes.contains(&UNKNOWN)
    });
    let disabled = AclCreationResult::default()
        .with_error_code(ErrorCode::SecurityDisabled.code())
        .with_error_message(Some(StrBytes::from_static_str("No Authorizer is configured.")));
    let results = vec![disabled; request.creations.len()];
    known.then(|| CreateAclsResponse::default().with_results(results))
}
