//! What is no request, or not quite: sizes, keys, versions, lengths, nulls, tags, bytes too few and too many.

use bytes::{BufMut, BytesMut};
use kafka_protocol::messages::{
    ApiVersionsRequest, FetchRequest, JoinGroupRequest, ListGroupsRequest, MetadataRequest,
    OffsetFetchRequest,
};

use super::{Case, Run, case, check};
use crate::client::{frame, sized};

const METADATA: i16 = 3;
const LIST_GROUPS: i16 = 16;

/// A frame with a header before KIP-482: null client id, correlation id 1.
fn old(key: i16, version: i16, body: &[u8]) -> Vec<u8> {
    let mut bytes = BytesMut::new();
    bytes.put_i16(key);
    bytes.put_i16(version);
    bytes.put_i32(1);
    bytes.put_i16(-1);
    bytes.put_slice(body);
    sized(&bytes).to_vec()
}

/// One with a tagged section.
fn flexible(key: i16, version: i16, tags: &[u8], body: &[u8]) -> Vec<u8> {
    old(key, version, &[tags, body].concat())
}

/// A frame cut short or made longer, its size right.
fn resized(frame: &[u8], by: isize) -> Vec<u8> {
    let mut body = frame[4..].to_vec();
    body.resize(body.len().checked_add_signed(by).expect("a size"), 0x5a);
    sized(&body).to_vec()
}

fn metadata(t: &mut Run, what: &str, version: i16, frame: &[u8]) {
    t.note(what).try_bytes::<MetadataRequest>(version, frame);
}

const CASES: &[Case] = &[
    case("what is no frame", 0..=0, |t| {
        t.send_garbage("size -1", &(-1i32).to_be_bytes());
        t.send_garbage("size i32::MIN", &i32::MIN.to_be_bytes());
        t.send_garbage("size 100 MiB + 1", &((100i32 << 20) + 1).to_be_bytes());
        t.send_garbage("size 0", &sized(&[]));
        t.send_garbage("a key and no more", &sized(&[0, 3]));
        t.send_garbage("a header cut short", &sized(&[0, 3, 0, 1, 0, 0, 0, 1]));
        t.send_garbage("a frame that does not end", &[0, 0, 0, 9, 0, 3]);
        t.send_garbage("HTTP", b"GET / HTTP/1.1\r\nHost: x\r\n\r\n");
        t.send_garbage("TLS", &[0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3]);
    }),
    case("keys that do not exist", 0..=0, |t| {
        for key in [-1, 4, 5, 6, 7, 93, 999, i16::MAX] {
            t.send_garbage(&format!("key {key}"), &old(key, 0, &[]));
        }
    }),
    case("keys that are for brokers and controllers among themselves", 0..=0, |t| {
        for key in [52, 53, 54, 56, 58, 59, 62, 63, 67, 70, 73, 82] {
            t.send_garbage(&format!("key {key}"), &old(key, 0, &[0; 8]));
        }
    }),
    case("versions that do not exist", 0..=0, |t| {
        let ranges = [
            (0, 3, 13),
            (1, 4, 18),
            (2, 1, 10),
            (3, 0, 13),
            (8, 2, 9),
            (9, 1, 9),
            (10, 0, 6),
            (11, 0, 9),
            (12, 0, 4),
            (13, 0, 5),
            (14, 0, 5),
            (15, 0, 6),
            (16, 0, 5),
            (19, 2, 7),
            (20, 1, 6),
            (21, 0, 2),
            (22, 0, 5),
            (23, 2, 4),
            (32, 1, 4),
            (33, 0, 2),
            (34, 1, 2),
            (35, 1, 4),
            (37, 0, 3),
            (42, 0, 2),
            (43, 0, 2),
            (44, 0, 1),
            (47, 0, 0),
            (60, 0, 2),
            (75, 0, 0),
        ];
        for (key, min, max) in ranges {
            for version in [min - 1, max + 1] {
                t.send_garbage(&format!("key {key} v{version}"), &old(key, version, &[0; 16]));
            }
        }
    }),
    case("bytes behind the body", 0..=0, |t| {
        let request = MetadataRequest::default().with_topics(Some(vec![]));
        for version in [1, 12] {
            metadata(t, "three too many", version, &resized(&frame(version, 1, &request), 3));
        }
    }),
    case("a body cut short", 0..=0, |t| {
        let request = MetadataRequest::default().with_topics(Some(vec![]));
        for version in [1, 12] {
            metadata(t, "one too few", version, &resized(&frame(version, 1, &request), -1));
        }
        let groups = frame(5, 1, &ListGroupsRequest::default());
        t.try_bytes::<ListGroupsRequest>(5, &resized(&groups, -1));
        let offsets = frame(7, 1, &OffsetFetchRequest::default());
        t.try_bytes::<OffsetFetchRequest>(7, &resized(&offsets, -2));
    }),
    case("counts and lengths that cannot be", 0..=0, |t| {
        metadata(t, "more topics than bytes", 1, &old(METADATA, 1, &1000i32.to_be_bytes()));
        metadata(t, "i32::MAX topics", 1, &old(METADATA, 1, &i32::MAX.to_be_bytes()));
        t.only_ours("topics");
        metadata(t, "-2 topics", 1, &old(METADATA, 1, &(-2i32).to_be_bytes()));
        metadata(t, "a name longer than the rest", 1, &old(METADATA, 1, &[0, 0, 0, 1, 0, 9, b'a']));
        metadata(t, "a name of length -2", 1, &old(METADATA, 1, &[0, 0, 0, 1, 0xff, 0xfe]));
        let many = [0xff, 0xff, 0xff, 0xff, 0x0f];
        metadata(t, "a compact count of 2^32 - 1", 12, &flexible(METADATA, 12, &[0], &many));
        let endless = [0xff; 12];
        metadata(t, "a varint that does not end", 12, &flexible(METADATA, 12, &[0], &endless));
    }),
    case("null where there is no null", 0..=0, |t| {
        metadata(t, "topics at v0", 0, &old(METADATA, 0, &(-1i32).to_be_bytes()));
        metadata(t, "a topic's name at v1", 1, &old(METADATA, 1, &[0, 0, 0, 1, 0xff, 0xff]));
        let group = old(11, 0, &[0xff, 0xff, 0, 0, 0x75, 0x30, 0, 0, 0, 0, 0, 0, 0, 0]);
        t.note("a group id").try_bytes::<JoinGroupRequest>(0, &group);
        let fetch = [&[0xff; 4][..], &[0; 8], &[0, 0, 0, 9, 0], &[0xff; 4]].concat();
        t.note("fetched topics").try_bytes::<FetchRequest>(4, &old(1, 4, &fetch));
        let states = flexible(LIST_GROUPS, 4, &[0], &[0, 0]);
        t.note("states").try_bytes::<ListGroupsRequest>(4, &states);
    }),
    case("text that is not UTF-8", 0..=0, |t| {
        let topic = old(METADATA, 4, &[0, 0, 0, 1, 0, 2, b'a', 0xff, 0]);
        metadata(t, "a topic's name", 4, &topic);
    }),
    case("truth that is neither 0 nor 1", 0..=0, |t| {
        metadata(t, "2", 4, &old(METADATA, 4, &[0, 0, 0, 0, 2]));
    }),
    case("tagged fields", 0..=0, |t| {
        // No topics, no creation, no operations.
        let body = |tags: &[u8]| [&[1, 0, 0][..], tags].concat();
        let v12 = |header: &[u8], tags: &[u8]| flexible(METADATA, 12, header, &body(tags));
        let unknown = [1, 99, 2, b'a', b'b'];
        metadata(t, "unknown ones, in the header and the body", 12, &v12(&unknown, &unknown));
        metadata(t, "one twice", 12, &v12(&[0], &[2, 99, 0, 99, 0]));
        metadata(t, "not in order", 12, &v12(&[0], &[2, 99, 0, 98, 0]));
        metadata(t, "longer than the rest", 12, &v12(&[0], &[1, 99, 50, 1]));
        metadata(t, "more than there are", 12, &v12(&[0], &[9, 99, 0]));
    }),
    case("no client id, an empty one", 0..=0, |t| {
        metadata(t, "null", 1, &old(METADATA, 1, &[0, 0, 0, 0]));
        let mut frame = old(METADATA, 1, &[0, 0, 0, 0]);
        frame[12..14].fill(0);
        metadata(t, "empty", 1, &frame);
    }),
    case("ApiVersions with a body that is none", 0..=0, |t| {
        for version in [0, 3] {
            let frame = flexible(18, version, &[0], &[0xff; 3]);
            t.try_bytes::<ApiVersionsRequest>(version, &frame);
        }
    }),
];

#[test]
fn malformed() {
    check("malformed", METADATA, CASES);
}
