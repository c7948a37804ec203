//! AlterConfigs: v0-2. Not here: a resource twice, which Kafka does not answer at all.

use kafka_protocol::messages::AlterConfigsRequest;
use kafka_protocol::messages::alter_configs_request::{AlterConfigsResource, AlterableConfig};

use super::describe_configs::set_on;
use super::{Case, case, check};
use crate::client::text;

const TOPIC: i8 = 2;

fn of(kind: i8, name: &str, configs: &[(&str, Option<&str>)]) -> AlterConfigsRequest {
    let config = |(name, value): &(&str, Option<&str>)| {
        AlterableConfig::default().with_name(text(name)).with_value(value.map(text))
    };
    let resource = AlterConfigsResource::default()
        .with_resource_type(kind)
        .with_resource_name(text(name))
        .with_configs(configs.iter().map(config).collect());
    AlterConfigsRequest::default().with_resources(vec![resource])
}

const CASES: &[Case] = &[
    case("a setting: all others of the topic are gone", 0..=2, |t| {
        let topic = t.topic_with(1, &[("retention.ms", "1234"), ("segment.ms", "5678")]);
        t.ask(&of(TOPIC, &topic.name, &[("retention.ms", Some("4321"))]));
        set_on(t, &topic.name);
        t.ask(&of(TOPIC, &topic.name, &[]));
        set_on(t, &topic.name);
    }),
    case("only validated", 0..=2, |t| {
        let topic = t.topic_with(1, &[("retention.ms", "1234")]);
        let good = of(TOPIC, &topic.name, &[("retention.ms", Some("4321"))]);
        t.ask(&good.with_validate_only(true));
        let bad = of(TOPIC, &topic.name, &[("retention.ms", Some("soon"))]);
        t.ask(&bad.with_validate_only(true));
        set_on(t, &topic.name);
    }),
    case("settings that cannot be", 0..=2, |t| {
        let topic = t.topic(1);
        for (name, value) in
            [("no.such.setting", Some("1")), ("retention.ms", Some("soon")), ("retention.ms", None)]
        {
            t.note(&format!("{name}={value:?}"));
            t.ask(&of(TOPIC, &topic.name, &[("segment.ms", Some("1000")), (name, value)]));
        }
        set_on(t, &topic.name);
    }),
    case("a setting twice", 0..=2, |t| {
        let topic = t.topic(1);
        let twice = [("retention.ms", Some("1")), ("retention.ms", Some("2"))];
        t.ask(&of(TOPIC, &topic.name, &twice));
    }),
    case("resources that are not there, none", 0..=2, |t| {
        let unknown = t.name("topic");
        for (kind, name) in [
            (TOPIC, &*unknown),
            (TOPIC, "a b"),
            (TOPIC, ""),
            (4, "987654"),
            (4, "x"),
            (0, "x"),
            (99, "x"),
        ] {
            t.note(&format!("kind {kind}")).ask(&of(kind, name, &[("retention.ms", Some("1"))]));
        }
        t.ask(&AlterConfigsRequest::default());
    }),
];

#[test]
fn alter_configs() {
    check("alter_configs", 33, CASES);
}
