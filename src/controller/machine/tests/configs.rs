//! What becomes of configs.

use super::*;
use crate::{
    config::alter::{Alteration, Op},
    limits::{CONFIGS_BYTES_MAX, NAMED_CONFIGS_BYTES_MAX},
};

fn some(resource: Resource, alterations: &[(&str, Op, &str)]) -> (Resource, Change) {
    let alteration = |(name, op, value): &(&str, Op, &str)| Alteration {
        name: (*name).to_owned(),
        op: *op,
        value: (*value).to_owned(),
    };
    (resource, Change::Some(alterations.iter().map(alteration).collect()))
}

fn all(resource: Resource, configs: &[(&str, &str)]) -> (Resource, Change) {
    let configs = configs.iter().map(|(name, value)| (name.to_string(), value.to_string()));
    (resource, Change::All(configs.collect()))
}

fn alter(changes: Vec<(Resource, Change)>) -> Command {
    Command::AlterConfigs { changes, validate_only: false }
}

fn of_topic(name: &str) -> Resource {
    Resource::Topic(name.to_owned())
}

fn of_group(name: &str) -> Resource {
    Resource::Group(name.to_owned())
}

#[test]
fn configs_change_and_go() {
    let mut script = cluster(&[1]);
    script.send(create(vec![topic("t", 1, 1)])).unchecked();
    let dry = vec![some(of_topic("t"), &[("flush.ms", Op::Set, "9")])];
    script
        .send(alter(vec![
            some(
                of_topic("t"),
                &[("flush.ms", Op::Set, "1"), ("cleanup.policy", Op::Append, "compact")],
            ),
            all(Resource::Broker(Some(NodeId(1))), &[("own", "x")]),
        ]))
        .send(alter(vec![some(
            of_topic("t"),
            &[("flush.ms", Op::Set, "1"), ("cleanup.policy", Op::Subtract, "delete")],
        )]))
        .send(alter(vec![all(of_topic("t"), &[("retention.ms", "5"), ("flush.ms", "1")])]))
        .send(Command::AlterConfigs { changes: dry, validate_only: true })
        .send(alter(vec![some(
            of_topic("t"),
            &[("flush.ms", Op::Delete, ""), ("segment.ms", Op::Delete, "")],
        )]))
        .check(expect![[r#"
            @0 #3 AlterConfigs { changes: [(Topic("t"), Some([Alteration { name: "flush.ms", op: Set, value: "1" }, Alteration { name: "cleanup.policy", op: Append, value: "compact" }])), (Broker(Some(NodeId(1))), All({"own": "x"}))], validate_only: false }
                write Config { resource: Topic("t"), name: "cleanup.policy", value: Some("delete,compact") }
                write Config { resource: Topic("t"), name: "flush.ms", value: Some("1") }
                write Config { resource: Broker(Some(NodeId(1))), name: "own", value: Some("x") }
                reply #3 Reply { offset: 7, answer: Altered([Ok(()), Ok(())]) }
            @0 #4 AlterConfigs { changes: [(Topic("t"), Some([Alteration { name: "flush.ms", op: Set, value: "1" }, Alteration { name: "cleanup.policy", op: Subtract, value: "delete" }]))], validate_only: false }
                write Config { resource: Topic("t"), name: "cleanup.policy", value: Some("compact") }
                reply #4 Reply { offset: 8, answer: Altered([Ok(())]) }
            @0 #5 AlterConfigs { changes: [(Topic("t"), All({"flush.ms": "1", "retention.ms": "5"}))], validate_only: false }
                write Config { resource: Topic("t"), name: "cleanup.policy", value: None }
                write Config { resource: Topic("t"), name: "retention.ms", value: Some("5") }
                reply #5 Reply { offset: 10, answer: Altered([Ok(())]) }
            @0 #6 AlterConfigs { changes: [(Topic("t"), Some([Alteration { name: "flush.ms", op: Set, value: "9" }]))], validate_only: true }
                reply #6 Reply { offset: 10, answer: Altered([Ok(())]) }
            @0 #7 AlterConfigs { changes: [(Topic("t"), Some([Alteration { name: "flush.ms", op: Delete, value: "" }, Alteration { name: "segment.ms", op: Delete, value: "" }]))], validate_only: false }
                write Config { resource: Topic("t"), name: "flush.ms", value: None }
                reply #7 Reply { offset: 11, answer: Altered([Ok(())]) }
        "#]]);
    let fresh = Controller::new(Image::default(), settings());
    assert_eq!(&script.replayed(fresh), script.machine());
}

#[test]
fn what_is_refused() {
    let one =
        |resource, name: &str, op, value: &str| alter(vec![some(resource, &[(name, op, value)])]);
    let metrics = || Resource::ClientMetrics("m".to_owned());
    let long = (10_000..15_000).map(|n| format!("{n}:1")).collect::<Vec<_>>().join(",");
    let cases = vec![
        one(of_topic("t"), "nope", Op::Set, "1"),
        one(of_topic("t"), "nope", Op::Delete, ""),
        one(of_topic("t"), "flush.ms", Op::Set, "abc"),
        one(of_topic("t"), "flush.ms", Op::Append, "1"),
        one(of_topic("t"), "nope", Op::Subtract, "1"),
        one(of_topic("t"), "cleanup.policy", Op::Append, "abc"),
        one(of_topic("t"), "leader.replication.throttled.replicas", Op::Append, &long),
        one(of_topic("unknown"), "flush.ms", Op::Set, "1"),
        one(of_topic("unknown"), "nope", Op::Set, "1"),
        one(of_topic("a b"), "flush.ms", Op::Set, "1"),
        one(of_topic(""), "flush.ms", Op::Set, "1"),
        alter(vec![all(of_topic("unknown"), &[])]),
        one(Resource::Broker(None), "log.retention.ms", Op::Append, "1"),
        one(of_group(""), "consumer.session.timeout.ms", Op::Set, "50000"),
        one(of_group("g"), "nope", Op::Set, "1"),
        one(of_group("g"), "consumer.session.timeout.ms", Op::Set, "1"),
        one(of_group("g"), "consumer.session.timeout.ms", Op::Append, "1"),
        one(Resource::ClientMetrics(String::new()), "metrics", Op::Set, "*"),
        one(metrics(), "nope", Op::Set, "1"),
        one(metrics(), "interval.ms", Op::Set, "x"),
        one(metrics(), "metrics", Op::Append, "x"),
        alter(vec![
            some(of_topic("t"), &[("flush.ms", Op::Set, "1"), ("segment.ms", Op::Set, "0")]),
            some(of_topic("u"), &[("flush.ms", Op::Set, "1")]),
        ]),
    ];
    check(
        &[1],
        vec![topic("t", 1, 1), topic("u", 1, 1)],
        cases,
        expect![[r#"
            config: 40 Unknown topic config name: nope
            0 records
            config: altered
            0 records
            config: 40 Invalid value abc for configuration flush.ms: Not a number of type LONG
            0 records
            config: 40 Can't APPEND to key flush.ms because its type is not LIST.
            0 records
            config: 40 Can't SUBTRACT to key nope because its type is not LIST.
            0 records
            config: 40 Invalid value abc for configuration cleanup.policy: String must be one of: compact, delete
            0 records
            config: 40 The configuration value cannot be added because it exceeds the maximum value size of 32767 bytes.
            0 records
            config: 3 The topic 'unknown' does not exist.
            0 records
            config: 40 Unknown topic config name: nope
            0 records
            config: 17 Topic name is invalid: 'a b' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'
            0 records
            config: 42 Default topic resources are not allowed.
            0 records
            config: 3 The topic 'unknown' does not exist.
            0 records
            config: 40 Can't APPEND to key log.retention.ms because its type is not LIST.
            0 records
            config: 42 Default group resources are not allowed.
            0 records
            config: 40 Unknown group config name: nope
            0 records
            config: 40 consumer.session.timeout.ms must be greater than or equal to group.consumer.min.session.timeout.ms
            0 records
            config: 40 Can't APPEND to key consumer.session.timeout.ms because its type is not LIST.
            0 records
            config: 42 Subscription name can't be empty
            0 records
            config: 42 Unknown client metrics configuration: nope
            0 records
            config: 40 Invalid value x for configuration interval.ms: Not a number of type INT
            0 records
            config: 40 Can't APPEND to key metrics because its type is not LIST.
            0 records
            config: 40 Invalid value 0 for configuration segment.ms: Value must be at least 1
            config: altered
            1 records
        "#]],
    );
}

/// What brokers set counts when topics are judged.
#[test]
fn topics_are_judged_by_what_is_in_effect() {
    let mut script = cluster(&[1]);
    script.send(create(vec![topic("t", 1, 1)]));
    let set = || alter(vec![all(of_topic("t"), &[("max.compaction.lag.ms", "5")])]);
    assert_eq!(outcome(&mut script, set()), "config: altered\n1 records\n");
    let lag = [("log.cleaner.min.compaction.lag.ms", "10")];
    script.send(alter(vec![all(Resource::Broker(None), &lag)]));
    let refused = "config: 40 conflict topic config setting min.compaction.lag.ms (10) > \
                   max.compaction.lag.ms (5)\n0 records\n";
    assert_eq!(outcome(&mut script, set()), refused);
}

#[test]
fn what_configs_take_is_bounded() {
    let mut script = cluster(&[1]);
    let third = "x".repeat(CONFIGS_BYTES_MAX / 3);
    let three = [("a", &*third), ("b", &third), ("c", &third)];
    let broker = Resource::Broker(None);
    let too_much = outcome(&mut script, alter(vec![all(broker.clone(), &three)]));
    assert_eq!(too_much, "config: 40 The configs take 65538 bytes, more than 65536\n0 records\n");
    assert!(outcome(&mut script, alter(vec![all(broker, &three[1..])])).ends_with("2 records\n"));

    let many: Vec<(String, String)> = (0..4000).map(|n| (n.to_string(), "1".into())).collect();
    let broker = |id| {
        let change = Change::All(many.iter().cloned().collect());
        (Resource::Broker(Some(NodeId(id))), change)
    };
    let refused = outcome(&mut script, alter((1..=3).map(broker).collect()));
    let words = "config: 44 Unable to perform excessively large batch operation.\n";
    assert_eq!(refused, words.repeat(3) + "0 records\n");

    let name = "g".repeat(30_000);
    let group = |n: usize| {
        all(of_group(&format!("{name}{n}")), &[("consumer.session.timeout.ms", "50000")])
    };
    let refused = outcome(&mut script, alter((0..150).map(group).collect()));
    assert_eq!(refused, words.repeat(150) + "0 records\n");
}

/// Names count too: anybody may think of long ones.
#[test]
fn what_groups_and_subscriptions_take_is_bounded() {
    let mut script = cluster(&[1]);
    let name = "g".repeat(30_000);
    let group = |n: usize, timeout: &str| {
        all(of_group(&format!("{name}{n}")), &[("consumer.session.timeout.ms", timeout)])
    };
    let room = NAMED_CONFIGS_BYTES_MAX / 30_163;
    for from in (0..room).step_by(100) {
        let some = (from..room.min(from + 100)).map(|n| group(n, "50000"));
        script.send(alter(some.collect())).unchecked();
    }
    let metrics = |size| {
        let resource = Resource::ClientMetrics("m".to_owned());
        alter(vec![all(resource, &[("metrics", &*"x".repeat(size)), ("match", "")])])
    };
    assert_eq!(outcome(&mut script, metrics(10)), "config: altered\n2 records\n");
    let refused = format!(
        "config: 44 The configs of all groups and client metrics subscriptions take more than \
         {NAMED_CONFIGS_BYTES_MAX} bytes\n0 records\n"
    );
    assert_eq!(outcome(&mut script, metrics(32_000)), refused);
    assert_eq!(outcome(&mut script, alter(vec![group(room, "50000")])), refused);
    let changed = outcome(&mut script, alter(vec![group(7, "50001")]));
    assert_eq!(changed, "config: altered\n1 records\n");
    script.send(alter(vec![all(of_group(&format!("{name}7")), &[])]));
    let fresh = outcome(&mut script, alter(vec![group(room, "50000")]));
    assert_eq!(fresh, "config: altered\n1 records\n");
}
