//! InitProducerId: v0-5, without transactions.
//!
//! Versions: 2 flexible · 3 a producer id to go on with (KIP-360) · 4 PRODUCER_FENCED · 5 TRANSACTION_ABORTABLE.
//! Without a transactional id every producer gets a fresh id at epoch 0, whatever it had (as Kafka's
//! `TransactionCoordinator`). Not here: transactional ids; until there is a coordinator they are told to retry.

use super::Ctx;
use crate::{
    session::Session,
    wire::{
        ErrorCode,
        api::Api,
        messages::{InitProducerIdRequest, InitProducerIdResponse, ProducerId},
    },
};

pub const API: Api = Api::new(22, "InitProducerId", 0, 5, 2);

pub async fn handle(
    ctx: &Ctx,
    _session: &mut Session,
    _version: i16,
    request: InitProducerIdRequest,
) -> InitProducerIdResponse {
    let half_given = (request.producer_id.0 == -1) != (request.producer_epoch == -1);
    let allocated = match &request.transactional_id {
        _ if half_given => Err(ErrorCode::InvalidRequest),
        None => ctx.controller.allocate_producer_id().await,
        Some(id) if id.is_empty() => Err(ErrorCode::InvalidRequest),
        Some(_) => Err(ErrorCode::CoordinatorNotAvailable),
    };
    match allocated {
        Ok(id) => InitProducerIdResponse::default()
            .with_producer_id(ProducerId(id.0))
            .with_producer_epoch(0),
        Err(code) => InitProducerIdResponse::default()
            .with_error_code(code.code())
            .with_producer_id(ProducerId(-1))
            .with_producer_epoch(-1),
    }
}
