//! DescribeClientQuotas: v0-1, where no quotas are set.

use kafka_protocol::messages::DescribeClientQuotasRequest;
use kafka_protocol::messages::describe_client_quotas_request::ComponentData;

use crate::client::{call, text};
use crate::codes::{INVALID_REQUEST, NONE, UNSUPPORTED_VERSION};

const EXACT: i8 = 0;
const DEFAULT: i8 = 1;
const SPECIFIED: i8 = 2;

type Component = (&'static str, i8, Option<&'static str>);

fn request(components: &[Component]) -> DescribeClientQuotasRequest {
    let components = components.iter().map(|(kind, match_type, name)| {
        ComponentData::default()
            .with_entity_type(text(kind))
            .with_match_type(*match_type)
            .with_match(name.map(text))
    });
    DescribeClientQuotasRequest::default().with_components(components.collect())
}

#[test]
fn there_are_none() {
    let filters: [&[Component]; 6] = [
        &[],
        &[("user", SPECIFIED, None)],
        &[("user", EXACT, Some("x")), ("client-id", EXACT, Some("y"))],
        &[("client-id", DEFAULT, None), ("user", DEFAULT, None)],
        &[("ip", EXACT, Some("10.0.0.1"))],
        &[("ip", EXACT, Some("not an address"))],
    ];
    for version in 0..=1 {
        for filter in filters {
            for strict in [false, true] {
                let response = call(version, &request(filter).with_strict(strict));
                let told = (response.error_code, response.error_message.as_deref());
                assert_eq!(told, (NONE, Some("")), "v{version} {filter:?}");
                assert_eq!(response.entries, Some(vec![]), "v{version} {filter:?}");
            }
        }
    }
}

#[test]
fn filters_that_are_wrong() {
    let twice = "Entity type user cannot appear more than once in the filter.";
    let with_ip = "Invalid entity filter component combination. IP filter component should not be used with user or \
                   clientId filter component.";
    let null = "Request specified MATCH_TYPE_EXACT, but set match string to null.";
    let default = "Request specified MATCH_TYPE_DEFAULT, but also specified a match string.";
    let specified = "Request specified MATCH_TYPE_SPECIFIED, but also specified a match string.";
    let cases: [(&[Component], i16, &str); 11] = [
        (&[("", SPECIFIED, None)], INVALID_REQUEST, "Invalid empty entity type."),
        (&[("nope", SPECIFIED, None)], UNSUPPORTED_VERSION, "Unsupported entity type nope"),
        (&[("nope", 9, None)], UNSUPPORTED_VERSION, "Unsupported entity type nope"),
        (&[("user", EXACT, Some("x")), ("user", EXACT, Some("y"))], INVALID_REQUEST, twice),
        (&[("user", EXACT, Some("x")), ("ip", SPECIFIED, None)], INVALID_REQUEST, with_ip),
        (&[("ip", DEFAULT, None), ("client-id", DEFAULT, None)], INVALID_REQUEST, with_ip),
        (&[("user", EXACT, None)], INVALID_REQUEST, null),
        (&[("user", DEFAULT, Some("x"))], INVALID_REQUEST, default),
        (&[("user", SPECIFIED, Some("x"))], INVALID_REQUEST, specified),
        (&[("user", 3, None)], INVALID_REQUEST, "Unknown match type 3"),
        (&[("user", -1, Some("x"))], INVALID_REQUEST, "Unknown match type -1"),
    ];
    for version in 0..=1 {
        for (filter, code, message) in cases {
            let response = call(version, &request(filter));
            let told = (response.error_code, response.error_message.as_deref());
            assert_eq!(told, (code, Some(message)), "v{version} {filter:?}");
            assert_eq!(response.entries, None, "v{version} {filter:?}");
        }
    }
}
