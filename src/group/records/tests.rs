//! Bytes of records, against those of Kafka 4.1.1.

use super::*;

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.chunks(2).map(byte).collect()
}

fn offset(offset: i64, metadata: &str, commit_timestamp: i64, expire_timestamp: i64) -> Offset {
    let metadata = metadata.to_owned();
    Offset {
        offset,
        leader_epoch: -1,
        metadata,
        commit_timestamp,
        expire_timestamp,
        topic_id: None,
    }
}

/// Keys and values read from Kafka 4.1.1's own `__consumer_offsets`, and what they say.
fn of_kafka() -> Vec<(&'static str, Option<&'static str>, Record)> {
    let committed = |group: &str, partition, value| {
        let (group, topic) = (group.to_owned(), "grp-t".to_owned());
        Record::Offset { group, topic, partition, value }
    };
    vec![
        (
            "0001 0000 0005 6772702d74 00000000",
            Some("0004 0000000000000001 ffffffff 01 000001a22d3734a1 00"),
            committed("", 0, Some(offset(1, "", 1796054922401, -1))),
        ),
        (
            "0001 000b 6772702d64353439353634 0005 6772702d74 00000000",
            Some("0004 0000000000000005 ffffffff 02 6d 000001a22d37babe 00"),
            committed("grp-d549564", 0, Some(offset(5, "m", 1796054956734, -1))),
        ),
        (
            "0001 000f 6772702d3137393630353439323263 0005 6772702d74 00000001",
            Some("0001 0000000000000009 0003 74776f 000001a22d373483 000001a22d38bb23"),
            committed("grp-1796054922c", 1, Some(offset(9, "two", 1796054922371, 1796055022371))),
        ),
        (
            "0001 000f 6772702d3137393630353439323263 0005 6772702d74 00000001",
            None,
            committed("grp-1796054922c", 1, None),
        ),
        (
            "0002 000b 6772702d73353439353634",
            Some("0003 0000 00000000 ffff ffff 000001a22d37ba26 00000000"),
            Record::Group {
                group: "grp-s549564".into(),
                value: Some(Generation {
                    protocol_type: String::new(),
                    generation: 0,
                    protocol: None,
                    leader: None,
                    state_timestamp: 1796054956582,
                    members: Vec::new(),
                }),
            },
        ),
        (
            "0002 000b 6772702d73353439353634",
            Some(
                "0003 0008 636f6e73756d6572 00000001 0005 72616e6765 0027 \
                 69312d32356631353363332d373061342d346661312d626432662d303533356637313633653531 000001a22d37ba2d \
                 00000001 0027 69312d32356631353363332d373061342d346661312d626432662d303533356637313633653531 \
                 0002 6931 0003 6f6e65 000a 2f3132372e302e302e31 00000bb8 00002710 00000002 0000 00000002 4131",
            ),
            Record::Group {
                group: "grp-s549564".into(),
                value: Some(Generation {
                    protocol_type: "consumer".into(),
                    generation: 1,
                    protocol: Some("range".into()),
                    leader: Some("i1-25f153c3-70a4-4fa1-bd2f-0535f7163e51".into()),
                    state_timestamp: 1796054956589,
                    members: vec![StoredMember {
                        member_id: "i1-25f153c3-70a4-4fa1-bd2f-0535f7163e51".into(),
                        instance_id: Some("i1".into()),
                        client_id: "one".into(),
                        client_host: "/127.0.0.1".into(),
                        rebalance_timeout_ms: 3_000,
                        session_timeout_ms: 10_000,
                        subscription: Bytes::from_static(&[0, 0]),
                        assignment: Bytes::from_static(b"A1"),
                    }],
                }),
            },
        ),
        (
            "0002 000f 6772702d3137393630353439323263",
            None,
            Record::Group { group: "grp-1796054922c".into(), value: None },
        ),
    ]
}

#[test]
fn what_kafka_wrote_is_read_and_written_alike() {
    for (key, value, record) in of_kafka() {
        let (key, value) = (hex(key), value.map(hex));
        assert_eq!(Record::decode(&key, value.as_deref()), Ok(Some(record.clone())));
        assert_eq!(record.encode(), (key.into(), value.map(Bytes::from)), "{record:?}");
    }
}

#[test]
fn no_record_is_larger_than_its_size_says() {
    for (_, _, record) in of_kafka() {
        let (key, value) = record.encode();
        let len = key.len() + value.map_or(0, |it| it.len());
        assert!((len..=len + RECORD_OVERHEAD + 16).contains(&(record.size())), "{record:?}");
    }
}

#[test]
fn older_versions_are_read() {
    let key = "0000 0001 67 0001 74 00000003";
    for (value, expected) in [
        ("0000 0000000000000007 0001 6d 0000000000000009", offset(7, "m", 9, -1)),
        ("0001 0000000000000007 0001 6d 0000000000000009 000000000000000b", offset(7, "m", 9, 11)),
        ("0002 0000000000000007 0001 6d 0000000000000009", offset(7, "m", 9, -1)),
        ("0003 0000000000000007 ffffffff 0001 6d 0000000000000009", offset(7, "m", 9, -1)),
        (
            "0004 0000000000000007 ffffffff 02 6d 0000000000000009 01 00 10 00000000000000000000000000000000",
            offset(7, "m", 9, -1),
        ),
    ] {
        let Ok(Some(Record::Offset { partition: 3, value: Some(found), .. })) =
            Record::decode(&hex(key), Some(&hex(value)))
        else {
            panic!("{value}")
        };
        assert_eq!(found, expected, "{value}");
    }

    let old = "0000 0008 636f6e73756d6572 00000002 ffff ffff 00000001 0001 6d 0001 63 0001 68 00002710 \
               00000001 73 00000001 61";
    let flexible = "0004 09 636f6e73756d6572 00000002 00 00 ffffffffffffffff 02 \
                    02 6d 00 02 63 02 68 ffffffff 00002710 02 73 02 61 00 00";
    for value in [old, flexible] {
        let Ok(Some(Record::Group { value: Some(found), .. })) =
            Record::decode(&hex("0002 0001 67"), Some(&hex(value)))
        else {
            panic!("{value}")
        };
        assert_eq!((found.generation, found.state_timestamp), (2, -1));
        assert_eq!(found.members[0].rebalance_timeout_ms, -1);
        assert_eq!(found.members[0].assignment, Bytes::from_static(b"a"));
    }
}

#[test]
fn other_kinds_are_passed_over_and_damage_is_an_error() {
    assert_eq!(Record::decode(&hex("0003 0001 67"), Some(&hex("0000 00000001"))), Ok(None));
    let (key, value, _) = of_kafka().remove(5);
    let (key, value) = (hex(key), hex(value.unwrap()));
    for end in 0..key.len() {
        assert!(Record::decode(&key[..end], Some(&value)).is_err(), "key cut at {end}");
    }
    for end in 0..value.len() {
        assert!(Record::decode(&key, Some(&value[..end])).is_err(), "value cut at {end}");
    }
    let unknown = DecodeError::UnknownVersion { kind: 2, version: 9 };
    assert_eq!(Record::decode(&key, Some(&hex("0009"))), Err(unknown));
    let huge = hex("0003 0000 00000000 ffff ffff 0000000000000000 7fffffff");
    assert_eq!(Record::decode(&key, Some(&huge)), Err(DecodeError::Truncated));
}

/// As Kafka writes it from the version on that commits by topic id.
#[test]
fn a_topic_id_is_a_tagged_field() {
    let key = hex("0001 0001 67 0001 74 00000003");
    let text = "0004 0000000000000007 ffffffff 02 6d 0000000000000009 01 00 10 \
                00112233445566778899aabbccddeeff";
    let id = TopicId(uuid::uuid!("00112233-4455-6677-8899-aabbccddeeff"));
    let value = Some(Offset { topic_id: Some(id), ..offset(7, "m", 9, -1) });
    let record = Record::Offset { group: "g".into(), topic: "t".into(), partition: 3, value };
    assert_eq!(record.encode(), (key.clone().into(), Some(hex(text).into())));
    assert!(key.len() + hex(text).len() <= record.size());
    assert_eq!(Record::decode(&key, Some(&hex(text))), Ok(Some(record)));
    let other = "0004 0000000000000007 ffffffff 02 6d 0000000000000009 01 00 02 0011";
    assert_eq!(Record::decode(&key, Some(&hex(other))), Err(DecodeError::Truncated));
}
