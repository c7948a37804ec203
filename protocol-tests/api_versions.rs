//! ApiVersions: v0-4 (KIP-511).

use bytes::{Buf, Bytes};
use kafka_protocol::messages::{ApiVersionsRequest, ApiVersionsResponse};
use kafka_protocol::protocol::Decodable;

use crate::broker;
use crate::client::{Client, call, frame, sized, text};
use crate::codes::{INVALID_REQUEST, NONE, UNSUPPORTED_VERSION};

const KEY: i16 = 18;

fn request() -> ApiVersionsRequest {
    ApiVersionsRequest::default()
        .with_client_software_name(text("protocol-tests"))
        .with_client_software_version(text("1.0"))
}

/// (key, min, max) as Kafka 4.1.1 advertises them, for what Ottla implements.
pub const EXPECTED: [(i16, i16, i16); 43] = [
    (0, 0, 13),
    (1, 4, 18),
    (2, 1, 10),
    (3, 0, 13),
    (8, 2, 9),
    (9, 1, 9),
    (10, 0, 6),
    (11, 0, 9),
    (12, 0, 4),
    (13, 0, 5),
    (14, 0, 5),
    (15, 0, 6),
    (16, 0, 5),
    (18, 0, 4),
    (19, 2, 7),
    (20, 1, 6),
    (21, 0, 2),
    (22, 0, 5),
    (23, 2, 4),
    (29, 1, 3),
    (30, 1, 3),
    (31, 1, 3),
    (32, 1, 4),
    (33, 0, 2),
    (34, 1, 2),
    (35, 1, 4),
    (37, 0, 3),
    (42, 0, 2),
    (43, 0, 2),
    (44, 0, 1),
    (45, 0, 1),
    (46, 0, 0),
    (47, 0, 0),
    (48, 0, 1),
    (50, 0, 0),
    (55, 0, 2),
    (57, 0, 2),
    (60, 0, 2),
    (61, 0, 0),
    (65, 0, 0),
    (66, 0, 2),
    (74, 0, 1),
    (75, 0, 0),
];

fn ranges(response: &ApiVersionsResponse) -> Vec<(i16, i16, i16)> {
    response.api_keys.iter().map(|api| (api.api_key, api.min_version, api.max_version)).collect()
}

#[test]
fn every_version_lists_the_ranges_of_kafka() {
    for version in 0..=4 {
        let response = call(version, &request());
        assert_eq!(response.error_code, NONE, "v{version}");
        let ranges = ranges(&response);
        for expected in EXPECTED {
            assert!(ranges.contains(&expected), "v{version}: {expected:?} is not in {ranges:?}");
        }
        if !broker::is_foreign() {
            assert_eq!(ranges.len(), EXPECTED.len(), "v{version}: more than what is implemented");
        }
    }
}

#[test]
fn features_with_min_level_zero_are_left_out_below_v4() {
    let levels = |version| -> Vec<(String, i16)> {
        let features = call(version, &request()).supported_features;
        features.iter().map(|it| (it.name.to_string(), it.min_version)).collect()
    };
    assert!(levels(3).iter().all(|(_, min)| *min > 0), "{:?}", levels(3));
    assert!(levels(4).iter().any(|(name, _)| name == "metadata.version"), "{:?}", levels(4));
    let response = call(4, &request());
    assert!(response.finalized_features_epoch >= 0, "{response:?}");
    let finalized: Vec<_> = response
        .finalized_features
        .iter()
        .map(|it| (it.name.to_string(), it.max_version_level))
        .collect();
    assert!(finalized.contains(&("metadata.version".to_owned(), 27)), "{finalized:?}");
}

/// A version above the highest, its body unreadable: answered at v0 with this API's own range, connection kept.
/// librdkafka and franz-go take the version to try next from it.
#[test]
fn unknown_version_is_answered_at_v0() {
    for version in [5, 99, i16::MAX, -1] {
        let mut client = Client::connect();
        let body = [
            &KEY.to_be_bytes()[..],
            &version.to_be_bytes(),
            &77i32.to_be_bytes(),
            &[0xff, 0xff, 0x00],
            b"no body at all",
        ]
        .concat();
        client.send_bytes(&sized(&body));
        let mut answer = client.read_frame().expect("an answer");
        assert_eq!(
            answer,
            Bytes::from_static(&[0, 0, 0, 77, 0, 35, 0, 0, 0, 1, 0, 18, 0, 0, 0, 4]),
            "v{version}"
        );
        answer.advance(4);
        let response = ApiVersionsResponse::decode(&mut answer, 0).unwrap();
        assert_eq!(response.error_code, UNSUPPORTED_VERSION);
        assert_eq!(client.call(4, &request()).error_code, NONE, "the connection is still good");
    }
}

/// The body is flexible from v3 on, the response header never is: the error code follows the correlation id at once.
#[test]
fn response_header_is_v0_at_every_version() {
    for version in 0..=4 {
        let mut client = Client::connect();
        client.send_bytes(&frame(version, 0x0102_0304, &request()));
        let answer = client.read_frame().expect("an answer");
        assert_eq!(&answer[..6], [1, 2, 3, 4, 0, 0], "v{version}");
        let count = if version < 3 {
            i32::from_be_bytes(answer[6..10].try_into().unwrap())
        } else {
            i32::from(answer[6]) - 1
        };
        assert!((EXPECTED.len() as i32..100).contains(&count), "v{version}: {count} keys");
    }
}

#[test]
fn software_name_must_be_a_name() {
    for (name, version) in [("", "1.0"), ("x", ""), ("with space", "1"), ("ok", "-1"), ("a.", "1")]
    {
        let request = request()
            .with_client_software_name(text(name))
            .with_client_software_version(text(version));
        let response = call(3, &request);
        assert_eq!(response.error_code, INVALID_REQUEST, "{name:?} {version:?}");
        assert_eq!(ranges(&response), [], "{name:?} {version:?}");
    }
    for (name, version) in [("librdkafka", "2.15.0"), ("a-b.c", "1"), ("x", "y")] {
        let request = request()
            .with_client_software_name(text(name))
            .with_client_software_version(text(version));
        assert_eq!(call(3, &request).error_code, NONE, "{name:?} {version:?}");
    }
}

#[test]
fn answered_more_than_once_on_a_connection() {
    let mut client = Client::connect();
    for version in [4, 0, 3, 0] {
        assert_eq!(client.call(version, &request()).error_code, NONE, "v{version}");
    }
}
