//! DescribeAcls, CreateAcls and DeleteAcls: v1-3, on a broker without an authorizer.

use kafka_protocol::messages::create_acls_request::AclCreation;
use kafka_protocol::messages::delete_acls_request::DeleteAclsFilter;
use kafka_protocol::messages::{CreateAclsRequest, DeleteAclsRequest, DescribeAclsRequest};

use super::{Case, case, check};
use crate::client::text;

/// All of any topic.
fn any() -> DescribeAclsRequest {
    DescribeAclsRequest::default()
        .with_resource_type_filter(1)
        .with_resource_name_filter(None)
        .with_pattern_type_filter(1)
        .with_principal_filter(None)
        .with_host_filter(None)
        .with_operation(1)
        .with_permission_type(1)
}

fn creation() -> AclCreation {
    AclCreation::default()
        .with_resource_type(2)
        .with_resource_name(text("x"))
        .with_resource_pattern_type(3)
        .with_principal(text("User:a"))
        .with_host(text("*"))
        .with_operation(3)
        .with_permission_type(3)
}

fn filter() -> DeleteAclsFilter {
    DeleteAclsFilter::default()
        .with_resource_type_filter(2)
        .with_resource_name_filter(Some(text("x")))
        .with_pattern_type_filter(3)
        .with_principal_filter(None)
        .with_host_filter(None)
        .with_operation(1)
        .with_permission_type(1)
}

const DESCRIBE: &[Case] = &[
    case("all", 1..=3, |t| {
        t.ask(&any());
    }),
    case("what no one knows", 1..=3, |t| {
        t.try_ask(&any().with_resource_type_filter(0));
        t.try_ask(&any().with_operation(0));
        t.try_ask(&any().with_permission_type(0));
        t.try_ask(&any().with_pattern_type_filter(0));
        t.try_ask(&any().with_operation(99));
    }),
];

const CREATE: &[Case] = &[
    case("one, two, none", 1..=3, |t| {
        for count in [1, 2, 0] {
            t.ask(&CreateAclsRequest::default().with_creations(vec![creation(); count]));
        }
    }),
    case("what no one knows", 1..=3, |t| {
        let bad = vec![creation().with_operation(0)];
        t.try_ask(&CreateAclsRequest::default().with_creations(bad));
    }),
];

const DELETE: &[Case] = &[
    case("one, two, none", 1..=3, |t| {
        for count in [1, 2, 0] {
            t.ask(&DeleteAclsRequest::default().with_filters(vec![filter(); count]));
        }
    }),
    case("what no one knows", 1..=3, |t| {
        let bad = vec![filter().with_operation(0)];
        t.try_ask(&DeleteAclsRequest::default().with_filters(bad));
    }),
];

#[test]
fn describe_acls() {
    check("describe_acls", 29, DESCRIBE);
}

#[test]
fn create_acls() {
    check("create_acls", 30, CREATE);
}

#[test]
fn delete_acls() {
    check("delete_acls", 31, DELETE);
}
