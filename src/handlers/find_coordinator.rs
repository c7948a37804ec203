//! FindCoordinator: v0-6.
//!
//! Versions: 1 key type, throttle time, error message · 3 flexible · 4 several keys (KIP-699) · 6 share groups (KIP-932),
//! which are not served.
//! A group's coordinator is the leader of its partition of `__consumer_offsets`, at the listener that was asked. The topic
//! is created when it is first needed, and the answer waits for that. Transactions have no coordinator yet.

use super::Ctx;
use crate::{
    cluster::Image,
    session::Session,
    wire::{
        Api, ErrorCode, StrBytes,
        messages::{
            BrokerId, FindCoordinatorRequest, FindCoordinatorResponse,
            find_coordinator_response::Coordinator,
        },
        text,
    },
};

pub const API: Api = Api::new(10, "FindCoordinator", 0, 6, 3);

const GROUP: i8 = 0;
const TRANSACTION: i8 = 1;
const SHARE: i8 = 2;
const OFFSETS_TOPIC: &str = "__consumer_offsets";

/// Where a coordinator listens.
struct Node {
    id: i32,
    host: String,
    port: u16,
}

pub async fn handle(
    ctx: &Ctx,
    session: &mut Session,
    version: i16,
    request: FindCoordinatorRequest,
) -> FindCoordinatorResponse {
    if version < 4 {
        let found = find(ctx, session, request.key_type, &request.key).await;
        let response = FindCoordinatorResponse::default();
        return match found {
            Ok(node) => response
                .with_error_message(Some(StrBytes::from_static_str("NONE")))
                .with_node_id(BrokerId(node.id))
                .with_host(StrBytes::from_string(node.host))
                .with_port(node.port.into()),
            Err(error) => response
                .with_error_code(error.code())
                .with_error_message(Some(text(message(error))))
                .with_node_id(BrokerId(-1))
                .with_port(-1),
        };
    }
    let mut coordinators = Vec::with_capacity(request.coordinator_keys.len());
    for key in &request.coordinator_keys {
        let coordinator = Coordinator::default().with_key(text(key));
        coordinators.push(match find(ctx, session, request.key_type, key).await {
            Ok(node) => coordinator
                .with_node_id(BrokerId(node.id))
                .with_host(StrBytes::from_string(node.host))
                .with_port(node.port.into()),
            Err(error) => {
                let is_known = (GROUP..=SHARE).contains(&request.key_type);
                let message = if is_known { "" } else { message(error) };
                coordinator
                    .with_error_code(error.code())
                    .with_error_message(Some(text(message)))
                    .with_node_id(BrokerId(-1))
                    .with_port(-1)
            }
        });
    }
    FindCoordinatorResponse::default().with_coordinators(coordinators)
}

async fn find(ctx: &Ctx, session: &Session, key_type: i8, key: &str) -> Result<Node, ErrorCode> {
    match key_type {
        GROUP => {}
        TRANSACTION => return Err(ErrorCode::CoordinatorNotAvailable),
        _ => return Err(ErrorCode::InvalidRequest),
    }
    if ctx.image.load().topic(OFFSETS_TOPIC).is_none() {
        let created = ctx.controller.create_internal_topic(OFFSETS_TOPIC).await;
        created.map_err(|_| ErrorCode::CoordinatorNotAvailable)?;
    }
    let listener = &ctx.config.listeners[session.listener].name;
    leader(&ctx.image.load(), ctx.groups.partition_for(key), listener)
        .ok_or(ErrorCode::CoordinatorNotAvailable)
}

fn leader(image: &Image, partition: usize, listener: &str) -> Option<Node> {
    let leader = image.topic(OFFSETS_TOPIC)?.partitions.get(partition)?.leader?;
    let broker = image.broker(leader).filter(|it| !it.fenced)?;
    let (host, port) = broker.listeners.get(listener)?;
    Some(Node { id: leader.0, host: host.clone(), port: *port })
}

/// Kafka's words.
fn message(error: ErrorCode) -> &'static str {
    match error {
        ErrorCode::CoordinatorNotAvailable => "The coordinator is not available.",
        _ => {
            "This most likely occurs because of a request being malformed by the client library or the message was sent \
             to an incompatible broker. See the broker logs for more details."
        }
    }
}
