//! IncrementalAlterConfigs: v0-1 (KIP-339).
//!
//! Versions: 1 flexible.
//! Not here: the work, which is AlterConfigs'.

use super::{
    Ctx,
    alter_configs::{Altered, Asked, alter},
};
use crate::{
    session::Session,
    wire::{
        api::Api,
        messages::{
            IncrementalAlterConfigsRequest, IncrementalAlterConfigsResponse,
            incremental_alter_configs_response::AlterConfigsResourceResponse,
        },
    },
};

pub const API: Api = Api::new(44, "IncrementalAlterConfigs", 0, 1, 1);

pub async fn handle(
    ctx: &Ctx,
    _session: &mut Session,
    _version: i16,
    request: IncrementalAlterConfigsRequest,
) -> IncrementalAlterConfigsResponse {
    let resources: Vec<Altered> = request
        .resources
        .into_iter()
        .map(|it| {
            let configs = it.configs.into_iter().map(|it| (it.name, it.config_operation, it.value));
            let asked = Asked::Some(configs.collect());
            Altered { kind: it.resource_type, name: it.resource_name, asked }
        })
        .collect();
    let responses = alter(ctx, resources, request.validate_only).await.map(|it| {
        AlterConfigsResourceResponse::default()
            .with_error_code(it.code)
            .with_error_message(it.message)
            .with_resource_type(it.kind)
            .with_resource_name(it.name)
    });
    IncrementalAlterConfigsResponse::default().with_responses(responses.collect())
}
