//! ListPartitionReassignments: v0 (KIP-455). A node alone has nowhere to move a replica to: there are none.

use super::Ctx;
use crate::{
    session::Session,
    wire::{
        api::Api,
        messages::{ListPartitionReassignmentsRequest, ListPartitionReassignmentsResponse},
    },
};

pub const API: Api = Api::new(46, "ListPartitionReassignments", 0, 0, 0);

pub async fn handle(
    _ctx: &Ctx,
    _session: &mut Session,
    _version: i16,
    _request: ListPartitionReassignmentsRequest,
) -> ListPartitionReassignmentsResponse {
    ListPartitionReassignmentsResponse::default().with_error_message(None)
}
