//! Fuzzes with random, mutated and very large frames of every API and version, and with batches. Two parts, each in a child
//! under an address-space limit: the decode path alone, then a whole broker by its connections (`fuzz_served`). No panic,
//! no abort; peak memory and counts are printed; the exit code says.
//!
//! `cargo test --test fuzz` takes a few seconds; `FUZZ_SECONDS=600` that long for each part, `FUZZ_SEED=n` another course.
#![allow(clippy::disallowed_methods, reason = "the fuzz run has a real time limit")]

mod fuzz_served;
#[expect(dead_code, reason = "not every use of it is here")]
mod process;

#[path = "../src/wire/sample.rs"]
mod sample;
#[expect(unused_imports, reason = "its unit tests do not run here")]
#[path = "../src/wire/shape.rs"]
mod shape;

use bytes::Bytes;
use ottla::wire::{
    Api, Compression, DecodeError, RequestHeader, batch, compression, decode, messages, records,
    subscribed_topics,
};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use sample::{Kind, Random, kinds};
use std::{
    env,
    panic::{AssertUnwindSafe, catch_unwind},
    process::{Command, ExitCode},
    time::{Duration, Instant},
};

/// Set in the child.
const CHILD: &str = "OTTLA_FUZZ_CHILD";
const ADDRESS_SPACE_BYTES: u64 = 1 << 30;
/// Without FUZZ_SECONDS.
const ROUNDS: usize = 150;
/// Of the array in the largest frames, the smallest elements there are.
const LARGE_ELEMENTS: usize = 50_000;

fn main() -> ExitCode {
    if env::var_os(CHILD).is_some() {
        return fuzz();
    }
    let program = env::current_exe().expect("a test knows its own path");
    let status = Command::new(program).env(CHILD, "1").status().expect("the child starts");
    if !status.success() {
        println!("fuzz: the child ended with {status}");
        return ExitCode::FAILURE;
    }
    let passed = fuzz_served::fuzz(seed(), number("FUZZ_SECONDS").map(Duration::from_secs));
    if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn number(name: &str) -> Option<u64> {
    env::var(name).ok().and_then(|value| value.parse().ok())
}

fn seed() -> u64 {
    number("FUZZ_SEED").unwrap_or(1).max(1)
}

#[derive(Default)]
struct Counts {
    decoded: u64,
    refused: u64,
    panicked: u64,
}

fn fuzz() -> ExitCode {
    let limit = Rlimit { current: Some(ADDRESS_SPACE_BYTES), ..getrlimit(Resource::As) };
    setrlimit(Resource::As, limit).expect("a lower limit is always allowed");
    let seed = seed();
    let until = number("FUZZ_SECONDS").map(|seconds| clock() + Duration::from_secs(seconds));

    let kinds = kinds();
    let mut random = Random(seed);
    let mut counts = Counts::default();
    for kind in &kinds {
        let version = *kind.versions.end();
        for tagged in [false, true] {
            let body = Bytes::from(kind.large(version, LARGE_ELEMENTS, tagged));
            counts.add(&[], || (kind.again)(version, body).is_ok());
        }
    }
    let mut round = 0;
    while until.map_or(round < ROUNDS, |until| clock() < until) {
        for kind in &kinds {
            for version in kind.versions.clone() {
                let frame = frame(kind, version, &mut random);
                counts.add(&frame, || request(kind, version, frame.clone()));
            }
        }
        let bytes = record_bytes(&mut random);
        counts.add(&bytes, || record_batch(bytes.clone()));
        round += 1;
    }
    let Counts { decoded, refused, panicked } = counts;
    println!(
        "fuzz: seed {seed}, {round} rounds, {decoded} decoded, {refused} refused, {panicked} panicked, peak memory {}",
        peak_memory()
    );
    if panicked == 0 && decoded > 0 && refused > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

impl Counts {
    fn add(&mut self, bytes: &[u8], decodes: impl FnOnce() -> bool) {
        match catch_unwind(AssertUnwindSafe(decodes)) {
            Ok(true) => self.decoded += 1,
            Ok(false) => self.refused += 1,
            Err(_) => {
                self.panicked += 1;
                println!("fuzz: panicked on {bytes:02x?}");
            }
        }
    }
}

/// A frame without its length: a header of `kind` and a body that is good, mutated, hostile or noise.
fn frame(kind: &Kind, version: i16, random: &mut Random) -> Bytes {
    let mut frame = Vec::new();
    frame.extend(kind.key.to_be_bytes());
    frame.extend(version.to_be_bytes());
    frame.extend([0, 0, 0, 7, 0, 2, b'm', b'e']);
    if (kind.is_flexible)(version) {
        frame.push(0);
    }
    match random.below(10) {
        0 => frame.extend((0..random.below(400)).map(|_| random.next() as u8)),
        // Counts and lengths at the edge, then nothing.
        1 => frame.extend([0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x0f]),
        2 => frame.extend(kind.random(version, random, true)),
        3 => {
            frame.extend(kind.random(version, random, true));
            random.mutate(&mut frame);
        }
        4 => {
            let mut body = (kind.default)(version);
            random.mutate(&mut body);
            frame.extend(body);
        }
        _ => {
            let mut body = kind.random(version, random, true);
            random.mutate(&mut body);
            frame.extend(body);
        }
    }
    frame.into()
}

fn request(kind: &Kind, version: i16, mut frame: Bytes) -> bool {
    let flexible_from =
        kind.versions.clone().find(|version| (kind.is_flexible)(*version)).unwrap_or(i16::MAX);
    let api =
        Api::new(kind.key, "Any", *kind.versions.start(), *kind.versions.end(), flexible_from);
    RequestHeader::parse(&mut frame, &api).is_ok() && (kind.again)(version, frame).is_ok()
}

/// A batch whose header is right but for its mutations, so that they get past the checksum.
fn record_bytes(random: &mut Random) -> Bytes {
    let mut payload = [16, 0, 0, 0, 2, b'k', 2, b'v', 0].repeat(random.below(20));
    let codecs = [
        Compression::None,
        Compression::Gzip,
        Compression::Snappy,
        Compression::Lz4,
        Compression::Zstd,
    ];
    let codec = codecs[random.below(codecs.len())];
    payload = compression::compress(codec, None, &payload).expect("memory is enough").to_vec();
    if !payload.is_empty() {
        random.mutate(&mut payload);
    }
    let header = batch::Header {
        base_offset: 0,
        batch_length: 0,
        partition_leader_epoch: -1,
        magic: 2,
        crc: 0,
        attributes: codec.set_in(0),
        last_offset_delta: 19,
        base_timestamp: random.next() as i64,
        max_timestamp: 0,
        producer_id: -1,
        producer_epoch: -1,
        base_sequence: -1,
        records_count: 20,
    };
    batch::Batch::assemble(header, &payload).expect("a small batch").bytes
}

fn record_batch(bytes: Bytes) -> bool {
    let Ok(batch) = batch::check(9, bytes, usize::MAX) else { return false };
    let codec = batch.header.compression().expect("checked");
    let payload = batch.payload();
    subscribed_topics(&payload);
    let Ok(payload) = compression::decompress(codec, &payload, 1 << 20) else { return false };
    records(&batch.header, &payload).all(|record| record.is_ok())
}

/// Peak resident memory, as the kernel words it.
fn peak_memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.unwrap_or("unknown").trim().to_owned()
}

fn clock() -> Instant {
    Instant::now()
}
