//! DescribeAcls: v1-3, on a broker without an authorizer.

use kafka_protocol::messages::DescribeAclsRequest;

use crate::client::{Client, call};
use crate::codes::SECURITY_DISABLED;

/// Codes of resource type, pattern type, operation and permission.
fn request([resource, pattern, operation, permission]: [i8; 4]) -> DescribeAclsRequest {
    DescribeAclsRequest::default()
        .with_resource_type_filter(resource)
        .with_resource_name_filter(None)
        .with_pattern_type_filter(pattern)
        .with_principal_filter(None)
        .with_host_filter(None)
        .with_operation(operation)
        .with_permission_type(permission)
}

#[test]
fn nobody_checks_acls() {
    for version in 1..=3 {
        for codes in [[1, 1, 1, 1], [2, 3, 3, 3], [7, 1, 1, 1], [99, 1, 1, 1], [1, 1, 77, 1]] {
            let response = call(version, &request(codes));
            assert_eq!(response.error_code, SECURITY_DISABLED, "v{version} {codes:?}");
            let message = response.error_message.as_deref();
            assert_eq!(message, Some("No Authorizer is configured on the broker"));
            assert_eq!(response.resources, [], "v{version} {codes:?}");
        }
    }
}

#[test]
fn unknown_elements_close_the_connection() {
    for version in 1..=3 {
        for codes in [[0, 1, 1, 1], [1, 0, 1, 1], [1, 1, 0, 1], [1, 1, 1, 0]] {
            let mut client = Client::connect();
            client.send(version, &request(codes));
            client.assert_closed();
        }
    }
}
