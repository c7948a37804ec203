//! DeleteAcls: v1-3, on a broker without an authorizer.

use kafka_protocol::messages::DeleteAclsRequest;
use kafka_protocol::messages::delete_acls_request::DeleteAclsFilter;

use crate::client::{Client, call};
use crate::codes::SECURITY_DISABLED;

/// Codes of resource type, pattern type, operation and permission.
fn filter([resource, pattern, operation, permission]: [i8; 4]) -> DeleteAclsFilter {
    DeleteAclsFilter::default()
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
        let filters = vec![filter([1, 1, 1, 1]), filter([2, 3, 3, 3]), filter([99, 3, 99, 99])];
        let request = DeleteAclsRequest::default().with_filters(filters);
        let results = call(version, &request).filter_results;
        assert_eq!(results.len(), 3, "v{version}");
        for result in results {
            assert_eq!(result.error_code, SECURITY_DISABLED, "v{version}");
            let message = result.error_message.as_deref();
            assert_eq!(message, Some("No Authorizer is configured."), "v{version}");
            assert_eq!(result.matching_acls, []);
        }
        assert_eq!(call(version, &DeleteAclsRequest::default()).filter_results, []);
    }
}

#[test]
fn unknown_elements_close_the_connection() {
    for codes in [[0, 3, 3, 3], [2, 0, 3, 3], [2, 3, 0, 3], [2, 3, 3, 0]] {
        let filters = vec![filter([1, 1, 1, 1]), filter(codes)];
        let mut client = Client::connect();
        client.send(3, &DeleteAclsRequest::default().with_filters(filters));
        client.assert_closed();
    }
}
