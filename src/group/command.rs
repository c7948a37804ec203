//! What a shard can be asked and what it answers: the requests of Kafka's group APIs without their wire form.
//!
//! Everything is owned and copied: nothing here keeps a request's frame alive. `Debug` is short, for transcripts.

use crate::{ids::TopicId, wire::ErrorCode};
use bytes::Bytes;
use std::{collections::BTreeMap, fmt};
use uuid::Uuid;

/// The id of a group that can have members: not empty. Offsets can be kept under the empty id too, for old clients' sake.
pub fn group_id(id: &str) -> Result<String, ErrorCode> {
    if id.is_empty() { Err(ErrorCode::InvalidGroupId) } else { Ok(id.to_owned()) }
}

/// A question to a shard.
pub enum Command {
    Join(JoinGroup),
    Sync(SyncGroup),
    Heartbeat(Heartbeat),
    Leave {
        group: String,
        members: Vec<LeavingMember>,
    },
    Describe {
        groups: Vec<String>,
    },
    /// Empty filters let everything pass. Compared as Kafka does: trimmed and without case.
    List {
        states: Vec<String>,
        types: Vec<String>,
    },
    Delete {
        groups: Vec<String>,
    },
    Commit(OffsetCommit),
    /// No topics: all that has been committed.
    Fetch {
        group: String,
        topics: Option<Vec<(String, Vec<i32>)>>,
    },
    DeleteOffsets {
        group: String,
        topics: Vec<(String, Vec<i32>)>,
    },
}

/// The answer to the command of the same name.
pub enum Reply {
    Join(Result<Joined, JoinRefused>),
    Sync(Result<Synced, ErrorCode>),
    Heartbeat(Result<(), ErrorCode>),
    Leave(Result<Vec<LeftMember>, ErrorCode>),
    /// In the order asked.
    Describe(Vec<Described>),
    List(Vec<Listed>),
    Delete(Vec<(String, Result<(), ErrorCode>)>),
    Commit(PartitionResults),
    Fetch(Result<FetchedOffsets, ErrorCode>),
    DeleteOffsets(Result<PartitionResults, ErrorCode>),
}

/// Per topic, in the order asked: partitions and what became of them.
pub type PartitionResults = Vec<(String, Vec<(i32, Result<(), ErrorCode>)>)>;

/// Per topic, in the order asked or by name.
pub type FetchedOffsets = Vec<(String, Vec<FetchedOffset>)>;

/// A way to assign partitions that a member supports, and what it says for it (opaque).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Protocol {
    pub name: String,
    pub metadata: Bytes,
}

/// JoinGroup.
pub struct JoinGroup {
    pub group: String,
    /// Empty: a new member.
    pub member_id: String,
    /// KIP-345: a static member.
    pub instance_id: Option<String>,
    pub client_id: String,
    pub client_host: String,
    pub session_timeout_ms: i32,
    pub rebalance_timeout_ms: i32,
    pub protocol_type: String,
    /// In order of preference; of several with one name the first counts.
    pub protocols: Vec<Protocol>,
    /// A new dynamic member is first told its id and must join again with it (v4+, KIP-394).
    pub requires_known_member_id: bool,
    /// A leader can be told that nothing needs to be assigned (v9+, KIP-814).
    pub can_skip_assignment: bool,
    /// For the id of a new member.
    pub uuid: Uuid,
}

/// A member is in the next (or the current) generation.
pub struct Joined {
    pub generation: i32,
    pub protocol_type: Option<String>,
    pub protocol: Option<String>,
    pub leader: String,
    pub skip_assignment: bool,
    pub member_id: String,
    /// All members, for the leader alone.
    pub members: Vec<JoinedMember>,
}

/// What the leader learns of a member.
pub struct JoinedMember {
    pub member_id: String,
    pub instance_id: Option<String>,
    pub metadata: Bytes,
}

/// A member is not in the group.
pub struct JoinRefused {
    pub error: ErrorCode,
    /// The new id with MEMBER_ID_REQUIRED; else what the request named, or empty.
    pub member_id: String,
}

/// SyncGroup.
pub struct SyncGroup {
    pub group: String,
    pub member_id: String,
    pub instance_id: Option<String>,
    pub generation: i32,
    /// None: not checked (below v5).
    pub protocol_type: Option<String>,
    pub protocol: Option<String>,
    /// By member id; from the leader.
    pub assignments: Vec<(String, Bytes)>,
}

/// A member's share.
pub struct Synced {
    pub protocol_type: Option<String>,
    pub protocol: Option<String>,
    pub assignment: Bytes,
}

/// Heartbeat.
pub struct Heartbeat {
    pub group: String,
    pub member_id: String,
    pub instance_id: Option<String>,
    pub generation: i32,
}

/// A member that leaves or is made to.
pub struct LeavingMember {
    /// Empty: whoever holds `instance_id`.
    pub member_id: String,
    pub instance_id: Option<String>,
}

/// Whether it did.
pub struct LeftMember {
    pub member_id: String,
    pub instance_id: Option<String>,
    pub result: Result<(), ErrorCode>,
}

/// A group as DescribeGroups shows it.
pub struct Described {
    pub group: String,
    /// None: there is no such group.
    pub found: Option<Description>,
}

/// See `Described`.
pub struct Description {
    pub state: &'static str,
    pub protocol_type: String,
    /// Empty unless the group is stable.
    pub protocol: String,
    pub members: Vec<DescribedMember>,
}

/// See `Described`.
pub struct DescribedMember {
    pub member_id: String,
    pub instance_id: Option<String>,
    pub client_id: String,
    pub client_host: String,
    /// Empty unless the group is stable.
    pub metadata: Bytes,
    pub assignment: Bytes,
}

/// A group as ListGroups shows it.
pub struct Listed {
    pub group: String,
    pub protocol_type: String,
    pub state: &'static str,
}

/// OffsetCommit.
pub struct OffsetCommit {
    pub group: String,
    /// Empty: not a member.
    pub member_id: String,
    pub instance_id: Option<String>,
    /// -1: not a member.
    pub generation: i32,
    /// Milliseconds (v2-4); -1: the broker's.
    pub retention_ms: i64,
    /// Answer a generation of an unknown group with GROUP_ID_NOT_FOUND (v9+), else ILLEGAL_GENERATION.
    pub knows_group_id_not_found: bool,
    pub topics: Vec<(String, Vec<CommittedOffset>)>,
    /// The incarnation of each topic that is meant, as far as known.
    pub topic_ids: BTreeMap<String, TopicId>,
}

/// One partition of an OffsetCommit.
pub struct CommittedOffset {
    pub partition: i32,
    pub offset: i64,
    /// -1: not known.
    pub leader_epoch: i32,
    pub metadata: String,
}

/// One partition of an OffsetFetch; offset and epoch are -1 when nothing is committed.
pub struct FetchedOffset {
    pub partition: i32,
    pub offset: i64,
    pub leader_epoch: i32,
    pub metadata: String,
}

impl FetchedOffset {
    /// Bytes it takes in an answer, roughly.
    pub fn size(&self) -> usize {
        24 + self.metadata.len()
    }
}

impl fmt::Debug for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Command::Join(join) => join.fmt(f),
            Command::Sync(sync) => {
                write!(f, "Sync {} {}", sync.group, Member(&sync.member_id, &sync.instance_id))?;
                write!(f, " generation {}", sync.generation)?;
                sync.assignments.iter().try_for_each(|(id, bytes)| write!(f, " {id}={bytes:?}"))
            }
            Command::Heartbeat(it) => {
                write!(f, "Heartbeat {} {}", it.group, Member(&it.member_id, &it.instance_id))?;
                write!(f, " generation {}", it.generation)
            }
            Command::Leave { group, members } => {
                write!(f, "Leave {group}")?;
                members
                    .iter()
                    .try_for_each(|it| write!(f, " {}", Member(&it.member_id, &it.instance_id)))
            }
            Command::Describe { groups } => write!(f, "Describe {groups:?}"),
            Command::List { states, types } => write!(f, "List {states:?} {types:?}"),
            Command::Delete { groups } => write!(f, "Delete {groups:?}"),
            Command::Commit(commit) => {
                write!(f, "Commit {}", commit.group)?;
                write!(f, " {}", Member(&commit.member_id, &commit.instance_id))?;
                write!(f, " generation {}", commit.generation)?;
                for (topic, partitions) in &commit.topics {
                    for it in partitions {
                        write!(f, " {topic}-{}@{}", it.partition, it.offset)?;
                    }
                }
                Ok(())
            }
            Command::Fetch { group, topics: None } => write!(f, "Fetch {group} all"),
            Command::Fetch { group, topics: Some(topics) } => write!(f, "Fetch {group} {topics:?}"),
            Command::DeleteOffsets { group, topics } => {
                write!(f, "DeleteOffsets {group} {topics:?}")
            }
        }
    }
}

impl fmt::Debug for JoinGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Join {} {}", self.group, Member(&self.member_id, &self.instance_id))?;
        self.protocols.iter().try_for_each(|it| write!(f, " {}={:?}", it.name, it.metadata))
    }
}

impl fmt::Debug for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reply::Join(Ok(joined)) => joined.fmt(f),
            Reply::Join(Err(refused)) => {
                write!(f, "{:?} {}", refused.error, Member(&refused.member_id, &None))
            }
            Reply::Sync(Ok(synced)) => write!(f, "Synced {:?}", synced.assignment),
            Reply::Sync(Err(error)) | Reply::Heartbeat(Err(error)) => error.fmt(f),
            Reply::Heartbeat(Ok(())) => f.write_str("Ok"),
            Reply::Leave(Ok(members)) => {
                f.write_str("Left")?;
                members.iter().try_for_each(|it| {
                    write!(f, " {}", Member(&it.member_id, &it.instance_id))?;
                    it.result.as_ref().map_or_else(|error| write!(f, ":{error:?}"), |()| Ok(()))
                })
            }
            Reply::Leave(Err(error))
            | Reply::DeleteOffsets(Err(error))
            | Reply::Fetch(Err(error)) => error.fmt(f),
            Reply::Describe(groups) => {
                f.write_str("Described")?;
                groups.iter().try_for_each(|it| write!(f, " {it:?}"))
            }
            Reply::List(groups) => {
                f.write_str("Listed")?;
                groups.iter().try_for_each(|it| {
                    write!(f, " ({} {} {:?})", it.group, it.state, it.protocol_type)
                })
            }
            Reply::Delete(results) => {
                f.write_str("Deleted")?;
                results.iter().try_for_each(|(group, result)| match result {
                    Ok(()) => write!(f, " {group}"),
                    Err(error) => write!(f, " {group}:{error:?}"),
                })
            }
            Reply::Commit(results) | Reply::DeleteOffsets(Ok(results)) => {
                f.write_str("Offsets")?;
                results.iter().try_for_each(|(topic, partitions)| {
                    partitions.iter().try_for_each(|(index, result)| match result {
                        Ok(()) => write!(f, " {topic}-{index}"),
                        Err(error) => write!(f, " {topic}-{index}:{error:?}"),
                    })
                })
            }
            Reply::Fetch(Ok(topics)) => {
                f.write_str("Fetched")?;
                topics.iter().try_for_each(|(topic, partitions)| {
                    partitions.iter().try_for_each(|it| {
                        write!(f, " {topic}-{}@{} {:?}", it.partition, it.offset, it.metadata)
                    })
                })
            }
        }
    }
}

impl fmt::Debug for Joined {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Joined {} generation {}", self.member_id, self.generation)?;
        write!(f, " {:?} leader {}", self.protocol.as_deref().unwrap_or_default(), self.leader)?;
        if self.skip_assignment {
            f.write_str(" skip_assignment")?;
        }
        self.members.iter().try_for_each(|it| write!(f, " {}={:?}", it.member_id, it.metadata))
    }
}

impl fmt::Debug for Described {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(found) = &self.found else { return write!(f, "({} unknown)", self.group) };
        write!(f, "({} {} {:?}", self.group, found.state, found.protocol_type)?;
        write!(f, " {:?}", found.protocol)?;
        for it in &found.members {
            write!(f, " {}={:?}/{:?}", it.member_id, it.metadata, it.assignment)?;
        }
        f.write_str(")")
    }
}

/// A member as transcripts show it: `-` for no id, the instance id after a slash.
struct Member<'a>(&'a str, &'a Option<String>);

impl fmt::Display for Member<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_empty() { "-" } else { self.0 })?;
        self.1.as_ref().map_or(Ok(()), |instance| write!(f, "/{instance}"))
    }
}
