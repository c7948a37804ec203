//! UpdateFeatures: v0-2. Nothing here changes a feature: levels stay as they are, or the request is refused.

use kafka_protocol::messages::update_features_request::FeatureUpdateKey;
use kafka_protocol::messages::{ApiVersionsRequest, MetadataRequest, UpdateFeaturesRequest};

use crate::broker;
use crate::client::{call, text};
use crate::codes::{INVALID_UPDATE_VERSION, NONE};

const METADATA: &str = "metadata.version";
/// Of Kafka 4.1.
const LEVEL: i16 = 27;
const UPGRADE: i8 = 1;
const SAFE_DOWNGRADE: i8 = 2;

fn update(feature: &str, level: i16, kind: i8) -> FeatureUpdateKey {
    FeatureUpdateKey::default()
        .with_feature(text(feature))
        .with_max_version_level(level)
        .with_upgrade_type(kind)
}

/// A dry run, but at v0, which has none.
fn request(version: i16, updates: Vec<FeatureUpdateKey>) -> UpdateFeaturesRequest {
    UpdateFeaturesRequest::default()
        .with_timeout_ms(10_000)
        .with_validate_only(version > 0)
        .with_feature_updates(updates)
}

#[test]
fn the_level_it_has() {
    for version in 0..=2 {
        let response = call(version, &request(version, vec![update(METADATA, LEVEL, UPGRADE)]));
        assert_eq!((response.error_code, response.error_message), (NONE, None), "v{version}");
        let results: Vec<_> = response
            .results
            .iter()
            .map(|it| (it.feature.as_str(), it.error_code, it.error_message.as_deref()))
            .collect();
        let expected = [(METADATA, NONE, Some("NONE"))];
        assert_eq!(results, &expected[usize::from(version > 1)..], "v{version}");
        let none = call(version, &request(version, vec![]));
        assert_eq!((none.error_code, none.results.len()), (NONE, 0), "v{version}");
    }
    let response = call(2, &request(0, vec![update(METADATA, LEVEL, UPGRADE)]));
    assert_eq!(response.error_code, NONE, "not a dry run");
}

#[test]
fn refusals() {
    let node = call(9, &MetadataRequest::default()).brokers[0].node_id;
    let range = format!("Local controller {} only supports versions 7-27", node.0);
    let unsupported = format!("Local controller {} does not support this feature.", node.0);
    let downgrade = "Can't downgrade the version of this feature without setting the upgrade type to either safe or \
                     unsafe downgrade.";
    let kind = "The controller does not support the given upgrade type.";
    let cases = [
        (1, vec![update(METADATA, 28, UPGRADE)], range.as_str()),
        (1, vec![update(METADATA, 0, SAFE_DOWNGRADE)], &range),
        (1, vec![update(METADATA, 26, UPGRADE)], downgrade),
        (1, vec![update(METADATA, -1, SAFE_DOWNGRADE)], "A feature version cannot be less than 0."),
        (1, vec![update(METADATA, LEVEL, 0)], kind),
        (1, vec![update(METADATA, LEVEL, 9)], kind),
        (0, vec![update("nope", 1, UPGRADE)], &unsupported),
        (0, vec![update("", 1, UPGRADE)], &unsupported),
        (1, vec![update("nope", 0, SAFE_DOWNGRADE)], "Feature nope not found."),
        (0, vec![update(METADATA, LEVEL, UPGRADE), update("nope", 2, UPGRADE)], &unsupported),
        (1, vec![update(METADATA, LEVEL, UPGRADE), update(METADATA, 26, UPGRADE)], downgrade),
    ];
    for (from, updates, reason) in cases {
        let last = updates.last().unwrap();
        let (level, feature) = (last.max_version_level, last.feature.as_str());
        let message = format!(
            "The update failed for all features since the following feature had an error: Invalid update version \
             {level} for feature {feature}. {reason}"
        );
        for version in from..=2 {
            let response = call(version, &request(version, updates.clone()));
            let told = (response.error_code, response.error_message.as_deref());
            assert_eq!(told, (INVALID_UPDATE_VERSION, Some(message.as_str())), "v{version}");
            assert_eq!(response.results, [], "v{version}");
        }
    }
}

/// Kafka would do it.
#[test]
fn older_levels() {
    if broker::is_foreign() {
        return;
    }
    let request = request(2, vec![update(METADATA, 26, SAFE_DOWNGRADE)]).with_validate_only(false);
    assert_eq!(call(2, &request).error_code, INVALID_UPDATE_VERSION);
    let versions = ApiVersionsRequest::default()
        .with_client_software_name(text("tests"))
        .with_client_software_version(text("1"));
    let finalized = call(4, &versions).finalized_features;
    assert_eq!(finalized[0].max_version_level, LEVEL);
}
