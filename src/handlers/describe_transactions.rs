//! DescribeTransactions: v0 (KIP-664). There are no transactions yet: nobody has a transactional id.

use super::Ctx;
use crate::{
    session::Session,
    wire::{
        ErrorCode,
        api::Api,
        messages::{
            DescribeTransactionsRequest, DescribeTransactionsResponse,
            describe_transactions_response::TransactionState,
        },
    },
};

pub const API: Api = Api::new(65, "DescribeTransactions", 0, 0, 0);

pub async fn handle(
    _ctx: &Ctx,
    _session: &mut Session,
    _version: i16,
    request: DescribeTransactionsRequest,
) -> DescribeTransactionsResponse {
    let states = request.transactional_ids.into_iter().map(|id| {
        let code = match id.as_str() {
            "" => ErrorCode::InvalidRequest,
            _ => ErrorCode::TransactionalIdNotFound,
        };
        TransactionState::default()
            .with_error_code(code.code())
            .with_transactional_id(id)
            .with_producer_id(0.into())
    });
    DescribeTransactionsResponse::default().with_transaction_states(states.collect())
}
