//! ListConfigResources: v0-1 (KIP-1142).
//!
//! Versions: 0 client metrics subscriptions alone (KIP-1000, which called it ListClientMetricsResources) · 1 all types, or
//! those asked for.

use super::{
    Ctx,
    alter_configs::{BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP, TOPIC},
};
use crate::{
    cluster::record::Resource,
    session::Session,
    wire::{
        ErrorCode, StrBytes,
        api::Api,
        messages::{
            ListConfigResourcesRequest, ListConfigResourcesResponse,
            list_config_resources_response::ConfigResource,
        },
    },
};

pub const API: Api = Api::new(74, "ListConfigResources", 0, 1, 0);

/// In the order of the answer.
const TYPES: [i8; 5] = [GROUP, CLIENT_METRICS, BROKER_LOGGER, BROKER, TOPIC];

pub async fn handle(
    ctx: &Ctx,
    _session: &mut Session,
    version: i16,
    request: ListConfigResourcesRequest,
) -> ListConfigResourcesResponse {
    let supported = if version == 0 { &[CLIENT_METRICS] } else { &TYPES[..] };
    let asked = &request.resource_types;
    if asked.iter().any(|kind| !supported.contains(kind)) {
        let code = ErrorCode::UnsupportedVersion.code();
        return ListConfigResourcesResponse::default().with_error_code(code);
    }
    let image = ctx.image.load();
    let mut resources = Vec::new();
    for kind in supported.iter().copied().filter(|kind| asked.is_empty() || asked.contains(kind)) {
        let resource = |name: String| {
            ConfigResource::default()
                .with_resource_name(StrBytes::from_string(name))
                .with_resource_type(kind)
        };
        let brokers = || image.brokers().filter(|broker| !broker.fenced);
        match kind {
            TOPIC => resources.extend(image.topics().map(|topic| resource(topic.name.clone()))),
            BROKER | BROKER_LOGGER => {
                resources.extend(brokers().map(|broker| resource(broker.node_id.0.to_string())));
            }
            _ => resources.extend(image.configured().filter_map(|it| match it {
                Resource::Group(name) if kind == GROUP => Some(resource(name.clone())),
                Resource::ClientMetrics(name) if kind == CLIENT_METRICS => {
                    Some(resource(name.clone()))
                }
                _ => None,
            })),
        }
    }
    ListConfigResourcesResponse::default().with_config_resources(resources)
}
