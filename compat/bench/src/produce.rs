//! Produce requests, encoded once: one batch for one partition. And what their answers say. v7: the last version that
//! needs neither tagged fields nor topic ids.

use crate::{
    client::{Connection, frame},
    clock, topics,
};
use anyhow::{Context, Result, bail, ensure};
use bytes::{Buf, Bytes};
use ottla::wire::{
    Builder,
    messages::{
        ProduceRequest,
        produce_request::{PartitionProduceData, TopicProduceData},
    },
};
use std::{thread, time::Duration};

const VERSION: i16 = 7;
/// How long a broker may take until it accepts records for a partition it has just made.
const PATIENCE: Duration = Duration::from_secs(60);

/// The records of a batch.
#[derive(Debug, Clone, serde::Serialize, clap::Args)]
pub struct Records {
    /// In a batch.
    #[arg(long, default_value_t = 1)]
    pub records: usize,
    /// Bytes of a record's value, which cannot be compressed.
    #[arg(long, default_value_t = 100)]
    pub record_bytes: usize,
}

/// Requests for partitions 0, 1, ..., and the bytes of each one's batch.
#[derive(Clone)]
pub struct Requests {
    pub frames: Vec<Vec<u8>>,
    pub batch_bytes: usize,
}

impl Requests {
    pub fn new(topic: &str, partitions: i32, acks: i16, records: &Records) -> Result<Requests> {
        let mut random = Random(88_172_645_463_325_252);
        let mut requests = Requests { frames: vec![], batch_bytes: 0 };
        for partition in 0..partitions {
            let batch = batch(records, &mut random)?;
            requests.batch_bytes = batch.len();
            requests.frames.push(request(topic, partition, acks, batch)?);
        }
        ensure!(!requests.frames.is_empty(), "no partitions");
        Ok(requests)
    }

    /// Sends each once, again until it is taken: a broker may need a moment after a topic was made. Memory on both sides
    /// has been touched then.
    pub fn send_each(&mut self, connection: &mut Connection) -> Result<()> {
        let until = clock::now() + PATIENCE;
        for frame in &mut self.frames {
            loop {
                connection.sender.send(frame)?;
                match code(connection.receiver.receive()?)? {
                    0 => break,
                    code => ensure!(clock::now() < until, "Produce: error {code}"),
                }
                thread::sleep(Duration::from_millis(5));
            }
        }
        Ok(())
    }
}

fn request(topic: &str, partition: i32, acks: i16, batch: Bytes) -> Result<Vec<u8>> {
    let partition = PartitionProduceData::default().with_index(partition).with_records(Some(batch));
    let topic = TopicProduceData::default()
        .with_name(topics::name(topic))
        .with_partition_data(vec![partition]);
    let request = ProduceRequest::default()
        .with_acks(acks)
        .with_timeout_ms(30_000)
        .with_topic_data(vec![topic]);
    frame(VERSION, &request)
}

fn batch(records: &Records, random: &mut Random) -> Result<Bytes> {
    let now_ms = i64::try_from(clock::since_epoch().as_millis())?;
    let mut builder = Builder::plain();
    for _ in 0..records.records {
        builder.push(now_ms, None, Some(&random.bytes(records.record_bytes)));
    }
    Ok(builder.build().context("a batch longer than one can be")?.bytes)
}

/// An answer (behind its correlation id) to a request of ours must say that the batch was taken.
pub fn check(answer: &[u8]) -> Result<()> {
    match code(answer)? {
        0 => Ok(()),
        code => bail!("Produce: error {code}"),
    }
}

/// The error code of the one partition of an answer.
fn code(mut answer: &[u8]) -> Result<i16> {
    ensure!(answer.try_get_u32()? == 1, "Produce: not one topic in the answer");
    let name = usize::from(answer.try_get_u16()?);
    answer = answer.get(name..).context("Produce: the answer ends early")?;
    ensure!(answer.try_get_u32()? == 1, "Produce: not one partition in the answer");
    answer.try_get_i32()?;
    Ok(answer.try_get_i16()?)
}

/// Marsaglia's xorshift: bytes that no codec makes shorter, the same in every run.
struct Random(u64);

impl Random {
    fn bytes(&mut self, count: usize) -> Vec<u8> {
        let words = (0..count.div_ceil(8)).flat_map(|_| self.next().to_le_bytes());
        words.take(count).collect()
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ottla::wire::{
        self,
        messages::{
            ProduceResponse,
            produce_response::{PartitionProduceResponse, TopicProduceResponse},
        },
        protocol::Encodable,
    };

    #[test]
    fn a_broker_takes_the_batches() {
        let records = Records { records: 3, record_bytes: 50 };
        let requests = Requests::new("t", 2, -1, &records).unwrap();
        for (partition, frame) in requests.frames.iter().enumerate() {
            // Length, key, version, correlation id, client id.
            let body = Bytes::copy_from_slice(&frame[4 + 2 + 2 + 4 + 2 + "ottla-bench".len()..]);
            let request: ProduceRequest = wire::decode(0, VERSION, body, true).unwrap();
            let data = &request.topic_data[0].partition_data[0];
            assert_eq!((request.acks, data.index), (-1, partition as i32));
            let batch =
                wire::batch::check(VERSION, data.records.clone().unwrap(), 1 << 20).unwrap();
            assert_eq!((batch.header.records_count, batch.bytes.len()), (3, requests.batch_bytes));
        }
    }

    #[test]
    fn an_error_of_the_broker_is_seen() {
        let answer = |code| {
            let partition = PartitionProduceResponse::default().with_index(5).with_error_code(code);
            let topic = TopicProduceResponse::default()
                .with_name(topics::name("some topic"))
                .with_partition_responses(vec![partition]);
            let mut bytes = bytes::BytesMut::new();
            let response = ProduceResponse::default().with_responses(vec![topic]);
            response.encode(&mut bytes, VERSION).unwrap();
            bytes
        };
        assert!(check(&answer(0)).is_ok());
        assert_eq!(check(&answer(6)).unwrap_err().to_string(), "Produce: error 6");
        assert!(check(&answer(0)[..20]).is_err());
    }
}
