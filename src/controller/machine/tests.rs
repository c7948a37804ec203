//! What the controller decides. Codes and words as Kafka 4.1.1 answers them (tried).

use super::*;
use crate::machine::script::Script;
use expect_test::{Expect, expect};

fn settings() -> Settings {
    Settings {
        config: Arc::new(Config::build(true, &[("num.partitions", "3")]).unwrap()),
        fresh_cluster_id: "the-cluster".to_owned(),
    }
}

fn broker(id: i32) -> Command {
    Command::RegisterBroker(Registration {
        node_id: NodeId(id),
        incarnation_id: Uuid::from_u128(id as u128),
        rack: None,
        listeners: BTreeMap::new(),
    })
}

/// A controller of a cluster with these brokers; nothing of it in the transcript.
fn cluster(brokers: &[i32]) -> Script<Controller> {
    let mut script = Script::new(Controller::new(Image::default(), settings()));
    script.elected(1);
    for id in brokers {
        script.send(broker(*id));
    }
    script.unchecked();
    script
}

fn topic(name: &str, partitions: i32, replication_factor: i16) -> NewTopic {
    NewTopic { name: name.to_owned(), partitions, replication_factor, ..NewTopic::default() }
}

fn assigned(name: &str, assignments: &[(i32, &[i32])]) -> NewTopic {
    let assignments = assignments.iter().map(|(at, ids)| (*at, ids.to_vec())).collect();
    NewTopic { assignments, ..topic(name, -1, -1) }
}

fn create(topics: Vec<NewTopic>) -> Command {
    let ids = (1..).map(|n| TopicId(Uuid::from_u128(n)));
    Command::CreateTopics { topics: ids.zip(topics).collect(), validate_only: false }
}

fn grow(topics: &[(&str, i32)]) -> Command {
    let more = |(name, count): &(&str, i32)| MorePartitions {
        name: (*name).to_owned(),
        count: *count,
        assignments: None,
    };
    Command::CreatePartitions { topics: topics.iter().map(more).collect(), validate_only: false }
}

fn named(name: &str) -> TopicRef {
    TopicRef { name: Some(name.to_owned()), topic_id: None }
}

fn by_id(n: u128) -> TopicRef {
    TopicRef { name: None, topic_id: Some(TopicId(Uuid::from_u128(n))) }
}

fn step(script: &mut Script<Controller>, command: Command) -> (Vec<Record>, Answer) {
    let mut machine = Controller::new(script.machine().image.clone(), settings());
    let mut out = Outcome::default();
    let caller = crate::machine::Caller(1);
    machine.step(Now::default(), Input::Command(caller, command), &mut out);
    (out.batch.map_or(Vec::new(), |batch| batch.records), out.replies.remove(0).1.answer)
}

/// What comes of `command`, a line each: name, then what was created or the code and the words.
fn outcome(script: &mut Script<Controller>, command: Command) -> String {
    fn line(name: &str, result: Result<String, Refusal>) -> String {
        match result {
            Ok(done) => format!("{name}: {done}\n"),
            Err(Refusal { code, message: Some(words) }) => {
                format!("{name}: {} {words}\n", code.code())
            }
            Err(Refusal { code, message: None }) => format!("{name}: {}\n", code.code()),
        }
    }
    let created = |it: Created| format!("{} x {}", it.partitions, it.replication_factor);
    let (records, answer) = step(script, command);
    let lines: String = match answer {
        Answer::Created(results) => {
            results.into_iter().map(|(name, it)| line(&name, it.map(created))).collect()
        }
        Answer::Deleted(results) => results
            .into_iter()
            .map(|(topic, it)| {
                let id = topic.topic_id.map_or(String::new(), |id| format!("#{}", id.0.as_u128()));
                line(&format!("{}{id}", topic.name.unwrap_or_default()), it.map(|()| "gone".into()))
            })
            .collect(),
        Answer::Grown(results) => {
            results.into_iter().map(|(name, it)| line(&name, it.map(|()| "grown".into()))).collect()
        }
        Answer::Altered(results) => {
            results.into_iter().map(|it| line("config", it.map(|()| "altered".into()))).collect()
        }
        other => format!("{other:?}\n"),
    };
    format!("{lines}{} records\n", records.len())
}

fn check(brokers: &[i32], existing: Vec<NewTopic>, cases: Vec<Command>, expected: Expect) {
    let mut script = cluster(brokers);
    script.send(create(existing));
    let outcomes: String = cases.into_iter().map(|case| outcome(&mut script, case)).collect();
    expected.assert_eq(&outcomes);
}

#[test]
fn a_cluster_begins() {
    let mut script = Script::new(Controller::new(Image::default(), settings()));
    script
        .elected(1)
        .send(broker(1))
        .send(create(vec![topic("t", 2, 1)]))
        .send(Command::AllocateProducerIds)
        .send(Command::AllocateProducerIds)
        .send(Command::DeleteTopics(vec![named("t")]))
        .check(expect![[r#"
            @0 elected 1
                write Cluster { cluster_id: "the-cluster" }
            @0 #1 RegisterBroker(Registration { node_id: NodeId(1), incarnation_id: 00000000-0000-0000-0000-000000000001, rack: None, listeners: {} })
                write Broker { node_id: NodeId(1), broker_epoch: 2, incarnation_id: 00000000-0000-0000-0000-000000000001, rack: None, listeners: {}, fenced: false }
                reply #1 Reply { offset: 2, answer: Registered { broker_epoch: 2 } }
            @0 #2 CreateTopics { topics: [(TopicId(00000000-0000-0000-0000-000000000001), NewTopic { name: "t", partitions: 2, replication_factor: 1, assignments: [], configs: [], internal: false })], validate_only: false }
                write Topic { name: "t", topic_id: TopicId(00000000-0000-0000-0000-000000000001) }
                write Partition { topic_id: TopicId(00000000-0000-0000-0000-000000000001), partition: 0, state: PartitionState { replicas: [NodeId(1)], isr: [NodeId(1)], leader: Some(NodeId(1)), leader_epoch: LeaderEpoch(0), partition_epoch: 0 } }
                write Partition { topic_id: TopicId(00000000-0000-0000-0000-000000000001), partition: 1, state: PartitionState { replicas: [NodeId(1)], isr: [NodeId(1)], leader: Some(NodeId(1)), leader_epoch: LeaderEpoch(0), partition_epoch: 0 } }
                reply #2 Reply { offset: 5, answer: Created([("t", Ok(Created { topic_id: TopicId(00000000-0000-0000-0000-000000000001), partitions: 2, replication_factor: 1, configs: {} }))]) }
            @0 #3 AllocateProducerIds
                write ProducerIds { next_producer_id: 1000 }
                reply #3 Reply { offset: 6, answer: ProducerIds(Ok(0..1000)) }
            @0 #4 AllocateProducerIds
                write ProducerIds { next_producer_id: 2000 }
                reply #4 Reply { offset: 7, answer: ProducerIds(Ok(1000..2000)) }
            @0 #5 DeleteTopics([TopicRef { name: Some("t"), topic_id: None }])
                write RemoveTopic { topic_id: TopicId(00000000-0000-0000-0000-000000000001) }
                reply #5 Reply { offset: 8, answer: Deleted([(TopicRef { name: Some("t"), topic_id: Some(TopicId(00000000-0000-0000-0000-000000000001)) }, Ok(()))]) }
        "#]]);
    let fresh = Controller::new(Image::default(), settings());
    assert_eq!(&script.replayed(fresh), script.machine());
}

#[test]
fn an_elected_controller_of_a_known_cluster_writes_nothing() {
    let image = cluster(&[1]).machine().image.clone();
    let mut script = Script::new(Controller::new(image, settings()));
    script.elected(2).check(expect![[r#"
        @0 elected 2
    "#]]);
}

#[test]
fn names_counts_and_factors() {
    let many = "x".repeat(250);
    let all = |topics: &[(&str, i32, i16)]| {
        topics
            .iter()
            .map(|(name, count, factor)| create(vec![topic(name, *count, *factor)]))
            .collect()
    };
    check(
        &[1],
        vec![topic("a.b", 1, 1)],
        all(&[
            ("", 1, 1),
            (".", 1, 1),
            ("..", 1, 1),
            ("a b", 1, 1),
            (&many, 1, 1),
            ("a.b", 0, 0),
            ("a_b", 1, 1),
            ("p", 0, 1),
            ("p", -2, 1),
            ("p", 1, 0),
            ("p", 0, 0),
            ("p", 1, -2),
            ("p", 1, 2),
            ("p", -1, -1),
            ("p", 9_999, 1),
            ("p", 10_000, 1),
            ("p", 10_001, 1),
            ("p", i32::MAX, 1),
            ("p", i32::MIN, i16::MIN),
        ]),
        expect![[r#"
            : 17 Topic name is invalid: the empty string is not allowed
            0 records
            .: 17 Topic name is invalid: '.' is not allowed
            0 records
            ..: 17 Topic name is invalid: '..' is not allowed
            0 records
            a b: 17 Topic name is invalid: 'a b' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'
            0 records
            xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx: 17 Topic name is invalid: the length of 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx' is longer than the max allowed length 249
            0 records
            a.b: 36 Topic 'a.b' already exists.
            0 records
            a_b: 17 Topic 'a_b' collides with existing topic: a.b
            0 records
            p: 37 Number of partitions was set to an invalid non-positive value.
            0 records
            p: 37 Number of partitions was set to an invalid non-positive value.
            0 records
            p: 38 Replication factor must be larger than 0, or -1 to use the default value.
            0 records
            p: 38 Replication factor must be larger than 0, or -1 to use the default value.
            0 records
            p: 38 Replication factor must be larger than 0, or -1 to use the default value.
            0 records
            p: 38 Unable to replicate the partition 2 time(s): The target replication factor of 2 cannot be reached because only 1 broker(s) are registered.
            0 records
            p: 3 x 1
            4 records
            p: 9999 x 1
            10000 records
            p: 44 Unable to perform excessively large batch operation.
            0 records
            p: 44 Excessively large number of partitions per request.
            0 records
            p: 44 Excessively large number of partitions per request.
            0 records
            p: 38 Replication factor must be larger than 0, or -1 to use the default value.
            0 records
        "#]],
    );
}

#[test]
fn several_topics_in_one_request() {
    let request = [("z", 1), ("bad", 0), ("d", 1), ("a.b", 1), ("d", 1), ("__cluster_metadata", 1)];
    let mut request: Vec<NewTopic> =
        request.iter().map(|(name, count)| topic(name, *count, 1)).collect();
    request.extend([topic("x.y", 1, 1), topic("x_y", 1, 1), topic("d", 1, 1)]);
    let too_many = vec![topic("m", 6_000, 1), topic("n", 6_000, 1)];
    check(
        &[1],
        vec![topic("a.b", 1, 1)],
        vec![create(request), create(too_many), create(vec![])],
        expect![[r#"
            z: 1 x 1
            bad: 37 Number of partitions was set to an invalid non-positive value.
            a.b: 36 Topic 'a.b' already exists.
            x.y: 1 x 1
            x_y: 1 x 1
            d: 42 Duplicate topic name.
            __cluster_metadata: 42 Creation of internal topic __cluster_metadata is prohibited.
            6 records
            m: 44 Excessively large number of partitions per request.
            n: 44 Excessively large number of partitions per request.
            0 records
            0 records
        "#]],
    );
}

#[test]
fn assignments_by_hand() {
    let with = |partitions, factor| NewTopic {
        partitions,
        replication_factor: factor,
        ..assigned("m", &[(0, &[1])])
    };
    let cases = [
        assigned("m", &[(1, &[2, 1]), (0, &[1, 2])]),
        with(1, -1),
        with(-1, 1),
        assigned("m", &[(0, &[1]), (2, &[1])]),
        assigned("m", &[(-1, &[1])]),
        assigned("m", &[(0, &[1]), (0, &[1])]),
        assigned("m", &[(0, &[])]),
        assigned("m", &[(0, &[1, 9])]),
        assigned("m", &[(0, &[1, 1])]),
        assigned("m", &[(0, &[1]), (1, &[1, 2])]),
    ];
    let cases = cases.into_iter().map(|case| create(vec![case])).collect();
    check(
        &[1, 2],
        vec![],
        cases,
        expect![[r#"
        m: 2 x 2
        3 records
        m: 42 A manual partition assignment was specified, but numPartitions was not set to -1.
        0 records
        m: 42 A manual partition assignment was specified, but replication factor was not set to -1.
        0 records
        m: 39 partitions should be a consecutive 0-based integer sequence
        0 records
        m: 39 partitions should be a consecutive 0-based integer sequence
        0 records
        m: 39 Found multiple manual partition assignments for partition 0
        0 records
        m: 39 The manual partition assignment includes an empty replica list.
        0 records
        m: 39 The manual partition assignment includes broker 9, but no such broker is registered.
        0 records
        m: 39 The manual partition assignment includes the broker 1 more than once.
        0 records
        m: 39 The manual partition assignment includes a partition with 2 replica(s), but this is not consistent with previous partitions, which have 1 replica(s).
        0 records
    "#]],
    );
}

#[test]
fn configs() {
    let with = |configs: &[(&str, Option<&str>)]| {
        let own = |text: &str| text.to_owned();
        let configs = configs.iter().map(|(name, value)| (own(name), value.map(own))).collect();
        create(vec![NewTopic { configs, ..topic("c", 1, 1) }])
    };
    let long = ["1:1"; 20_000].join(",");
    let cases = vec![
        with(&[("flush.ms", Some("5")), ("flush.ms", Some("7"))]),
        with(&[("a", None), ("flush.ms", Some("5")), ("b", None)]),
        with(&[("nope", Some("1"))]),
        with(&[("leader.replication.throttled.replicas", Some(&long))]),
    ];
    check(
        &[1],
        vec![],
        cases,
        expect![[r#"
            c: 1 x 1
            3 records
            c: 40 Null value not supported for topic configs: a,b
            0 records
            c: 40 Unknown topic config name: nope
            0 records
            c: 40 The configs take 80036 bytes, more than 65536
            0 records
        "#]],
    );
}

#[test]
fn replicas_are_spread_and_the_first_leads() {
    let mut script = cluster(&[1, 2, 3]);
    let (records, _) = step(&mut script, create(vec![topic("t", 4, 2)]));
    let replicas: Vec<_> = records
        .iter()
        .filter_map(|record| match record {
            Record::Partition { state, .. } => {
                assert_eq!((state.leader, &state.isr), (Some(state.replicas[0]), &state.replicas));
                Some([state.replicas[0].0, state.replicas[1].0])
            }
            _ => None,
        })
        .collect();
    assert_eq!(replicas, [[2, 3], [3, 1], [1, 2], [2, 3]]);
}

#[test]
fn internal_topics_have_one_replica_until_a_second_broker_comes() {
    let internal = || NewTopic { internal: true, ..topic("__consumer_offsets", 50, 3) };
    check(
        &[1],
        vec![],
        vec![create(vec![internal()])],
        expect![[r#"
        __consumer_offsets: 50 x 1
        51 records
    "#]],
    );
    check(
        &[1, 2],
        vec![],
        vec![create(vec![internal()])],
        expect![[r#"
        __consumer_offsets: 38 Unable to replicate the partition 3 time(s): The target replication factor of 3 cannot be reached because only 2 broker(s) are registered.
        0 records
    "#]],
    );
}

#[test]
fn deletion() {
    let cases = [
        vec![named("a"), named("none"), by_id(2)],
        vec![by_id(9)],
        vec![TopicRef { name: None, topic_id: None }],
        vec![TopicRef { name: Some("a".to_owned()), ..by_id(1) }],
        vec![named("a"), named("a"), named("a"), by_id(2), by_id(2)],
        vec![named("a"), by_id(1)],
        vec![by_id(1), named("a"), by_id(1)],
        vec![],
    ];
    let cases = cases.into_iter().map(Command::DeleteTopics).collect();
    check(
        &[1],
        vec![topic("a", 1, 1), topic("b", 1, 1)],
        cases,
        expect![[r#"
        none: 3 This server does not host this topic-partition.
        a#1: gone
        b#2: gone
        2 records
        #9: 100 This server does not host this topic ID.
        0 records
        : 42 Neither topic name nor id were specified.
        0 records
        a#1: 42 You may not specify both topic name and topic id.
        0 records
        #2: 42 Duplicate topic id.
        a: 42 Duplicate topic name.
        0 records
        a#1: 42 The provided topic name maps to an ID that was already supplied.
        0 records
        #1: 42 Duplicate topic id.
        a#1: 42 The provided topic name maps to an ID that was already supplied.
        0 records
        0 records
    "#]],
    );
}

#[test]
fn a_topic_made_again_is_another() {
    let mut script = cluster(&[1]);
    script.send(create(vec![topic("a", 1, 1)]));
    script.send(Command::DeleteTopics(vec![named("a")]));
    let again = vec![(TopicId(Uuid::from_u128(7)), topic("a", 2, 1))];
    script.send(Command::CreateTopics { topics: again, validate_only: false });
    let image = &script.machine().image;
    assert_eq!(image.topic("a").unwrap().id.0.as_u128(), 7);
    assert_eq!(image.topic_by_id(TopicId(Uuid::from_u128(1))), None);
}

#[test]
fn more_partitions() {
    let by_hand = |count, assignments: &[&[i32]]| Command::CreatePartitions {
        topics: vec![MorePartitions {
            name: "a".to_owned(),
            count,
            assignments: Some(assignments.iter().map(|ids| ids.to_vec()).collect()),
        }],
        validate_only: false,
    };
    let mut cases: Vec<_> =
        [3, 2, 1, 0, i32::MIN, 10_002, 10_003, i32::MAX].map(|count| grow(&[("a", count)])).into();
    cases.extend([
        grow(&[("none", 5)]),
        grow(&[("a", 4), ("none", 3), ("a", 5), ("b", 2)]),
        grow(&[("a", 6_000), ("b", 6_000)]),
        by_hand(4, &[&[1], &[1]]),
        by_hand(4, &[&[1]]),
        by_hand(4, &[&[1], &[9]]),
        by_hand(4, &[&[1], &[]]),
        by_hand(3, &[&[1, 1]]),
    ]);
    check(
        &[1],
        vec![topic("a", 2, 1), topic("b", 1, 1)],
        cases,
        expect![[r#"
        a: grown
        1 records
        a: 37 Topic already has 2 partition(s).
        0 records
        a: 37 The topic a currently has 2 partition(s); 1 would not be an increase.
        0 records
        a: 37 The topic a currently has 2 partition(s); 0 would not be an increase.
        0 records
        a: 37 The topic a currently has 2 partition(s); -2147483648 would not be an increase.
        0 records
        a: grown
        10000 records
        a: -1
        0 records
        a: -1
        0 records
        none: 3
        0 records
        a: 42 Duplicate topic name.
        none: 3
        b: grown
        1 records
        a: grown
        b: -1
        5998 records
        a: grown
        2 records
        a: 39 Attempted to add 2 additional partition(s), but only 1 assignment(s) were specified.
        0 records
        a: 39 The manual partition assignment includes broker 9, but no such broker is registered.
        0 records
        a: 39 The manual partition assignment includes an empty replica list.
        0 records
        a: 39 The manual partition assignment includes the broker 1 more than once.
        0 records
    "#]],
    );
}

#[test]
fn validation_alone_writes_nothing() {
    let mut script = cluster(&[1]);
    script.send(create(vec![topic("a", 1, 1)]));
    let ids = vec![(TopicId(Uuid::from_u128(5)), topic("b", 1, 1))];
    let command = Command::CreateTopics { topics: ids, validate_only: true };
    assert_eq!(outcome(&mut script, command), "b: 1 x 1\n0 records\n");
    let Command::CreatePartitions { topics, .. } = grow(&[("a", 2)]) else { unreachable!() };
    let command = Command::CreatePartitions { topics, validate_only: true };
    assert_eq!(outcome(&mut script, command), "a: grown\n0 records\n");
}

mod configs;
