//! Walker and decoder against each other, the crate and hostile bytes.

use super::*;
use crate::{
    limits::REQUEST_MEMORY_BASE,
    wire::{
        messages::*,
        sample::{Random, kinds},
        shape::{Field, request},
        text,
        walk::{UNKNOWN_TAG_MEMORY, UNKNOWN_TAGS_MEMORY},
    },
};
use bytes::{BufMut, BytesMut};
use kafka_protocol::protocol::Encodable;

#[test]
fn every_default_request_is_accepted_and_comes_back() {
    let kinds = kinds();
    assert_eq!(kinds.len(), 87);
    for kind in kinds {
        for version in kind.versions {
            let body = (kind.default)(version);
            let again = (kind.again)(version, body.clone().into());
            assert_eq!(again, Ok(body), "{} v{version}", kind.key);
        }
    }
}

#[test]
fn walker_and_decoder_agree_on_random_requests() {
    let mut random = Random(7);
    for kind in kinds() {
        for version in kind.versions.clone() {
            for _ in 0..30 {
                let body = kind.random(version, &mut random, false);
                let again = (kind.again)(version, body.clone().into());
                assert_eq!(again, Ok(body), "{} v{version}", kind.key);

                let tagged = kind.random(version, &mut random, true);
                let once = (kind.again)(version, tagged.clone().into());
                let once = once.unwrap_or_else(|error| {
                    panic!("{} v{version}: {error}: {tagged:02x?}", kind.key)
                });
                assert_eq!((kind.again)(version, once.clone().into()), Ok(once));
            }
        }
    }
}

#[test]
fn whatever_comes_decodes_or_is_refused() {
    let mut random = Random(11);
    for kind in kinds() {
        for version in kind.versions.clone() {
            for round in 0..100 {
                let mut body = kind.random(version, &mut random, round % 2 == 0);
                random.mutate(&mut body);
                let _ = (kind.again)(version, body.into());
            }
            let body = kind.random(version, &mut random, true);
            for len in 0..body.len() {
                assert!((kind.again)(version, body[..len].to_vec().into()).is_err());
            }
        }
    }
}

#[test]
fn a_flexible_request_ends_with_tags() {
    for kind in kinds() {
        for version in kind.versions {
            let fields = request(kind.key, version).unwrap();
            let tagged = matches!(fields.last(), Some(Field::Tags(_)));
            assert_eq!(tagged, (kind.is_flexible)(version), "{} v{version}", kind.key);
        }
    }
}

/// The memory the table gives to an element of the array that `path` leads to: the nth array, and so on within it.
fn element_memory(api_key: i16, version: i16, path: &[usize]) -> usize {
    let mut fields = request(api_key, version).unwrap();
    let mut memory = 0;
    for nth in path {
        let arrays = fields.iter().filter_map(|field| match field {
            Field::Array { element_memory, element, .. } => Some((*element_memory, element)),
            _ => None,
        });
        let (element_memory, element) = { arrays }.nth(*nth).unwrap();
        (memory, fields) = (element_memory, element);
    }
    memory
}

#[test]
fn decoded_elements_fit_the_memory_the_table_gives_them() {
    let cases = [
        (size_of::<produce_request::TopicProduceData>(), element_memory(0, 13, &[0])),
        (size_of::<produce_request::PartitionProduceData>(), element_memory(0, 13, &[0, 0])),
        (size_of::<fetch_request::FetchTopic>(), element_memory(1, 4, &[0])),
        (size_of::<fetch_request::FetchPartition>(), element_memory(1, 4, &[0, 0])),
        (size_of::<offset_fetch_request::OffsetFetchRequestGroup>(), element_memory(9, 8, &[0])),
        (size_of::<create_topics_request::CreatableTopic>(), element_memory(19, 7, &[0])),
        (size_of::<join_group_request::JoinGroupRequestProtocol>(), element_memory(11, 9, &[0])),
        (size_of::<metadata_request::MetadataRequestTopic>(), element_memory(3, 0, &[0])),
        (size_of::<alter_client_quotas_request::EntryData>(), element_memory(49, 1, &[0])),
        (size_of::<i32>(), element_memory(1, 13, &[1, 0])),
    ];
    for (at, (real, allowed)) in cases.into_iter().enumerate() {
        assert!(real <= allowed && allowed <= 2 * real, "case {at}: {real} of {allowed}");
    }
}

#[test]
fn large_requests_are_decoded_or_refused_by_the_walker() {
    for kind in kinds() {
        let version = *kind.versions.end();
        assert!(
            (kind.again)(version, kind.large(version, 1000, false).into()).is_ok(),
            "{}",
            kind.key
        );
        let tagged = (kind.again)(version, kind.large(version, 1000, true).into());
        assert!(
            matches!(tagged, Ok(_) | Err(DecodeError::TooMuchMemory)),
            "{} {tagged:?}",
            kind.key
        );
    }
}

fn refused<R: Decodable>(api_key: i16, version: i16, body: &[u8]) -> DecodeError {
    match decode::<R>(api_key, version, Bytes::copy_from_slice(body), true) {
        Ok(_) => panic!("accepted"),
        Err(error) => error,
    }
}

#[test]
fn counts_beyond_the_bytes_are_refused() {
    // The crate alone asks for 154 GB here.
    let error = refused::<MetadataRequest>(3, 0, &[0x7f, 0xff, 0xff, 0xb6]);
    assert_eq!(error, DecodeError::Count { count: 0x7fff_ffb6, left: 0 });
    let error = refused::<MetadataRequest>(3, 9, &[0xff, 0xff, 0xff, 0xff, 0x0f, 1, 1, 1, 0]);
    assert_eq!(error, DecodeError::Count { count: 0xffff_fffe, left: 4 });
    let error = refused::<MetadataRequest>(3, 9, &[0xff, 0xff, 0xff, 0xff, 0xff, 0x0f]);
    assert_eq!(error, DecodeError::Varint);
    let error = refused::<MetadataRequest>(3, 0, &[0xff; 4]);
    assert_eq!(error, DecodeError::Length(-1), "null is for v1+");
    assert!(decode::<MetadataRequest>(3, 1, Bytes::from_static(&[0xff; 4]), true).is_ok());
    assert_eq!(
        refused::<MetadataRequest>(3, 1, &[0xff, 0xff, 0xff, 0xfe]),
        DecodeError::Length(-2)
    );
}

#[test]
fn strings_and_tags_are_as_long_as_they_say() {
    let error = refused::<FindCoordinatorRequest>(10, 0, &[0, 4, b'a']);
    assert_eq!(error, DecodeError::Truncated);
    let mut body = BytesMut::new();
    body.put_slice(&[0x81, 0x80, 0x02]);
    body.put_bytes(b'a', 0x8000);
    let error = refused::<FindCoordinatorRequest>(10, 3, &body);
    assert_eq!(error, DecodeError::TooLong(0x8000));

    let replica_state = |size| [&[0; 21][..], &[1, 1, 1, 1, 1, size], &[0; 13]].concat();
    assert!(decode::<FetchRequest>(1, 15, replica_state(13).into(), true).is_ok());
    assert_eq!(refused::<FetchRequest>(1, 15, &replica_state(12)), DecodeError::Truncated);
    let mut longer = replica_state(14);
    longer.push(0);
    assert_eq!(refused::<FetchRequest>(1, 15, &longer), DecodeError::TagSize(1));
}

#[test]
fn a_nullable_struct_is_there_or_not() {
    let body = |cursor: &[u8]| [&[1, 0, 0, 0, 1][..], cursor, &[0]].concat();
    let decoded =
        |cursor| decode::<DescribeTopicPartitionsRequest>(75, 0, body(cursor).into(), true);
    assert_eq!(decoded(&[0xff]).unwrap().cursor, None);
    let cursor = decoded(&[1, 2, b't', 0, 0, 0, 3, 0]).unwrap().cursor.unwrap();
    assert_eq!((cursor.topic_name.as_str(), cursor.partition_index), ("t", 3));
    assert_eq!(decoded(&[0]).unwrap_err(), DecodeError::Length(0));
    assert_eq!(decoded(&[2]).unwrap_err(), DecodeError::Length(2));
}

/// Kafka 4.1 reads them with U+FFFD and answers, to a topic of such a name, INVALID_TOPIC_EXCEPTION.
#[test]
fn strings_that_are_not_utf8_are_read_with_question_marks() {
    let names = |version, body: &[u8]| -> Vec<String> {
        let body = Bytes::copy_from_slice(body);
        let request = decode::<MetadataRequest>(3, version, body, true).unwrap();
        let topics = request.topics.unwrap();
        topics.into_iter().map(|topic| topic.name.unwrap().to_string()).collect()
    };
    let good = "\u{e9}".as_bytes();
    let body = [&[0, 0, 0, 2, 0, 3, b'a', 0xe9, b'b', 0, 2][..], good].concat();
    assert_eq!(names(1, &body), ["a?b", "\u{e9}"]);
    assert_eq!(names(9, &[2, 3, 0xff, 0xfe, 0, 1, 0, 0, 0]), ["??"]);
}

#[test]
fn bytes_behind_the_request_are_ignored_as_kafka_does() {
    let body = Bytes::from_static(&[0, 0, 0, 0, 9, 9, 9]);
    assert!(decode::<MetadataRequest>(3, 0, body, true).unwrap().topics.unwrap().is_empty());
}

#[test]
fn elements_and_memory_are_bounded() {
    let topics = |count: usize| {
        let topics = vec![metadata_request::MetadataRequestTopic::default(); count];
        let mut body = BytesMut::new();
        MetadataRequest::default()
            .with_topics(Some(
                topics.into_iter().map(|t| t.with_name(Some(text("t").into()))).collect(),
            ))
            .encode(&mut body, 0)
            .unwrap();
        body.freeze()
    };
    let many = topics(10_001);
    assert!(decode::<MetadataRequest>(3, 0, many.clone(), true).is_ok());
    let error = decode::<MetadataRequest>(3, 0, many, false).unwrap_err();
    assert_eq!(error, DecodeError::TooManyElements);
    assert!(decode::<MetadataRequest>(3, 0, topics(10_000), false).is_ok());
    let error = decode::<MetadataRequest>(3, 0, topics(1_000_001), true).unwrap_err();
    assert_eq!(error, DecodeError::TooManyElements);

    // A topic with an unknown tag takes 16 + 1 + 4 bytes, but a leaf of a B-tree once decoded.
    let tagged = |count: usize| {
        let mut body = BytesMut::new();
        body.put_slice(&[(count % 128) as u8 | 0x80, (count / 128) as u8]);
        for _ in 1..count {
            body.put_slice(&[2, b't', 1, 9, 0]);
        }
        body.put_slice(&[1, 0, 0, 0]);
        body.freeze()
    };
    let each = 72 + UNKNOWN_TAG_MEMORY + UNKNOWN_TAGS_MEMORY;
    let most = REQUEST_MEMORY_BASE / (each - 5 * 100);
    assert!(decode::<MetadataRequest>(3, 9, tagged(most), true).is_ok());
    let error = decode::<MetadataRequest>(3, 9, tagged(most + 20), true).unwrap_err();
    assert_eq!(error, DecodeError::TooMuchMemory);
}
