//! FindCoordinator: v0-6.

use kafka_protocol::messages::{FindCoordinatorRequest, MetadataRequest};

use crate::client::{call, text};
use crate::codes::{INVALID_REQUEST, NONE};
use crate::fixtures::{group, unique};

#[test]
fn every_version_names_the_broker() {
    let broker = call(9, &MetadataRequest::default()).brokers.remove(0);
    let group = group("coordinator");
    for version in 0..=3 {
        let response = call(version, &FindCoordinatorRequest::default().with_key(text(&group)));
        assert_eq!(response.error_code, NONE, "v{version}");
        assert_eq!(response.node_id, broker.node_id, "v{version}");
        assert_eq!((&response.host, response.port), (&broker.host, broker.port), "v{version}");
        assert!(response.error_message.is_none_or(|it| ["", "NONE"].contains(&&*it)), "v{version}");
    }
    for version in 4..=6 {
        let keys = [group.clone(), unique("coordinator")];
        let request = FindCoordinatorRequest::default()
            .with_coordinator_keys(keys.iter().map(|it| text(it)).collect());
        let response = call(version, &request);
        let answered: Vec<_> = response.coordinators.iter().map(|it| it.key.to_string()).collect();
        assert_eq!(answered, keys, "v{version}");
        for coordinator in &response.coordinators {
            assert_eq!(coordinator.error_code, NONE, "v{version}");
            assert_eq!(coordinator.node_id, broker.node_id, "v{version}");
            let address = (&coordinator.host, coordinator.port);
            assert_eq!(address, (&broker.host, broker.port), "v{version}");
        }
    }
}

#[test]
fn no_keys() {
    assert!(call(4, &FindCoordinatorRequest::default()).coordinators.is_empty());
}

#[test]
fn an_unknown_key_type() {
    for key_type in [3, 7, -1] {
        let request = FindCoordinatorRequest::default().with_key(text("x")).with_key_type(key_type);
        let response = call(2, &request);
        assert_eq!((response.error_code, *response.node_id), (INVALID_REQUEST, -1), "{key_type}");
        let request = FindCoordinatorRequest::default()
            .with_coordinator_keys(vec![text("x")])
            .with_key_type(key_type);
        let coordinator = call(4, &request).coordinators.remove(0);
        assert_eq!((coordinator.error_code, *coordinator.node_id), (INVALID_REQUEST, -1));
        assert_eq!((&*coordinator.host, coordinator.port), ("", -1), "{key_type}");
    }
}
