//! ElectLeaders: v0-2.
//!
//! Versions: 1 election types (KIP-460), top-level error · 2 flexible. Every partition has one replica: while that leads no
//! election is needed, and while it does not there is none to elect.

use super::{Ctx, messages::Messages};
use crate::{
    cluster::{Image, Topic},
    session::Session,
    wire::{
        ErrorCode, StrBytes,
        api::Api,
        messages::{
            ElectLeadersRequest, ElectLeadersResponse, TopicName,
            elect_leaders_request::TopicPartitions,
            elect_leaders_response::{PartitionResult, ReplicaElectionResult},
        },
        text,
    },
};

pub const API: Api = Api::new(43, "ElectLeaders", 0, 2, 2);

/// KIP-460's election types.
const PREFERRED: i8 = 0;
const UNCLEAN: i8 = 1;

pub async fn handle(
    ctx: &Ctx,
    _session: &mut Session,
    version: i16,
    request: ElectLeadersRequest,
) -> ElectLeadersResponse {
    let kind = if version == 0 { PREFERRED } else { request.election_type };
    if ![PREFERRED, UNCLEAN].contains(&kind) {
        let message = Some(format!("Unknown election type {kind}"));
        return refused(version, ErrorCode::InvalidRequest, message, request);
    }
    if request.timeout_ms <= 0 {
        return refused(version, ErrorCode::RequestTimedOut, None, request);
    }
    let image = ctx.image.load();
    let results = match request.topic_partitions {
        Some(topics) => named(&image, kind, topics),
        None => all(&image, kind),
    };
    ElectLeadersResponse::default().with_replica_election_results(results)
}

/// Of all partitions only those are told that have not the leader they should have.
fn all(image: &Image, kind: i8) -> Vec<ReplicaElectionResult> {
    let topics = image.topics().map(|topic| {
        let indexes = (0..).take(topic.partitions.len());
        let failed = indexes.map(|index| (index, elect(topic, index, kind)));
        let failed = failed.filter(|(_, error)| *error != ErrorCode::ElectionNotNeeded);
        let failed = failed.map(|(index, error)| result(index, error, None));
        ReplicaElectionResult::default()
            .with_topic(TopicName(text(&topic.name)))
            .with_partition_result(failed.collect())
    });
    topics.collect()
}

fn named(image: &Image, kind: i8, topics: Vec<TopicPartitions>) -> Vec<ReplicaElectionResult> {
    let mut messages = Messages::default();
    let results = topics.into_iter().map(|asked| {
        let topic = image.topic(&asked.topic);
        let name = asked.topic.as_str();
        let partitions = asked.partitions.iter().map(|index| match topic {
            None => {
                let message = messages.take(format!("No such topic as {name}"));
                result(*index, ErrorCode::UnknownTopicOrPartition, message)
            }
            Some(topic) => match elect(topic, *index, kind) {
                error @ ErrorCode::UnknownTopicOrPartition => {
                    let message = format!("No such partition as {name}-{index}");
                    result(*index, error, messages.take(message))
                }
                error => result(*index, error, words(error)),
            },
        });
        let partitions = partitions.collect();
        ReplicaElectionResult::default().with_topic(asked.topic).with_partition_result(partitions)
    });
    results.collect()
}

/// Why no leader is elected.
fn elect(topic: &Topic, index: i32, kind: i8) -> ErrorCode {
    let partition = usize::try_from(index).ok().and_then(|index| topic.partitions.get(index));
    match (partition, kind) {
        (None, _) => ErrorCode::UnknownTopicOrPartition,
        (Some(it), UNCLEAN) if it.leader.is_some() => ErrorCode::ElectionNotNeeded,
        (Some(_), UNCLEAN) => ErrorCode::EligibleLeadersNotAvailable,
        (Some(it), _) if it.leader.is_some() && it.leader.as_ref() == it.replicas.first() => {
            ErrorCode::ElectionNotNeeded
        }
        (Some(_), _) => ErrorCode::PreferredLeaderNotAvailable,
    }
}

fn words(error: ErrorCode) -> Option<StrBytes> {
    let needless = "Leader election not needed for topic partition.";
    (error == ErrorCode::ElectionNotNeeded).then(|| StrBytes::from_static_str(needless))
}

fn result(index: i32, error: ErrorCode, message: Option<StrBytes>) -> PartitionResult {
    PartitionResult::default()
        .with_partition_id(index)
        .with_error_code(error.code())
        .with_error_message(message)
}

/// The whole request failed: every partition that was named says so.
fn refused(
    version: i16,
    error: ErrorCode,
    message: Option<String>,
    request: ElectLeadersRequest,
) -> ElectLeadersResponse {
    let mut messages = Messages::default();
    let results = request.topic_partitions.into_iter().flatten().map(|topic| {
        let partitions = topic.partitions.iter().map(|index| {
            let message = message.as_deref().and_then(|message| messages.take(message));
            result(*index, error, message)
        });
        let partitions = partitions.collect();
        ReplicaElectionResult::default().with_topic(topic.topic).with_partition_result(partitions)
    });
    let response = ElectLeadersResponse::default().with_replica_election_results(results.collect());
    if version == 0 { response } else { response.with_error_code(error.code()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        cluster::record::PartitionState,
        ids::{LeaderEpoch, NodeId, TopicId},
    };

    #[test]
    fn who_leads_decides() {
        let nodes = |ids: &[i32]| -> Vec<NodeId> { ids.iter().copied().map(NodeId).collect() };
        let (not_needed, none) =
            (ErrorCode::ElectionNotNeeded, ErrorCode::EligibleLeadersNotAvailable);
        let other = ErrorCode::PreferredLeaderNotAvailable;
        for (leader, preferred, unclean) in
            [(Some(1), not_needed, not_needed), (Some(2), other, not_needed), (None, other, none)]
        {
            let partition = PartitionState {
                replicas: nodes(&[1, 2]),
                isr: nodes(&[1, 2]),
                leader: leader.map(NodeId),
                leader_epoch: LeaderEpoch(0),
                partition_epoch: 0,
            };
            let id = TopicId(uuid::Uuid::nil());
            let topic = Topic { name: "t".into(), id, partitions: vec![partition] };
            assert_eq!(elect(&topic, 0, PREFERRED), preferred, "{leader:?}");
            assert_eq!(elect(&topic, 0, UNCLEAN), unclean, "{leader:?}");
        }
    }
}
