//! ApiVersions: v0-4.

use kafka_protocol::messages::ApiVersionsRequest;

use super::{Case, case, check};
use crate::client::{frame, text};

fn request() -> ApiVersionsRequest {
    ApiVersionsRequest::default()
        .with_client_software_name(text("differential"))
        .with_client_software_version(text("1.0"))
}

const CASES: &[Case] = &[
    case("what is there", 0..=4, |t| {
        t.ask(&request());
    }),
    case("a version that is not there: answered at v0", 0..=0, |t| {
        for version in [5, 99, -1] {
            let mut frame = frame(4, 1, &request()).to_vec();
            frame[6..8].copy_from_slice(&i16::to_be_bytes(version));
            t.note(&format!("v{version}")).try_bytes::<ApiVersionsRequest>(0, &frame);
        }
    }),
    case("a client without a proper name", 3..=4, |t| {
        for (name, version) in [("", "1.0"), ("x", ""), ("a b", "1"), ("ok", "-1"), ("a.", "1")] {
            t.note(&format!("{name:?} {version:?}"));
            let request = request().with_client_software_name(text(name));
            t.ask(&request.with_client_software_version(text(version)));
        }
    }),
    case("more than once on a connection", 0..=4, |t| {
        for _ in 0..2 {
            t.ask(&request().with_client_software_name(text("")));
        }
    }),
];

#[test]
fn api_versions() {
    check("api_versions", 18, CASES);
}
