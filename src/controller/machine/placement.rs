//! Which brokers replicate a new partition (Kafka's `StripedReplicaPlacer`, without racks).

use super::Refusal;
use crate::{
    cluster::{Image, record::PartitionState},
    ids::{LeaderEpoch, NodeId},
    wire::ErrorCode,
};
use std::collections::BTreeSet;

/// Replicas of `count` new partitions, spread evenly: each partition begins one broker after the one before it. Brokers
/// that are fenced come last. `seed` decides where the first begins.
pub fn place(
    image: &Image,
    count: usize,
    factor: i16,
    seed: i64,
) -> Result<Vec<PartitionState>, String> {
    let (fenced, live): (Vec<_>, Vec<_>) = image.brokers().partition(|broker| broker.fenced);
    let total = fenced.len() + live.len();
    if live.is_empty() {
        return Err("All brokers are currently fenced.".to_owned());
    }
    let wanted = usize::try_from(factor).unwrap_or_default();
    if wanted > total {
        return Err(format!(
            "The target replication factor of {factor} cannot be reached because only {total} \
             broker(s) are registered."
        ));
    }
    let at = |place: usize| live[place % live.len()].node_id;
    let start = seed.unsigned_abs() as usize % live.len();
    let replicas = |partition: usize| {
        let mut replicas: Vec<NodeId> =
            (0..wanted.min(live.len())).map(|i| at(start + partition + i)).collect();
        replicas.extend(fenced.iter().take(wanted - replicas.len()).map(|broker| broker.node_id));
        replicas
    };
    Ok((0..count)
        .map(|partition| fresh(image, replicas(partition)).expect("one is live"))
        .collect())
}

/// A partition with these replicas, as an operator wants it. `factor`: how many there must be, if that is known.
pub fn by_hand(
    image: &Image,
    partition: i32,
    replicas: &[i32],
    factor: Option<usize>,
) -> Result<PartitionState, Refusal> {
    check_replicas(image, replicas)?;
    if let Some(factor) = factor.filter(|factor| *factor != replicas.len()) {
        let count = replicas.len();
        return Err(invalid(format!(
            "{ASSIGNMENT} a partition with {count} replica(s), but this is not consistent with \
             previous partitions, which have {factor} replica(s)."
        )));
    }
    fresh(image, replicas.iter().map(|id| NodeId(*id)).collect()).ok_or_else(|| {
        invalid(format!(
            "All brokers specified in the manual partition assignment for partition {partition} \
             are fenced or in controlled shutdown."
        ))
    })
}

const ASSIGNMENT: &str = "The manual partition assignment includes";

fn invalid(message: String) -> Refusal {
    Refusal::new(ErrorCode::InvalidReplicaAssignment, message)
}

/// Whether these may be the replicas of a partition: registered brokers, each once
/// (`ReplicationControlManager.validateManualPartitionAssignment`).
pub fn check_replicas(image: &Image, replicas: &[i32]) -> Result<(), Refusal> {
    if replicas.is_empty() {
        return Err(invalid(format!("{ASSIGNMENT} an empty replica list.")));
    }
    let mut seen = BTreeSet::new();
    let mut sorted = replicas.to_vec();
    sorted.sort_unstable();
    for id in sorted {
        if image.broker(NodeId(id)).is_none() {
            return Err(invalid(format!(
                "{ASSIGNMENT} broker {id}, but no such broker is registered."
            )));
        }
        if !seen.insert(id) {
            return Err(invalid(format!("{ASSIGNMENT} the broker {id} more than once.")));
        }
    }
    Ok(())
}

/// A partition at the start of its life: whoever is not fenced is in sync, the first of them leads. None: all are fenced.
fn fresh(image: &Image, replicas: Vec<NodeId>) -> Option<PartitionState> {
    let live = |id: &&NodeId| image.broker(**id).is_some_and(|broker| !broker.fenced);
    let isr: Vec<NodeId> = replicas.iter().filter(live).copied().collect();
    let leader = *isr.first()?;
    Some(PartitionState {
        replicas,
        isr,
        leader: Some(leader),
        leader_epoch: LeaderEpoch(0),
        partition_epoch: 0,
    })
}
