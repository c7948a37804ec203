//! One thin file per API, named after it. A handler checks the version, resolves names in the image, splits by partition,
//! calls handles, builds the response and maps errors. It keeps no state, decides no protocol rule, and never touches a
//! socket or storage.
//!
//! `handle(ctx, session, version, request) -> response` is the shape of all of them. Requests of one connection run one
//! after the other; only Produce is split into `begin` (in connection order) and a future, so that consecutive produces
//! overlap.

pub mod alter_configs;
pub mod alter_partition_reassignments;
pub mod alter_replica_log_dirs;
pub mod api_versions;
pub mod create_acls;
pub mod create_partitions;
pub mod create_topics;
pub mod delete_acls;
pub mod delete_groups;
pub mod delete_records;
pub mod delete_topics;
pub mod describe_acls;
pub mod describe_client_quotas;
pub mod describe_cluster;
pub mod describe_configs;
pub mod describe_groups;
pub mod describe_log_dirs;
pub mod describe_producers;
pub mod describe_quorum;
pub mod describe_topic_partitions;
pub mod describe_transactions;
pub mod describe_user_scram_credentials;
pub mod elect_leaders;
pub mod fetch;
pub mod find_coordinator;
pub mod heartbeat;
pub mod incremental_alter_configs;
pub mod init_producer_id;
pub mod join_group;
pub mod leave_group;
pub mod list_config_resources;
pub mod list_groups;
pub mod list_offsets;
pub mod list_partition_reassignments;
pub mod list_transactions;
mod messages;
pub mod metadata;
pub mod offset_commit;
pub mod offset_delete;
pub mod offset_fetch;
pub mod offset_for_leader_epoch;
pub mod produce;
pub mod sync_group;
pub mod update_features;

/// What answers are made of.
pub use crate::partition::{FileRange, Slice};
use crate::{
    cluster::Image,
    config::Config,
    controller, group,
    machine::clock::Clock,
    partition, session,
    session::Session,
    wire::{
        self, Api, DecodeError, ErrorCode, RequestHeader,
        protocol::{Decodable, Encodable},
    },
};
use arc_swap::ArcSwap;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use std::sync::Arc;
use tokio::{select, sync::watch};
use tracing::{debug, error};

/// Every API that is served, in key order. ApiVersions, the dispatch below and the README's table come from it.
pub const APIS: &[Api] = &[
    produce::API,
    fetch::API,
    list_offsets::API,
    metadata::API,
    offset_commit::API,
    offset_fetch::API,
    find_coordinator::API,
    join_group::API,
    heartbeat::API,
    leave_group::API,
    sync_group::API,
    describe_groups::API,
    list_groups::API,
    api_versions::API,
    create_topics::API,
    delete_topics::API,
    delete_records::API,
    init_producer_id::API,
    offset_for_leader_epoch::API,
    describe_acls::API,
    create_acls::API,
    delete_acls::API,
    describe_configs::API,
    alter_configs::API,
    alter_replica_log_dirs::API,
    describe_log_dirs::API,
    create_partitions::API,
    delete_groups::API,
    elect_leaders::API,
    incremental_alter_configs::API,
    alter_partition_reassignments::API,
    list_partition_reassignments::API,
    offset_delete::API,
    describe_client_quotas::API,
    describe_user_scram_credentials::API,
    describe_quorum::API,
    update_features::API,
    describe_cluster::API,
    describe_producers::API,
    describe_transactions::API,
    list_transactions::API,
    list_config_resources::API,
    describe_topic_partitions::API,
];

/// The served API of this key.
fn api(key: i16) -> Option<&'static Api> {
    let at = APIS.binary_search_by_key(&key, |api| api.key).ok()?;
    Some(&APIS[at])
}

/// What handlers may use. Shared by all connections of a broker.
pub struct Ctx {
    pub config: Arc<Config>,
    /// The committed image this node has applied.
    pub image: Arc<ArcSwap<Image>>,
    /// `config` under the dynamic settings of that image.
    pub in_effect: watch::Sender<Arc<Config>>,
    pub partitions: Arc<partition::Registry>,
    pub log_dir: partition::LogDir,
    pub groups: Arc<group::Coordinator>,
    pub controller: controller::Handle,
    pub fetch_sessions: session::fetch::Cache,
    /// Of answers on their way out.
    pub fetch_memory: fetch::Memory,
    pub clock: Clock,
    /// True when the broker stops: who waits for more answers with what there is.
    pub stopping: watch::Receiver<bool>,
}

impl Ctx {
    /// What is in effect on this broker.
    fn config_now(&self) -> Arc<Config> {
        self.in_effect.borrow().clone()
    }

    /// Asks a group's coordinator what may take long. Whoever still waits when the broker stops is told NOT_COORDINATOR and
    /// looks for another one at once, as on Kafka. Errors as `group::Coordinator::call`.
    async fn await_group(
        &self,
        group: &str,
        command: group::command::Command,
    ) -> Result<group::command::Reply, ErrorCode> {
        let mut stopping = self.stopping.clone();
        select! {
            biased;
            reply = self.groups.call(group, command) => reply,
            _ = stopping.wait_for(|stop| *stop) => Err(ErrorCode::NotCoordinator),
        }
    }
}

/// What a request gets.
pub enum Answer {
    /// A whole frame, length prefix included, in pieces: `Slice::File` is read as the socket drains.
    Reply(Vec<partition::Slice>),
    /// Nothing at all (acks=0).
    Silent,
    /// The connection is closed, after the answers before it have left.
    Close,
}

/// How far a request has come when its connection may go on reading.
pub enum Begun {
    Answered(Answer),
    /// Produce alone: queued in connection order, answered when this resolves.
    Later(BoxFuture<'static, Answer>),
}

/// Whether requests of this API may overlap on a connection.
pub fn overlaps(api_key: i16) -> bool {
    api_key == 0
}

/// Begins the request in `frame` (without its length prefix). Every earlier request of the connection has been answered,
/// unless both overlap.
///
/// What cannot be understood closes the connection, as Kafka does: an unknown key or version (ApiVersions alone answers
/// those, KIP-511), a body that does not decode.
pub async fn begin(ctx: &Arc<Ctx>, session: &mut Session, frame: Bytes) -> Begun {
    match begin_decoded(ctx, session, frame).await {
        Ok(begun) => begun,
        Err(error) => {
            debug!(peer = %session.peer, %error, "closing a connection: bad request");
            Begun::Answered(Answer::Close)
        }
    }
}

/// One request that was understood as far as its header. Its body is not here, so that what waits does not keep a frame.
#[derive(Clone, Copy)]
struct Call {
    api: &'static Api,
    version: i16,
    correlation_id: i32,
}

impl Call {
    fn decode<R: Decodable>(self, body: Bytes) -> Result<R, DecodeError> {
        wire::decode(self.api.key, self.version, body, true)
    }

    /// None closes the connection, as Kafka does where it takes exception to a request.
    fn answer_or_close<R: Encodable>(self, response: Option<R>) -> Answer {
        response.map_or(Answer::Close, |response| self.answer(response))
    }

    /// One that cannot be encoded is our own mistake: the connection is closed rather than desynchronised.
    fn answer<R: Encodable>(self, response: R) -> Answer {
        let Call { api, version, correlation_id } = self;
        match wire::encode_response(api, version, correlation_id, &response) {
            Ok(bytes) => Answer::Reply(vec![Slice::Bytes(bytes)]),
            Err(error) => {
                error!(api = api.name, version, %error, "a response could not be encoded");
                Answer::Close
            }
        }
    }
}

async fn begin_decoded(
    ctx: &Arc<Ctx>,
    session: &mut Session,
    mut body: Bytes,
) -> Result<Begun, DecodeError> {
    let (api_key, version) = RequestHeader::peek(&body)?;
    let unknown = DecodeError::UnknownRequest { api_key, version };
    let Some(api) = api(api_key) else { return Err(unknown) };
    let supported = (api.min..=api.max).contains(&version);
    if !supported && api.key != api_versions::API.key {
        return Err(unknown);
    }
    let header = RequestHeader::parse(&mut body, api)?;
    let call = Call { api, version, correlation_id: header.correlation_id };
    if !supported {
        let fallback = Call { version: 0, ..call };
        return Ok(Begun::Answered(fallback.answer(api_versions::unsupported())));
    }
    session.client_id.clear();
    session.client_id.push_str(header.client_id.as_deref().unwrap_or(""));
    if api.key == produce::API.key {
        let request = call.decode(body)?;
        let produced = produce::begin(ctx, session, version, request).await;
        return Ok(Begun::Later(Box::pin(async move {
            match produced.await {
                produce::Produced::Answer(response) => call.answer(response),
                produce::Produced::Silent => Answer::Silent,
                produce::Produced::Close => Answer::Close,
            }
        })));
    }
    // Boxed, so that an idle connection does not hold the room of the largest handler.
    Box::pin(answer(ctx, session, call, body)).await.map(Begun::Answered)
}

async fn answer(
    ctx: &Arc<Ctx>,
    session: &mut Session,
    call: Call,
    body: Bytes,
) -> Result<Answer, DecodeError> {
    let v = call.version;
    Ok(match call.api.key {
        1 => fetch::handle(ctx, session, v, call.correlation_id, call.decode(body)?).await,
        2 => call.answer(list_offsets::handle(ctx, session, v, call.decode(body)?).await),
        3 => call.answer(metadata::handle(ctx, session, v, call.decode(body)?).await),
        8 => call.answer(offset_commit::handle(ctx, session, v, call.decode(body)?).await),
        9 => call.answer(offset_fetch::handle(ctx, session, v, call.decode(body)?).await),
        10 => call.answer(find_coordinator::handle(ctx, session, v, call.decode(body)?).await),
        11 => call.answer(join_group::handle(ctx, session, v, call.decode(body)?).await),
        12 => call.answer(heartbeat::handle(ctx, session, v, call.decode(body)?).await),
        13 => call.answer(leave_group::handle(ctx, session, v, call.decode(body)?).await),
        14 => call.answer(sync_group::handle(ctx, session, v, call.decode(body)?).await),
        15 => call.answer(describe_groups::handle(ctx, session, v, call.decode(body)?).await),
        16 => call.answer(list_groups::handle(ctx, session, v, call.decode(body)?).await),
        18 => call.answer(api_versions::handle(ctx, session, v, call.decode(body)?)),
        19 => call.answer(create_topics::handle(ctx, session, v, call.decode(body)?).await),
        20 => call.answer(delete_topics::handle(ctx, session, v, call.decode(body)?).await),
        21 => call.answer(delete_records::handle(ctx, session, v, call.decode(body)?).await),
        22 => call.answer(init_producer_id::handle(ctx, session, v, call.decode(body)?).await),
        23 => {
            call.answer(offset_for_leader_epoch::handle(ctx, session, v, call.decode(body)?).await)
        }
        29 => {
            call.answer_or_close(describe_acls::handle(ctx, session, v, call.decode(body)?).await)
        }
        30 => call.answer_or_close(create_acls::handle(ctx, session, v, call.decode(body)?).await),
        31 => call.answer_or_close(delete_acls::handle(ctx, session, v, call.decode(body)?).await),
        32 => call.answer(describe_configs::handle(ctx, session, v, call.decode(body)?).await),
        33 => call.answer(alter_configs::handle(ctx, session, v, call.decode(body)?).await),
        34 => {
            call.answer(alter_replica_log_dirs::handle(ctx, session, v, call.decode(body)?).await)
        }
        35 => call.answer(describe_log_dirs::handle(ctx, session, v, call.decode(body)?).await),
        37 => call.answer(create_partitions::handle(ctx, session, v, call.decode(body)?).await),
        42 => call.answer(delete_groups::handle(ctx, session, v, call.decode(body)?).await),
        43 => call.answer(elect_leaders::handle(ctx, session, v, call.decode(body)?).await),
        44 => call
            .answer(incremental_alter_configs::handle(ctx, session, v, call.decode(body)?).await),
        45 => call.answer(
            alter_partition_reassignments::handle(ctx, session, v, call.decode(body)?).await,
        ),
        46 => call.answer(
            list_partition_reassignments::handle(ctx, session, v, call.decode(body)?).await,
        ),
        47 => call.answer(offset_delete::handle(ctx, session, v, call.decode(body)?).await),
        48 => {
            call.answer(describe_client_quotas::handle(ctx, session, v, call.decode(body)?).await)
        }
        50 => call.answer(
            describe_user_scram_credentials::handle(ctx, session, v, call.decode(body)?).await,
        ),
        55 => call.answer(describe_quorum::handle(ctx, session, v, call.decode(body)?).await),
        57 => call.answer(update_features::handle(ctx, session, v, call.decode(body)?).await),
        60 => call.answer(describe_cluster::handle(ctx, session, v, call.decode(body)?).await),
        61 => call.answer(describe_producers::handle(ctx, session, v, call.decode(body)?).await),
        65 => call.answer(describe_transactions::handle(ctx, session, v, call.decode(body)?).await),
        66 => call.answer(list_transactions::handle(ctx, session, v, call.decode(body)?).await),
        74 => call.answer(list_config_resources::handle(ctx, session, v, call.decode(body)?).await),
        75 => call
            .answer(describe_topic_partitions::handle(ctx, session, v, call.decode(body)?).await),
        key => unreachable!("key {key} is in APIS and has no arm"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn apis_are_in_key_order_so_that_they_can_be_searched() {
        assert!(APIS.windows(2).all(|pair| pair[0].key < pair[1].key));
    }
}
