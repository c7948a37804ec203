//! The second part of the fuzz run: such frames over connections to a broker that runs in a process of its own, under an
//! address-space limit. It must serve afterwards, and log neither a panic nor an error.
//!
//! A long run is a row of courses, each with a broker of its own: what good requests make it keep is no fault.

use crate::{
    ADDRESS_SPACE_BYTES, Kind, LARGE_ELEMENTS, Random, clock, frame, kinds,
    process::{Ended, Process},
    record_bytes,
};
use bytes::{Buf, BytesMut};
use ottla::handlers::APIS;
use ottla::wire::{
    Builder, StrBytes,
    messages::{
        ApiVersionsRequest, CreateTopicsRequest, FetchRequest, MetadataRequest, ProduceRequest,
        RequestHeader, ResponseHeader, TopicName,
        create_topics_request::CreatableTopic,
        fetch_request::{FetchPartition, FetchTopic},
        produce_request::{PartitionProduceData, TopicProduceData},
    },
    protocol::{Decodable, Encodable, HeaderVersion, Request},
};
use rustix::process::{Resource, Rlimit, prlimit};
use socket2::SockRef;
use std::{
    io::{self, ErrorKind, Read, Write},
    net::{Shutdown, TcpStream},
    thread,
    time::{Duration, Instant},
};

/// Of one course, without FUZZ_SECONDS.
const CONNECTIONS: u64 = 1500;
const COURSE: Duration = Duration::from_secs(30);
const THREADS: u64 = 4;
/// Bytes and frames of one connection.
const FRAMES_MAX: usize = 16;
/// How long a client waits for an answer that may never come: some requests wait for long.
const GLANCE: Duration = Duration::from_millis(20);
/// How long one waits that must come.
const PATIENCE: Duration = Duration::from_secs(20);
/// Topics the broker has, so that some requests find one: random names are as short.
const TOPICS: [&str; 8] = ["a", "b", "c", "d", "e", "f", "g", "h"];

/// Runs for `wanted`, or one short course. False when a broker failed.
pub fn fuzz(seed: u64, wanted: Option<Duration>) -> bool {
    let Some(wanted) = wanted else { return course(seed, None) };
    let end = clock() + wanted;
    let mut seeds = seed..;
    let mut passed = true;
    while passed && clock() < end {
        let until = end.min(clock() + COURSE);
        passed = seeds.next().is_some_and(|seed| course(seed, Some(until)));
    }
    passed
}

#[derive(Default)]
struct Counts {
    connections: u64,
    frames: u64,
    answer_bytes: u64,
    refused: u64,
    /// Whether the broker closed it, for one connection.
    ended: bool,
}

fn course(seed: u64, until: Option<Instant>) -> bool {
    // Reserved is not used: by default glibc reserves the whole limit, 64 MiB for each of many threads.
    let arenas = [("MALLOC_ARENA_MAX", "2")];
    let process = Process::spawn(&["--dev", "--listen", "127.0.0.1:0"], &arenas);
    let address = process.ready();
    let limit = Rlimit { current: Some(ADDRESS_SPACE_BYTES), maximum: Some(ADDRESS_SPACE_BYTES) };
    prlimit(Some(process.id()), Resource::As, limit).expect("a lower limit is always allowed");
    let fuzzed = prepare(&address).and_then(|()| attack(&address, seed, until));
    let served = fuzzed.and_then(|counts| serves(&address).map(|()| counts));
    let peak = process.memory("VmHWM").unwrap_or(0) >> 20;
    let Ended { code, stderr, .. } = process.terminate();
    let mut complaints = stderr.lines().filter(|line| {
        ["panicked", "ERROR", "memory allocation"].iter().any(|word| line.contains(word))
    });
    let complaint = complaints.next();
    match (&served, code, complaint) {
        (Ok(counts), Some(0), None) => {
            let Counts { connections, frames, answer_bytes, refused, .. } = counts;
            println!(
                "fuzz: seed {seed}, {connections} connections ({refused} cut short), {frames} frames, {answer_bytes} bytes of \
                 answers, the broker serves, peak memory {peak} MiB"
            );
            true
        }
        _ => {
            let error = served.err();
            println!("fuzz: seed {seed}: exit code {code:?}, {error:?}, {complaint:?}\n{stderr}");
            false
        }
    }
}

fn prepare(address: &str) -> io::Result<()> {
    let topics = TOPICS.map(|name| {
        let partitions = 1 + (name.as_bytes()[0] % 2) as i32;
        CreatableTopic::default()
            .with_name(topic_name(name))
            .with_num_partitions(partitions)
            .with_replication_factor(1)
    });
    let create = CreateTopicsRequest::default().with_topics(topics.into()).with_timeout_ms(9_000);
    let created = call(&mut connect(address, PATIENCE)?, 5, &create)?;
    expect(created.topics.iter().all(|topic| topic.error_code == 0), &created)
}

fn attack(address: &str, seed: u64, until: Option<Instant>) -> io::Result<Counts> {
    let kinds = kinds();
    let mut total = Counts::default();
    for kind in &kinds {
        for tagged in [false, true] {
            let bytes = sized(&large(kind, tagged));
            let counts = one_connection(address, &bytes, 1, Some(PATIENCE))?;
            expect(counts.ended, &format!("no end after a large frame of key {}", kind.key))?;
            total.add(&counts);
        }
    }
    let counted = thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| {
                let kinds = &kinds;
                scope.spawn(move || {
                    let mut random = Random(seed.wrapping_mul(1000) + thread + 1);
                    random.next();
                    let mut counts = Counts::default();
                    let mut left = CONNECTIONS / THREADS;
                    while until.map_or(left > 0, |until| clock() < until) {
                        left = left.saturating_sub(1);
                        counts.add(&random_connection(address, kinds, &mut random)?);
                    }
                    io::Result::Ok(counts)
                })
            })
            .collect();
        threads.into_iter().map(|it| it.join().expect("it cannot panic")).collect::<Vec<_>>()
    });
    for counts in counted {
        total.add(&counts?);
    }
    Ok(total)
}

impl Counts {
    fn add(&mut self, other: &Counts) {
        self.connections += other.connections;
        self.frames += other.frames;
        self.answer_bytes += other.answer_bytes;
        self.refused += other.refused;
    }
}

fn large(kind: &Kind, tagged: bool) -> Vec<u8> {
    let version = *kind.versions.end();
    let mut frame = header(kind, version);
    frame.extend(kind.large(version, LARGE_ELEMENTS, tagged));
    frame
}

/// As `crate::frame` begins.
fn header(kind: &Kind, version: i16) -> Vec<u8> {
    let flexible = (kind.is_flexible)(version);
    let parts: [&[u8]; 4] = [
        &kind.key.to_be_bytes(),
        &version.to_be_bytes(),
        &[0, 0, 0, 7, 0, 2, b'm', b'e'],
        if flexible { &[0] } else { &[] },
    ];
    parts.concat()
}

fn random_connection(address: &str, kinds: &[Kind], random: &mut Random) -> io::Result<Counts> {
    let count = 1 + random.below(FRAMES_MAX);
    let mut bytes = Vec::new();
    for _ in 0..count {
        let frame = match random.below(8) {
            0 | 1 => produce(random),
            // Good ones, mostly: the first bad one ends the connection.
            2 => {
                let kind = &kinds[random.below(kinds.len())];
                let versions = kind.versions.clone().count();
                let version = *kind.versions.start() + random.below(versions) as i16;
                frame(kind, version, random).to_vec()
            }
            _ => {
                let api = &APIS[random.below(APIS.len())];
                let version = api.min + random.below((api.max - api.min + 1) as usize) as i16;
                let kind = kinds.iter().find(|kind| kind.key == api.key).expect("every API is one");
                let tagged = random.below(4) == 0;
                [header(kind, version), kind.random(version, random, tagged)].concat()
            }
        };
        bytes.extend(sized(&frame));
    }
    if random.below(20) == 0 {
        // Sizes that do not fit, and what follows from them.
        random.mutate(&mut bytes);
    }
    let ends = random.below(4) > 0;
    one_connection(address, &bytes, count as u64, ends.then_some(GLANCE))
}

/// A request of the right shape for a topic that is there, its batches good or spoilt.
fn produce(random: &mut Random) -> Vec<u8> {
    let version = 3 + random.below(10) as i16;
    let partitions = (0..1 + random.below(3)).map(|_| {
        let records: Vec<u8> =
            (0..1 + random.below(2)).flat_map(|_| record_bytes(random).to_vec()).collect();
        PartitionProduceData::default()
            .with_index(random.below(3) as i32)
            .with_records(Some(records.into()))
    });
    let partitions = partitions.collect();
    let topic = TopicProduceData::default()
        .with_name(topic_name(TOPICS[random.below(TOPICS.len())]))
        .with_partition_data(partitions);
    let acks = random.below(3) as i16 - 1;
    let request = ProduceRequest::default()
        .with_acks(acks)
        .with_timeout_ms(random.below(1000) as i32)
        .with_topic_data(vec![topic]);
    let mut frame = encoded(version, &request);
    if random.below(4) == 0 {
        random.mutate(&mut frame);
    }
    frame
}

/// Sends `bytes` and takes what comes back, for a while. With `end`, says that nothing more is sent, and takes what comes
/// until the broker is quiet for so long.
fn one_connection(
    address: &str,
    bytes: &[u8],
    frames: u64,
    end: Option<Duration>,
) -> io::Result<Counts> {
    let mut stream = connect(address, end.unwrap_or(GLANCE))?;
    // Closed by a reset, so that a long run does not use up the ports.
    SockRef::from(&stream).set_linger(Some(Duration::ZERO))?;
    let mut counts = Counts { connections: 1, frames, ..Counts::default() };
    let sent = stream.write_all(bytes);
    if end.is_some() {
        let _ = stream.shutdown(Shutdown::Write);
    }
    let mut taken = [0; 16 << 10];
    loop {
        match stream.read(&mut taken) {
            Ok(0) => {
                counts.ended = true;
                break;
            }
            Ok(read) => counts.answer_bytes += read as u64,
            Err(error) => match error.kind() {
                ErrorKind::Interrupted => {}
                ErrorKind::WouldBlock | ErrorKind::TimedOut => break,
                _ => {
                    counts.ended = true;
                    break;
                }
            },
        }
    }
    counts.refused = u64::from(sent.is_err());
    Ok(counts)
}

/// What a client does first, and one record there and back.
fn serves(address: &str) -> io::Result<()> {
    let mut client = connect(address, PATIENCE)?;
    let versions = ApiVersionsRequest::default()
        .with_client_software_name("fuzz".into())
        .with_client_software_version("1".into());
    let versions = call(&mut client, 3, &versions)?;
    expect(versions.error_code == 0, &versions)?;
    let metadata = call(&mut client, 12, &MetadataRequest::default().with_topics(Some(vec![])))?;
    expect(metadata.brokers.len() == 1, &metadata)?;
    let name = topic_name("still-serves");
    let topic = CreatableTopic::default()
        .with_name(name.clone())
        .with_num_partitions(1)
        .with_replication_factor(1);
    let create = CreateTopicsRequest::default().with_topics(vec![topic]).with_timeout_ms(9_000);
    let created = call(&mut client, 5, &create)?;
    expect(created.topics[0].error_code == 0, &created)?;
    let mut batch = Builder::plain();
    batch.push(1_000, Some(b"key"), Some(b"still here"));
    let batch = batch.build().expect("a small batch").bytes;
    let partition = PartitionProduceData::default().with_records(Some(batch.clone()));
    let topic =
        TopicProduceData::default().with_name(name.clone()).with_partition_data(vec![partition]);
    let produce =
        ProduceRequest::default().with_acks(-1).with_timeout_ms(9_000).with_topic_data(vec![topic]);
    let produced = call(&mut client, 9, &produce)?;
    expect(produced.responses[0].partition_responses[0].error_code == 0, &produced)?;
    let partition = FetchPartition::default().with_partition_max_bytes(1 << 20);
    let topic = FetchTopic::default().with_topic(name).with_partitions(vec![partition]);
    let fetch = FetchRequest::default()
        .with_max_wait_ms(9_000)
        .with_min_bytes(1)
        .with_max_bytes(1 << 20)
        .with_session_epoch(-1)
        .with_topics(vec![topic]);
    let fetched = call(&mut client, 12, &fetch)?;
    let records = fetched.responses[0].partitions[0].records.clone().unwrap_or_default();
    // The broker writes the leader epoch, bytes 12 to 16.
    expect(records.len() == batch.len() && records[16..] == batch[16..], &fetched)
}

fn connect(address: &str, patience: Duration) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(patience))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    Ok(stream)
}

fn call<R: Request>(stream: &mut TcpStream, version: i16, request: &R) -> io::Result<R::Response> {
    stream.write_all(&sized(&encoded(version, request)))?;
    let mut size = [0; 4];
    stream.read_exact(&mut size)?;
    let mut frame = BytesMut::zeroed(u32::from_be_bytes(size) as usize);
    stream.read_exact(&mut frame)?;
    let mut frame = frame.freeze();
    let header_version = <R::Response as HeaderVersion>::header_version(version);
    let decoded = ResponseHeader::decode(&mut frame, header_version)
        .and_then(|_| R::Response::decode(&mut frame, version));
    let response = decoded.map_err(io::Error::other)?;
    expect(!frame.has_remaining(), &"bytes after an answer")?;
    Ok(response)
}

fn encoded<R: Request>(version: i16, request: &R) -> Vec<u8> {
    let header = RequestHeader::default()
        .with_request_api_key(R::KEY)
        .with_request_api_version(version)
        .with_correlation_id(7)
        .with_client_id(Some("fuzz".into()));
    let mut frame = BytesMut::new();
    header
        .encode(&mut frame, R::header_version(version))
        .and_then(|()| request.encode(&mut frame, version))
        .expect("a request of this version");
    frame.to_vec()
}

fn sized(frame: &[u8]) -> Vec<u8> {
    [&(frame.len() as u32).to_be_bytes(), frame].concat()
}

fn topic_name(name: &str) -> TopicName {
    TopicName(StrBytes::from_string(name.to_owned()))
}

fn expect(holds: bool, what: &impl std::fmt::Debug) -> io::Result<()> {
    if holds { Ok(()) } else { Err(io::Error::other(format!("not as expected: {what:?}"))) }
}
