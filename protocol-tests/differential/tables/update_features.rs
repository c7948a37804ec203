//! UpdateFeatures: v0-2. Only what changes nothing: the cluster is shared.

use kafka_protocol::messages::UpdateFeaturesRequest;
use kafka_protocol::messages::update_features_request::FeatureUpdateKey;

use super::{Case, case, check};
use crate::client::text;

/// In the version's field for what kind of change it is: 1 upgrade, 2 safe downgrade, 3 unsafe downgrade.
fn of(version: i16, feature: &str, level: i16, kind: i8) -> UpdateFeaturesRequest {
    let update =
        FeatureUpdateKey::default().with_feature(text(feature)).with_max_version_level(level);
    let update = match version {
        0 => update.with_allow_downgrade(kind > 1),
        _ => update.with_upgrade_type(kind),
    };
    UpdateFeaturesRequest::default().with_feature_updates(vec![update]).with_timeout_ms(10_000)
}

const CASES: &[Case] = &[
    case("the level it has already", 0..=2, |t| {
        t.ask(&of(t.version, "metadata.version", 27, 1));
    }),
    case("levels that cannot be", 0..=2, |t| {
        let v = t.version;
        for (level, kind) in [(999, 1), (-1, 1), (0, 1), (0, 2), (26, 1), (1, 3)] {
            t.note(&format!("level {level}, kind {kind}"));
            t.ask(&of(v, "metadata.version", level, kind));
        }
    }),
    case("a feature that does not exist, no name, no feature", 0..=2, |t| {
        let v = t.version;
        t.ask(&of(v, "no.such.feature", 1, 1));
        t.ask(&of(v, "", 1, 1));
        t.ask(&UpdateFeaturesRequest::default().with_timeout_ms(10_000));
    }),
    case("a feature twice: what is asked last counts", 0..=2, |t| {
        for levels in [[27, 27], [27, 999], [999, 27]] {
            let mut request = of(t.version, "metadata.version", levels[0], 1);
            let last = of(t.version, "metadata.version", levels[1], 1);
            request.feature_updates.extend(last.feature_updates);
            t.note(&format!("levels {levels:?}")).ask(&request);
        }
    }),
    case("only validated", 1..=2, |t| {
        let v = t.version;
        for level in [27, 999] {
            t.ask(&of(v, "metadata.version", level, 1).with_validate_only(true));
        }
    }),
    case("a kind that does not exist", 1..=2, |t| {
        t.try_ask(&of(t.version, "metadata.version", 27, 7));
    }),
];

#[test]
fn update_features() {
    check("update_features", 57, CASES);
}
