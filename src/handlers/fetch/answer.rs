//! What a Fetch answer says of each partition, and how partitions are put together.

use super::reading::{Got, Limits, Target};
use crate::{
    cluster::Image,
    ids::NodeId,
    partition::{Isolation, Slice},
    session::fetch::{Key, Outcome, Params, TopicKey, Verdict},
    wire::{
        ErrorCode, StrBytes,
        fetch::{FetchResponse, LeaderIdAndEpoch, NodeEndpoint, Partition, Topic},
        text,
    },
};
use uuid::Uuid;

pub(super) struct Answering<'a> {
    version: i16,
    limits: &'a Limits,
    image: &'a Image,
    listener: &'a str,
    partitions: Vec<Partition<Slice>>,
    /// Of `partitions`, with their places among what is wanted.
    outcomes: Vec<(usize, Outcome)>,
    endpoints: Vec<NodeEndpoint>,
}

impl<'a> Answering<'a> {
    pub fn new(version: i16, limits: &'a Limits, image: &'a Image, listener: &'a str) -> Self {
        Answering {
            version,
            limits,
            image,
            listener,
            partitions: Vec::new(),
            outcomes: Vec::new(),
            endpoints: Vec::new(),
        }
    }

    pub fn add(&mut self, target: &Target, got: Result<Got, ErrorCode>) {
        let index = target.partition as i32;
        let partition = match got {
            Ok(Got { view, diverging, slices, .. }) => Partition {
                high_watermark: view.high_watermark,
                last_stable_offset: view.last_stable,
                log_start_offset: view.log_start,
                aborted_transactions: match self.limits.isolation {
                    Isolation::ReadCommitted if diverging.is_none() => Some(Vec::new()),
                    _ => None,
                },
                diverging_epoch: diverging,
                records: slices,
                ..Partition::error(index, 0)
            },
            Err(error) => Partition {
                aborted_transactions: None,
                current_leader: self.current_leader(target, error),
                ..Partition::error(index, self.code(error))
            },
        };
        self.push(target.place, partition);
    }

    pub fn add_unknown(&mut self, place: usize, key: &Key, error: ErrorCode) {
        self.push(place, Partition::error(key.partition, error.code()));
    }

    pub fn outcomes(&self) -> &[(usize, Outcome)] {
        &self.outcomes
    }

    /// Partitions of one topic that follow each other share its entry.
    pub fn response(self, verdict: Verdict, wanted: &[(Key, Params)]) -> FetchResponse<Slice> {
        let mut topics: Vec<Topic<Slice>> = Vec::new();
        let mut last: Option<&TopicKey> = None;
        let told = self.partitions.into_iter().zip(self.outcomes).zip(verdict.named);
        for ((partition, (place, _)), _) in told.filter(|(_, named)| *named) {
            let key = &wanted[place].0.topic;
            match topics.last_mut() {
                Some(topic) if last == Some(key) => topic.partitions.push(partition),
                _ => {
                    let (name, id) = match key {
                        TopicKey::Name(name) => (text(name), Uuid::nil()),
                        TopicKey::Id(id, _) => (StrBytes::default(), *id),
                    };
                    topics.push(Topic { name, id, partitions: vec![partition] });
                    last = Some(key);
                }
            }
        }
        FetchResponse {
            throttle_time_ms: 0,
            error_code: verdict.error.map_or(0, |error| error.code()),
            session_id: verdict.session_id,
            topics,
            node_endpoints: self.endpoints,
        }
    }

    fn push(&mut self, place: usize, partition: Partition<Slice>) {
        let failed = partition.error_code != 0;
        let outcome = Outcome {
            has_records: !partition.records.is_empty(),
            high_watermark: partition.high_watermark,
            log_start_offset: partition.log_start_offset,
            must_tell: failed || partition.diverging_epoch.is_some(),
            failed,
        };
        self.partitions.push(partition);
        self.outcomes.push((place, outcome));
    }

    /// Clients before v6 do not know storage errors.
    fn code(&self, error: ErrorCode) -> i16 {
        match error {
            ErrorCode::KafkaStorageError if self.version <= 5 => {
                ErrorCode::NotLeaderOrFollower.code()
            }
            error => error.code(),
        }
    }

    /// From v16 on, whoever asks the wrong node is told the right one (KIP-951).
    fn current_leader(&mut self, target: &Target, error: ErrorCode) -> Option<LeaderIdAndEpoch> {
        let moved = matches!(error, ErrorCode::NotLeaderOrFollower | ErrorCode::FencedLeaderEpoch);
        if self.version < 16 || !moved {
            return None;
        }
        let topic = self.image.topic_by_id(target.topic.id)?;
        let state = topic.partitions.get(target.partition)?;
        if let Some(endpoint) = state.leader.and_then(|leader| self.endpoint(leader))
            && !self.endpoints.contains(&endpoint)
        {
            self.endpoints.push(endpoint);
        }
        let leader_id = state.leader.map_or(-1, |leader| leader.0);
        Some(LeaderIdAndEpoch { leader_id, leader_epoch: state.leader_epoch.0 })
    }

    fn endpoint(&self, node: NodeId) -> Option<NodeEndpoint> {
        let broker = self.image.broker(node).filter(|broker| !broker.fenced)?;
        let (host, port) = broker.listeners.get(self.listener)?;
        Some(NodeEndpoint {
            node_id: node.0,
            host: text(host),
            port: (*port).into(),
            rack: broker.rack.as_deref().map(text),
        })
    }
}
