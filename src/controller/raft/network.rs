//! Where other voters will be reached. There are none yet: whoever asks is told that they cannot be.

use super::TypeConfig;
use openraft::{
    BasicNode, RaftNetwork, RaftNetworkFactory,
    error::{InstallSnapshotError, RPCError, RaftError, Unreachable},
    network::RPCOption,
    raft::{
        AppendEntriesRequest, AppendEntriesResponse, InstallSnapshotRequest,
        InstallSnapshotResponse, VoteRequest, VoteResponse,
    },
};
use std::io;

/// The network of a quorum of one.
pub struct NoPeers;

type Answer<T, E = RaftError<u64>> = Result<T, RPCError<u64, BasicNode, E>>;

fn unreachable() -> Unreachable {
    Unreachable::new(&io::Error::new(io::ErrorKind::NotConnected, "this quorum has one voter"))
}

impl RaftNetworkFactory<TypeConfig> for NoPeers {
    type Network = NoPeers;

    async fn new_client(&mut self, _target: u64, _node: &BasicNode) -> NoPeers {
        NoPeers
    }
}

impl RaftNetwork<TypeConfig> for NoPeers {
    async fn append_entries(
        &mut self,
        _request: AppendEntriesRequest<TypeConfig>,
        _option: RPCOption,
    ) -> Answer<AppendEntriesResponse<u64>> {
        Err(unreachable().into())
    }

    async fn install_snapshot(
        &mut self,
        _request: InstallSnapshotRequest<TypeConfig>,
        _option: RPCOption,
    ) -> Answer<InstallSnapshotResponse<u64>, RaftError<u64, InstallSnapshotError>> {
        Err(unreachable().into())
    }

    async fn vote(
        &mut self,
        _request: VoteRequest<u64>,
        _option: RPCOption,
    ) -> Answer<VoteResponse<u64>> {
        Err(unreachable().into())
    }
}
