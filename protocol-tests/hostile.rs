//! Clients that mean harm, or are merely broken: others are served at once meanwhile, and the broker's memory is bounded.
//!
//! Against an Ottla in a process of its own, whose memory can be seen, or against `BOOTSTRAP`, whose cannot.
//! `IDLE_CONNECTIONS=10000` holds that many instead of 1,000. Not here: random bytes (`fuzz.rs`) and frames that are no
//! requests (`connection.rs`).

use std::io::Write;
use std::net::TcpStream;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use bytes::{BufMut, Bytes, BytesMut};
use kafka_protocol::messages::create_topics_request::{CreatableTopic, CreatableTopicConfig};
use kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use kafka_protocol::messages::{
    ApiVersionsRequest, CreateTopicsRequest, FetchRequest, MetadataRequest,
};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::batch::{Batch, compress, put_varint, read};
use crate::broker;
use crate::client::{Client, frame, text};
use crate::codes::{MESSAGE_TOO_LARGE, NONE, UNKNOWN_TOPIC_OR_PARTITION};
use crate::fetch::{of, partition};
use crate::fixtures::{Topic, produce_request, topic_name, topic_with, unique};
use crate::process::Process;

const MIB: u64 = 1 << 20;
/// A few small requests take milliseconds; the rest is for a machine that is busy with other tests.
const AT_ONCE: Duration = Duration::from_secs(3);
/// Five times 64 MiB, decompressed by a build that is not optimised.
const INSPECTION_MAX: Duration = Duration::from_secs(180);

/// The broker that is attacked.
struct Target {
    address: String,
    /// None for another broker than our own.
    process: Option<Process>,
}

impl Target {
    fn start() -> Target {
        if broker::is_foreign() {
            return Target { address: broker::address().to_owned(), process: None };
        }
        let (process, address) = Process::dev(&[]);
        Target { address, process: Some(process) }
    }

    fn client(&self) -> Client {
        Client::connect_to(&self.address)
    }

    fn socket(&self) -> TcpStream {
        let socket = TcpStream::connect(&self.address).expect("the broker accepts connections");
        socket.set_nodelay(true).unwrap();
        socket
    }

    fn topic(&self, label: &str, configs: &[(&'static str, &str)]) -> Topic {
        if self.process.is_none() {
            return topic_with(label, 1, configs);
        }
        let name = unique(label);
        let configs = configs.iter().map(|(key, value)| {
            CreatableTopicConfig::default().with_name((*key).into()).with_value(Some(text(value)))
        });
        let topic = CreatableTopic::default()
            .with_name(topic_name(&name))
            .with_num_partitions(1)
            .with_replication_factor(1)
            .with_configs(configs.collect());
        let create =
            CreateTopicsRequest::default().with_topics(vec![topic]).with_timeout_ms(10_000);
        let created = self.client().call(7, &create).topics.remove(0);
        assert_eq!(created.error_code, NONE, "{created:?}");
        Topic { name, id: created.topic_id }
    }

    /// Bytes in use now, or at most so far (`VmHWM`); 0 when they cannot be seen.
    fn memory(&self, field: &str) -> u64 {
        let seen = |process: &Process| process.memory(field).expect("the broker runs");
        self.process.as_ref().map_or(0, seen)
    }

    /// A client that comes now does what clients do; says how long it took.
    #[track_caller]
    fn serves_others(&self, topic: &Topic) -> Duration {
        let start = Instant::now();
        let mut client = self.client();
        let versions = client.call(3, &api_versions());
        assert_eq!(versions.error_code, NONE);
        let batch = Batch::of(&[&"x".repeat(200_000)]).build();
        let produced = client.call(9, &produce_request(topic, 0, Some(batch)));
        let produced = &produced.responses[0].partition_responses[0];
        assert_eq!(produced.error_code, NONE);
        let wanted = of(topic, vec![partition(0, produced.base_offset)]);
        let fetched =
            client.call(12, &fetch(vec![wanted])).responses.remove(0).partitions.remove(0);
        let batches = read(fetched.records.unwrap());
        assert_eq!(batches[0].base_offset, produced.base_offset);
        let took = start.elapsed();
        assert!(took < AT_ONCE, "others waited {took:?}");
        took
    }
}

fn api_versions() -> ApiVersionsRequest {
    ApiVersionsRequest::default()
        .with_client_software_name("hostile".into())
        .with_client_software_version("1".into())
}

fn fetch(topics: Vec<kafka_protocol::messages::fetch_request::FetchTopic>) -> FetchRequest {
    FetchRequest::default()
        .with_max_wait_ms(5_000)
        .with_min_bytes(1)
        .with_max_bytes(50 << 20)
        .with_session_epoch(-1)
        .with_topics(topics)
}

#[track_caller]
fn assert_grown_less(what: &str, before: u64, after: u64, max: u64) {
    let grown = after.saturating_sub(before);
    eprintln!("{what}: {} KiB, {} KiB before", after / 1024, before / 1024);
    assert!(grown < max, "{what}: grown by {} MiB", grown / MIB);
}

/// Each asks again and again for everything, and reads nothing. One of them finds everything in order later.
#[test]
fn clients_that_never_read_their_answers() {
    const CLIENTS: usize = 40;
    const REQUESTS: i32 = 200;
    const BATCHES: usize = 32;
    let target = Target::start();
    let topic = target.topic("never-read", &[]);
    let other = target.topic("others", &[]);
    let mut client = target.client();
    let batch = Batch::of(&[&"x".repeat(900_000)]).build();
    for _ in 0..BATCHES {
        let produced = client.call(9, &produce_request(&topic, 0, Some(batch.clone())));
        assert_eq!(produced.responses[0].partition_responses[0].error_code, NONE);
    }
    target.serves_others(&other);
    let before = target.memory("VmRSS");
    let wanted = partition(0, 0).with_partition_max_bytes(50 << 20);
    let request = fetch(vec![of(&topic, vec![wanted])]);
    let requests: Vec<u8> = (0..REQUESTS).flat_map(|id| frame(12, id, &request).to_vec()).collect();
    let mut attackers: Vec<Client> = (0..CLIENTS)
        .map(|_| {
            let mut attacker = target.client();
            attacker.send_bytes(&requests);
            attacker
        })
        .collect();
    // The first answer has begun, so the broker is at work on every one of them.
    for attacker in &attackers {
        attacker.await_bytes();
    }
    eprintln!("never read: others served in {:?}", target.serves_others(&other));
    assert_grown_less("never read", before, target.memory("VmRSS"), 64 * MIB);

    let mut late = attackers.remove(0);
    for correlation in 0..3 {
        let answer = late.receive::<FetchRequest>(12, correlation);
        let data = &answer.responses[0].partitions[0];
        let batches = read(data.records.clone().unwrap());
        assert_eq!((data.error_code, batches[0].base_offset), (NONE, 0));
        let offsets: Vec<_> = batches.iter().map(|batch| batch.base_offset).collect();
        assert!(offsets.is_sorted_by(|one, next| one + 1 == *next), "{offsets:?}");
    }
}

/// 100 MiB each are announced and do not come: with nothing behind the size, with a Produce header, with 100,000 bytes of it.
#[test]
fn frames_that_stop_arriving() {
    // Kafka takes at once what is announced.
    let (clients, mib): (usize, i32) = if broker::is_foreign() { (20, 1) } else { (200, 100) };
    let target = Target::start();
    let other = target.topic("others", &[]);
    target.serves_others(&other);
    let before = target.memory("VmRSS");
    let size = (mib << 20).to_be_bytes();
    let header = [0, 0, 0, 9, 0, 0, 0, 1, 0xff, 0xff, 0];
    let begun = [&size[..], &header].concat();
    let further = [&begun[..], &vec![0; 100_000]].concat();
    let attackers: Vec<TcpStream> = (0..clients)
        .map(|number| {
            let mut socket = target.socket();
            let bytes = [&size[..], &begun, &further][number % 3];
            socket.write_all(bytes).unwrap();
            socket
        })
        .collect();
    let took: Vec<_> = (0..5).map(|_| target.serves_others(&other)).collect();
    eprintln!("half-sent frames: others served in {took:?}");
    assert_grown_less("half-sent frames", before, target.memory("VmRSS"), 64 * MIB);
    drop(attackers);
}

#[test]
fn idle_connections() {
    let wanted = std::env::var("IDLE_CONNECTIONS").ok().and_then(|count| count.parse().ok());
    let limit = getrlimit(Resource::Nofile);
    // Raising it is allowed up to the maximum.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
    let room = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX).saturating_sub(200);
    let count = wanted.unwrap_or(1_000u64).min(room);
    let target = Target::start();
    let other = target.topic("others", &[]);
    target.serves_others(&other);
    let before = target.memory("VmRSS");
    let request = frame(3, 1, &api_versions());
    let idle: Vec<Client> = (0..count)
        .map(|number| {
            let mut client = target.client();
            // Half of them have said something and got an answer.
            if number % 2 == 0 {
                client.send_bytes(&request);
                client.receive::<ApiVersionsRequest>(3, 1);
            }
            client
        })
        .collect();
    let took = target.serves_others(&other);
    let after = target.memory("VmRSS");
    let each = after.saturating_sub(before) / count;
    eprintln!("{count} idle connections: {each} bytes each, others served in {took:?}");
    assert_grown_less("idle connections", before, after, count * 16 * 1024 + 4 * MIB);
    drop(idle);
}

const GZIP: i16 = 1;
const LZ4: i16 = 3;
const ZSTD: i16 = 4;

/// One record whose value is `zeros` MiB of zeros, in a stream that says so in few bytes: members, or frames, one behind
/// the other; of LZ4, blocks of one frame.
fn bomb(codec: i16, zeros: usize) -> Bytes {
    let block = vec![0; 1 << 20];
    let body = zeros << 20;
    let mut prefix = BytesMut::new();
    let mut value = BytesMut::new();
    put_varint(&mut value, body as i64);
    // Attributes, timestamp and offset deltas, null key, value; the header count comes last.
    put_varint(&mut prefix, (4 + value.len() + body + 1) as i64);
    prefix.put_slice(&[0, 0, 0, 1]);
    prefix.put_slice(&value);
    let mut payload;
    if codec == LZ4 {
        let mut frame = lz4_flex::frame::FrameEncoder::new(Vec::new());
        frame.write_all(&prefix).unwrap();
        (0..zeros).for_each(|_| frame.write_all(&block).unwrap());
        frame.write_all(&[0]).unwrap();
        payload = frame.finish().unwrap();
    } else {
        payload = compress(codec, &prefix);
        let zeros_packed = compress(codec, &block);
        (0..zeros).for_each(|_| payload.extend_from_slice(&zeros_packed));
        payload.extend_from_slice(&compress(codec, &[0]));
    }
    Batch::of(&["bomb"]).attributes(codec).build_with(&payload)
}

/// Several at once, to topics of all kinds: the broker looks inside, and takes no batch of more than 64 MiB. Kafka has no
/// such bound: it would be filled, and is spared.
#[test]
fn batches_that_inflate_enormously() {
    if broker::is_foreign() {
        eprintln!("skipped: this would fill another broker's heap");
        return;
    }
    let target = Target::start();
    let other = target.topic("others", &[]);
    target.serves_others(&other);
    let before = target.memory("VmRSS");
    let (gzip, lz4, zstd) = (bomb(GZIP, 200), bomb(LZ4, 200), bomb(ZSTD, 2_000));
    let attacks: Vec<(Topic, &Bytes)> = [
        (("compression.type", "uncompressed"), &gzip),
        (("compression.type", "gzip"), &lz4),
        (("compression.type", "snappy"), &zstd),
        (("cleanup.policy", "compact"), &zstd),
        (("message.timestamp.before.max.ms", "1000"), &zstd),
        (("compression.type", "producer"), &gzip),
        (("compression.type", "producer"), &lz4),
        (("compression.type", "producer"), &zstd),
    ]
    .map(|(config, bomb)| (target.topic("bomb", &[config]), bomb))
    .into();
    let address = target.address.as_str();
    let (ended, has_ended) = channel::<()>();
    thread::scope(|scope| {
        for (topic, bomb) in attacks {
            let ended = ended.clone();
            scope.spawn(move || {
                let request = produce_request(&topic, 0, Some(bomb.clone()));
                let mut client = Client::connect_to(address).patient(INSPECTION_MAX);
                let produced = client.call(9, &request);
                let answer = &produced.responses[0].partition_responses[0];
                assert_eq!((answer.error_code, answer.base_offset), (MESSAGE_TOO_LARGE, -1));
                drop(ended);
            });
        }
        drop(ended);
        let mut took = vec![target.serves_others(&other)];
        while has_ended.recv_timeout(AT_ONCE / 10) == Err(RecvTimeoutError::Timeout) {
            took.push(target.serves_others(&other));
        }
        let longest = took.iter().max().unwrap();
        eprintln!("bombs: others served {} times, in {longest:?} at most", took.len());
    });
    assert_grown_less("bombs", before, target.memory("VmHWM"), 256 * MIB);
}

/// Each of the topics gets its answer, none is made by asking for it; what is beyond 1,000,000 elements is refused.
#[test]
fn requests_for_very_many_topics() {
    let target = Target::start();
    let other = target.topic("others", &[]);
    target.serves_others(&other);
    let before = target.memory("VmRSS");
    let names = (0..100_000).map(|number| {
        let name = format!("very-many-{number}");
        MetadataRequestTopic::default().with_name(Some(topic_name(&name)))
    });
    let many = MetadataRequest::default()
        .with_topics(Some(names.collect()))
        .with_allow_auto_topic_creation(false);
    let answer = target.client().call(12, &many);
    assert_eq!(answer.topics.len(), 100_000);
    assert!(answer.topics.iter().all(|it| it.error_code == UNKNOWN_TOPIC_OR_PARTITION));
    target.serves_others(&other);
    if target.process.is_some() {
        // More than Ottla makes for one request: none.
        let answer = target.client().call(12, &many.with_allow_auto_topic_creation(true));
        assert!(answer.topics.iter().all(|it| it.error_code == UNKNOWN_TOPIC_OR_PARTITION));
        target.serves_others(&other);
        let mut client = target.client();
        let too_many = vec![MetadataRequestTopic::default(); 1_500_000];
        client.send(1, &MetadataRequest::default().with_topics(Some(too_many)));
        client.assert_closed();
        target.serves_others(&other);
    }
    assert_grown_less("very many topics", before, target.memory("VmHWM"), 256 * MIB);
}
