//! DeleteGroups: v0-2.
//!
//! Versions: 1 throttle time · 2 flexible. Each group is answered once, however often it is named.

use super::Ctx;
use crate::{
    group::command::{Command, Reply},
    session::Session,
    wire::{
        self, Api, ErrorCode, StrBytes,
        messages::{
            DeleteGroupsRequest, DeleteGroupsResponse, delete_groups_response::DeletableGroupResult,
        },
    },
};
use std::collections::BTreeSet;

pub const API: Api = Api::new(42, "DeleteGroups", 0, 2, 2);

pub async fn handle(
    ctx: &Ctx,
    _session: &mut Session,
    _version: i16,
    request: DeleteGroupsRequest,
) -> DeleteGroupsResponse {
    let mut results = Vec::with_capacity(request.groups_names.len());
    let mut seen = BTreeSet::new();
    let ids = request.groups_names.iter().map(|it| it.to_string());
    for (shard, ids) in ctx.groups.by_shard(ids.filter(|id| seen.insert(id.clone()))) {
        match ctx.groups.call_shard(shard, Command::Delete { groups: ids.clone() }).await {
            Ok(Reply::Delete(deleted)) => results.extend(deleted),
            other => {
                let error = other.err().unwrap_or(ErrorCode::UnknownServerError);
                results.extend(ids.into_iter().map(|id| (id, Err(error))));
            }
        }
    }
    let results = results.into_iter().map(|(id, result)| {
        DeletableGroupResult::default()
            .with_group_id(StrBytes::from_string(id).into())
            .with_error_code(wire::code(&result))
    });
    DeleteGroupsResponse::default().with_results(results.collect())
}
