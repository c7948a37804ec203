//! DescribeClientQuotas: v0-1.
//!
//! Versions: 1 flexible. No quotas are stored; a filter is checked all the same, as Kafka does (`ClientQuotasImage.describe`).

use super::Ctx;
use crate::{
    session::Session,
    wire::{
        ErrorCode, StrBytes,
        api::Api,
        messages::{
            DescribeClientQuotasRequest, DescribeClientQuotasResponse,
            describe_client_quotas_request::ComponentData,
        },
    },
};

pub const API: Api = Api::new(48, "DescribeClientQuotas", 0, 1, 1);

const EXACT: i8 = 0;
const DEFAULT: i8 = 1;
const SPECIFIED: i8 = 2;

pub async fn handle(
    _ctx: &Ctx,
    _session: &mut Session,
    _version: i16,
    request: DescribeClientQuotasRequest,
) -> DescribeClientQuotasResponse {
    match check(&request.components) {
        Ok(()) => DescribeClientQuotasResponse::default().with_entries(Some(Vec::new())),
        Err((code, message)) => DescribeClientQuotasResponse::default()
            .with_error_code(code.code())
            .with_error_message(Some(StrBytes::from_string(message)))
            .with_entries(None),
    }
}

fn check(components: &[ComponentData]) -> Result<(), (ErrorCode, String)> {
    let invalid = |message: &str| Err((ErrorCode::InvalidRequest, message.to_owned()));
    // Of three types one comes twice among four.
    for (at, component) in components.iter().enumerate() {
        let kind = component.entity_type.as_str();
        if kind.is_empty() {
            return invalid("Invalid empty entity type.");
        }
        if components[..at].iter().any(|it| it.entity_type.as_str() == kind) {
            return invalid(&format!(
                "Entity type {kind} cannot appear more than once in the filter."
            ));
        }
        if !["user", "client-id", "ip"].contains(&kind) {
            let message = format!("Unsupported entity type {kind}");
            return Err((ErrorCode::UnsupportedVersion, message));
        }
        let also = |name: &str| {
            invalid(&format!(
                "Request specified MATCH_TYPE_{name}, but also specified a match string."
            ))
        };
        match (component.match_type, &component._match) {
            (EXACT, None) => {
                return invalid(
                    "Request specified MATCH_TYPE_EXACT, but set match string to null.",
                );
            }
            (DEFAULT, Some(_)) => return also("DEFAULT"),
            (SPECIFIED, Some(_)) => return also("SPECIFIED"),
            (EXACT, Some(_)) | (DEFAULT | SPECIFIED, None) => {}
            (other, _) => return invalid(&format!("Unknown match type {other}")),
        }
    }
    if components.len() > 1 && components.iter().any(|it| it.entity_type.as_str() == "ip") {
        return invalid(
            "Invalid entity filter component combination. IP filter component should not be used \
             with user or clientId filter component.",
        );
    }
    Ok(())
}
