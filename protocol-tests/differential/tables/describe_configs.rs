//! DescribeConfigs: v1-4.

use kafka_protocol::messages::DescribeConfigsRequest;
use kafka_protocol::messages::describe_configs_request::DescribeConfigsResource;

use super::create_topics::node_id;
use super::{Case, Run, case, check};
use crate::client::text;

const TOPIC: i8 = 2;
const BROKER: i8 = 4;

fn resource(kind: i8, name: &str, keys: Option<&[&str]>) -> DescribeConfigsResource {
    DescribeConfigsResource::default()
        .with_resource_type(kind)
        .with_resource_name(text(name))
        .with_configuration_keys(keys.map(|keys| keys.iter().map(|key| text(key)).collect()))
}

fn of(resource: DescribeConfigsResource) -> DescribeConfigsRequest {
    DescribeConfigsRequest::default().with_resources(vec![resource])
}

/// What the topic itself sets.
pub fn set_on(t: &mut Run, topic: &str) {
    t.settle();
    let keys = ["cleanup.policy", "retention.ms", "segment.ms"];
    t.sorted(&["configs"]).ask_at(4, &of(resource(TOPIC, topic, Some(&keys))));
}

const CASES: &[Case] = &[
    case("a topic", 1..=4, |t| {
        let topic = t.topic(1);
        t.sorted(&["configs"]).ask(&of(resource(TOPIC, &topic.name, None)));
    }),
    case("what a topic sets, with synonyms", 1..=4, |t| {
        let configs = [("retention.ms", "1234"), ("max.message.bytes", "1048588")];
        let topic = t.topic_with(1, &configs);
        let keys = ["retention.ms", "max.message.bytes", "flush.ms", "cleanup.policy"];
        let request = of(resource(TOPIC, &topic.name, Some(&keys)));
        t.sorted(&["configs"]).ask(&request.with_include_synonyms(true));
    }),
    case("documentation", 3..=4, |t| {
        let topic = t.topic(1);
        let request = of(resource(TOPIC, &topic.name, Some(&["retention.ms", "segment.bytes"])));
        t.sorted(&["configs"]).ask(&request.with_include_documentation(true));
    }),
    case("unknown keys, no keys", 1..=4, |t| {
        let topic = t.topic(1);
        t.ask(&of(resource(TOPIC, &topic.name, Some(&["no.such.setting", "segment.bytes"]))));
        t.counted(&["configs"]).ask(&of(resource(TOPIC, &topic.name, Some(&[]))));
    }),
    case("resources that are not there", 1..=4, |t| {
        let unknown = t.name("topic");
        for (kind, name) in
            [(TOPIC, &*unknown), (TOPIC, "a b"), (TOPIC, ""), (BROKER, "987654"), (BROKER, "x")]
        {
            t.ask(&of(resource(kind, name, None)));
        }
    }),
    case("kinds of resources that are not there", 1..=4, |t| {
        for kind in [0, 1, 3, 99, -1] {
            t.note(&format!("kind {kind}")).ask(&of(resource(kind, "x", None)));
        }
    }),
    case("a broker", 1..=4, |t| {
        let keys =
            ["log.cleanup.policy", "message.max.bytes", "num.partitions", "ssl.key.password"];
        let request = of(resource(BROKER, &node_id().to_string(), Some(&keys)));
        t.learn("node", &node_id().to_string());
        t.sorted(&["configs"]).ask(&request.clone());
        t.sorted(&["configs"]).ask(&request.with_include_synonyms(true));
    }),
    case("what all brokers have", 1..=4, |t| {
        t.ask(&of(resource(BROKER, "", Some(&["message.max.bytes", "num.partitions"]))));
    }),
    case("several, a name twice", 1..=4, |t| {
        let (topic, unknown) = (t.topic(1), t.name("topic"));
        let one = |name: &str| resource(TOPIC, name, Some(&["segment.bytes"]));
        let resources = vec![one(&unknown), one(&topic.name), one(&topic.name)];
        t.sorted(&["results"]).ask(&DescribeConfigsRequest::default().with_resources(resources));
        t.ask(&DescribeConfigsRequest::default());
    }),
    case("a logger of a broker, client metrics, a group", 1..=4, |t| {
        let (node, name) = (node_id().to_string(), t.name("group"));
        t.learn("node", &node);
        t.ask(&of(resource(8, &node, Some(&["no.such.logger"]))));
        t.ask(&of(resource(8, "", Some(&["root"]))));
        t.ask(&of(resource(16, &name, None)));
        t.sorted(&["configs"]).ask(&of(resource(32, &name, None)));
    }),
];

#[test]
fn describe_configs() {
    check("describe_configs", 32, CASES);
}
