//! ListConfigResources: v0-1.

use std::collections::BTreeSet;

use kafka_protocol::messages::incremental_alter_configs_request::{
    AlterConfigsResource, AlterableConfig,
};
use kafka_protocol::messages::{IncrementalAlterConfigsRequest, ListConfigResourcesRequest};

use crate::broker::is_foreign;
use crate::client::{call, text};
use crate::codes::{NONE, UNSUPPORTED_VERSION};
use crate::fixtures::{topic, unique, until};
use crate::incremental_alter_configs::{BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP, TOPIC, node};

fn list(version: i16, kinds: &[i8]) -> (i16, Vec<(i8, String)>) {
    let request = ListConfigResourcesRequest::default().with_resource_types(kinds.to_vec());
    let response = call(version, &request);
    let resources = response.config_resources.iter();
    let named = resources.map(|it| (it.resource_type, it.resource_name.to_string()));
    (response.error_code, named.collect())
}

fn configure(kind: i8, name: &str, config: &str, value: Option<&str>) {
    let config = AlterableConfig::default()
        .with_name(text(config))
        .with_config_operation(i8::from(value.is_none()))
        .with_value(value.map(text));
    let resource = AlterConfigsResource::default()
        .with_resource_type(kind)
        .with_resource_name(text(name))
        .with_configs(vec![config]);
    let request = IncrementalAlterConfigsRequest::default().with_resources(vec![resource]);
    assert_eq!(call(1, &request).responses[0].error_code, NONE);
}

#[test]
fn resources_by_type() {
    let (topic, node) = (topic("list-configs", 1).name, node());
    let (group, metrics) = (unique("list-configs-group"), unique("list-configs-metrics"));
    configure(GROUP, &group, "consumer.session.timeout.ms", Some("50000"));
    configure(CLIENT_METRICS, &metrics, "interval.ms", Some("500"));
    let all = [
        (TOPIC, topic),
        (BROKER, node.clone()),
        (BROKER_LOGGER, node),
        (GROUP, group.clone()),
        (CLIENT_METRICS, metrics.clone()),
    ];
    for (kind, name) in &all {
        let wanted = (*kind, name.clone());
        until(name, || list(1, &[]).1.contains(&wanted));
        let (code, resources) = list(1, &[*kind]);
        assert_eq!(code, NONE);
        assert!(resources.contains(&wanted), "{kind}");
        assert!(resources.iter().all(|it| it.0 == *kind), "{kind}");
        let twice = list(1, &[*kind, *kind]).1.into_iter().filter(|it| *it == wanted).count();
        assert_eq!(twice, 1, "{kind}");
    }
    // Version 0 knows no types.
    let old = list(0, &[]).1;
    assert!(old.contains(&(CLIENT_METRICS, metrics.clone())));
    let order: Vec<i8> = list(1, &[]).1.iter().map(|it| it.0).collect();
    let mut runs = order.clone();
    runs.dedup();
    assert_eq!(runs.len(), order.iter().collect::<BTreeSet<_>>().len(), "type by type");
    assert_eq!(runs.first(), Some(&GROUP));

    configure(GROUP, &group, "consumer.session.timeout.ms", None);
    configure(CLIENT_METRICS, &metrics, "interval.ms", None);
    until("its end", || !list(0, &[]).1.contains(&(CLIENT_METRICS, metrics.clone())));
    // Kafka goes on naming a group that had configs, until it is restarted.
    assert_eq!(list(1, &[GROUP]).1.contains(&(GROUP, group)), is_foreign());
}

#[test]
fn types_that_are_not_there() {
    for kinds in [&[3][..], &[0], &[TOPIC, 99]] {
        assert_eq!(list(1, kinds), (UNSUPPORTED_VERSION, Vec::new()), "{kinds:?}");
    }
}
