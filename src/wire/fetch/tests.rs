//! Answers against the crate's encoder.

use super::*;
use crate::wire::{
    messages::{
        BrokerId, FetchResponse as CrateResponse, ProducerId, TopicName, fetch_response as of,
    },
    sample::Random,
    text,
};
use kafka_protocol::protocol::Encodable;

const FETCH: Api = Api::new(1, "Fetch", 4, 18, 12);

/// A random answer whose fields all exist at every version that has them.
fn random_response(random: &mut Random) -> FetchResponse<Bytes> {
    let name = |random: &mut Random| text(&"x".repeat(random.below(300)));
    let partition = |random: &mut Random| {
        let epoch = |random: &mut Random| {
            (random.below(2) == 0).then(|| EpochEndOffset {
                epoch: random.next() as i32 >> 1,
                end_offset: random.next() as i64 | 1,
            })
        };
        Partition {
            index: random.next() as i32,
            error_code: random.next() as i16,
            high_watermark: random.next() as i64,
            last_stable_offset: random.next() as i64,
            log_start_offset: random.next() as i64,
            diverging_epoch: epoch(random),
            current_leader: (random.below(2) == 0)
                .then(|| LeaderIdAndEpoch { leader_id: 7, leader_epoch: random.next() as i32 }),
            snapshot_id: epoch(random),
            aborted_transactions: (random.below(2) == 0).then(|| {
                (0..random.below(200))
                    .map(|_| AbortedTransaction {
                        producer_id: random.next() as i64,
                        first_offset: random.next() as i64,
                    })
                    .collect()
            }),
            preferred_read_replica: random.below(3) as i32 - 1,
            records: (0..random.below(4))
                .map(|_| Bytes::from(vec![random.next() as u8; random.below(20_000)]))
                .collect(),
        }
    };
    FetchResponse {
        throttle_time_ms: random.next() as i32,
        error_code: random.next() as i16,
        session_id: random.next() as i32,
        topics: (0..random.below(4))
            .map(|_| Topic {
                name: name(random),
                id: Uuid::from_u128(random.next().into()),
                partitions: (0..random.below(4)).map(|_| partition(random)).collect(),
            })
            .collect(),
        node_endpoints: (0..random.below(3))
            .map(|_| NodeEndpoint {
                node_id: random.next() as i32,
                host: name(random),
                port: random.next() as i32,
                rack: (random.below(2) == 0).then(|| name(random)),
            })
            .collect(),
    }
}

/// The same answer as the crate's message, without what `version` lacks.
fn as_crate(response: &FetchResponse<Bytes>, version: i16) -> CrateResponse {
    let partition = |partition: &Partition<Bytes>| {
        let mut data = of::PartitionData::default()
            .with_partition_index(partition.index)
            .with_error_code(partition.error_code)
            .with_high_watermark(partition.high_watermark)
            .with_last_stable_offset(partition.last_stable_offset)
            .with_log_start_offset(partition.log_start_offset)
            .with_aborted_transactions(partition.aborted_transactions.as_ref().map(|aborted| {
                aborted
                    .iter()
                    .map(|transaction| {
                        of::AbortedTransaction::default()
                            .with_producer_id(ProducerId(transaction.producer_id))
                            .with_first_offset(transaction.first_offset)
                    })
                    .collect()
            }))
            .with_records(Some(partition.records.concat().into()));
        if version >= 11 {
            data.preferred_read_replica = BrokerId(partition.preferred_read_replica);
        }
        if version >= 12 {
            if let Some(EpochEndOffset { epoch, end_offset }) = partition.diverging_epoch {
                data.diverging_epoch =
                    of::EpochEndOffset::default().with_epoch(epoch).with_end_offset(end_offset);
            }
            if let Some(LeaderIdAndEpoch { leader_id, leader_epoch }) = partition.current_leader {
                data.current_leader = of::LeaderIdAndEpoch::default()
                    .with_leader_id(BrokerId(leader_id))
                    .with_leader_epoch(leader_epoch);
            }
            if let Some(EpochEndOffset { epoch, end_offset }) = partition.snapshot_id {
                data.snapshot_id =
                    of::SnapshotId::default().with_epoch(epoch).with_end_offset(end_offset);
            }
        }
        data
    };
    let topics = response.topics.iter().map(|topic| {
        of::FetchableTopicResponse::default()
            .with_topic(TopicName(topic.name.clone()))
            .with_topic_id(topic.id)
            .with_partitions(topic.partitions.iter().map(partition).collect())
    });
    let endpoints = response.node_endpoints.iter().map(|endpoint| {
        of::NodeEndpoint::default()
            .with_node_id(BrokerId(endpoint.node_id))
            .with_host(endpoint.host.clone())
            .with_port(endpoint.port)
            .with_rack(endpoint.rack.clone())
    });
    CrateResponse::default()
        .with_throttle_time_ms(response.throttle_time_ms)
        .with_error_code(response.error_code)
        .with_session_id(if version >= 7 { response.session_id } else { 0 })
        .with_responses(topics.collect())
        .with_node_endpoints(if version >= 16 { endpoints.collect() } else { vec![] })
}

fn encoded(version: i16, response: FetchResponse<Bytes>) -> Vec<u8> {
    let pieces = encode(&FETCH, version, 99, response, Bytes::len).unwrap();
    let pieces = pieces.into_iter().map(|piece| match piece {
        Piece::Bytes(bytes) | Piece::Records(bytes) => bytes,
    });
    pieces.collect::<Vec<_>>().concat()
}

#[test]
fn the_pieces_are_what_the_crate_would_write() {
    let mut random = Random(3);
    for version in 4..=18 {
        for _ in 0..60 {
            let response = random_response(&mut random);
            let mut expected = vec![0, 0, 0, 0, 0, 0, 0, 99];
            if version >= 12 {
                expected.push(0);
            }
            as_crate(&response, version).encode(&mut expected, version).unwrap();
            let len = expected.len() as u32 - 4;
            expected[..4].copy_from_slice(&len.to_be_bytes());
            assert!(encoded(version, response.clone()) == expected, "v{version} {response:?}");
        }
    }
}

#[test]
fn records_stay_the_pieces_they_are() {
    let batch = Bytes::from_static(b"a batch");
    let mut partition = Partition::error(0, 0);
    partition.records = vec![batch.clone(), batch.clone()];
    let topic = Topic { name: text("t"), id: Uuid::nil(), partitions: vec![partition] };
    let response = FetchResponse { topics: vec![topic], ..FetchResponse::default() };
    let pieces = encode(&FETCH, 12, 1, response, Bytes::len).unwrap();
    let [Piece::Bytes(_), Piece::Records(first), Piece::Records(_), Piece::Bytes(end)] =
        &pieces[..]
    else {
        panic!("{pieces:?}")
    };
    assert_eq!(first.as_ptr(), batch.as_ptr());
    assert_eq!(end[..], [0, 0, 0]);
}

#[test]
fn a_partition_without_records_has_an_empty_byte_string() {
    for (version, empty) in [(11, &[0, 0, 0, 0][..]), (12, &[1, 0, 0, 0])] {
        let topic: Topic<Bytes> =
            Topic { name: text("t"), id: Uuid::nil(), partitions: vec![Partition::error(0, 3)] };
        let response = FetchResponse { topics: vec![topic], ..FetchResponse::default() };
        assert!(encoded(version, response).ends_with(empty), "v{version}");
    }
}

#[test]
fn an_answer_beyond_a_frame_is_an_error() {
    let mut partition = Partition::error(0, 0);
    partition.records = vec![usize::MAX, 1];
    let topic = Topic { name: text("t"), id: Uuid::nil(), partitions: vec![partition] };
    let response = FetchResponse { topics: vec![topic], ..FetchResponse::default() };
    assert!(encode(&FETCH, 12, 1, response, |len| *len).is_err());
}
