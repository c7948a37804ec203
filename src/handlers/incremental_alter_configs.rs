//! IncrementalAlterConfigs: v0-1 (KIP-339).
//!
//! Versions: 1 flexible.
//! Not here: the work, which is AlterConfigs'.

use super::{
    Ctx,
    alter_configs::{Altered, Asked, alter, outcome},
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
    let results = alter(ctx, &resources, request.validate_only).await;
    let responses = resources.into_iter().zip(results).map(|(resource, result)| {
        let (code, message) = outcome(result);
        AlterConfigsResourceResponse::default()
            .with_error_code(code)
            .with_error_message(message)
            .with_resource_type(resource.kind)
            .with_resource_name(resource.name)
    });
    IncrementalAlterConfigsResponse::default().with_responses(responses.collect())
}
