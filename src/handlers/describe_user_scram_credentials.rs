//! DescribeUserScramCredentials: v0 (KIP-554). No credentials are stored: nobody who is named has any.

use super::{Ctx, messages::Messages};
use crate::{
    session::Session,
    wire::{
        ErrorCode,
        api::Api,
        messages::{
            DescribeUserScramCredentialsRequest, DescribeUserScramCredentialsResponse,
            describe_user_scram_credentials_response::DescribeUserScramCredentialsResult,
        },
    },
};
use std::collections::BTreeMap;

pub const API: Api = Api::new(50, "DescribeUserScramCredentials", 0, 0, 0);

pub async fn handle(
    _ctx: &Ctx,
    _session: &mut Session,
    _version: i16,
    request: DescribeUserScramCredentialsRequest,
) -> DescribeUserScramCredentialsResponse {
    let mut named = BTreeMap::new();
    for user in request.users.into_iter().flatten() {
        *named.entry(user.name).or_insert(0) += 1;
    }
    let mut messages = Messages::default();
    let results = named.into_iter().map(|(name, times)| {
        let (code, words) = match times {
            1 => (
                ErrorCode::ResourceNotFound,
                "Attempt to describe a user credential that does not exist:",
            ),
            _ => (
                ErrorCode::DuplicateResource,
                "Cannot describe SCRAM credentials for the same user twice in a single request:",
            ),
        };
        DescribeUserScramCredentialsResult::default()
            .with_error_code(code.code())
            .with_error_message(messages.take(format!("{words} {}", name.as_str())))
            .with_user(name)
    });
    DescribeUserScramCredentialsResponse::default().with_results(results.collect())
}
