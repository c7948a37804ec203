//! DescribeCluster: v0-2.

use kafka_protocol::messages::DescribeClusterRequest;

use super::{Case, case, check};

const CASES: &[Case] = &[
    case("the brokers", 0..=2, |t| {
        t.ask(&DescribeClusterRequest::default());
    }),
    case("operations allowed", 0..=2, |t| {
        t.ask(&DescribeClusterRequest::default().with_include_cluster_authorized_operations(true));
    }),
    case("the controllers, asked of a broker, and what does not exist", 1..=2, |t| {
        for endpoint in [2, 0, 3] {
            t.note(&format!("endpoint type {endpoint}"));
            t.ask(&DescribeClusterRequest::default().with_endpoint_type(endpoint));
        }
    }),
    case("fenced brokers too", 2..=2, |t| {
        t.ask(&DescribeClusterRequest::default().with_include_fenced_brokers(true));
    }),
];

#[test]
fn describe_cluster() {
    check("describe_cluster", 60, CASES);
}
