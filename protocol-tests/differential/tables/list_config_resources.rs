//! ListConfigResources: v0-1 (v0 knows client metrics only).

use kafka_protocol::messages::ListConfigResourcesRequest;

use super::create_topics::node_id;
use super::{Case, case, check};

const CASES: &[Case] = &[
    case("everything, but at v0 only client metrics", 0..=1, |t| {
        t.topic(1);
        t.only_ours("config_resources").ask(&ListConfigResourcesRequest::default());
    }),
    case("topics", 1..=1, |t| {
        t.topic_with(1, &[("retention.ms", "1234")]);
        t.topic(1);
        let request = ListConfigResourcesRequest::default().with_resource_types(vec![2]);
        t.only_ours("config_resources").sorted(&["config_resources"]).ask(&request);
    }),
    case("brokers, loggers, metrics, groups", 1..=1, |t| {
        t.learn("node", &node_id().to_string());
        for kind in [4, 8, 16, 32] {
            let request = ListConfigResourcesRequest::default().with_resource_types(vec![kind]);
            t.note(&format!("kind {kind}")).only_ours("config_resources").ask(&request);
        }
    }),
    case("kinds that do not exist", 1..=1, |t| {
        for kind in [0, 99, -1] {
            let request = ListConfigResourcesRequest::default().with_resource_types(vec![kind]);
            t.note(&format!("kind {kind}")).ask(&request);
        }
    }),
];

#[test]
fn list_config_resources() {
    check("list_config_resources", 74, CASES);
}
