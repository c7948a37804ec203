//! IncrementalAlterConfigs: v0-1.

use kafka_protocol::messages::IncrementalAlterConfigsRequest;
use kafka_protocol::messages::incremental_alter_configs_request::{
    AlterConfigsResource, AlterableConfig,
};

use super::create_topics::node_id;
use super::describe_configs::set_on;
use super::{Case, case, check};
use crate::client::text;

const TOPIC: i8 = 2;
const BROKER: i8 = 4;
const SET: i8 = 0;
const DELETE: i8 = 1;
const APPEND: i8 = 2;
const SUBTRACT: i8 = 3;

type Change<'a> = (&'a str, i8, Option<&'a str>);

fn of(kind: i8, name: &str, changes: &[Change]) -> IncrementalAlterConfigsRequest {
    let config = |(name, operation, value): &Change| {
        AlterableConfig::default()
            .with_name(text(name))
            .with_config_operation(*operation)
            .with_value(value.map(text))
    };
    let resource = AlterConfigsResource::default()
        .with_resource_type(kind)
        .with_resource_name(text(name))
        .with_configs(changes.iter().map(config).collect());
    IncrementalAlterConfigsRequest::default().with_resources(vec![resource])
}

const CASES: &[Case] = &[
    case("set, append, subtract, delete", 0..=1, |t| {
        let topic = t.topic_with(1, &[("retention.ms", "1234"), ("cleanup.policy", "delete")]);
        let changes: [&[Change]; 6] = [
            &[("segment.ms", SET, Some("1000"))],
            &[("cleanup.policy", APPEND, Some("compact"))],
            &[("cleanup.policy", APPEND, Some("compact"))],
            &[("cleanup.policy", SUBTRACT, Some("delete"))],
            &[("retention.ms", DELETE, None)],
            &[("retention.ms", DELETE, None)],
        ];
        for change in changes {
            t.note(&format!("{change:?}")).ask(&of(TOPIC, &topic.name, change));
            set_on(t, &topic.name);
        }
    }),
    case("a default, set all the same", 0..=1, |t| {
        let topic = t.topic(1);
        t.ask(&of(TOPIC, &topic.name, &[("retention.ms", SET, Some("604800000"))]));
        set_on(t, &topic.name);
    }),
    case("only validated", 0..=1, |t| {
        let topic = t.topic(1);
        for value in ["1234", "soon"] {
            let request = of(TOPIC, &topic.name, &[("retention.ms", SET, Some(value))]);
            t.ask(&request.with_validate_only(true));
        }
        set_on(t, &topic.name);
    }),
    case("changes that cannot be", 0..=1, |t| {
        let topic = t.topic(1);
        let changes: [Change; 10] = [
            ("no.such.setting", SET, Some("1")),
            ("no.such.setting", DELETE, None),
            ("retention.ms", SET, Some("soon")),
            ("retention.ms", SET, None),
            ("retention.ms", APPEND, Some("1")),
            ("retention.ms", SUBTRACT, Some("1")),
            ("cleanup.policy", SUBTRACT, Some("delete")),
            ("cleanup.policy", APPEND, Some("burn")),
            ("retention.ms", 4, Some("1")),
            ("retention.ms", -1, Some("1")),
        ];
        for change in changes {
            t.note(&format!("{change:?}"));
            t.try_ask(&of(TOPIC, &topic.name, &[("segment.ms", SET, Some("1000")), change]));
        }
        set_on(t, &topic.name);
    }),
    case("a setting twice", 0..=1, |t| {
        let topic = t.topic(1);
        let twice = [("retention.ms", SET, Some("1")), ("retention.ms", DELETE, None)];
        t.ask(&of(TOPIC, &topic.name, &twice));
    }),
    case("a topic twice", 0..=1, |t| {
        let topic = t.topic(1);
        let mut request = of(TOPIC, &topic.name, &[("retention.ms", SET, Some("1"))]);
        request.resources.push(request.resources[0].clone());
        t.ask(&request);
    }),
    case("good and bad ones, in the order of the request", 0..=1, |t| {
        let (one, unknown, other) = (t.topic(1), t.name("topic"), t.topic(1));
        let mut request = of(TOPIC, &unknown, &[("retention.ms", SET, Some("1"))]);
        for topic in [&one, &other] {
            request
                .resources
                .extend(of(TOPIC, &topic.name, &[("retention.ms", SET, Some("1"))]).resources);
        }
        t.sorted(&["responses"]).ask(&request);
    }),
    case("resources that are not there, none", 0..=1, |t| {
        let unknown = t.name("topic");
        for (kind, name) in [
            (TOPIC, &*unknown),
            (TOPIC, "a b"),
            (TOPIC, ""),
            (BROKER, "987654"),
            (BROKER, "x"),
            (0, "x"),
            (99, "x"),
        ] {
            t.note(&format!("kind {kind}"));
            t.ask(&of(kind, name, &[("retention.ms", SET, Some("1"))]));
        }
        t.ask(&IncrementalAlterConfigsRequest::default());
    }),
    case("a broker, only validated", 0..=1, |t| {
        let node = node_id().to_string();
        t.learn("node", &node);
        let changes: [Change; 4] = [
            ("message.max.bytes", SET, Some("1000000")),
            ("message.max.bytes", SET, Some("many")),
            ("num.partitions", SET, Some("3")),
            ("no.such.setting", SET, Some("3")),
        ];
        for change in changes {
            for name in ["", &node] {
                t.note(&format!("{change:?}"));
                t.ask(&of(BROKER, name, &[change]).with_validate_only(true));
            }
        }
    }),
];

#[test]
fn incremental_alter_configs() {
    check("incremental_alter_configs", 44, CASES);
}
