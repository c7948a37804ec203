//! OffsetFetch: v1-9.
//!
//! Versions: 2 all topics (null), top-level error · 3 throttle time · 5 leader epoch · 6 flexible · 7 require_stable
//! (KIP-447) · 8 several groups (KIP-709) · 9 member id and epoch (KIP-848), which classic groups do not look at.
//! Nothing committed is offset -1 without error; whether a topic exists is not looked at. Before v2 an error of the group
//! stands at every partition: an empty answer would make clients start over.

use super::Ctx;
use crate::{
    group::command::{Command, FetchedOffset, FetchedOffsets, Reply},
    limits::OFFSET_FETCH_BYTES_MAX,
    session::Session,
    wire::{
        Api, ErrorCode, StrBytes,
        messages::{
            OffsetFetchRequest, OffsetFetchResponse,
            offset_fetch_response::{
                OffsetFetchResponseGroup, OffsetFetchResponsePartition,
                OffsetFetchResponsePartitions, OffsetFetchResponseTopic, OffsetFetchResponseTopics,
            },
        },
        text,
    },
};

pub const API: Api = Api::new(9, "OffsetFetch", 1, 9, 6);

type Topics = Vec<(String, Vec<i32>)>;

pub async fn handle(
    ctx: &Ctx,
    _session: &mut Session,
    version: i16,
    request: OffsetFetchRequest,
) -> OffsetFetchResponse {
    if version < 8 {
        let topics: Option<Topics> = request.topics.map(|topics| {
            let them = topics.into_iter().map(|it| (it.name.to_string(), it.partition_indexes));
            them.collect()
        });
        let fetched = fetch(ctx, &request.group_id, topics.clone()).await;
        return one_group(version, topics, fetched);
    }
    let mut groups = Vec::with_capacity(request.groups.len());
    let mut room = OFFSET_FETCH_BYTES_MAX;
    for group in request.groups {
        let topics = group.topics.map(|topics| {
            let them = topics.into_iter().map(|it| (it.name.to_string(), it.partition_indexes));
            them.collect()
        });
        let response =
            OffsetFetchResponseGroup::default().with_group_id(text(&group.group_id).into());
        let fetched = match room {
            0 => Err(ErrorCode::UnknownServerError),
            _ => fetch(ctx, &group.group_id, topics).await,
        };
        room = room.saturating_sub(fetched.as_ref().map_or(0, size));
        groups.push(match fetched {
            Ok(fetched) => response.with_topics(fetched.into_iter().map(topic_of_group).collect()),
            Err(error) => response.with_error_code(error.code()),
        });
    }
    OffsetFetchResponse::default().with_groups(groups)
}

async fn fetch(
    ctx: &Ctx,
    group: &str,
    topics: Option<Topics>,
) -> Result<FetchedOffsets, ErrorCode> {
    let command = Command::Fetch { group: group.to_owned(), topics };
    match ctx.groups.call(group, command).await {
        Ok(Reply::Fetch(fetched)) => fetched,
        Ok(_) => Err(ErrorCode::UnknownServerError),
        // Clients below 3.9 do not retry the other code here.
        Err(ErrorCode::CoordinatorNotAvailable) => Err(ErrorCode::NotCoordinator),
        Err(error) => Err(error),
    }
}

fn size(fetched: &FetchedOffsets) -> usize {
    fetched.iter().flat_map(|(_, partitions)| partitions).map(FetchedOffset::size).sum()
}

/// The form of v1-7.
fn one_group(
    version: i16,
    asked: Option<Topics>,
    fetched: Result<FetchedOffsets, ErrorCode>,
) -> OffsetFetchResponse {
    match fetched {
        Ok(fetched) => {
            let topics = fetched.into_iter().map(|(name, partitions)| {
                let partitions = partitions.into_iter().map(|it| {
                    OffsetFetchResponsePartition::default()
                        .with_partition_index(it.partition)
                        .with_committed_offset(it.offset)
                        .with_committed_leader_epoch(it.leader_epoch)
                        .with_metadata(Some(StrBytes::from_string(it.metadata)))
                });
                OffsetFetchResponseTopic::default()
                    .with_name(StrBytes::from_string(name).into())
                    .with_partitions(partitions.collect())
            });
            OffsetFetchResponse::default().with_topics(topics.collect())
        }
        Err(error) if version >= 2 => OffsetFetchResponse::default().with_error_code(error.code()),
        Err(error) => {
            let topics = asked.into_iter().flatten().map(|(name, partitions)| {
                let partitions = partitions.into_iter().map(|index| {
                    OffsetFetchResponsePartition::default()
                        .with_partition_index(index)
                        .with_committed_offset(-1)
                        .with_committed_leader_epoch(-1)
                        .with_metadata(Some(StrBytes::new()))
                        .with_error_code(error.code())
                });
                OffsetFetchResponseTopic::default()
                    .with_name(StrBytes::from_string(name).into())
                    .with_partitions(partitions.collect())
            });
            OffsetFetchResponse::default().with_topics(topics.collect())
        }
    }
}

/// The form from v8 on.
fn topic_of_group((name, partitions): (String, Vec<FetchedOffset>)) -> OffsetFetchResponseTopics {
    let partitions = partitions.into_iter().map(|it| {
        OffsetFetchResponsePartitions::default()
            .with_partition_index(it.partition)
            .with_committed_offset(it.offset)
            .with_committed_leader_epoch(it.leader_epoch)
            .with_metadata(Some(StrBytes::from_string(it.metadata)))
    });
    OffsetFetchResponseTopics::default()
        .with_name(StrBytes::from_string(name).into())
        .with_partitions(partitions.collect())
}
