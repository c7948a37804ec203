//! The machine that decides what the cluster looks like (Kafka's `QuorumController`).
//!
//! Its durable state is an `Image`, ahead of the committed one by what is still in flight: records are applied as they are
//! proposed, and nothing leaves before they are committed. Ids come in with the commands.
//!
//! Not here: agreement (`quorum`), and what brokers do about a change (`broker::reconcile`).

mod configs;
mod partitions;
mod placement;
mod topics;

pub use configs::Change;
pub use partitions::MorePartitions;
pub use placement::check_replicas;
pub use topics::{Created, NewTopic, TopicRef};

use crate::{
    cluster::{Image, Record, record::Resource},
    config::Config,
    ids::{NodeId, TopicId},
    machine::{BatchKind, Input, Machine, Mono, Now, Outcome},
    wire::ErrorCode,
};
use std::{collections::BTreeMap, ops::Range, sync::Arc};
use uuid::Uuid;

/// Records of one entry at most (Kafka's `QuorumController.MAX_RECORDS_PER_USER_OP`).
const RECORDS_MAX: usize = 10_000;
/// Producer ids handed to a broker at once (Kafka's `ProducerIdsBlock`).
const PRODUCER_ID_BLOCK: i64 = 1000;

/// What the machine is told once.
#[derive(Debug, Clone)]
pub struct Settings {
    /// This node's, as it was started.
    pub config: Arc<Config>,
    /// The cluster's id, if it has none yet.
    pub fresh_cluster_id: String,
}

/// Decides alone, for as long as it leads the quorum.
#[derive(Debug)]
pub struct Controller {
    image: Image,
    settings: Settings,
}

/// By what is durable.
impl PartialEq for Controller {
    fn eq(&self, other: &Controller) -> bool {
        self.image == other.image
    }
}

/// What can be asked of the controller.
#[derive(Debug)]
pub enum Command {
    RegisterBroker(Registration),
    CreateTopics {
        /// Each with the id it gets if it is created.
        topics: Vec<(TopicId, NewTopic)>,
        validate_only: bool,
    },
    DeleteTopics(Vec<TopicRef>),
    CreatePartitions {
        topics: Vec<MorePartitions>,
        validate_only: bool,
    },
    /// Each resource at most once.
    AlterConfigs {
        changes: Vec<(Resource, Change)>,
        validate_only: bool,
    },
    /// A block of producer ids that nobody else gets.
    AllocateProducerIds,
}

/// A broker that starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registration {
    pub node_id: NodeId,
    /// Another one at each start of the process.
    pub incarnation_id: Uuid,
    pub rack: Option<String>,
    /// Advertised addresses by listener name.
    pub listeners: BTreeMap<String, (String, u16)>,
}

/// What came of a command.
#[derive(Debug)]
pub struct Reply {
    /// Whoever has applied this many records knows everything the answer speaks of.
    pub offset: i64,
    pub answer: Answer,
}

/// A command's answer; the variant is the command's.
#[derive(Debug)]
pub enum Answer {
    Registered {
        broker_epoch: i64,
    },
    Created(Vec<(String, Result<Created, Refusal>)>),
    Deleted(Vec<(TopicRef, Result<(), Refusal>)>),
    Grown(Vec<(String, Result<(), Refusal>)>),
    /// In the order of the command.
    Altered(Vec<Result<(), Refusal>>),
    ProducerIds(Result<Range<i64>, ErrorCode>),
}

/// Why not: Kafka's code and Kafka's words, which tools print.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    pub code: ErrorCode,
    /// None: null on the wire.
    pub message: Option<String>,
}

impl Refusal {
    /// Words that quote the client at length are cut: a string of the older versions holds no more.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Refusal {
        let mut message = message.into();
        let fits = |at: &usize| message.is_char_boundary(*at);
        message.truncate((0..=i16::MAX as usize).rev().find(fits).unwrap_or(0));
        Refusal { code, message: Some(message) }
    }
}

impl From<ErrorCode> for Refusal {
    fn from(code: ErrorCode) -> Refusal {
        Refusal { code, message: None }
    }
}

impl Controller {
    /// Starts from what is committed.
    pub fn new(image: Image, settings: Settings) -> Controller {
        Controller { image, settings }
    }

    /// What is in effect on this node.
    fn config(&self) -> Config {
        self.image.config_of(NodeId(self.settings.config.node_id), &self.settings.config)
    }

    fn register(&self, broker: Registration, records: &mut Vec<Record>) -> Answer {
        let broker_epoch = self.image.offset + 1;
        records.push(Record::Broker {
            node_id: broker.node_id,
            broker_epoch,
            incarnation_id: broker.incarnation_id,
            rack: broker.rack,
            listeners: broker.listeners,
            fenced: false,
        });
        Answer::Registered { broker_epoch }
    }

    fn allocate_producer_ids(&self, records: &mut Vec<Record>) -> Answer {
        let first = self.image.next_producer_id();
        let Some(next_producer_id) = first.checked_add(PRODUCER_ID_BLOCK) else {
            return Answer::ProducerIds(Err(ErrorCode::UnknownServerError));
        };
        records.push(Record::ProducerIds { next_producer_id });
        Answer::ProducerIds(Ok(first..next_producer_id))
    }
}

impl Machine for Controller {
    type Command = Command;
    type Reply = Reply;
    type Record = Record;
    type Effect = ();
    type Event = ();

    fn apply(&mut self, record: &Record, _kind: BatchKind) {
        self.image.apply(record);
    }

    fn step(&mut self, _now: Now, input: Input<Self>, out: &mut Outcome<Self>) {
        let mut records = Vec::new();
        match input {
            Input::Elected { .. } => {
                if self.image.cluster_id().is_empty() {
                    let cluster_id = self.settings.fresh_cluster_id.clone();
                    records.push(Record::Cluster { cluster_id });
                }
            }
            Input::Command(caller, command) => {
                let answer = match command {
                    Command::RegisterBroker(broker) => self.register(broker, &mut records),
                    Command::CreateTopics { topics, validate_only } => {
                        Answer::Created(self.create_topics(topics, validate_only, &mut records))
                    }
                    Command::DeleteTopics(topics) => {
                        Answer::Deleted(self.delete_topics(topics, &mut records))
                    }
                    Command::CreatePartitions { topics, validate_only } => {
                        Answer::Grown(self.create_partitions(topics, validate_only, &mut records))
                    }
                    Command::AlterConfigs { changes, validate_only } => {
                        Answer::Altered(self.alter_configs(&changes, validate_only, &mut records))
                    }
                    Command::AllocateProducerIds => self.allocate_producer_ids(&mut records),
                };
                let offset = self.image.offset + records.len() as i64;
                out.reply(caller, Reply { offset, answer });
            }
            Input::Event(()) | Input::Tick => {}
        }
        records.into_iter().for_each(|record| out.write(record));
    }

    fn next_deadline(&self) -> Option<Mono> {
        None
    }
}

#[cfg(test)]
mod tests;
