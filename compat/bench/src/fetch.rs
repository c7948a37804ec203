//! Fetch requests of a consumer, and what their answers hold. v11 without a fetch session: the last version without tagged
//! fields. Answers are walked where they lie; records are not looked at.

use crate::{client::frame, topics};
use anyhow::{Context, Result, ensure};
use bytes::Buf;
use ottla::wire::{
    batch::Header,
    messages::{
        BrokerId, FetchRequest,
        fetch_request::{FetchPartition, FetchTopic},
    },
};

const VERSION: i16 = 11;

/// The settings of a consumer; the defaults are Java's.
#[derive(Debug, Clone, serde::Serialize, clap::Args)]
pub struct Settings {
    #[arg(long, default_value_t = 52_428_800)]
    pub fetch_max_bytes: i32,
    #[arg(long, default_value_t = 1_048_576)]
    pub max_partition_fetch_bytes: i32,
    #[arg(long, default_value_t = 1)]
    pub fetch_min_bytes: i32,
    #[arg(long, default_value_t = 500)]
    pub fetch_max_wait_ms: i32,
}

/// A request for these partitions from these offsets.
pub fn request(topic: &str, positions: &[(i32, i64)], settings: &Settings) -> Result<Vec<u8>> {
    let partition = |&(partition, offset)| {
        FetchPartition::default()
            .with_partition(partition)
            .with_current_leader_epoch(-1)
            .with_fetch_offset(offset)
            .with_log_start_offset(-1)
            .with_partition_max_bytes(settings.max_partition_fetch_bytes)
    };
    let topic = FetchTopic::default()
        .with_topic(topics::name(topic))
        .with_partitions(positions.iter().map(partition).collect());
    let request = FetchRequest::default()
        .with_replica_id(BrokerId(-1))
        .with_max_wait_ms(settings.fetch_max_wait_ms)
        .with_min_bytes(settings.fetch_min_bytes)
        .with_max_bytes(settings.fetch_max_bytes)
        .with_session_epoch(-1)
        .with_topics(vec![topic]);
    frame(VERSION, &request)
}

/// What came from one partition.
#[derive(Debug, PartialEq, Eq)]
pub struct Fetched<'a> {
    pub partition: i32,
    pub high_watermark: i64,
    pub records: &'a [u8],
}

/// All partitions in an answer (behind its correlation id); an error in one is an error.
pub fn answer(mut left: &[u8]) -> Result<Vec<Fetched<'_>>> {
    let mut all = vec![];
    left.try_get_i32()?;
    let code = left.try_get_i16()?;
    ensure!(code == 0, "Fetch: error {code}");
    left.try_get_i32()?;
    for _ in 0..left.try_get_i32()? {
        let name = left.try_get_u16()?;
        take(&mut left, usize::from(name))?;
        for _ in 0..left.try_get_i32()? {
            all.push(partition(&mut left)?);
        }
    }
    Ok(all)
}

fn partition<'a>(left: &mut &'a [u8]) -> Result<Fetched<'a>> {
    let (partition, code) = (left.try_get_i32()?, left.try_get_i16()?);
    ensure!(code == 0, "Fetch: error {code} for partition {partition}");
    let high_watermark = left.try_get_i64()?;
    // Last stable offset, log start offset.
    take(left, 16)?;
    let aborted = left.try_get_i32()?.max(0) as usize;
    // Aborted transactions, preferred read replica.
    take(left, aborted * 16 + 4)?;
    let size = left.try_get_i32()?.max(0) as usize;
    Ok(Fetched { partition, high_watermark, records: take(left, size)? })
}

fn take<'a>(left: &mut &'a [u8], size: usize) -> Result<&'a [u8]> {
    let (taken, rest) = left.split_at_checked(size).context("Fetch: the answer ends early")?;
    *left = rest;
    Ok(taken)
}

/// The whole batches in records, each with its header; the last may be cut off.
pub fn batches(mut records: &[u8]) -> impl Iterator<Item = (Header, &[u8])> {
    std::iter::from_fn(move || {
        let header = Header::parse(records)?;
        let (batch, rest) =
            records.split_at_checked(header.size()).filter(|_| header.size() > 0)?;
        records = rest;
        Some((header, batch))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ottla::wire::{
        Builder,
        messages::{
            FetchResponse,
            fetch_response::{AbortedTransaction, FetchableTopicResponse, PartitionData},
        },
        protocol::Encodable,
    };

    fn encoded(code: i16, records: Vec<u8>) -> Vec<u8> {
        let partition = |index| {
            PartitionData::default()
                .with_partition_index(index)
                .with_error_code(code)
                .with_high_watermark(40)
                .with_aborted_transactions(Some(vec![AbortedTransaction::default()]))
                .with_records(Some(records.clone().into()))
        };
        let topic = FetchableTopicResponse::default()
            .with_topic(topics::name("some topic"))
            .with_partitions(vec![partition(3), partition(4)]);
        let mut bytes = bytes::BytesMut::new();
        let response = FetchResponse::default().with_responses(vec![topic]);
        response.encode(&mut bytes, VERSION).unwrap();
        bytes.to_vec()
    }

    #[test]
    fn partitions_are_found_in_an_answer() {
        let bytes = encoded(0, b"records".to_vec());
        let fetched = |partition| Fetched { partition, high_watermark: 40, records: b"records" };
        assert_eq!(answer(&bytes).unwrap(), [fetched(3), fetched(4)]);
        assert!(answer(&bytes[..bytes.len() - 1]).is_err());
        assert!(answer(&encoded(1, vec![])).is_err());
    }

    #[test]
    fn a_batch_that_is_cut_off_is_left_out() {
        let mut builder = Builder::plain();
        builder.push(0, None, Some(b"value"));
        let batch = builder.build().unwrap().bytes;
        let two = [&batch[..], &batch[..]].concat();
        for (bytes, expected) in [(&two[..], 2), (&two[..two.len() - 1], 1), (&batch[..40], 0)] {
            assert_eq!(batches(bytes).count(), expected);
        }
        assert!(batches(&two).all(|(header, bytes)| header.records_count == 1 && bytes == batch));
    }
}
