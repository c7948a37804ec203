//! UpdateFeatures: v0-2 (KIP-584).
//!
//! Versions: 1 dry runs, types of upgrade (KIP-778) · 2 no results for each feature. All or nothing, as in Kafka: the first
//! feature that cannot be updated fails the request. A feature is at its only level already, so none ever changes; Kafka
//! would go back to an older level that it supports.

use super::{
    Ctx,
    api_versions::{METADATA_VERSION, METADATA_VERSION_MAX, METADATA_VERSION_MIN},
};
use crate::{
    session::Session,
    wire::{
        ErrorCode, StrBytes,
        api::Api,
        messages::{
            UpdateFeaturesRequest, UpdateFeaturesResponse,
            update_features_request::FeatureUpdateKey,
            update_features_response::UpdatableFeatureResult,
        },
    },
};
use std::collections::HashMap;

pub const API: Api = Api::new(57, "UpdateFeatures", 0, 2, 0);

/// KIP-778's types of upgrade.
const UPGRADE: i8 = 1;
const SAFE_DOWNGRADE: i8 = 2;
const UNSAFE_DOWNGRADE: i8 = 3;

pub async fn handle(
    ctx: &Ctx,
    _session: &mut Session,
    version: i16,
    request: UpdateFeaturesRequest,
) -> UpdateFeaturesResponse {
    // What is asked of a feature last counts; every time it is asked for is answered.
    let updates = request.feature_updates.iter().enumerate();
    let last: HashMap<&StrBytes, usize> =
        updates.clone().map(|(at, it)| (&it.feature, at)).collect();
    for (_, update) in updates.filter(|(at, it)| last[&it.feature] == *at) {
        if let Err(reason) = check(ctx.config.node_id, version, update) {
            return refused(update, &reason);
        }
    }
    let response = UpdateFeaturesResponse::default().with_error_message(None);
    if version >= 2 {
        return response;
    }
    let updated = |update: &FeatureUpdateKey| {
        UpdatableFeatureResult::default()
            .with_feature(update.feature.clone())
            .with_error_message(Some(StrBytes::from_static_str("NONE")))
    };
    response.with_results(request.feature_updates.iter().map(updated).collect())
}

fn refused(update: &FeatureUpdateKey, reason: &str) -> UpdateFeaturesResponse {
    let message = format!(
        "The update failed for all features since the following feature had an error: Invalid \
         update version {} for feature {}. {reason}",
        update.max_version_level,
        update.feature.as_str()
    );
    UpdateFeaturesResponse::default()
        .with_error_code(ErrorCode::InvalidUpdateVersion.code())
        .with_error_message(Some(StrBytes::from_string(message)))
}

/// Why a feature is not updated; Kafka's order of checks (`FeatureControlManager.updateFeature`).
fn check(node_id: i32, version: i16, update: &FeatureUpdateKey) -> Result<(), String> {
    let level = update.max_version_level;
    let kind = match (version, update.allow_downgrade) {
        (0, true) => SAFE_DOWNGRADE,
        (0, false) => UPGRADE,
        _ => update.upgrade_type,
    };
    if !(UPGRADE..=UNSAFE_DOWNGRADE).contains(&kind) {
        return Err("The controller does not support the given upgrade type.".to_owned());
    }
    if level < 0 {
        return Err("A feature version cannot be less than 0.".to_owned());
    }
    let feature = update.feature.as_str();
    if feature != METADATA_VERSION {
        return Err(match level {
            0 => format!("Feature {feature} not found."),
            _ => format!("Local controller {node_id} does not support this feature."),
        });
    }
    if !(METADATA_VERSION_MIN..=METADATA_VERSION_MAX).contains(&level) {
        return Err(format!(
            "Local controller {node_id} only supports versions \
             {METADATA_VERSION_MIN}-{METADATA_VERSION_MAX}"
        ));
    }
    match (level, kind) {
        (METADATA_VERSION_MAX, _) => Ok(()),
        (_, UPGRADE) => Err("Can't downgrade the version of this feature without setting the \
                             upgrade type to either safe or unsafe downgrade."
            .to_owned()),
        _ => Err("Going back to an older version is not supported.".to_owned()),
    }
}
