//! Records of `__consumer_offsets`, in Kafka's own byte formats (schemas `OffsetCommitKey`/`Value`, `GroupMetadataKey`/
//! `Value`), so that Kafka's tools read our log.
//!
//! A key begins with its type (int16), a value with its version. Written, as Kafka 4.1 does: offsets as version 4, or 1 when
//! the commit names its own expiry; groups as version 3. Read: every version Kafka has had. Record types of other group
//! kinds (KIP-848, share, streams) are not ours and are passed over.
//!
//! Version 4 has room for the topic's id, as a tagged field that Kafka 4.1 reads and fills only for commits by id. We always
//! fill it: so a topic that is deleted and created again never finds the offsets of the one before.

use crate::ids::TopicId;
use bytes::{BufMut, Bytes, BytesMut};
use std::fmt;
use uuid::Uuid;

/// One change of a shard's durable state. `None`: a tombstone.
#[derive(Clone, PartialEq, Eq)]
pub enum Record {
    Offset { group: String, topic: String, partition: i32, value: Option<Offset> },
    Group { group: String, value: Option<Generation> },
}

/// A committed offset.
#[derive(Clone, PartialEq, Eq)]
pub struct Offset {
    pub offset: i64,
    /// Of the last record consumed; -1: not known.
    pub leader_epoch: i32,
    pub metadata: String,
    /// Milliseconds since the epoch.
    pub commit_timestamp: i64,
    /// Milliseconds since the epoch, from commits that name a retention (v2-4); -1: none.
    pub expire_timestamp: i64,
    /// The incarnation of the topic that was consumed; None: not known (Kafka 4.1 and commits with an expiry keep none).
    pub topic_id: Option<TopicId>,
}

/// A group at the end of a rebalance.
#[derive(Clone, PartialEq, Eq)]
pub struct Generation {
    /// Empty: none, a group that only keeps offsets.
    pub protocol_type: String,
    pub generation: i32,
    pub protocol: Option<String>,
    pub leader: Option<String>,
    /// When the group last changed its state, in milliseconds since the epoch; -1: not known.
    pub state_timestamp: i64,
    pub members: Vec<StoredMember>,
}

/// A member of a generation.
#[derive(Clone, PartialEq, Eq)]
pub struct StoredMember {
    pub member_id: String,
    pub instance_id: Option<String>,
    pub client_id: String,
    pub client_host: String,
    /// Milliseconds; -1: as the session timeout.
    pub rebalance_timeout_ms: i32,
    pub session_timeout_ms: i32,
    /// For the chosen protocol; opaque.
    pub subscription: Bytes,
    /// Opaque.
    pub assignment: Bytes,
}

/// Why bytes are not a record.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    #[error("the record ends too early or has a bad length")]
    Truncated,
    #[error("a string is not UTF-8")]
    NotUtf8,
    #[error("version {version} of record type {kind} is not known")]
    UnknownVersion { kind: i16, version: i16 },
}

const OFFSET_KEYS: std::ops::RangeInclusive<i16> = 0..=1;
const GROUP_KEY: i16 = 2;
const OFFSET_VALUE_VERSION: i16 = 4;
/// The one version that has room for an expiry.
const OFFSET_VALUE_VERSION_WITH_EXPIRY: i16 = 1;
const GROUP_VALUE_VERSION: i16 = 3;
/// The tagged field of an offset's value that holds a topic id.
const TOPIC_ID_TAG: u32 = 0;
/// From this version on values have compact lengths and tagged fields.
const FLEXIBLE: i16 = 4;
/// What a record needs in a batch beside its key and value, at most: lengths, deltas, header count, attributes.
const RECORD_OVERHEAD: usize = 31;

impl Record {
    /// The key and the value as they stand in a batch; no value: a tombstone.
    pub fn encode(&self) -> (Bytes, Option<Bytes>) {
        let mut key = BytesMut::new();
        let value = match self {
            Record::Offset { group, topic, partition, value } => {
                key.put_i16(*OFFSET_KEYS.end());
                put_string(&mut key, group);
                put_string(&mut key, topic);
                key.put_i32(*partition);
                value.as_ref().map(Offset::encode)
            }
            Record::Group { group, value } => {
                key.put_i16(GROUP_KEY);
                put_string(&mut key, group);
                value.as_ref().map(Generation::encode)
            }
        };
        (key.freeze(), value)
    }

    /// None: a record that is not ours.
    pub fn decode(key: &[u8], value: Option<&[u8]>) -> Result<Option<Record>, DecodeError> {
        let mut key = Reader { rest: key, flexible: false };
        let kind = key.i16()?;
        if OFFSET_KEYS.contains(&kind) {
            let (group, topic, partition) = (key.string()?, key.string()?, key.i32()?);
            let value = value.map(|bytes| Offset::decode(kind, bytes)).transpose()?;
            Ok(Some(Record::Offset { group, topic, partition, value }))
        } else if kind == GROUP_KEY {
            let group = key.string()?;
            let value = value.map(Generation::decode).transpose()?;
            Ok(Some(Record::Group { group, value }))
        } else {
            Ok(None)
        }
    }

    /// Bytes it takes in a batch, at most, without encoding it.
    pub fn size(&self) -> usize {
        RECORD_OVERHEAD
            + match self {
                Record::Offset { group, topic, value, .. } => {
                    let value = value.as_ref().map_or(0, Offset::size);
                    2 + 2 + group.len() + 2 + topic.len() + 4 + value
                }
                Record::Group { group, value } => {
                    2 + 2 + group.len() + value.as_ref().map_or(0, Generation::size)
                }
            }
    }
}

impl Offset {
    fn size(&self) -> usize {
        2 + 8 + 4 + 5 + self.metadata.len() + 16 + self.topic_id.map_or(0, |_| 18)
    }

    fn encode(&self) -> Bytes {
        let mut out = BytesMut::new();
        if self.expire_timestamp == -1 {
            out.put_i16(OFFSET_VALUE_VERSION);
            out.put_i64(self.offset);
            out.put_i32(self.leader_epoch);
            put_unsigned_varint(&mut out, self.metadata.len() + 1);
            out.put_slice(self.metadata.as_bytes());
            out.put_i64(self.commit_timestamp);
            match self.topic_id {
                Some(TopicId(id)) => {
                    put_unsigned_varint(&mut out, 1);
                    put_unsigned_varint(&mut out, TOPIC_ID_TAG as usize);
                    put_unsigned_varint(&mut out, id.as_bytes().len());
                    out.put_slice(id.as_bytes());
                }
                None => put_unsigned_varint(&mut out, 0),
            }
        } else {
            out.put_i16(OFFSET_VALUE_VERSION_WITH_EXPIRY);
            out.put_i64(self.offset);
            put_string(&mut out, &self.metadata);
            out.put_i64(self.commit_timestamp);
            out.put_i64(self.expire_timestamp);
        }
        out.freeze()
    }

    fn decode(kind: i16, bytes: &[u8]) -> Result<Offset, DecodeError> {
        let (mut value, version) = Reader::versioned(kind, bytes, 4)?;
        Ok(Offset {
            offset: value.i64()?,
            leader_epoch: if version >= 3 { value.i32()? } else { -1 },
            metadata: value.string()?,
            commit_timestamp: value.i64()?,
            expire_timestamp: if version == 1 { value.i64()? } else { -1 },
            topic_id: value.topic_id()?,
        })
    }
}

impl Generation {
    fn encode(&self) -> Bytes {
        let mut out = BytesMut::new();
        out.put_i16(GROUP_VALUE_VERSION);
        put_string(&mut out, &self.protocol_type);
        out.put_i32(self.generation);
        put_nullable(&mut out, self.protocol.as_deref());
        put_nullable(&mut out, self.leader.as_deref());
        out.put_i64(self.state_timestamp);
        out.put_i32(self.members.len() as i32);
        for member in &self.members {
            put_string(&mut out, &member.member_id);
            put_nullable(&mut out, member.instance_id.as_deref());
            put_string(&mut out, &member.client_id);
            put_string(&mut out, &member.client_host);
            out.put_i32(member.rebalance_timeout_ms);
            out.put_i32(member.session_timeout_ms);
            put_bytes(&mut out, &member.subscription);
            put_bytes(&mut out, &member.assignment);
        }
        out.freeze()
    }

    fn decode(bytes: &[u8]) -> Result<Generation, DecodeError> {
        let (mut value, version) = Reader::versioned(GROUP_KEY, bytes, 4)?;
        let protocol_type = value.string()?;
        let generation = value.i32()?;
        let protocol = value.nullable()?;
        let leader = value.nullable()?;
        let state_timestamp = if version >= 2 { value.i64()? } else { -1 };
        let mut members = Vec::new();
        for _ in 0..value.count()? {
            members.push(StoredMember {
                member_id: value.string()?,
                instance_id: if version >= 3 { value.nullable()? } else { None },
                client_id: value.string()?,
                client_host: value.string()?,
                rebalance_timeout_ms: if version >= 1 { value.i32()? } else { -1 },
                session_timeout_ms: value.i32()?,
                subscription: value.bytes()?,
                assignment: value.bytes()?,
            });
            value.skip_tagged()?;
        }
        Ok(Generation { protocol_type, generation, protocol, leader, state_timestamp, members })
    }

    fn size(&self) -> usize {
        let text = |it: &Option<String>| 2 + it.as_ref().map_or(0, String::len);
        let members = self.members.iter().map(|it| {
            (2 + it.member_id.len())
                + text(&it.instance_id)
                + (2 + it.client_id.len())
                + (2 + it.client_host.len())
                + 4
                + 4
                + (4 + it.subscription.len())
                + (4 + it.assignment.len())
        });
        let head =
            2 + (2 + self.protocol_type.len()) + 4 + text(&self.protocol) + text(&self.leader);
        head + 8 + 4 + members.sum::<usize>()
    }
}

/// Strings come from requests, whose own lengths are 16 bits wide.
fn put_string(out: &mut BytesMut, text: &str) {
    out.put_i16(text.len() as i16);
    out.put_slice(text.as_bytes());
}

fn put_nullable(out: &mut BytesMut, text: Option<&str>) {
    match text {
        Some(text) => put_string(out, text),
        None => out.put_i16(-1),
    }
}

fn put_bytes(out: &mut BytesMut, bytes: &[u8]) {
    out.put_i32(bytes.len() as i32);
    out.put_slice(bytes);
}

fn put_unsigned_varint(out: &mut BytesMut, mut value: usize) {
    while value >= 0x80 {
        out.put_u8(value as u8 | 0x80);
        value >>= 7;
    }
    out.put_u8(value as u8);
}

/// Reads fields; every length is checked against what is there.
struct Reader<'a> {
    rest: &'a [u8],
    flexible: bool,
}

impl<'a> Reader<'a> {
    fn versioned(kind: i16, bytes: &'a [u8], max: i16) -> Result<(Reader<'a>, i16), DecodeError> {
        let mut reader = Reader { rest: bytes, flexible: false };
        let version = reader.i16()?;
        if !(0..=max).contains(&version) {
            return Err(DecodeError::UnknownVersion { kind, version });
        }
        reader.flexible = version >= FLEXIBLE;
        Ok((reader, version))
    }

    fn take(&mut self, len: usize) -> Result<&'a [u8], DecodeError> {
        let (taken, rest) = self.rest.split_at_checked(len).ok_or(DecodeError::Truncated)?;
        self.rest = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let (taken, rest) = self.rest.split_first_chunk().ok_or(DecodeError::Truncated)?;
        self.rest = rest;
        Ok(*taken)
    }

    fn i16(&mut self) -> Result<i16, DecodeError> {
        self.array().map(i16::from_be_bytes)
    }

    fn i32(&mut self) -> Result<i32, DecodeError> {
        self.array().map(i32::from_be_bytes)
    }

    fn i64(&mut self) -> Result<i64, DecodeError> {
        self.array().map(i64::from_be_bytes)
    }

    fn unsigned_varint(&mut self) -> Result<u32, DecodeError> {
        let mut value = 0u32;
        for shift in [0, 7, 14, 21, 28] {
            let [byte] = self.array()?;
            value |= u32::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(DecodeError::Truncated)
    }

    /// A compact length is one more than it says, 0 for null.
    fn compact_len(&mut self) -> Result<Option<usize>, DecodeError> {
        Ok(self.unsigned_varint()?.checked_sub(1).map(|len| len as usize))
    }

    fn nullable(&mut self) -> Result<Option<String>, DecodeError> {
        let len = if self.flexible {
            self.compact_len()?
        } else {
            match self.i16()? {
                -1 => None,
                len => Some(usize::try_from(len).map_err(|_| DecodeError::Truncated)?),
            }
        };
        let Some(len) = len else { return Ok(None) };
        let text = std::str::from_utf8(self.take(len)?).map_err(|_| DecodeError::NotUtf8)?;
        Ok(Some(text.to_owned()))
    }

    fn string(&mut self) -> Result<String, DecodeError> {
        self.nullable()?.ok_or(DecodeError::Truncated)
    }

    fn bytes(&mut self) -> Result<Bytes, DecodeError> {
        let len = self.count()?;
        Ok(Bytes::copy_from_slice(self.take(len)?))
    }

    /// The length of an array or byte string. Nothing is reserved by it.
    fn count(&mut self) -> Result<usize, DecodeError> {
        if self.flexible {
            self.compact_len()?.ok_or(DecodeError::Truncated)
        } else {
            usize::try_from(self.i32()?).map_err(|_| DecodeError::Truncated)
        }
    }

    /// Hands each tagged field, if this version has any, to `field`.
    fn tagged(
        &mut self,
        mut field: impl FnMut(u32, &'a [u8]) -> Result<(), DecodeError>,
    ) -> Result<(), DecodeError> {
        if self.flexible {
            for _ in 0..self.unsigned_varint()? {
                let tag = self.unsigned_varint()?;
                let len = self.unsigned_varint()? as usize;
                field(tag, self.take(len)?)?;
            }
        }
        Ok(())
    }

    fn skip_tagged(&mut self) -> Result<(), DecodeError> {
        self.tagged(|_, _| Ok(()))
    }

    /// The zero id stands for none.
    fn topic_id(&mut self) -> Result<Option<TopicId>, DecodeError> {
        let mut found = None;
        self.tagged(|tag, bytes| {
            if tag == TOPIC_ID_TAG {
                let id = Uuid::from_slice(bytes).map_err(|_| DecodeError::Truncated)?;
                found = Some(TopicId(id)).filter(|id| !id.0.is_nil());
            }
            Ok(())
        })?;
        Ok(found)
    }
}

impl fmt::Debug for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Record::Offset { group, topic, partition, value } => {
                write!(f, "Offset {group} {topic}-{partition} ")?;
                match value {
                    Some(value) => value.fmt(f),
                    None => f.write_str("tombstone"),
                }
            }
            Record::Group { group, value } => {
                write!(f, "Group {group} ")?;
                match value {
                    Some(value) => value.fmt(f),
                    None => f.write_str("tombstone"),
                }
            }
        }
    }
}

impl fmt::Debug for Offset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} epoch {} {:?}", self.offset, self.leader_epoch, self.metadata)?;
        if self.expire_timestamp != -1 {
            write!(f, " expires {}", self.expire_timestamp)?;
        }
        if let Some(TopicId(id)) = self.topic_id {
            write!(f, " of {}", id.as_u128())?;
        }
        Ok(())
    }
}

impl fmt::Debug for Generation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "generation {} {:?}", self.generation, self.protocol_type)?;
        if let Some(protocol) = &self.protocol {
            write!(f, " {protocol:?}")?;
        }
        if let Some(leader) = &self.leader {
            write!(f, " leader {leader}")?;
        }
        for member in &self.members {
            write!(f, " {}={:?}", member.member_id, member.assignment)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
