//! DescribeAcls: v1-3.
//!
//! Versions: 2 flexible · 3 user resources (KIP-373). Nobody checks ACLs here, and none are stored: SECURITY_DISABLED, as Kafka
//! says without an authorizer.

use super::Ctx;
use crate::{
    session::Session,
    wire::{
        ErrorCode, StrBytes,
        api::Api,
        messages::{DescribeAclsRequest, DescribeAclsResponse},
    },
};

pub const API: Api = Api::new(29, "DescribeAcls", 1, 3, 2);

/// `UNKNOWN` of resource types, pattern types, operations and permissions: Kafka closes the connection over it.
pub(super) const UNKNOWN: i8 = 0;

/// None: the connection is to be closed.
pub async fn handle(
    _ctx: &Ctx,
    _session: &mut Session,
    _version: i16,
    request: DescribeAclsRequest,
) -> Option<DescribeAclsResponse> {
    let codes = [
        request.resource_type_filter,
        request.pattern_type_filter,
        request.operation,
        request.permission_type,
    ];
    let message = StrBytes::from_static_str("No Authorizer is configured on the broker");
    (!codes.contains(&UNKNOWN)).then(|| {
        DescribeAclsResponse::default()
            .with_error_code(ErrorCode::SecurityDisabled.code())
            .with_error_message(Some(message))
    })
}
