//! Fetch: v4-18.
//!
//! Versions: 5 log start offsets · 7 sessions (KIP-227) and a top-level error · 9 leader epochs (KIP-320) · 11 racks · 12
//! flexible, diverging epochs · 13 topic ids · 15 the replica's state is a tag · 16 where the leader is (KIP-951) · 17, 18
//! for followers of the metadata log.
//!
//! A partition that does not exist beside readable ones does not end the wait; an error while reading does, and an id whose
//! topic another one has replaced. All as in Kafka.
//! `reading` is one pass over the partitions, `waiting` what happens between two passes, `answer` what is said of them,
//! `memory` the broker's bound.

mod answer;
mod memory;
mod reading;
#[cfg(test)]
mod tests;
mod waiting;

pub use memory::Memory;

use super::{Answer, Ctx};
use crate::{
    ids::fresh_uuid,
    partition::Slice,
    session::{
        Session,
        fetch::{Key, Params, Request, TopicKey},
    },
    wire::{
        ErrorCode,
        api::Api,
        fetch::{Piece, encode},
        messages::{FetchRequest, fetch_request::FetchTopic},
    },
};
use answer::Answering;
use reading::{Limits, Pass, resolve};
use std::{sync::Arc, time::Duration};
use tokio::{select, time::timeout};
use tracing::error;
use uuid::Uuid;

pub const API: Api = Api::new(1, "Fetch", 4, 18, 12);

pub async fn handle(
    ctx: &Arc<Ctx>,
    session: &mut Session,
    version: i16,
    correlation_id: i32,
    request: FetchRequest,
) -> Answer {
    let from_follower = is_from_follower(version, &request);
    let limits = Limits::of(&request, from_follower, ctx.config.fetch_max_bytes);
    let max_wait = Duration::from_millis(request.max_wait_ms.max(0) as u64);
    let asked = session_request(version, from_follower, request);
    let mut context = ctx.fetch_sessions.begin(ctx.clock.now().mono.0, asked);

    let (mut targets, mut unknown) = resolve(ctx, context.wanted());
    context.learn(targets.iter().map(|target| (target.place, target.topic.name.as_str())));
    let replaced = unknown.iter().any(|(_, error)| *error == ErrorCode::InconsistentTopicId);
    let mut pass = Pass::read(&targets, &limits, &ctx.fetch_memory).await;
    if !targets.is_empty() && !max_wait.is_zero() && !replaced && !pass.is_enough(&limits) {
        let progress = pass.into_progress();
        let mut stopping = ctx.stopping.clone();
        let waited = async {
            select! {
                () = waiting::wait(&targets, progress, &limits) => {}
                _ = stopping.wait_for(|stop| *stop) => {}
            }
        };
        // Time over, something to say, or no more time: whichever it is, the answer is what is there now.
        let _ = timeout(max_wait, waited).await;
        // But for topics that are gone by now.
        (targets, unknown) = resolve(ctx, context.wanted());
        pass = Pass::read(&targets, &limits, &ctx.fetch_memory).await;
    }

    let image = ctx.image.load_full();
    let listener = ctx.config.listeners[session.listener].name.as_str();
    let mut answering = Answering::new(version, &limits, &image, listener);
    for (target, got) in targets.iter().zip(pass.got) {
        answering.add(target, got);
    }
    for (place, error) in unknown {
        answering.add_unknown(place, &context.wanted()[place].0, error);
    }
    let now_ms = ctx.clock.now().mono.0;
    let random = || fresh_uuid().as_u128() as u32;
    let verdict = context.finish(&ctx.fetch_sessions, now_ms, answering.outcomes(), random);
    let response = answering.response(verdict, context.wanted());
    match encode(&API, version, correlation_id, response, Slice::len) {
        Ok(pieces) => {
            let slices = pieces.into_iter().map(|piece| match piece {
                Piece::Bytes(bytes) => Slice::Bytes(bytes),
                Piece::Records(slice) => slice,
            });
            Answer::Reply(pass.held.until_sent(slices.collect()))
        }
        Err(error) => {
            error!(version, %error, "a Fetch answer could not be encoded");
            Answer::Close
        }
    }
}

fn is_from_follower(version: i16, request: &FetchRequest) -> bool {
    let replica = if version < 15 { request.replica_id } else { request.replica_state.replica_id };
    replica.0 >= 0
}

/// What of the request concerns its session, copied out of the frame.
fn session_request(version: i16, from_follower: bool, request: FetchRequest) -> Request {
    let forgotten = request.forgotten_topics_data.iter().flat_map(|topic| {
        let key = topic_key(version, &topic.topic, topic.topic_id);
        topic
            .partitions
            .iter()
            .map(move |partition| Key { topic: key.clone(), partition: *partition })
    });
    Request {
        version,
        session_id: request.session_id,
        session_epoch: request.session_epoch,
        privileged: from_follower,
        wanted: request.topics.iter().flat_map(|topic| wanted(version, topic)).collect(),
        forgotten: forgotten.collect(),
    }
}

fn wanted(version: i16, topic: &FetchTopic) -> impl Iterator<Item = (Key, Params)> {
    let key = topic_key(version, &topic.topic, topic.topic_id);
    topic.partitions.iter().map(move |partition| {
        let params = Params {
            fetch_offset: partition.fetch_offset,
            max_bytes: partition.partition_max_bytes,
            current_leader_epoch: partition.current_leader_epoch,
            last_fetched_epoch: partition.last_fetched_epoch,
            log_start_offset: partition.log_start_offset,
        };
        (Key { topic: key.clone(), partition: partition.partition }, params)
    })
}

fn topic_key(version: i16, name: &str, id: Uuid) -> TopicKey {
    if version < 13 { TopicKey::Name(name.into()) } else { TopicKey::Id(id, None) }
}
