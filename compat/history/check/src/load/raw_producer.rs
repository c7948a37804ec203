//! An idempotent producer of our own: one batch in flight, sent again with the same sequence until there is an answer.
//!
//! Now and then it cuts its own connection after sending, or sends a batch again that was acknowledged already: the
//! answer must name the offset of the first time. Now and then it sends a batch with a wrong checksum, which must be
//! refused and never be seen.

use super::{Life, World};
use crate::{
    payload,
    random::Random,
    raw::{
        CallError, Connection,
        batch::{self, Producer},
    },
    recorder::{Process, now},
};
use bytes::Bytes;
use judge::history::{Acks, Action, Partition, Phase, Role};
use kafka_protocol::{
    error::ResponseError,
    messages::{
        InitProducerIdRequest, ProduceRequest, TopicName,
        produce_request::{PartitionProduceData, TopicProduceData},
    },
    protocol::StrBytes,
};
use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// How long a batch is sent again and again: the `delivery.timeout.ms` of the other producers.
const DELIVERY: Duration = Duration::from_secs(10);
const BACKOFF: Duration = Duration::from_millis(50);
/// v13 names topics by id.
const PRODUCE_VERSIONS: [i16; 5] = [3, 7, 8, 9, 12];

struct RawProducer<'a> {
    world: &'a World,
    process: Process,
    connection: Option<Connection>,
    version: i16,
    id: i64,
    epoch: i16,
    sequences: HashMap<Partition, i32>,
}

/// A batch whose records have been recorded as invoked.
struct Batch {
    to: Partition,
    bytes: Bytes,
    sent: Vec<(u64, u32, u64)>,
}

/// What the broker said of a batch.
enum Said {
    /// At this offset.
    Stored(i64),
    Refused(ResponseError),
    Nothing,
}

/// One life. `pace`: records a second.
pub fn live(world: &Arc<World>, random: &mut Random, life: Life, pace: u64) {
    let role = Role::Producer { idempotent: true, acks: Acks::All, retries: true };
    let process = world.recorder.process(role);
    let (sequences, version) = (HashMap::new(), random.pick(&PRODUCE_VERSIONS));
    let mut producer =
        RawProducer { world, process, connection: None, version, id: -1, epoch: -1, sequences };
    producer.live(random, life, pace);
    producer.process.happened(Action::Crash);
}

impl RawProducer<'_> {
    fn live(&mut self, random: &mut Random, life: Life, pace: u64) {
        while !self.init() {
            if life.is_over(self.world) {
                return;
            }
            self.world.sleep(BACKOFF);
        }
        let topics = self.world.topics.iter().filter(|topic| !topic.packed);
        let partitions: Vec<Partition> = topics.flat_map(|topic| topic.partitions()).collect();
        while !life.is_over(self.world) {
            let to = &partitions[random.between(0, partitions.len() as u64) as usize];
            let count = random.between(1, 6);
            if random.once_in(40) {
                self.send_broken(to);
            } else if !self.send(random, to, count) {
                return;
            }
            self.world.sleep(Duration::from_micros(count * 1_000_000 / pace));
        }
    }

    /// Gets a producer id; whether it did.
    fn init(&mut self) -> bool {
        let request = InitProducerIdRequest::default()
            .with_transactional_id(None)
            .with_transaction_timeout_ms(60_000);
        let Some(answer) = self.with_connection(|connection| connection.call(3, &request)) else {
            return false;
        };
        (self.id, self.epoch) = (answer.producer_id.0, answer.producer_epoch);
        match ResponseError::try_from_code(answer.error_code) {
            None => true,
            Some(error) if error.is_retriable() => false,
            Some(error) => {
                self.world.recorder.complain(format!("no producer id: {error}"));
                false
            }
        }
    }

    /// Sends a batch until its outcome is known or time is up; whether this producer can go on.
    fn send(&mut self, random: &mut Random, to: &Partition, count: u64) -> bool {
        let batch = self.batch(to, count as usize);
        let until = now() + DELIVERY;
        while now() < until {
            if random.once_in(15) {
                self.send_and_cut(&batch);
                continue;
            }
            match self.attempt(&batch) {
                Said::Stored(offset) => {
                    if random.once_in(8) {
                        self.send_again(&batch, offset);
                    }
                    *self.sequences.entry(to.clone()).or_default() += count as i32;
                    self.complete(batch, Phase::Ok, Some(offset));
                    return true;
                }
                Said::Refused(error) if error.is_retriable() => {
                    self.world.recorder.error(format!("raw send: {error}"));
                }
                Said::Refused(error) => {
                    // One batch in flight, and every earlier one acknowledged: nothing can be out of order, and what
                    // is sent again is recent enough to be known.
                    let at = (&batch.to, batch.sent.first().map(|(_, _, value)| *value));
                    self.world.recorder.complain(format!(
                        "raw producer {} with value {:?} for {}: {error}",
                        self.id, at.1, at.0
                    ));
                    self.complete(batch, Phase::Unknown, None);
                    return false;
                }
                Said::Nothing => {}
            }
            if self.world.stopped() {
                break;
            }
            self.world.sleep(BACKOFF);
        }
        self.complete(batch, Phase::Unknown, None);
        false
    }

    fn batch(&self, to: &Partition, count: usize) -> Batch {
        let sequence = self.sequences.get(to).copied().unwrap_or(0);
        let producer = Producer { id: self.id, epoch: self.epoch, sequence };
        let sent: Vec<(u64, u32, u64)> = (0..count)
            .map(|index| {
                let (key, value) = (index as u32, self.world.recorder.next_value());
                let action = Action::Send { to: to.clone(), key, value, offset: None };
                (self.process.invoke(action), key, value)
            })
            .collect();
        let record =
            |(_, key, value): &(u64, u32, u64)| (payload::key(*key), payload::encode(*value, 9));
        let records: Vec<_> = sent.iter().map(record).collect();
        Batch { to: to.clone(), bytes: batch::encode(producer, wall_ms(), &records), sent }
    }

    fn complete(&self, batch: Batch, phase: Phase, base: Option<i64>) {
        if let Some(base) = base {
            self.world.saw(&batch.to, base + batch.sent.len() as i64 - 1);
        }
        for (index, (op, key, value)) in batch.sent.into_iter().enumerate() {
            let offset = base.map(|base| base + index as i64);
            let action = Action::Send { to: batch.to.clone(), key, value, offset };
            self.process.complete(op, phase, action);
        }
    }

    fn attempt(&mut self, batch: &Batch) -> Said {
        let (version, request) = (self.version, produce(&batch.to, batch.bytes.clone()));
        let answer = self.with_connection(|connection| connection.call(version, &request));
        let partition = answer.as_ref().and_then(|answer| {
            answer.responses.first().and_then(|topic| topic.partition_responses.first())
        });
        match partition {
            None => Said::Nothing,
            Some(partition) => match ResponseError::try_from_code(partition.error_code) {
                None => Said::Stored(partition.base_offset),
                Some(error) => Said::Refused(error),
            },
        }
    }

    fn send_and_cut(&mut self, batch: &Batch) {
        let (version, request) = (self.version, produce(&batch.to, batch.bytes.clone()));
        self.with_connection(|connection| connection.send(version, &request));
        self.connection = None;
    }

    /// An acknowledged batch once more: nothing may come of it but the same answer.
    fn send_again(&mut self, batch: &Batch, offset: i64) {
        let to = &batch.to;
        match self.attempt(batch) {
            Said::Stored(again) if again != offset => self.world.recorder.complain(format!(
                "a batch for {to} was acknowledged at {offset}, and sent again at {again}"
            )),
            Said::Refused(error) if !error.is_retriable() => self.world.recorder.complain(format!(
                "a batch for {to} was acknowledged at {offset}, and sent again refused: {error}"
            )),
            _ => {}
        }
    }

    /// A batch that is damaged on its way. It takes no sequence number.
    fn send_broken(&mut self, to: &Partition) {
        let mut batch = self.batch(to, 1);
        let mut bytes = batch.bytes.to_vec();
        if let Some(last) = bytes.last_mut() {
            *last ^= 0xff;
        }
        batch.bytes = bytes.into();
        let phase = match self.attempt(&batch) {
            Said::Refused(ResponseError::CorruptMessage) => Phase::Fail,
            Said::Stored(offset) => {
                self.world.recorder.complain(format!("damage was stored in {to} at {offset}"));
                Phase::Unknown
            }
            _ => Phase::Unknown,
        };
        self.complete(batch, phase, None);
    }

    /// On the connection, a new one if there is none. After an error there is none.
    fn with_connection<T>(
        &mut self,
        call: impl FnOnce(&mut Connection) -> Result<T, CallError>,
    ) -> Option<T> {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => Connection::open(&self.world.bootstrap).ok()?,
        };
        match call(&mut connection) {
            Ok(answer) => {
                self.connection = Some(connection);
                Some(answer)
            }
            Err(CallError::Io(error)) => {
                self.world.recorder.error(format!("raw producer: {}", error.kind()));
                None
            }
            Err(error @ CallError::Malformed(_)) => {
                self.world.recorder.complain(format!("raw producer: {error}"));
                None
            }
        }
    }
}

fn produce(to: &Partition, records: Bytes) -> ProduceRequest {
    let partition =
        PartitionProduceData::default().with_index(to.index as i32).with_records(Some(records));
    let topic = TopicProduceData::default()
        .with_name(TopicName(StrBytes::from_string(to.topic.clone())))
        .with_partition_data(vec![partition]);
    ProduceRequest::default()
        .with_transactional_id(None)
        .with_acks(-1)
        .with_timeout_ms(3_000)
        .with_topic_data(vec![topic])
}

#[expect(clippy::disallowed_methods, reason = "records have times")]
fn wall_ms() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as i64)
}
