//! CreateAcls: v1-3, on a broker without an authorizer.

use kafka_protocol::messages::CreateAclsRequest;
use kafka_protocol::messages::create_acls_request::AclCreation;

use crate::client::{Client, call, text};
use crate::codes::SECURITY_DISABLED;

/// Codes of resource type, pattern type, operation and permission.
fn creation(name: &str, [resource, pattern, operation, permission]: [i8; 4]) -> AclCreation {
    AclCreation::default()
        .with_resource_type(resource)
        .with_resource_name(text(name))
        .with_resource_pattern_type(pattern)
        .with_principal(text("User:someone"))
        .with_host(text("*"))
        .with_operation(operation)
        .with_permission_type(permission)
}

#[test]
fn nobody_checks_acls() {
    for version in 1..=3 {
        let creations = vec![
            creation("a", [2, 3, 3, 3]),
            creation("b", [3, 4, 2, 2]).with_principal(text("not a principal")),
            creation("", [99, 99, 99, 99]).with_host(text("")),
        ];
        let request = CreateAclsRequest::default().with_creations(creations);
        let results = call(version, &request).results;
        assert_eq!(results.len(), 3, "v{version}");
        for result in results {
            assert_eq!(result.error_code, SECURITY_DISABLED, "v{version}");
            let message = result.error_message.as_deref();
            assert_eq!(message, Some("No Authorizer is configured."), "v{version}");
        }
        assert_eq!(call(version, &CreateAclsRequest::default()).results, []);
    }
}

#[test]
fn unknown_elements_close_the_connection() {
    for codes in [[0, 3, 3, 3], [2, 0, 3, 3], [2, 3, 0, 3], [2, 3, 3, 0]] {
        let creations = vec![creation("a", [2, 3, 3, 3]), creation("b", codes)];
        let mut client = Client::connect();
        client.send(3, &CreateAclsRequest::default().with_creations(creations));
        client.assert_closed();
    }
}
