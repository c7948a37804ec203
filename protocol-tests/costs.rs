//! What a request costs, counted rather than timed, so that it does not depend on the machine: allocations in a broker in
//! process, system calls of a broker under `strace`. One connection, one request at a time: batching can only make it less.
//!
//! A limit is what was counted when it was set, and a little more. Whoever makes a request cheaper lowers it.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test binary")]

#[expect(dead_code, reason = "not every use of it is here")]
mod process;

use bytes::BytesMut;
use ottla::{
    broker::Broker,
    config::Config,
    wire::{
        Builder,
        messages::{
            CreateTopicsRequest, FetchRequest, FetchResponse, ProduceRequest, ProduceResponse,
            RequestHeader, ResponseHeader, TopicName,
            create_topics_request::CreatableTopic,
            fetch_request::{FetchPartition, FetchTopic},
            produce_request::{PartitionProduceData, TopicProduceData},
        },
        protocol::{Decodable, Encodable, HeaderVersion, Request, StrBytes},
    },
};
use process::Process;
use rustix::process::{Pid, Signal, kill_process};
use std::{
    fs,
    io::{Read, Write, stderr},
    net::TcpStream,
    process::Command,
    sync::{Mutex, PoisonError, mpsc},
    thread,
};

/// Counts what is allocated while there is a profiler.
#[global_allocator]
static ALLOCATOR: dhat::Alloc = dhat::Alloc;

/// One test at a time: allocations are those of the whole process.
static ALONE: Mutex<()> = Mutex::new(());

/// Requests before counting begins.
const WARM_UP: u64 = 300;
const REQUESTS: u64 = 500;

#[derive(Debug, Clone, Copy)]
enum Scenario {
    /// One record of 100 bytes.
    SmallProduce,
    /// One batch of 64 KiB.
    LargeProduce,
    /// A batch of 64 KiB is read again and again.
    Fetch,
}

use Scenario::{Fetch, LargeProduce, SmallProduce};

#[test]
fn allocations_of_a_request_stay_few() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let address = start();
    let mut over = Vec::new();
    for (scenario, most) in [(SmallProduce, 15), (LargeProduce, 16), (Fetch, 24)] {
        let mut load = Load::new(&address, scenario);
        load.run(WARM_UP);
        let profiler = dhat::Profiler::builder().testing().build();
        load.run(REQUESTS);
        let blocks = dhat::HeapStats::get().total_blocks;
        drop(profiler);
        note(&mut over, scenario, "allocations", blocks as f64 / REQUESTS as f64, most);
    }
    assert!(over.is_empty(), "{over:#?}");
}

#[test]
fn system_calls_of_a_request_stay_few() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    if Command::new("strace").args(["-c", "true"]).output().is_ok_and(|it| it.status.success()) {
        let mut over = Vec::new();
        for (scenario, most) in [(SmallProduce, 10), (LargeProduce, 14), (Fetch, 8)] {
            let more = calls(scenario, WARM_UP + REQUESTS) - calls(scenario, WARM_UP);
            note(&mut over, scenario, "system calls", more / REQUESTS as f64, most);
        }
        assert!(over.is_empty(), "{over:#?}");
    } else {
        // Not by println, which is kept back for a test that passes.
        let _ = writeln!(stderr(), "skipped: there is no strace, or it may not trace");
    }
}

fn note(over: &mut Vec<String>, scenario: Scenario, what: &str, count: f64, most: u32) {
    let line = format!("{scenario:?}: {count:.1} {what} a request, at most {most}");
    println!("{line}");
    if count > f64::from(most) {
        over.push(line);
    }
}

/// A broker with one worker, in memory, as long as the process lives.
fn start() -> String {
    let mut config = Config::build(true, &[("listeners", "PLAINTEXT://127.0.0.1:0")]).unwrap();
    config.log_dir = None;
    let (started, address) = mpsc::channel();
    thread::spawn(move || {
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        runtime.worker_threads(1).enable_all().build().unwrap().block_on(async {
            let broker = Broker::start(config).await.unwrap();
            started.send(broker.addr().to_string()).unwrap();
            panic!("the broker is dead: {}", broker.failed().await);
        });
    });
    address.recv().unwrap()
}

/// System calls of a broker on disk, on one processor, from its start to its end, with so many requests in between.
fn calls(scenario: Scenario, requests: u64) -> f64 {
    let dir = tempfile::tempdir().unwrap();
    let counts = dir.path().join("counts");
    let data = dir.path().join("data");
    let mut traced = Command::new("strace");
    traced.args(["-f", "-c", "-o"]).arg(&counts).args(["taskset", "-c", "0"]);
    traced.arg(env!("CARGO_BIN_EXE_ottla"));
    let data = data.to_str().unwrap();
    let broker = Process::run(traced, &["--listen", "127.0.0.1:0", "--log-dir", data], &[]);
    Load::new(&broker.ready(), scenario).run(requests);
    let strace = broker.id().as_raw_nonzero();
    let children = fs::read_to_string(format!("/proc/{strace}/task/{strace}/children")).unwrap();
    let traced = children.split_whitespace().next().unwrap().parse().unwrap();
    kill_process(Pid::from_raw(traced).unwrap(), Signal::TERM).unwrap();
    assert_eq!(broker.end().code, Some(0));
    // The last line: 100.00, seconds, microseconds a call, calls, errors (if any), total.
    let counts = fs::read_to_string(counts).unwrap();
    counts.lines().last().unwrap().split_whitespace().nth(3).unwrap().parse().unwrap()
}

/// One connection that sends the same request again and again.
struct Load {
    stream: TcpStream,
    request: Vec<u8>,
    answer: Vec<u8>,
}

impl Load {
    /// Creates the scenario's topic, and fills it if it is read.
    fn new(address: &str, scenario: Scenario) -> Load {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        let mut load = Load { stream, request: Vec::new(), answer: vec![0; 1 << 20] };
        let name = TopicName(StrBytes::from_string(format!("{scenario:?}")));
        let topic = CreatableTopic::default().with_name(name.clone());
        let topics = vec![topic.with_num_partitions(1).with_replication_factor(1)];
        load.request = frame(7, &CreateTopicsRequest::default().with_topics(topics));
        load.run(1);
        let records = if matches!(scenario, SmallProduce) { 1 } else { 600 };
        let partition = PartitionProduceData::default().with_records(Some(batch(records)));
        let topic = TopicProduceData::default().with_name(name.clone());
        let topics = vec![topic.with_partition_data(vec![partition])];
        let request = ProduceRequest::default().with_acks(-1).with_timeout_ms(10_000);
        load.request = frame(9, &request.with_topic_data(topics));
        let produced: ProduceResponse = load.first(9);
        assert_eq!(produced.responses[0].partition_responses[0].error_code, 0);
        if matches!(scenario, Fetch) {
            let partition = FetchPartition::default().with_partition_max_bytes(1 << 20);
            let topic = FetchTopic::default().with_topic(name).with_partitions(vec![partition]);
            let request = FetchRequest::default().with_max_bytes(1 << 20).with_topics(vec![topic]);
            load.request = frame(12, &request.with_session_epoch(-1).with_max_wait_ms(500));
            let fetched: FetchResponse = load.first(12);
            let records = fetched.responses[0].partitions[0].records.as_ref().unwrap();
            assert!(records.len() > 60_000, "{}", records.len());
        }
        load
    }

    /// Sends the request once, and gives the answer.
    fn first<R: Decodable + HeaderVersion>(&mut self, version: i16) -> R {
        let len = self.once();
        let mut answer = BytesMut::from(&self.answer[..len]).freeze();
        ResponseHeader::decode(&mut answer, R::header_version(version)).unwrap();
        R::decode(&mut answer, version).unwrap()
    }

    /// Allocates nothing.
    fn run(&mut self, requests: u64) {
        for _ in 0..requests {
            self.once();
        }
    }

    fn once(&mut self) -> usize {
        self.stream.write_all(&self.request).unwrap();
        let mut len = [0; 4];
        self.stream.read_exact(&mut len).unwrap();
        let len = u32::from_be_bytes(len) as usize;
        self.stream.read_exact(&mut self.answer[..len]).unwrap();
        len
    }
}

fn batch(records: usize) -> bytes::Bytes {
    let mut builder = Builder::plain();
    for _ in 0..records {
        builder.push(1_000, None, Some(&[b'x'; 100]));
    }
    builder.build().unwrap().bytes
}

fn frame<R: Request>(version: i16, request: &R) -> Vec<u8> {
    let mut body = BytesMut::new();
    let header = RequestHeader::default()
        .with_request_api_key(R::KEY)
        .with_request_api_version(version)
        .with_client_id(Some(StrBytes::from_static_str("costs")));
    header.encode(&mut body, R::header_version(version)).unwrap();
    request.encode(&mut body, version).unwrap();
    [&u32::try_from(body.len()).unwrap().to_be_bytes()[..], &body].concat()
}
