//! DescribeTopicPartitions: v0 (KIP-966).
//!
//! Topics come in name order, partitions in index order, as many as the request and `max.request.partition.size.limit` allow;
//! the cursor says where to go on. Eligible leader replicas are empty: no replica falls out of a set of one.
//! Unlike Kafka, a cursor beyond the last partition never leads to a negative one.

use super::{
    Ctx,
    metadata::{TOPIC_OPERATIONS, View},
};
use crate::{
    cluster::{Image, names},
    session::Session,
    wire::{
        ErrorCode,
        api::Api,
        messages::{
            DescribeTopicPartitionsRequest, DescribeTopicPartitionsResponse, TopicName,
            describe_topic_partitions_response::{
                Cursor, DescribeTopicPartitionsResponsePartition,
                DescribeTopicPartitionsResponseTopic,
            },
        },
        text,
    },
};
use std::collections::BTreeSet;

pub const API: Api = Api::new(75, "DescribeTopicPartitions", 0, 0, 0);

pub async fn handle(
    ctx: &Ctx,
    session: &mut Session,
    _version: i16,
    request: DescribeTopicPartitionsRequest,
) -> DescribeTopicPartitionsResponse {
    let limit = request.response_partition_limit.min(ctx.config.max_request_partition_size_limit);
    let image = ctx.image.load_full();
    let view = View {
        image: &image,
        listener: &ctx.config.listeners[session.listener].name,
        version: VIEW_VERSION,
    };
    match Wanted::of(&image, &request) {
        Ok(wanted) => describe(&view, &wanted, usize::try_from(limit).unwrap_or(0).max(1)),
        Err(error) => refused(error, &request),
    }
}

/// The version of Metadata whose partitions look like these: all nodes are shown.
const VIEW_VERSION: i16 = 13;

/// What is to be described, from the cursor on.
struct Wanted<'a> {
    names: BTreeSet<&'a str>,
    /// Where in the topic of that name to begin.
    cursor: (&'a str, usize),
    /// What does not exist is said of topics that were named.
    named: bool,
}

impl<'a> Wanted<'a> {
    /// As `DescribeTopicPartitionsRequestHandler` checks it. Errors: INVALID_REQUEST.
    fn of(
        image: &'a Image,
        request: &'a DescribeTopicPartitionsRequest,
    ) -> Result<Wanted<'a>, ErrorCode> {
        let named = !request.topics.is_empty();
        let cursor = request.cursor.as_ref();
        let from = cursor.map_or("", |cursor| cursor.topic_name.as_str());
        let names: BTreeSet<&str> = if named {
            request
                .topics
                .iter()
                .map(|topic| topic.name.as_str())
                .filter(|it| *it >= from)
                .collect()
        } else {
            image.topics().map(|topic| topic.name.as_str()).filter(|it| *it >= from).collect()
        };
        if named && cursor.is_some() && !names.contains(from) {
            return Err(ErrorCode::InvalidRequest);
        }
        let index = usize::try_from(cursor.map_or(0, |cursor| cursor.partition_index));
        let index = index.map_err(|_| ErrorCode::InvalidRequest)?;
        if names.contains("") {
            // Kafka stumbles over a topic without a name.
            return Err(ErrorCode::UnknownServerError);
        }
        Ok(Wanted { names, cursor: (from, index), named })
    }
}

fn describe(view: &View<'_>, wanted: &Wanted<'_>, limit: usize) -> DescribeTopicPartitionsResponse {
    let mut left = limit;
    let mut topics = Vec::new();
    let mut next = None;
    for name in &wanted.names {
        if left == 0 {
            next = Some((*name, 0));
            break;
        }
        let Some(topic) = view.image.topic(name) else {
            topics.extend(wanted.named.then(|| unknown(name)));
            continue;
        };
        let (cursor, index) = wanted.cursor;
        let from = if *name == cursor { index.min(topic.partitions.len()) } else { 0 };
        let to = topic.partitions.len().min(from.saturating_add(left));
        let partitions = (from..to).map(|at| partition(view, at, &topic.partitions[at]));
        let described = DescribeTopicPartitionsResponseTopic::default()
            .with_name(Some(TopicName(text(name))))
            .with_topic_id(topic.id.0)
            .with_is_internal(names::is_internal(name))
            .with_partitions(partitions.collect())
            .with_topic_authorized_operations(TOPIC_OPERATIONS);
        topics.push(described);
        if to < topic.partitions.len() {
            next = Some((*name, to));
            break;
        }
        left -= to - from;
    }
    let next = next.map(|(name, index)| {
        Cursor::default()
            .with_topic_name(TopicName(text(name)))
            .with_partition_index(i32::try_from(index).unwrap_or(i32::MAX))
    });
    DescribeTopicPartitionsResponse::default().with_topics(topics).with_next_cursor(next)
}

fn partition(
    view: &View<'_>,
    at: usize,
    state: &crate::cluster::record::PartitionState,
) -> DescribeTopicPartitionsResponsePartition {
    let index = i32::try_from(at).unwrap_or(i32::MAX);
    let seen = view.partition(index, state);
    DescribeTopicPartitionsResponsePartition::default()
        .with_partition_index(index)
        .with_leader_id(seen.leader_id)
        .with_leader_epoch(seen.leader_epoch)
        .with_replica_nodes(seen.replica_nodes)
        .with_isr_nodes(seen.isr_nodes)
        .with_eligible_leader_replicas(Some(Vec::new()))
        .with_last_known_elr(Some(Vec::new()))
        .with_offline_replicas(seen.offline_replicas)
}

fn unknown(name: &str) -> DescribeTopicPartitionsResponseTopic {
    let error = match names::validate(name) {
        Ok(()) => ErrorCode::UnknownTopicOrPartition,
        Err(_) => ErrorCode::InvalidTopicException,
    };
    DescribeTopicPartitionsResponseTopic::default()
        .with_error_code(error.code())
        .with_name(Some(TopicName(text(name))))
        .with_is_internal(names::is_internal(name))
        .with_topic_authorized_operations(TOPIC_OPERATIONS)
}

/// Every topic that was named says why (`DescribeTopicPartitionsRequest.getErrorResponse`).
fn refused(
    error: ErrorCode,
    request: &DescribeTopicPartitionsRequest,
) -> DescribeTopicPartitionsResponse {
    let topics = request.topics.iter().map(|topic| {
        DescribeTopicPartitionsResponseTopic::default()
            .with_error_code(error.code())
            .with_name(Some(topic.name.clone()))
    });
    DescribeTopicPartitionsResponse::default().with_topics(topics.collect())
}
