//! A fetch that waits for more (Kafka's `DelayedFetch`, without a purgatory: a parked fetch is a future). It holds no
//! records meanwhile, only how far it has read; a partition is looked at again when its view changes.

use super::reading::{Limits, Progress, Target, count};
use crate::{limits::FILE_PIECE_BYTES_MAX, partition::View};
use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::sync::watch;

/// Returns when there are `min_bytes` to read, or something else to say of a partition. `progress` is that of `targets`.
pub(super) async fn wait(targets: &[Target], mut progress: Vec<Progress>, limits: &Limits) {
    let mut missing =
        limits.min_bytes.saturating_sub(progress.iter().map(|at| at.bytes).sum::<usize>());
    let mut changes = FuturesUnordered::new();
    for (at, target) in targets.iter().enumerate() {
        let Some(handle) = &target.handle else { return };
        let mut views = handle.watch();
        // Marked as seen before it is looked at, so that no change is missed.
        let view = *views.borrow_and_update();
        if settles(target, &mut progress[at], view, limits, &mut missing).await {
            return;
        }
        changes.push(changed(at, views));
    }
    while let Some((at, seen)) = changes.next().await {
        let Some((view, views)) = seen else { return };
        if settles(&targets[at], &mut progress[at], view, limits, &mut missing).await {
            return;
        }
        changes.push(changed(at, views));
    }
}

/// The next view of a partition; None when its replica has ended.
async fn changed(
    at: usize,
    mut views: watch::Receiver<View>,
) -> (usize, Option<(View, watch::Receiver<View>)>) {
    if views.changed().await.is_err() {
        return (at, None);
    }
    let view = *views.borrow_and_update();
    (at, Some((view, views)))
}

/// Whether the wait is over, this partition being at `view`.
async fn settles(
    target: &Target,
    progress: &mut Progress,
    view: View,
    limits: &Limits,
    missing: &mut usize,
) -> bool {
    let Some(handle) = &target.handle else { return true };
    if !view.leading
        || view.leader_epoch != progress.leader_epoch
        || target.params.fetch_offset < view.log_start
    {
        return true;
    }
    let end = view.end(limits.isolation);
    let partition_max = count(target.params.max_bytes);
    while progress.next_offset < end && progress.bytes < partition_max {
        if *missing <= 1 {
            return true;
        }
        // What is read here is only counted: no more of it at a time than is missing, nor than a piece of a file.
        let left = partition_max - progress.bytes;
        let room = left.min(*missing).min(FILE_PIECE_BYTES_MAX);
        let read = handle.read(progress.next_offset, limits.isolation, room, true, room).await;
        let Ok(read) = read else { return true };
        if read.bytes == 0 {
            return false;
        }
        let more = read.bytes.min(left);
        progress.bytes += more;
        progress.next_offset = read.next_offset;
        *missing = missing.saturating_sub(more);
    }
    *missing == 0
}
