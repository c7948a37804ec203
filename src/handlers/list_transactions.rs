//! ListTransactions: v0-2.
//!
//! Versions: 1 duration filter (KIP-994) · 2 pattern of transactional ids (KIP-1152). There are no transactions yet, so none is
//! listed; filters are checked all the same.
//!
//! Not here: which patterns are regular expressions (`config::pattern`).

use super::Ctx;
use crate::{
    config::pattern,
    session::Session,
    wire::{
        ErrorCode,
        api::Api,
        messages::{ListTransactionsRequest, ListTransactionsResponse},
    },
};
use std::collections::BTreeSet;

pub const API: Api = Api::new(66, "ListTransactions", 0, 2, 0);

/// Kafka's `TransactionState`.
const STATES: [&str; 8] = [
    "Empty",
    "Ongoing",
    "PrepareCommit",
    "PrepareAbort",
    "CompleteCommit",
    "CompleteAbort",
    "Dead",
    "PrepareEpochFence",
];

pub async fn handle(
    _ctx: &Ctx,
    _session: &mut Session,
    _version: i16,
    request: ListTransactionsRequest,
) -> ListTransactionsResponse {
    let pattern = request.transactional_id_pattern.unwrap_or_default();
    if !pattern::is_re2(&pattern) {
        let code = ErrorCode::InvalidRegularExpression.code();
        return ListTransactionsResponse::default().with_error_code(code);
    }
    let unknown: BTreeSet<_> =
        request.state_filters.into_iter().filter(|state| !STATES.contains(&&**state)).collect();
    ListTransactionsResponse::default().with_unknown_state_filters(unknown.into_iter().collect())
}
