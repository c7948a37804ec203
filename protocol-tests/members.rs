//! Members of classic groups: each with a connection of its own, as clients have.

use bytes::Bytes;
use kafka_protocol::messages::join_group_request::JoinGroupRequestProtocol;
use kafka_protocol::messages::leave_group_request::MemberIdentity;
use kafka_protocol::messages::sync_group_request::SyncGroupRequestAssignment;
use kafka_protocol::messages::{
    GroupId, HeartbeatRequest, JoinGroupRequest, JoinGroupResponse, LeaveGroupRequest,
    SyncGroupRequest, SyncGroupResponse,
};

use crate::client::{Client, call, text};
use crate::codes::{MEMBER_ID_REQUIRED, NONE, REBALANCE_IN_PROGRESS};
use crate::fixtures::until;

pub fn group_id(name: &str) -> GroupId {
    GroupId(text(name))
}

/// The oldest version that asks members to come back with their id.
pub const JOIN: i16 = 5;

pub fn join_request(group: &str, member_id: &str) -> JoinGroupRequest {
    JoinGroupRequest::default()
        .with_group_id(group_id(group))
        .with_session_timeout_ms(30_000)
        .with_rebalance_timeout_ms(30_000)
        .with_member_id(text(member_id))
        .with_protocol_type("consumer".into())
        .with_protocols(protocols(&["range"]))
}

pub fn protocols(names: &[&str]) -> Vec<JoinGroupRequestProtocol> {
    let protocol = |name: &&str| {
        JoinGroupRequestProtocol::default()
            .with_name(text(name))
            .with_metadata(subscription(&[name]))
    };
    names.iter().map(protocol).collect()
}

/// A consumer's subscription as clients write it (`ConsumerProtocolSubscription` v0).
pub fn subscription(topics: &[&str]) -> Bytes {
    let mut bytes = vec![0, 0];
    bytes.extend(i32::try_from(topics.len()).unwrap().to_be_bytes());
    for topic in topics {
        bytes.extend(i16::try_from(topic.len()).unwrap().to_be_bytes());
        bytes.extend(topic.as_bytes());
    }
    bytes.extend((-1i32).to_be_bytes());
    bytes.into()
}

pub struct Member {
    pub client: Client,
    pub group: String,
    pub id: String,
    pub instance: Option<String>,
    pub generation: i32,
    pub session_timeout_ms: i32,
    pub protocols: &'static [&'static str],
}

impl Member {
    /// Not in the group yet, but with an id.
    pub fn new(group: &str) -> Member {
        Member::with_protocols(group, &["range"])
    }

    pub fn with_protocols(group: &str, protocols: &'static [&'static str]) -> Member {
        let mut member = Member::unknown(group);
        member.protocols = protocols;
        let response = member.client.call(JOIN, &member.join_request());
        assert_eq!(response.error_code, MEMBER_ID_REQUIRED);
        member.id = response.member_id.to_string();
        member
    }

    /// Without an id.
    pub fn unknown(group: &str) -> Member {
        Member {
            client: Client::connect(),
            group: group.to_owned(),
            id: String::new(),
            instance: None,
            generation: -1,
            session_timeout_ms: 30_000,
            protocols: &["range"],
        }
    }

    /// The only member of a stable group in its first generation, with this assignment.
    pub fn alone(group: &str, assignment: &'static [u8]) -> Member {
        let mut member = Member::new(group);
        member.join();
        member.sync(&[assignment]);
        member
    }

    pub fn join(&mut self) -> JoinGroupResponse {
        let request = self.join_request();
        let response = self.client.call(JOIN, &request);
        self.joined(response)
    }

    pub fn join_request(&self) -> JoinGroupRequest {
        join_request(&self.group, &self.id)
            .with_group_instance_id(self.instance.as_deref().map(text))
            .with_session_timeout_ms(self.session_timeout_ms)
            .with_protocols(protocols(self.protocols))
    }

    pub fn joined(&mut self, response: JoinGroupResponse) -> JoinGroupResponse {
        assert_eq!(response.error_code, NONE, "{response:?}");
        assert_eq!(&*response.member_id, self.id);
        self.generation = response.generation_id;
        response
    }

    pub fn sync_request(&self, assignments: &[(&str, &'static [u8])]) -> SyncGroupRequest {
        let assignments = assignments
            .iter()
            .map(|(member, bytes)| {
                SyncGroupRequestAssignment::default()
                    .with_member_id(text(member))
                    .with_assignment(Bytes::from_static(bytes))
            })
            .collect();
        SyncGroupRequest::default()
            .with_group_id(group_id(&self.group))
            .with_generation_id(self.generation)
            .with_member_id(text(&self.id))
            .with_group_instance_id(self.instance.as_deref().map(text))
            .with_assignments(assignments)
    }

    /// As the leader: its own assignment; as a follower: none.
    pub fn sync(&mut self, own: &[&'static [u8]]) -> SyncGroupResponse {
        let id = self.id.clone();
        let assignments: Vec<_> = own.iter().map(|bytes| (id.as_str(), *bytes)).collect();
        let request = self.sync_request(&assignments);
        let response = self.client.call(3, &request);
        assert_eq!(response.error_code, NONE, "{response:?}");
        response
    }

    pub fn heartbeat_request(&self) -> HeartbeatRequest {
        HeartbeatRequest::default()
            .with_group_id(group_id(&self.group))
            .with_generation_id(self.generation)
            .with_member_id(text(&self.id))
            .with_group_instance_id(self.instance.as_deref().map(text))
    }

    pub fn heartbeat(&mut self) -> i16 {
        let request = self.heartbeat_request();
        self.client.call(3, &request).error_code
    }

    pub fn leave(&mut self) {
        let member = MemberIdentity::default().with_member_id(text(&self.id));
        let request = LeaveGroupRequest::default()
            .with_group_id(group_id(&self.group))
            .with_members(vec![member]);
        assert_eq!(self.client.call(3, &request).members[0].error_code, NONE);
    }

    /// Waits for the group's next rebalance.
    pub fn until_rebalance(&mut self) {
        until("the rebalance", || self.heartbeat() == REBALANCE_IN_PROGRESS);
    }
}

/// Two members that have joined generation 2 and not synced; the first leads.
pub fn two_joined(group: &str) -> (Member, Member) {
    let mut first = Member::alone(group, b"1");
    let mut second = Member::new(group);
    let request = second.join_request();
    let correlation = second.client.send(JOIN, &request);
    first.until_rebalance();
    first.join();
    let response = second.client.receive::<JoinGroupRequest>(JOIN, correlation);
    second.joined(response);
    assert_eq!((first.generation, second.generation), (2, 2));
    (first, second)
}

/// A stable group of two; `first` leads.
pub fn two_stable(group: &str) -> (Member, Member) {
    let (mut first, mut second) = two_joined(group);
    let assignments = [(&*first.id.clone(), &b"one"[..]), (&*second.id.clone(), &b"two"[..])];
    let request = first.sync_request(&assignments);
    assert_eq!(first.client.call(3, &request).error_code, NONE);
    second.sync(&[]);
    (first, second)
}

/// A heartbeat of whoever this is.
pub fn heartbeat(version: i16, group: &str, member: &str, generation: i32) -> i16 {
    let request = HeartbeatRequest::default()
        .with_group_id(group_id(group))
        .with_generation_id(generation)
        .with_member_id(text(member));
    call(version, &request).error_code
}
