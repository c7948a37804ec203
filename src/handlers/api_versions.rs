//! ApiVersions: v0-4.
//!
//! Versions: 1 throttle time · 3 flexible (but never its response header), client software (KIP-511), features (KIP-584) ·
//! 4 features whose lowest level is 0 (KAFKA-17011). Answered at any version: one that is not served gets `unsupported`.

use super::{APIS, Ctx};
use crate::{
    cluster::Image,
    limits,
    session::Session,
    wire::{
        ErrorCode, StrBytes,
        api::Api,
        messages::{
            ApiVersionsRequest, ApiVersionsResponse,
            api_versions_response::{ApiVersion, FinalizedFeatureKey, SupportedFeatureKey},
        },
    },
};

pub const API: Api = Api::new(18, "ApiVersions", 0, 4, 3);

/// The feature every cluster has finalized: metadata.version of Kafka 4.1. Others are named once they are true.
pub(super) const METADATA_VERSION: &str = "metadata.version";
/// Kafka 3.3, the oldest level a 4.1 broker takes over.
pub(super) const METADATA_VERSION_MIN: i16 = 7;
/// 4.1-IV1.
pub(super) const METADATA_VERSION_MAX: i16 = 27;

pub fn handle(
    ctx: &Ctx,
    session: &mut Session,
    version: i16,
    request: ApiVersionsRequest,
) -> ApiVersionsResponse {
    let response = answer(APIS, &ctx.image.load(), version, &request);
    if response.error_code == 0 && version >= 3 {
        session.software_name = remembered(&request.client_software_name);
        session.software_version = remembered(&request.client_software_version);
    }
    response
}

/// What a version that is not served gets, encoded as v0: error 35 and this API's own range, no more.
pub fn unsupported() -> ApiVersionsResponse {
    ApiVersionsResponse::default()
        .with_error_code(ErrorCode::UnsupportedVersion.code())
        .with_api_keys(vec![range(&API)])
}

fn answer(
    apis: &[Api],
    image: &Image,
    version: i16,
    request: &ApiVersionsRequest,
) -> ApiVersionsResponse {
    let software = [&request.client_software_name, &request.client_software_version];
    if version >= 3 && !software.into_iter().all(|name| is_software(name)) {
        return ApiVersionsResponse::default().with_error_code(ErrorCode::InvalidRequest.code());
    }
    let name = StrBytes::from_static_str(METADATA_VERSION);
    let supported = SupportedFeatureKey::default()
        .with_name(name.clone())
        .with_min_version(METADATA_VERSION_MIN)
        .with_max_version(METADATA_VERSION_MAX);
    let finalized = FinalizedFeatureKey::default()
        .with_name(name)
        .with_min_version_level(METADATA_VERSION_MAX)
        .with_max_version_level(METADATA_VERSION_MAX);
    ApiVersionsResponse::default()
        .with_api_keys(apis.iter().map(range).collect())
        .with_supported_features(vec![supported])
        .with_finalized_features_epoch(image.offset)
        .with_finalized_features(vec![finalized])
}

fn range(api: &Api) -> ApiVersion {
    ApiVersion::default()
        .with_api_key(api.key)
        .with_min_version(api.advertised_min)
        .with_max_version(api.max)
}

/// Letters, digits, `-` and `.`, the latter two not at either end (`ApiVersionsRequest.isValid`).
fn is_software(name: &str) -> bool {
    let inside = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'.';
    let ends = name.bytes().next().zip(name.bytes().next_back());
    name.bytes().all(inside)
        && ends.is_some_and(|(a, z)| a.is_ascii_alphanumeric() && z.is_ascii_alphanumeric())
}

/// Kept for as long as the connection: copied, and not when it is too long to be a name.
fn remembered(name: &StrBytes) -> Option<String> {
    (name.len() <= limits::SOFTWARE_NAME_BYTES_MAX).then(|| name.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::Record;

    const PRODUCE: Api = Api { advertised_min: 0, ..Api::new(0, "Produce", 3, 13, 9) };
    const FETCH: Api = Api::new(1, "Fetch", 4, 18, 12);

    fn ask(
        version: i16,
        name: &'static str,
        software_version: &'static str,
    ) -> ApiVersionsResponse {
        let mut image = Image::default();
        (1..=7).for_each(|next_producer_id| {
            image.apply(&Record::ProducerIds { next_producer_id });
        });
        let request = ApiVersionsRequest::default()
            .with_client_software_name(StrBytes::from_static_str(name))
            .with_client_software_version(StrBytes::from_static_str(software_version));
        answer(&[PRODUCE, FETCH, API], &image, version, &request)
    }

    fn ranges(response: &ApiVersionsResponse) -> Vec<(i16, i16, i16)> {
        response.api_keys.iter().map(|k| (k.api_key, k.min_version, k.max_version)).collect()
    }

    #[test]
    fn every_api_with_its_advertised_range() {
        for version in 0..=4 {
            let response = ask(version, "client", "1.0");
            assert_eq!(response.error_code, 0);
            assert_eq!(ranges(&response), [(0, 0, 13), (1, 4, 18), (18, 0, 4)]);
            assert_eq!(response.finalized_features_epoch, 7);
        }
    }

    #[test]
    fn an_unknown_version_gets_the_range_of_this_api_alone() {
        let response = unsupported();
        assert_eq!((response.error_code, ranges(&response)), (35, vec![(18, 0, 4)]));
        assert!(response.finalized_features.is_empty());
    }

    #[test]
    fn software_names() {
        for (name, good) in [
            ("a", true),
            ("apache-kafka-java", true),
            ("librdkafka.2-x", true),
            ("", false),
            ("-a", false),
            ("a.", false),
            ("a b", false),
            ("é", false),
        ] {
            let expected = if good { 0 } else { 42 };
            assert_eq!(ask(3, name, "1").error_code, expected, "{name:?}");
            assert_eq!(ask(4, "x", name).error_code, expected, "{name:?}");
            assert_eq!(ask(2, name, name).error_code, 0, "no names before v3");
        }
        assert_eq!(ranges(&ask(3, "", "")), []);
    }
}
