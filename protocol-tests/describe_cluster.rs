//! DescribeCluster: v0-2.

use kafka_protocol::messages::{DescribeClusterRequest, MetadataRequest};

use crate::client::call;
use crate::codes::{MISMATCHED_ENDPOINT_TYPE, NONE, UNSUPPORTED_ENDPOINT_TYPE};

#[test]
fn every_version_agrees_with_metadata() {
    let metadata = call(9, &MetadataRequest::default());
    for version in 0..=2 {
        let response = call(version, &DescribeClusterRequest::default());
        assert_eq!((response.error_code, &response.error_message), (NONE, &None), "v{version}");
        assert_eq!(Some(&response.cluster_id), metadata.cluster_id.as_ref(), "v{version}");
        assert_eq!(response.controller_id, metadata.controller_id, "v{version}");
        let brokers: Vec<_> =
            response.brokers.iter().map(|it| (it.broker_id, it.host.clone(), it.port)).collect();
        let expected: Vec<_> =
            metadata.brokers.iter().map(|it| (it.node_id, it.host.clone(), it.port)).collect();
        assert_eq!(brokers, expected, "v{version}");
        assert!(response.brokers.iter().all(|it| !it.is_fenced && it.rack.is_none()));
        assert_eq!(response.cluster_authorized_operations, i32::MIN, "v{version}");
        if version >= 1 {
            assert_eq!(response.endpoint_type, 1, "v{version}: brokers");
        }
    }
}

#[test]
fn authorized_operations_only_on_request() {
    let request =
        DescribeClusterRequest::default().with_include_cluster_authorized_operations(true);
    assert_eq!(call(1, &request).cluster_authorized_operations, 8096);
}

#[test]
fn fenced_brokers_on_request() {
    let response = call(2, &DescribeClusterRequest::default().with_include_fenced_brokers(true));
    assert_eq!((response.error_code, response.brokers.len()), (NONE, 1));
}

/// Controllers are not asked at a broker's listener.
#[test]
fn endpoint_types() {
    for (endpoint_type, expected) in [(2, MISMATCHED_ENDPOINT_TYPE), (3, UNSUPPORTED_ENDPOINT_TYPE)]
    {
        let request = DescribeClusterRequest::default().with_endpoint_type(endpoint_type);
        let response = call(1, &request);
        assert_eq!(response.error_code, expected, "{endpoint_type}");
        assert!(response.brokers.is_empty());
    }
}
