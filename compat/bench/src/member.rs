//! A member of a classic consumer group, by hand: JoinGroup, SyncGroup, Heartbeat, LeaveGroup, in a thread of its own. It
//! tells in which generation it has settled; who judges what that means is the scenario. It owns no partitions.

use crate::{client::Connection, clock};
use anyhow::{Result, bail, ensure};
use bytes::{BufMut, Bytes, BytesMut};
use ottla::wire::{
    ErrorCode, StrBytes,
    messages::{
        FindCoordinatorRequest, GroupId, HeartbeatRequest, JoinGroupRequest, JoinGroupResponse,
        LeaveGroupRequest, SyncGroupRequest, join_group_request::JoinGroupRequestProtocol,
        sync_group_request::SyncGroupRequestAssignment,
    },
    text,
};
use std::{
    sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

const FIND_COORDINATOR_VERSION: i16 = 2;
const JOIN_VERSION: i16 = 5;
const SYNC_VERSION: i16 = 3;
const HEARTBEAT_VERSION: i16 = 3;
const LEAVE_VERSION: i16 = 2;
const SESSION_TIMEOUT: Duration = Duration::from_secs(45);
const REBALANCE_TIMEOUT: Duration = Duration::from_secs(60);
/// Before a request that cannot be served yet is sent again.
const AGAIN: Duration = Duration::from_millis(5);
/// How long a broker may take until it can coordinate.
const PATIENCE: Duration = Duration::from_secs(60);

/// A member is in a generation and has its assignment.
#[derive(Debug, Clone, Copy)]
pub struct Settled {
    /// The number the scenario gave it.
    pub member: usize,
    pub generation: i32,
    pub at: Instant,
}

/// A thread that is a member until it is told to leave.
pub struct Member {
    leave: Sender<()>,
    thread: JoinHandle<()>,
}

impl Member {
    /// `tell` hears when it has settled, every time, and why it has ended if that was not asked for.
    pub fn start(
        connection: Connection,
        group: &str,
        number: usize,
        heartbeat: Duration,
        tell: Sender<Result<Settled>>,
    ) -> Member {
        let (leave, told) = channel();
        let mut life = Life {
            connection,
            group: GroupId(text(group)),
            id: StrBytes::default(),
            generation: -1,
        };
        let thread = thread::spawn(move || {
            if let Err(error) = life.live(number, heartbeat, &tell, &told) {
                // Nobody listens when the scenario has its figures.
                let _ = tell.send(Err(error));
            }
        });
        Member { leave, thread }
    }
}

/// All leave their group, at once.
pub fn leave(members: Vec<Member>) {
    let threads: Vec<_> = members
        .into_iter()
        .map(|Member { leave, thread }| {
            drop(leave);
            thread
        })
        .collect();
    for thread in threads {
        // What it died of has been told.
        let _ = thread.join();
    }
}

/// Waits until the broker says that it coordinates the group.
pub fn find_coordinator(connection: &mut Connection, group: &str) -> Result<()> {
    let until = clock::now() + PATIENCE;
    let request = FindCoordinatorRequest::default().with_key(text(group));
    loop {
        let response = connection.call(FIND_COORDINATOR_VERSION, &request)?;
        if response.error_code == 0 {
            return Ok(());
        }
        ensure!(clock::now() < until, "FindCoordinator: error {}", response.error_code);
        thread::sleep(AGAIN);
    }
}

struct Life {
    connection: Connection,
    group: GroupId,
    /// Empty until the broker has given one.
    id: StrBytes,
    generation: i32,
}

impl Life {
    fn live(
        &mut self,
        number: usize,
        heartbeat: Duration,
        tell: &Sender<Result<Settled>>,
        told: &Receiver<()>,
    ) -> Result<()> {
        loop {
            let joined = self.join()?;
            if !self.sync(&joined)? {
                continue;
            }
            let news = Settled { member: number, generation: self.generation, at: clock::now() };
            if tell.send(Ok(news)).is_err() {
                return Ok(());
            }
            loop {
                if told.recv_timeout(heartbeat) != Err(RecvTimeoutError::Timeout) {
                    return self.leave();
                }
                if !self.heartbeat()? {
                    break;
                }
            }
        }
    }

    fn join(&mut self) -> Result<JoinGroupResponse> {
        let until = clock::now() + PATIENCE;
        loop {
            let protocol = JoinGroupRequestProtocol::default()
                .with_name(StrBytes::from_static_str("range"))
                .with_metadata(subscription());
            let request = JoinGroupRequest::default()
                .with_group_id(self.group.clone())
                .with_session_timeout_ms(SESSION_TIMEOUT.as_millis() as i32)
                .with_rebalance_timeout_ms(REBALANCE_TIMEOUT.as_millis() as i32)
                .with_member_id(self.id.clone())
                .with_protocol_type(StrBytes::from_static_str("consumer"))
                .with_protocols(vec![protocol]);
            let response = self.connection.call(JOIN_VERSION, &request)?;
            match error(response.error_code) {
                None => {
                    self.id = response.member_id.clone();
                    self.generation = response.generation_id;
                    return Ok(response);
                }
                Some(ErrorCode::MemberIdRequired) => self.id = response.member_id,
                Some(ErrorCode::UnknownMemberId) => self.id = StrBytes::default(),
                Some(code) if is_not_ready(code) => thread::sleep(AGAIN),
                Some(code) => bail!("JoinGroup: {code:?}"),
            }
            ensure!(clock::now() < until, "JoinGroup: no end");
        }
    }

    /// Whether the generation is still the group's.
    fn sync(&mut self, joined: &JoinGroupResponse) -> Result<bool> {
        let assignment = |member: StrBytes| {
            SyncGroupRequestAssignment::default()
                .with_member_id(member)
                .with_assignment(nothing_assigned())
        };
        let members = joined.members.iter().map(|member| member.member_id.clone());
        let request = SyncGroupRequest::default()
            .with_group_id(self.group.clone())
            .with_generation_id(self.generation)
            .with_member_id(self.id.clone())
            .with_assignments(members.map(assignment).collect());
        let response = self.connection.call(SYNC_VERSION, &request)?;
        goes_on("SyncGroup", response.error_code)
    }

    /// Whether the generation is still the group's.
    fn heartbeat(&mut self) -> Result<bool> {
        let request = HeartbeatRequest::default()
            .with_group_id(self.group.clone())
            .with_generation_id(self.generation)
            .with_member_id(self.id.clone());
        let response = self.connection.call(HEARTBEAT_VERSION, &request)?;
        goes_on("Heartbeat", response.error_code)
    }

    fn leave(&mut self) -> Result<()> {
        let request = LeaveGroupRequest::default()
            .with_group_id(self.group.clone())
            .with_member_id(self.id.clone());
        let response = self.connection.call(LEAVE_VERSION, &request)?;
        ensure!(response.error_code == 0, "LeaveGroup: error {}", response.error_code);
        Ok(())
    }
}

fn error(code: i16) -> Option<ErrorCode> {
    ErrorCode::try_from_code(code)
}

fn is_not_ready(code: ErrorCode) -> bool {
    use ErrorCode::{CoordinatorLoadInProgress, CoordinatorNotAvailable, NotCoordinator};
    matches!(code, CoordinatorLoadInProgress | CoordinatorNotAvailable | NotCoordinator)
}

/// False when the member has to join again.
fn goes_on(api: &str, code: i16) -> Result<bool> {
    use ErrorCode::{IllegalGeneration, RebalanceInProgress, UnknownMemberId};
    match error(code) {
        None => Ok(true),
        Some(RebalanceInProgress | IllegalGeneration | UnknownMemberId) => Ok(false),
        Some(code) => bail!("{api}: {code:?}"),
    }
}

/// `ConsumerProtocolSubscription` v0: one topic, no user data.
fn subscription() -> Bytes {
    let mut bytes = BytesMut::new();
    bytes.put_i16(0);
    bytes.put_i32(1);
    bytes.put_i16(5);
    bytes.put_slice(b"bench");
    bytes.put_i32(-1);
    bytes.freeze()
}

/// `ConsumerProtocolAssignment` v0 without partitions.
fn nothing_assigned() -> Bytes {
    let mut bytes = BytesMut::new();
    bytes.put_i16(0);
    bytes.put_i32(0);
    bytes.put_i32(-1);
    bytes.freeze()
}
