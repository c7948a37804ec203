//! The Fetch response, v4-18, written by hand: records are never copied, they stay pieces of the answer.
//!
//! The crate's encoder would copy every record set and write absent ones as null, which breaks librdkafka (KAFKA-18646);
//! here they are an empty byte string. Decoding a Fetch request, and decoding this response as a follower, is the crate's.

use super::{
    api::Api,
    frame::{EncodeError, begin_response, set_length},
};
use bytes::{BufMut, Bytes, BytesMut};
use kafka_protocol::protocol::StrBytes;
use uuid::Uuid;

/// A Fetch answer whose record sets consist of `T`s. Fields that the version lacks are left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchResponse<T> {
    pub throttle_time_ms: i32,
    /// v7+.
    pub error_code: i16,
    /// v7+; 0 without a session.
    pub session_id: i32,
    pub topics: Vec<Topic<T>>,
    /// v16+: where the current leaders named in partitions are.
    pub node_endpoints: Vec<NodeEndpoint>,
}

impl<T> Default for FetchResponse<T> {
    fn default() -> Self {
        FetchResponse {
            throttle_time_ms: 0,
            error_code: 0,
            session_id: 0,
            topics: Vec::new(),
            node_endpoints: Vec::new(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topic<T> {
    /// Up to v12.
    pub name: StrBytes,
    /// v13+.
    pub id: Uuid,
    pub partitions: Vec<Partition<T>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Partition<T> {
    pub index: i32,
    pub error_code: i16,
    pub high_watermark: i64,
    pub last_stable_offset: i64,
    /// v5+.
    pub log_start_offset: i64,
    /// v12+, KIP-595: the follower's log diverges after this epoch and end offset.
    pub diverging_epoch: Option<EpochEndOffset>,
    /// v12+, KIP-951: with NOT_LEADER_OR_FOLLOWER and FENCED_LEADER_EPOCH.
    pub current_leader: Option<LeaderIdAndEpoch>,
    /// v12+, for the metadata log.
    pub snapshot_id: Option<EpochEndOffset>,
    /// None is null: for readers of uncommitted data.
    pub aborted_transactions: Option<Vec<AbortedTransaction>>,
    /// v11+; -1 is none.
    pub preferred_read_replica: i32,
    /// Whole batches, one behind the other.
    pub records: Vec<T>,
}

impl<T> Partition<T> {
    /// A partition that gives nothing but an error, as Kafka fills it (`FetchResponse.partitionResponse`).
    pub fn error(index: i32, error_code: i16) -> Partition<T> {
        Partition {
            index,
            error_code,
            high_watermark: -1,
            last_stable_offset: -1,
            log_start_offset: -1,
            diverging_epoch: None,
            current_leader: None,
            snapshot_id: None,
            aborted_transactions: Some(Vec::new()),
            preferred_read_replica: -1,
            records: Vec::new(),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EpochEndOffset {
    pub epoch: i32,
    pub end_offset: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeaderIdAndEpoch {
    /// -1: unknown.
    pub leader_id: i32,
    pub leader_epoch: i32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AbortedTransaction {
    pub producer_id: i64,
    pub first_offset: i64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeEndpoint {
    pub node_id: i32,
    pub host: StrBytes,
    pub port: i32,
    pub rack: Option<StrBytes>,
}

/// A part of a frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece<T> {
    Bytes(Bytes),
    Records(T),
}

/// A whole frame, length prefix and header included, as the pieces to send one after another. `len` is a `T`'s bytes.
pub fn encode<T>(
    api: &Api,
    version: i16,
    correlation_id: i32,
    response: FetchResponse<T>,
    len: impl Fn(&T) -> usize,
) -> Result<Vec<Piece<T>>, EncodeError> {
    let partitions: usize = response.topics.iter().map(|topic| topic.partitions.len()).sum();
    let size = 64 + 64 * response.topics.len() + 64 * partitions;
    let mut out = Out {
        buf: begin_response(api, version, correlation_id, size),
        version,
        flexible: api.is_flexible(version),
        records: Vec::new(),
        records_bytes: 0,
    };
    let failed = |reason| EncodeError { api: api.name, version, reason };
    out.response(response, len).map_err(failed)?;
    set_length(&mut out.buf, out.records_bytes).map_err(failed)?;
    Ok(out.pieces())
}

struct Out<T> {
    buf: BytesMut,
    version: i16,
    flexible: bool,
    /// Each with the position in `buf` it comes before.
    records: Vec<(usize, T)>,
    records_bytes: usize,
}

impl<T> Out<T> {
    fn response(
        &mut self,
        response: FetchResponse<T>,
        len: impl Fn(&T) -> usize,
    ) -> Result<(), String> {
        self.buf.put_i32(response.throttle_time_ms);
        if self.version >= 7 {
            self.buf.put_i16(response.error_code);
            self.buf.put_i32(response.session_id);
        }
        self.length(response.topics.len())?;
        for topic in response.topics {
            if self.version >= 13 {
                self.buf.put_slice(topic.id.as_bytes());
            } else {
                self.string(&topic.name)?;
            }
            self.length(topic.partitions.len())?;
            for partition in topic.partitions {
                self.partition(partition, &len)?;
            }
            self.no_tags();
        }
        if self.version >= 16 && !response.node_endpoints.is_empty() {
            self.buf.put_u8(1);
            self.node_endpoints(&response.node_endpoints)?;
        } else {
            self.no_tags();
        }
        Ok(())
    }

    fn partition(
        &mut self,
        partition: Partition<T>,
        len: impl Fn(&T) -> usize,
    ) -> Result<(), String> {
        self.buf.put_i32(partition.index);
        self.buf.put_i16(partition.error_code);
        self.buf.put_i64(partition.high_watermark);
        self.buf.put_i64(partition.last_stable_offset);
        if self.version >= 5 {
            self.buf.put_i64(partition.log_start_offset);
        }
        match &partition.aborted_transactions {
            None => self.null(),
            Some(aborted) => {
                self.length(aborted.len())?;
                for transaction in aborted {
                    self.buf.put_i64(transaction.producer_id);
                    self.buf.put_i64(transaction.first_offset);
                    self.no_tags();
                }
            }
        }
        if self.version >= 11 {
            self.buf.put_i32(partition.preferred_read_replica);
        }
        let bytes = partition.records.iter().map(len).fold(0, usize::saturating_add);
        self.length(bytes)?;
        self.records_bytes = self.records_bytes.saturating_add(bytes);
        let at = self.buf.len();
        self.records.extend(partition.records.into_iter().map(|records| (at, records)));
        if self.flexible {
            self.partition_tags(
                partition.diverging_epoch,
                partition.current_leader,
                partition.snapshot_id,
            );
        }
        Ok(())
    }

    /// The tagged fields of a partition, each a small struct with its own empty tagged section.
    fn partition_tags(
        &mut self,
        diverging_epoch: Option<EpochEndOffset>,
        current_leader: Option<LeaderIdAndEpoch>,
        snapshot_id: Option<EpochEndOffset>,
    ) {
        let count = usize::from(diverging_epoch.is_some())
            + usize::from(current_leader.is_some())
            + usize::from(snapshot_id.is_some());
        self.buf.put_u8(count as u8);
        if let Some(EpochEndOffset { epoch, end_offset }) = diverging_epoch {
            self.buf.put_slice(&[0, 13]);
            self.buf.put_i32(epoch);
            self.buf.put_i64(end_offset);
            self.no_tags();
        }
        if let Some(LeaderIdAndEpoch { leader_id, leader_epoch }) = current_leader {
            self.buf.put_slice(&[1, 9]);
            self.buf.put_i32(leader_id);
            self.buf.put_i32(leader_epoch);
            self.no_tags();
        }
        if let Some(EpochEndOffset { epoch, end_offset }) = snapshot_id {
            self.buf.put_slice(&[2, 13]);
            self.buf.put_i64(end_offset);
            self.buf.put_i32(epoch);
            self.no_tags();
        }
    }

    /// Tag 0 of the response: its size comes first, so it is written aside.
    fn node_endpoints(&mut self, endpoints: &[NodeEndpoint]) -> Result<(), String> {
        let outer = std::mem::take(&mut self.buf);
        self.length(endpoints.len())?;
        for endpoint in endpoints {
            self.buf.put_i32(endpoint.node_id);
            self.string(&endpoint.host)?;
            self.buf.put_i32(endpoint.port);
            match &endpoint.rack {
                None => self.null(),
                Some(rack) => self.string(rack)?,
            }
            self.no_tags();
        }
        let value = std::mem::replace(&mut self.buf, outer);
        self.buf.put_u8(0);
        self.unsigned_varint(value.len() as u32);
        self.buf.put_slice(&value);
        Ok(())
    }

    /// A count of elements or bytes.
    fn length(&mut self, length: usize) -> Result<(), String> {
        let length = i32::try_from(length).map_err(|_| format!("a length of {length}"))?;
        if self.flexible {
            self.unsigned_varint(length as u32 + 1);
        } else {
            self.buf.put_i32(length);
        }
        Ok(())
    }

    /// In place of a length or, in flexible versions only, a string.
    fn null(&mut self) {
        if self.flexible {
            self.buf.put_u8(0);
        } else {
            self.buf.put_i32(-1);
        }
    }

    fn string(&mut self, string: &str) -> Result<(), String> {
        let len = i16::try_from(string.len()).map_err(|error| error.to_string())?;
        if self.flexible {
            self.unsigned_varint(len as u32 + 1);
        } else {
            self.buf.put_i16(len);
        }
        self.buf.put_slice(string.as_bytes());
        Ok(())
    }

    fn no_tags(&mut self) {
        if self.flexible {
            self.buf.put_u8(0);
        }
    }

    fn unsigned_varint(&mut self, mut value: u32) {
        while value >= 0x80 {
            self.buf.put_u8(value as u8 | 0x80);
            value >>= 7;
        }
        self.buf.put_u8(value as u8);
    }

    fn pieces(self) -> Vec<Piece<T>> {
        let mut pieces = Vec::with_capacity(2 * self.records.len() + 1);
        let mut left = self.buf.freeze();
        let mut cut = 0;
        for (at, records) in self.records {
            if at > cut {
                pieces.push(Piece::Bytes(left.split_to(at - cut)));
                cut = at;
            }
            pieces.push(Piece::Records(records));
        }
        if !left.is_empty() {
            pieces.push(Piece::Bytes(left));
        }
        pieces
    }
}

#[cfg(test)]
mod tests;
