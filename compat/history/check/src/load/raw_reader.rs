//! A reader of our own: fetches without a session, and sees the high watermark that came with the records.
//!
//! What was served was below the high watermark, so a later answer's is never below it. That of the same answer may be:
//! Kafka looks it up before it reads (`Partition.readRecords`), and so does Ottla.

use super::{Life, World, reader::Batch};
use crate::{
    random::Random,
    raw::{CallError, Connection, batch},
    recorder::Process,
};
use judge::history::{Action, Isolation, Partition, Phase, Position, Role};
use kafka_protocol::{
    error::ResponseError,
    messages::{
        BrokerId, FetchRequest, FetchResponse, TopicName,
        fetch_request::{FetchPartition, FetchTopic},
        fetch_response::PartitionData,
    },
    protocol::StrBytes,
};
use std::{collections::BTreeMap, sync::Arc, time::Duration};

const BACKOFF: Duration = Duration::from_millis(50);
/// v13 names topics by id.
const FETCH_VERSIONS: [i16; 4] = [4, 7, 11, 12];

struct RawReader<'a> {
    world: &'a World,
    process: Process,
    version: i16,
    max_bytes: i32,
    next: BTreeMap<Partition, i64>,
}

pub fn live(world: &Arc<World>, random: &mut Random, life: Life) {
    let role = Role::Consumer { group: None, isolation: Isolation::ReadUncommitted };
    let process = world.recorder.process(role);
    let topics = world.topics.iter().filter(|topic| !topic.packed);
    let next: BTreeMap<Partition, i64> = topics
        .flat_map(|topic| topic.partitions())
        .map(|partition| {
            let start = world.start_offset(&partition, random);
            (partition, start)
        })
        .collect();
    let from = next.iter().map(|(at, next)| Position(at.clone(), *next)).collect();
    process.happened(Action::Assign { from });
    let version = random.pick(&FETCH_VERSIONS);
    let max_bytes = random.pick(&[2_000, 100_000]);
    let mut reader = RawReader { world, process, version, max_bytes, next };
    let mut connection = None;
    while !life.is_over(world) {
        let op = reader.process.invoke(Action::Poll { records: vec![] });
        let mut batch = Batch::default();
        let max_wait_ms = random.pick(&[0, 100]);
        let went_on = reader.fetch(&mut connection, max_wait_ms, &mut batch);
        let idle = batch.len() == 0;
        reader.process.complete(op, Phase::Ok, batch.into_action());
        if !went_on {
            connection = None;
        }
        if idle {
            world.sleep(BACKOFF);
        }
    }
    reader.process.happened(Action::Crash);
}

impl RawReader<'_> {
    /// One fetch; whether the connection is as good as new.
    fn fetch(
        &mut self,
        connection: &mut Option<Connection>,
        max_wait_ms: i32,
        batch: &mut Batch,
    ) -> bool {
        let open = match connection {
            Some(open) => open,
            None => match Connection::open(&self.world.bootstrap) {
                Ok(opened) => connection.insert(opened),
                Err(_) => return false,
            },
        };
        match open.call(self.version, &self.request(max_wait_ms)) {
            Ok(answer) => self.take(answer, batch),
            Err(CallError::Io(error)) => {
                self.world.recorder.error(format!("raw reader: {}", error.kind()));
                return false;
            }
            Err(error @ CallError::Malformed(_)) => {
                self.world.recorder.complain(format!("raw reader: {error}"));
                return false;
            }
        }
        true
    }

    fn request(&self, max_wait_ms: i32) -> FetchRequest {
        let mut topics: BTreeMap<&str, Vec<FetchPartition>> = BTreeMap::new();
        for (Partition { topic, index }, next) in &self.next {
            let partition = FetchPartition::default()
                .with_partition(*index as i32)
                .with_fetch_offset(*next)
                .with_partition_max_bytes(self.max_bytes);
            topics.entry(topic).or_default().push(partition);
        }
        let topics = topics.into_iter().map(|(name, partitions)| {
            FetchTopic::default()
                .with_topic(TopicName(StrBytes::from_string(name.to_owned())))
                .with_partitions(partitions)
        });
        FetchRequest::default()
            .with_replica_id(BrokerId(-1))
            .with_max_wait_ms(max_wait_ms)
            .with_min_bytes(1)
            .with_max_bytes(1 << 20)
            .with_session_epoch(-1)
            .with_topics(topics.collect())
    }

    fn take(&mut self, answer: FetchResponse, batch: &mut Batch) {
        for topic in answer.responses {
            for partition in topic.partitions {
                let at = Partition::new(topic.topic.as_str(), partition.partition_index as u32);
                self.take_partition(at, partition, batch);
            }
        }
    }

    fn take_partition(&mut self, at: Partition, answer: PartitionData, batch: &mut Batch) {
        let recorder = &self.world.recorder;
        let Some(next) = self.next.get_mut(&at) else {
            return recorder.complain(format!("raw reader: an answer for {at}"));
        };
        match ResponseError::try_from_code(answer.error_code) {
            None => {}
            Some(error) if error.is_retriable() => {
                return recorder.error(format!("raw fetch: {error}"));
            }
            // Readers begin at offsets that are known to be taken, or at 0, and nothing is ever deleted.
            Some(error) => {
                return recorder.complain(format!("raw reader at {at} offset {next}: {error}"));
            }
        }
        let records = match batch::decode(answer.records.unwrap_or_default()) {
            Ok(records) => records,
            Err(why) => return recorder.complain(format!("raw reader at {at}: {why}")),
        };
        let asked = *next;
        if answer.high_watermark < asked {
            let high_watermark = answer.high_watermark;
            recorder.complain(format!(
                "raw reader at {at}: high watermark {high_watermark}, all below {asked} was served before"
            ));
        }
        // A batch comes whole, with records before the one that was asked for.
        for record in records.into_iter().filter(|record| record.offset >= asked) {
            *next = (*next).max(record.offset + 1);
            batch.push(&at.topic, at.index, record);
        }
    }
}
