//! DeleteAcls: v1-3.
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
            DeleteAclsRequest, DeleteAclsResponse, delete_acls_response::DeleteAclsFilterResult,
        },
    },
};

pub const API: Api = Api::new(31, "DeleteAcls", 1, 3, 2);

/// None: the connection is to be closed.
pub async fn handle(
    _ctx: &Ctx,
    _session: &mut Session,
    _version: i16,
    request: DeleteAclsRequest,
) -> Option<DeleteAclsResponse> {
    let known = request.filters.iter().all(|it| {
        let codes =
            [it.resource_type_filter, it.pattern_type_filter, it.operation, it.permission_type];
        !codes.contains(&UNKNOWN)
    });
    let disabled = DeleteAclsFilterResult::default()
        .with_error_code(ErrorCode::SecurityDisabled.code())
        .with_error_message(Some(StrBytes::from_static_str("No Authorizer is configured.")));
    let results = vec![disabled; request.filters.len()];
    known.then(|| DeleteAclsResponse::default().with_filter_results(results))
}
