//! AlterConfigs: v0-2.

use kafka_protocol::messages::AlterConfigsRequest;
use kafka_protocol::messages::alter_configs_request::{AlterConfigsResource, AlterableConfig};

use crate::broker::is_foreign;
use crate::client::{call, text};
use crate::codes::{
    INVALID_CONFIG, INVALID_REQUEST, INVALID_TOPIC_EXCEPTION, NONE, UNKNOWN_TOPIC_OR_PARTITION,
};
use crate::fixtures::{topic_with, unique};
use crate::incremental_alter_configs::{
    BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP, TOPIC, node, until_value, value,
};

fn resource(kind: i8, name: &str, configs: &[(&str, Option<&str>)]) -> AlterConfigsResource {
    let configs = configs.iter().map(|(name, value)| {
        AlterableConfig::default().with_name(text(name)).with_value(value.map(text))
    });
    AlterConfigsResource::default()
        .with_resource_type(kind)
        .with_resource_name(text(name))
        .with_configs(configs.collect())
}

fn ask(version: i16, resource: AlterConfigsResource, validate_only: bool) -> (i16, String) {
    let named = (resource.resource_type, resource.resource_name.clone());
    let request = AlterConfigsRequest::default()
        .with_resources(vec![resource])
        .with_validate_only(validate_only);
    let response = call(version, &request).responses.remove(0);
    assert_eq!((response.resource_type, response.resource_name), named);
    assert_eq!(response.error_code == NONE, response.error_message.is_none());
    (response.error_code, response.error_message.as_deref().unwrap_or_default().to_owned())
}

fn ok() -> (i16, String) {
    (NONE, String::new())
}

/// What is not named goes, unlike with IncrementalAlterConfigs.
#[test]
fn the_whole_set_is_replaced() {
    let topic = topic_with("replace", 1, &[("segment.ms", "5000"), ("flush.ms", "7")]).name;
    for version in 0..=2 {
        let new = format!("{}", 100 + version);
        let configs = [("retention.ms", Some(&*new)), ("flush.ms", Some("7"))];
        assert_eq!(ask(version, resource(TOPIC, &topic, &configs), false), ok(), "v{version}");
        until_value(TOPIC, &topic, "retention.ms", Some((&new, 1)));
        until_value(TOPIC, &topic, "flush.ms", Some(("7", 1)));
        until_value(TOPIC, &topic, "segment.ms", Some(("604800000", 5)));
    }
    assert_eq!(ask(2, resource(TOPIC, &topic, &[]), true), ok());
    assert_eq!(value(TOPIC, &topic, "flush.ms"), Some(("7".to_owned(), 1)), "only validated");
    assert_eq!(ask(2, resource(TOPIC, &topic, &[]), false), ok());
    until_value(TOPIC, &topic, "retention.ms", Some(("604800000", 5)));
    until_value(TOPIC, &topic, "flush.ms", Some(("9223372036854775807", 5)));
}

#[test]
fn what_is_refused() {
    let (topic, unknown, node) =
        (topic_with("replace-bad", 1, &[]).name, unique("replace"), node());
    let gone = format!("The topic '{unknown}' does not exist.");
    type Configs<'a> = &'a [(&'a str, Option<&'a str>)];
    let cases: &[(i8, &str, Configs, i16, &str)] = &[
        (TOPIC, &topic, &[("x", Some("1"))], INVALID_CONFIG, "Unknown topic config name: x"),
        (
            TOPIC,
            &topic,
            &[("flush.ms", Some("1")), ("flush.ms", Some("2"))],
            INVALID_REQUEST,
            "Error due to duplicate config keys",
        ),
        (
            TOPIC,
            &topic,
            &[("flush.ms", None)],
            INVALID_REQUEST,
            "Null value not supported for : flush.ms",
        ),
        (TOPIC, &unknown, &[], UNKNOWN_TOPIC_OR_PARTITION, &gone),
        (TOPIC, "", &[], INVALID_REQUEST, "Default topic resources are not allowed."),
        (TOPIC, "..", &[], INVALID_TOPIC_EXCEPTION, "Topic name is invalid: '..' is not allowed"),
        (
            BROKER,
            &node,
            &[("node.id", Some("1"))],
            INVALID_REQUEST,
            "Cannot update these configs dynamically: Set(node.id)",
        ),
        (BROKER, "x", &[], INVALID_REQUEST, "Node id must be an integer, but it is: x"),
        (BROKER_LOGGER, &node, &[], INVALID_REQUEST, "Unknown resource type 8"),
        (99, "x", &[], INVALID_REQUEST, "Unknown resource type 99"),
    ];
    for (kind, name, configs, code, why) in cases {
        for version in 0..=2 {
            let outcome = ask(version, resource(*kind, name, configs), true);
            assert_eq!(outcome, (*code, (*why).to_owned()), "{kind} {name} {configs:?}");
        }
    }
}

#[test]
fn other_resources() {
    let (node, group, metrics) = (node(), unique("replace-group"), unique("replace-metrics"));
    let judge = |kind, name: &str, config: &str, value: &str| {
        ask(2, resource(kind, name, &[(config, Some(value))]), true)
    };
    assert_eq!(judge(BROKER, &node, "background.threads", "12"), ok());
    assert_eq!(judge(GROUP, &group, "consumer.session.timeout.ms", "50000"), ok());
    assert_eq!(judge(CLIENT_METRICS, &metrics, "interval.ms", "500"), ok());
    // A new Kafka 4.1 cluster has a setting of its own there, which must stay (KIP-966).
    let expected = if is_foreign() { INVALID_CONFIG } else { NONE };
    assert_eq!(judge(BROKER, "", "log.retention.ms", "5").0, expected);
}

/// Kafka 4.1.1 never answers this one.
#[test]
fn a_resource_that_comes_twice() {
    if is_foreign() {
        return;
    }
    let topic = topic_with("replace-twice", 1, &[]).name;
    let resources = vec![resource(TOPIC, &topic, &[]); 2];
    let request = AlterConfigsRequest::default().with_resources(resources);
    for response in call(2, &request).responses {
        assert_eq!(response.error_code, INVALID_REQUEST);
    }
}
