//! Requests for tests: every request type of the crate, and random bodies made from the table of shapes.
//!
//! The fuzz target includes this file and `shape.rs` by path, so both use only what `super` gives in either place.

use super::{
    DecodeError, decode,
    messages::*,
    shape::{Field, Prefix, request},
};
use bytes::{Bytes, BytesMut};
use kafka_protocol::protocol::{Encodable, HeaderVersion, Message, Request};
use std::ops::RangeInclusive;

/// One request type, its generic parts as functions.
pub struct Kind {
    pub key: i16,
    pub versions: RangeInclusive<i16>,
    pub is_flexible: fn(i16) -> bool,
    /// The encoding of the default message.
    pub default: fn(i16) -> Vec<u8>,
    /// Decodes (as an authenticated client's) and encodes again; the encoding is empty when the crate refuses to.
    pub again: fn(i16, Bytes) -> Result<Vec<u8>, DecodeError>,
}

impl Kind {
    fn of<R: Request + Default>() -> Kind {
        fn encode(message: &impl Encodable, version: i16) -> Option<Vec<u8>> {
            let mut buf = BytesMut::new();
            message.encode(&mut buf, version).ok()?;
            Some(buf.to_vec())
        }
        Kind {
            key: R::KEY,
            versions: <R as Message>::VERSIONS.min..=<R as Message>::VERSIONS.max,
            is_flexible: |version| <R as HeaderVersion>::header_version(version) == 2,
            default: |version| encode(&R::default(), version).unwrap_or_default(),
            again: |version, body| {
                let message: R = decode(R::KEY, version, body, true)?;
                Ok(encode(&message, version).unwrap_or_default())
            },
        }
    }

    /// A random body, with unknown and known tagged fields or with none.
    pub fn random(&self, version: i16, random: &mut Random, tagged: bool) -> Vec<u8> {
        let mut body = Vec::new();
        let fields = request(self.key, version).expect("every version has a shape");
        random.fields(fields, tagged, &mut body);
        body
    }

    /// A body of the smallest values, but `count` elements in the first array, each with an unknown tag if `tagged`.
    pub fn large(&self, version: i16, count: usize, tagged: bool) -> Vec<u8> {
        let mut body = Vec::new();
        let fields = request(self.key, version).expect("every version has a shape");
        smallest(fields, &mut Some(count), false, tagged, &mut body);
        body
    }
}

fn smallest(
    fields: &[Field],
    count: &mut Option<usize>,
    in_array: bool,
    tagged: bool,
    out: &mut Vec<u8>,
) {
    for field in fields {
        match field {
            Field::Fixed(bytes) => out.extend(std::iter::repeat_n(0, *bytes)),
            Field::Blob { prefix, .. } => put_length(*prefix, Some(0), out),
            Field::Array { prefix, element, .. } => {
                let count = count.take().unwrap_or(0);
                put_length(*prefix, Some(count), out);
                for _ in 0..count {
                    smallest(element, &mut None, true, tagged, out);
                }
            }
            Field::Struct { nullable: true, .. } => out.push(0xff),
            Field::Struct { fields, .. } => smallest(fields, count, in_array, tagged, out),
            Field::Tags(_) if in_array && tagged => out.extend([1, 99, 0]),
            Field::Tags(_) => out.push(0),
        }
    }
}

/// Xorshift64*: the same bytes for the same seed.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub fn below(&mut self, end: usize) -> usize {
        (self.next() >> 33) as usize % end.max(1)
    }

    /// Changes, cuts or lengthens `bytes` in a few places.
    pub fn mutate(&mut self, bytes: &mut Vec<u8>) {
        const EDGES: [u8; 6] = [0, 1, 0x7f, 0x80, 0xfe, 0xff];
        for _ in 0..=self.below(4) {
            let at = self.below(bytes.len());
            match self.below(8) {
                0 => bytes.truncate(at),
                1 => bytes.insert(at.min(bytes.len()), self.next() as u8),
                2 => {
                    for byte in bytes.iter_mut().skip(at).take(4) {
                        *byte = 0xff;
                    }
                }
                _ => {
                    let edge = EDGES[self.below(EDGES.len())];
                    let byte = if self.below(2) == 0 { edge } else { self.next() as u8 };
                    if let Some(place) = bytes.get_mut(at) {
                        *place = byte;
                    }
                }
            }
        }
    }

    /// Fixed bytes are 0 or 1, so that they are good booleans and no NaN.
    fn fields(&mut self, fields: &[Field], tagged: bool, out: &mut Vec<u8>) {
        for field in fields {
            match field {
                Field::Fixed(bytes) => out.extend((0..*bytes).map(|_| self.next() as u8 & 1)),
                Field::Blob { prefix, nullable, .. } => {
                    let len = self.length(*prefix, *nullable, out);
                    out.extend((0..len).map(|_| b'a' + self.below(26) as u8));
                }
                Field::Array { prefix, nullable, element, .. } => {
                    for _ in 0..self.length(*prefix, *nullable, out) {
                        self.fields(element, tagged, out);
                    }
                }
                Field::Struct { nullable, fields } => {
                    let null = *nullable && self.below(3) == 0;
                    if *nullable {
                        out.push(if null { 0xff } else { 1 });
                    }
                    if !null {
                        self.fields(fields, tagged, out);
                    }
                }
                Field::Tags(known) => self.tags(known, tagged, out),
            }
        }
    }

    fn tags(&mut self, known: &[(u32, Vec<Field>)], tagged: bool, out: &mut Vec<u8>) {
        let known: Vec<_> =
            known.iter().filter(|_| tagged && self.0.count_ones().is_multiple_of(2)).collect();
        let unknown = if tagged { self.below(3) } else { 0 };
        out.push((known.len() + unknown) as u8);
        for (tag, fields) in known {
            let mut value = Vec::new();
            self.fields(fields, tagged, &mut value);
            put_unsigned_varint(*tag, out);
            put_unsigned_varint(value.len() as u32, out);
            out.extend(value);
        }
        for tag in 0..unknown {
            put_unsigned_varint(1000 + tag as u32, out);
            let len = self.below(200);
            put_unsigned_varint(len as u32, out);
            out.extend((0..len).map(|_| self.next() as u8));
        }
    }

    fn length(&mut self, prefix: Prefix, nullable: bool, out: &mut Vec<u8>) -> usize {
        let length = if nullable && self.below(4) == 0 { None } else { Some(self.below(4)) };
        put_length(prefix, length, out);
        length.unwrap_or(0)
    }
}

/// None is null.
fn put_length(prefix: Prefix, length: Option<usize>, out: &mut Vec<u8>) {
    let number = length.map_or(-1, |length| length as i32);
    match prefix {
        Prefix::Int16 => out.extend((number as i16).to_be_bytes()),
        Prefix::Int32 => out.extend(number.to_be_bytes()),
        Prefix::Compact => put_unsigned_varint((number + 1) as u32, out),
    }
}

fn put_unsigned_varint(mut value: u32, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

macro_rules! kinds {
    ($($request:ident)*) => { vec![$(Kind::of::<$request>()),*] };
}

/// Every request the crate knows, by key.
pub fn kinds() -> Vec<Kind> {
    kinds![
        ProduceRequest FetchRequest ListOffsetsRequest MetadataRequest OffsetCommitRequest
        OffsetFetchRequest FindCoordinatorRequest JoinGroupRequest HeartbeatRequest
        LeaveGroupRequest SyncGroupRequest DescribeGroupsRequest ListGroupsRequest
        SaslHandshakeRequest ApiVersionsRequest CreateTopicsRequest DeleteTopicsRequest
        DeleteRecordsRequest InitProducerIdRequest OffsetForLeaderEpochRequest
        AddPartitionsToTxnRequest AddOffsetsToTxnRequest EndTxnRequest WriteTxnMarkersRequest
        TxnOffsetCommitRequest DescribeAclsRequest CreateAclsRequest DeleteAclsRequest
        DescribeConfigsRequest AlterConfigsRequest AlterReplicaLogDirsRequest DescribeLogDirsRequest
        SaslAuthenticateRequest CreatePartitionsRequest CreateDelegationTokenRequest
        RenewDelegationTokenRequest ExpireDelegationTokenRequest DescribeDelegationTokenRequest
        DeleteGroupsRequest ElectLeadersRequest IncrementalAlterConfigsRequest
        AlterPartitionReassignmentsRequest ListPartitionReassignmentsRequest OffsetDeleteRequest
        DescribeClientQuotasRequest AlterClientQuotasRequest DescribeUserScramCredentialsRequest
        AlterUserScramCredentialsRequest VoteRequest BeginQuorumEpochRequest EndQuorumEpochRequest
        DescribeQuorumRequest AlterPartitionRequest UpdateFeaturesRequest EnvelopeRequest
        FetchSnapshotRequest DescribeClusterRequest DescribeProducersRequest
        BrokerRegistrationRequest BrokerHeartbeatRequest UnregisterBrokerRequest
        DescribeTransactionsRequest ListTransactionsRequest AllocateProducerIdsRequest
        ConsumerGroupHeartbeatRequest ConsumerGroupDescribeRequest ControllerRegistrationRequest
        GetTelemetrySubscriptionsRequest PushTelemetryRequest AssignReplicasToDirsRequest
        ListConfigResourcesRequest DescribeTopicPartitionsRequest ShareGroupHeartbeatRequest
        ShareGroupDescribeRequest ShareFetchRequest ShareAcknowledgeRequest AddRaftVoterRequest
        RemoveRaftVoterRequest UpdateRaftVoterRequest InitializeShareGroupStateRequest
        ReadShareGroupStateRequest WriteShareGroupStateRequest DeleteShareGroupStateRequest
        ReadShareGroupStateSummaryRequest DescribeShareGroupOffsetsRequest
        AlterShareGroupOffsetsRequest DeleteShareGroupOffsetsRequest
    ]
}
