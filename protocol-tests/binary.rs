//! The binary as a user runs it: arguments, configuration, what it prints, how it ends. Always our own, whatever
//! `BOOTSTRAP` says.

use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use kafka_protocol::messages::create_topics_request::CreatableTopic;
use kafka_protocol::messages::fetch_request::{FetchPartition, FetchTopic};
use kafka_protocol::messages::produce_request::{PartitionProduceData, TopicProduceData};
use kafka_protocol::messages::{
    ApiVersionsRequest, CreateTopicsRequest, FetchRequest, FindCoordinatorRequest,
    JoinGroupRequest, MetadataRequest, OffsetFetchRequest, ProduceRequest,
};
use rustix::process::Signal;

use crate::batch::Batch;
use crate::client::{Client, frame};
use crate::codes::{NONE, NOT_COORDINATOR};
use crate::fixtures::{topic_name, until};
use crate::members::{group_id, join_request};
use crate::process::{Ended, Process};

/// An end takes less than 300 ms; the rest is for a machine that is busy with other tests.
const END_MAX: Duration = Duration::from_secs(2);

fn run(arguments: &[&str], environment: &[(&str, &str)]) -> Ended {
    Process::spawn(arguments, environment).end()
}

/// The one broker a node names, by `Metadata`.
fn advertised(client: &mut Client) -> (String, i32) {
    let brokers = client.call(12, &MetadataRequest::default().with_topics(Some(vec![]))).brokers;
    assert_eq!(brokers.len(), 1);
    (brokers[0].host.to_string(), brokers[0].port)
}

#[test]
fn version_and_help() {
    let version = run(&["--version"], &[]);
    assert_eq!((version.code, version.stderr.as_str()), (Some(0), ""));
    let expected =
        format!("ottla {} (speaks the protocol of Kafka 4.1)", env!("CARGO_PKG_VERSION"));
    assert_eq!(version.stdout, [expected]);
    let help = run(&["--help"], &[]);
    assert_eq!(help.code, Some(0));
    for argument in ["--dev", "--config", "--set", "--listen", "--log-dir", "--log-format"] {
        assert!(help.stdout.iter().any(|line| line.contains(argument)), "{argument}");
    }
}

/// Exit code 2, nothing on standard output, and one line that names what to change.
#[test]
fn bad_arguments_and_settings_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("config.yaml").display().to_string();
    std::fs::write(&path, "node.id: 1\n\nnum.partitons: 3\n").unwrap();
    let config = ["--config", &path];
    let in_file = format!(
        "ottla: {path}, line 3: unknown setting `num.partitons`, did you mean `num.partitions`?\n"
    );
    type Case<'a> = (&'a [&'a str], &'a [(&'a str, &'a str)], &'a str);
    let cases: [Case; 9] = [
        (&config, &[], &in_file),
        (
            &["--config", "/nowhere/at-all"],
            &[],
            "ottla: /nowhere/at-all: No such file or directory (os error 2)\n",
        ),
        (
            &["--dev", "--set", "num.partition=3"],
            &[],
            "ottla: --set: unknown setting `num.partition`, did you mean `num.partitions`?\n",
        ),
        (
            &["--dev", "--set", "num.partitions=many"],
            &[],
            "ottla: --set: Invalid value many for configuration num.partitions: Not a number of type INT\n",
        ),
        (
            &["--dev", "--set", "num.partitions"],
            &[],
            "ottla: --set: `num.partitions` is not name=value\n",
        ),
        (
            &["--dev", "--listen", "127.0.0.1"],
            &[],
            "ottla: --listen: `127.0.0.1` is not HOST:PORT\n",
        ),
        (
            &["--dev"],
            &[("OTTLA_NUM_PARTITION", "3")],
            "ottla: environment variable OTTLA_NUM_PARTITION: unknown setting `num.partition`, \
             did you mean `OTTLA_NUM_PARTITIONS`?\n",
        ),
        (&["--dev"], &[("RUST_LOG", "%%%")], "ottla: RUST_LOG: invalid filter directive\n"),
        (
            &["--dev", "--set", "advertised.listeners=PLAINTEXT://0.0.0.0:9092"],
            &[],
            "ottla: --set: `advertised.listeners`: clients cannot connect to `0.0.0.0:9092`: name an \
             address or a host\n",
        ),
    ];
    for (arguments, environment, message) in cases {
        let ended = run(arguments, environment);
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(2), message), "{arguments:?}");
        assert!(ended.stdout.is_empty(), "{ended:?}");
    }
    let unknown = run(&["--no-such-argument"], &[]);
    assert_eq!((unknown.code, unknown.stdout.len()), (Some(2), 0));
    assert!(unknown.stderr.contains("--no-such-argument"), "{unknown:?}");
}

#[test]
fn one_line_when_it_serves_and_exit_code_0_when_asked_to_end() {
    for signal in [Signal::TERM, Signal::INT] {
        let (process, address) = Process::dev(&[]);
        let (host, port) = address.rsplit_once(':').expect("HOST:PORT");
        assert_eq!(host, "127.0.0.1");
        let port: i32 = port.parse().unwrap();
        assert_ne!(port, 0, "the port that was bound");
        let mut client = Client::connect_to(&address);
        assert_eq!(advertised(&mut client), ("127.0.0.1".to_owned(), port));
        process.signal(signal);
        let ended = process.end();
        assert_eq!((ended.code, ended.stdout.len()), (Some(0), 0), "{signal:?}: {ended:?}");
        assert!(!ended.stderr.contains("ERROR"), "{ended:?}");
        client.assert_closed();
    }
}

/// What waits is answered, and the process ends without waiting for clients that say nothing.
#[test]
fn a_signal_answers_what_is_in_flight() {
    for signal in [Signal::TERM, Signal::INT] {
        let (process, address) = Process::dev(&[]);
        let topic = CreatableTopic::default()
            .with_name(topic_name("parked"))
            .with_num_partitions(1)
            .with_replication_factor(1);
        let create = CreateTopicsRequest::default().with_topics(vec![topic]).with_timeout_ms(9_000);
        let mut client = Client::connect_to(&address);
        assert_eq!(client.call(7, &create).topics[0].error_code, NONE);
        let partition = FetchPartition::default().with_partition_max_bytes(1 << 20);
        let wanted =
            FetchTopic::default().with_topic(topic_name("parked")).with_partitions(vec![partition]);
        let fetch = FetchRequest::default()
            .with_max_wait_ms(60_000)
            .with_min_bytes(1)
            .with_session_epoch(-1)
            .with_topics(vec![wanted]);
        // In one segment: when the first is answered, the second has arrived.
        let both = [frame(3, 1, &ApiVersionsRequest::default()), frame(12, 2, &fetch)].concat();
        client.send_bytes(&both);
        client.receive::<ApiVersionsRequest>(3, 1);
        let _idle = TcpStream::connect(&address).unwrap();
        let asked = Instant::now();
        process.signal(signal);
        let answer = client.receive::<FetchRequest>(12, 2);
        assert_eq!(answer.error_code, NONE, "{signal:?}");
        assert_eq!(answer.responses[0].partitions[0].error_code, NONE, "{signal:?}");
        client.assert_closed();
        assert_eq!(process.end().code, Some(0), "{signal:?}");
        let took = asked.elapsed();
        eprintln!("{signal:?}: ended within {took:?}");
        assert!(took < END_MAX, "{signal:?}: {took:?}");
    }
}

/// Members that wait for the others are sent away at once: there may be another coordinator (seen on Kafka 4.1.1).
#[test]
fn a_signal_answers_members_that_wait() {
    let delay = ["--set", "group.initial.rebalance.delay.ms=60000"];
    let (process, address) = Process::dev(&delay);
    let mut client = Client::connect_to(&address);
    let find = FindCoordinatorRequest::default().with_coordinator_keys(vec!["waits".into()]);
    until("the coordinator", || client.call(4, &find).coordinators[0].error_code == NONE);
    let offsets = OffsetFetchRequest::default().with_group_id(group_id("waits"));
    until("the group's shard", || client.call(7, &offsets).error_code == NONE);
    // In one segment: when the first is answered, the second has arrived.
    let join = join_request("waits", "");
    let both = [frame(3, 1, &ApiVersionsRequest::default()), frame(3, 2, &join)].concat();
    client.send_bytes(&both);
    client.receive::<ApiVersionsRequest>(3, 1);
    let asked = Instant::now();
    process.signal(Signal::TERM);
    assert_eq!(client.receive::<JoinGroupRequest>(3, 2).error_code, NOT_COORDINATOR);
    client.assert_closed();
    assert_eq!(process.end().code, Some(0));
    assert!(asked.elapsed() < END_MAX, "{:?}", asked.elapsed());
}

#[test]
fn the_file_the_environment_and_the_command_line_in_this_order() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("config.yaml").display().to_string();
    std::fs::write(&path, "num.partitions: 2\nlisteners: PLAINTEXT://127.0.0.1:0\n").unwrap();
    let file = ["--dev", "--config", &path];
    let set = ["--dev", "--config", &path, "--set", "num.partitions=4"];
    type Case<'a> = (&'a [&'a str], &'a [(&'a str, &'a str)], usize);
    let cases: [Case; 4] = [
        (&["--dev", "--listen", "127.0.0.1:0"], &[], 1),
        (&file, &[], 2),
        (&file, &[("OTTLA_NUM_PARTITIONS", "3")], 3),
        (&set, &[("OTTLA_NUM_PARTITIONS", "3")], 4),
    ];
    for (arguments, environment, partitions) in cases {
        let process = Process::spawn(arguments, environment);
        let mut client = Client::connect_to(&process.ready());
        let topic = CreatableTopic::default()
            .with_name(topic_name("by-default"))
            .with_num_partitions(-1)
            .with_replication_factor(-1);
        let create = CreateTopicsRequest::default().with_topics(vec![topic]).with_timeout_ms(9_000);
        let created = client.call(7, &create).topics.remove(0);
        assert_eq!(created.error_code, NONE);
        assert_eq!(usize::try_from(created.num_partitions), Ok(partitions), "{arguments:?}");
        assert_eq!(process.terminate().code, Some(0));
    }
}

#[test]
fn a_setting_without_effect_is_warned_of() {
    let (process, _) = Process::dev(&["--set", "log.cleaner.threads=2"]);
    let stderr = process.terminate().stderr;
    let warnings: Vec<_> = stderr.lines().filter(|line| line.contains("WARN")).collect();
    assert_eq!(warnings.len(), 1, "{stderr}");
    assert!(warnings[0].contains("`log.cleaner.threads` is known but has no effect"), "{stderr}");
}

#[test]
fn logs_are_text_or_json() {
    let (process, _) = Process::dev(&["--log-format", "json"]);
    let stderr = process.terminate().stderr;
    assert!(!stderr.is_empty());
    for line in stderr.lines() {
        let logged: serde_json::Value = serde_json::from_str(line).expect("a line is an object");
        assert_eq!(logged["level"], "INFO", "{line}");
    }
    let (process, _) = Process::dev(&[]);
    let stderr = process.terminate().stderr;
    assert!(stderr.contains(" INFO ") && !stderr.contains('\x1b'), "{stderr:?}");
}

#[test]
fn a_port_in_use_is_one_clear_line() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let ended = run(&["--dev", "--listen", &address], &[]);
    assert_eq!(ended.code, Some(1));
    assert_eq!(ended.stderr, format!("ottla: PLAINTEXT: {address} is already in use\n"));
    assert!(ended.stdout.is_empty());
}

#[test]
fn a_data_directory_belongs_to_one_process() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().display().to_string();
    let arguments = ["--listen", "127.0.0.1:0", "--log-dir", &path];
    if !cfg!(feature = "rocksdb") {
        eprintln!("skipped: built without the feature rocksdb, so there are no data directories");
        let ended = run(&arguments, &[]);
        assert_eq!(ended.code, Some(1));
        assert!(ended.stderr.contains("this build keeps logs in memory only (use --dev)"));
        return;
    }
    let first = Process::spawn(&arguments, &[]);
    first.ready();
    let second = run(&arguments, &[]);
    assert_eq!((second.code, second.stdout.len()), (Some(1), 0), "{second:?}");
    let errors: Vec<_> = second.stderr.lines().filter(|line| line.starts_with("ottla: ")).collect();
    assert!(errors.len() == 1 && errors[0].contains(&path), "{second:?}");
    assert_eq!(first.terminate().code, Some(0));
    let third = Process::spawn(&arguments, &[]);
    third.ready();
    let third = third.terminate();
    assert_eq!(third.code, Some(0), "the directory is free again");
    assert!(!third.stderr.contains("ERROR"), "an ordinary start: {third:?}");
}

#[test]
fn health_asks_a_broker() {
    let (process, address) = Process::dev(&[]);
    let healthy = run(&["health", &address], &[]);
    assert_eq!((healthy.code, healthy.stderr.as_str()), (Some(0), ""));
    assert_eq!(process.terminate().code, Some(0));
    let gone = run(&["health", &address], &[]);
    assert_eq!((gone.code, gone.stdout.len()), (Some(1), 0));
    assert_eq!(gone.stderr, format!("ottla: {address}: Connection refused (os error 111)\n"));
}

#[test]
fn ipv6() {
    if TcpListener::bind("[::1]:0").is_err() {
        eprintln!("skipped: this machine has no IPv6");
        return;
    }
    let process = Process::spawn(&["--dev", "--listen", "[::1]:0"], &[]);
    let address = process.ready();
    let port = address.strip_prefix("[::1]:").expect("an address in brackets").to_owned();
    let mut client = Client::connect_to(&address);
    assert_eq!(advertised(&mut client), ("::1".to_owned(), port.parse().unwrap()));
    assert_eq!(run(&["health", &address], &[]).code, Some(0));
    assert_eq!(process.terminate().code, Some(0));

    // All interfaces: both families on one port; a client is told an address it can use.
    let process = Process::spawn(&["--dev", "--listen", ":0"], &[]);
    let address = process.ready();
    let port = address.strip_prefix("127.0.0.1:").expect("the loopback address");
    for host in ["127.0.0.1", "[::1]"] {
        let mut client = Client::connect_to(&format!("{host}:{port}"));
        assert_eq!(advertised(&mut client), ("127.0.0.1".to_owned(), port.parse().unwrap()));
    }
    assert_eq!(process.terminate().code, Some(0));
}

/// Connections used to take every file the process may open; then a segment file could not be created, and all writing
/// stopped until restart.
#[test]
fn connections_leave_files_to_the_store() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().display().to_string();
    let arguments = ["--dev", "--listen", "127.0.0.1:0", "--log-dir", &path];
    let process = Process::with_files(200, &arguments);
    let address = process.ready();
    let mut client = Client::connect_to(&address);
    let topic = CreatableTopic::default()
        .with_name(topic_name("files"))
        .with_num_partitions(100)
        .with_replication_factor(1);
    let request = CreateTopicsRequest::default().with_topics(vec![topic]).with_timeout_ms(30_000);
    assert_eq!(client.call(7, &request).topics[0].error_code, NONE);
    // Those that are too many wait in the backlog.
    let idle: Vec<Client> = (0..140).map(|_| Client::connect_to(&address)).collect();
    let records = Batch::of(&[&"x".repeat(9_000)]).build();
    for round in 0..3 {
        for partition in 0..100 {
            let data = PartitionProduceData::default()
                .with_index(partition)
                .with_records(Some(records.clone()));
            let topic = TopicProduceData::default()
                .with_name(topic_name("files"))
                .with_partition_data(vec![data]);
            let request = ProduceRequest::default()
                .with_acks(-1)
                .with_timeout_ms(30_000)
                .with_topic_data(vec![topic]);
            let answer = client.call(9, &request);
            let code = answer.responses[0].partition_responses[0].error_code;
            assert_eq!(code, NONE, "partition {partition}, round {round}");
        }
    }
    drop(idle);
    let mut client = Client::connect_to(&address);
    assert_eq!(client.call(7, &request).topics.len(), 1, "and those that wait get in");
}
