//! openraft's own suite over our storage, and what a restart finds.

use super::*;
use crate::{
    cluster::{Record, record::encode},
    storage::{LogStore, Put, Space, mem::Mem},
};
use openraft::{
    StorageError,
    testing::{StoreBuilder, Suite},
};

struct FreshStore;

impl StoreBuilder<TypeConfig, Log, State> for FreshStore {
    async fn build(&self) -> Result<((), Log, State), StorageError<u64>> {
        let values = Values::new(Arc::new(Mem::new()));
        let log = Log::open(values.clone(), false).await.unwrap();
        Ok(((), log, State::open(values).await?.0))
    }
}

#[test]
fn the_store_passes_openrafts_suite() {
    Suite::test_all(FreshStore).unwrap();
}

async fn start(store: &Arc<Mem>) -> (RaftQuorum, i32) {
    let mut quorum = RaftQuorum::start(NodeId(1), store.clone(), false).await.unwrap();
    let epoch = quorum.lead().await.unwrap();
    (quorum, epoch)
}

fn entry(next_producer_id: i64) -> String {
    encode(&[Record::ProducerIds { next_producer_id }])
}

#[tokio::test]
async fn what_is_committed_is_in_the_image_and_there_after_a_crash() {
    let disk = Arc::new(Mem::with_faults());
    let (mut quorum, first_epoch) = start(&disk).await;
    for id in 1..=300 {
        assert_eq!(quorum.propose(entry(id)).await, Ok(Ticket(id as u64)));
    }
    let mut committed = Ticket(0);
    while committed < Ticket(300) {
        committed = quorum.committed().await.unwrap();
        let image = quorum.images().borrow().clone();
        assert!(image.offset >= committed.0 as i64, "published before it is told");
    }
    // Only what was synced survives.
    let left = Arc::new(disk.crash(&mut |_| 0));
    drop(quorum);
    let (quorum, epoch) = start(&left).await;
    assert!(epoch >= first_epoch);
    let image = quorum.images().borrow().clone();
    assert_eq!((image.offset, image.next_producer_id()), (300, 300));
}

#[tokio::test]
async fn a_start_continues_from_snapshot_and_log() {
    let disk = Arc::new(Mem::with_faults());
    let (mut quorum, _) = start(&disk).await;
    for id in 1..=5 {
        quorum.propose(entry(id)).await.unwrap();
    }
    while quorum.committed().await.unwrap() < Ticket(5) {}
    quorum.raft.trigger().snapshot().await.unwrap();
    let mut metrics = quorum.raft.metrics();
    let taken = metrics.wait_for(|m| m.snapshot.is_some()).await.unwrap().snapshot.unwrap();
    quorum.raft.trigger().purge_log(taken.index).await.unwrap();
    metrics.wait_for(|m| m.purged == Some(taken)).await.unwrap();
    quorum.propose(entry(6)).await.unwrap();
    while quorum.committed().await.unwrap() < Ticket(6) {}

    let left = Arc::new(disk.crash(&mut |_| 0));
    let (quorum, _) = start(&left).await;
    let image = quorum.images().borrow().clone();
    assert_eq!((image.offset, image.next_producer_id()), (6, 6));
}

#[tokio::test]
async fn lost_synced_entries_are_refused_unless_accepted() {
    let disk = Arc::new(Mem::new());
    let (mut quorum, _) = start(&disk).await;
    for id in 1..=3 {
        quorum.propose(entry(id)).await.unwrap();
    }
    while quorum.committed().await.unwrap() < Ticket(3) {}
    let last = quorum.raft.metrics().borrow().last_log_index.unwrap();
    drop(quorum);
    let gone = last.to_be_bytes().to_vec()..vec![u8::MAX; 9];
    disk.put(vec![Put::DeleteRange(Space::RaftLog, gone)], true).await.unwrap().unwrap();

    let again = RaftQuorum::start(NodeId(1), disk.clone(), false).await;
    assert!(matches!(again, Err(StartError::Lost(_))), "{:?}", again.err());
    let mut accepted = RaftQuorum::start(NodeId(1), disk.clone(), true).await.unwrap();
    accepted.lead().await.unwrap();
    assert_eq!(accepted.images().borrow().next_producer_id(), 2);
}

#[tokio::test]
async fn a_store_that_fails_ends_the_leadership() {
    let disk = Arc::new(Mem::with_faults());
    let (mut quorum, _) = start(&disk).await;
    disk.fail_next_write();
    let proposed = quorum.propose(entry(1)).await;
    assert!(proposed.is_err() || quorum.committed().await.is_err());
}

/// One entry can be megabytes of configs, and ten thousand of them used to be kept.
#[tokio::test]
async fn large_entries_do_not_stay_in_the_log() {
    let disk = Arc::new(Mem::new());
    let (mut quorum, _) = start(&disk).await;
    let stored = || {
        let entries = disk.scan(Space::RaftLog, vec![]..vec![u8::MAX; 9], 1000).unwrap();
        entries.iter().map(|(_, entry)| entry.len()).sum::<usize>()
    };
    quorum.snapshot_after_bytes = 10 * entry(100).len();
    let mut longest = 0;
    for id in 100..200 {
        quorum.propose(entry(id)).await.unwrap();
        quorum.committed().await.unwrap();
        longest = longest.max(stored());
    }
    let one = stored() / disk.scan(Space::RaftLog, vec![]..vec![u8::MAX; 9], 1000).unwrap().len();
    assert!(longest < 35 * one, "{longest} bytes, {one} an entry");
    drop(quorum);
    let (quorum, _) = start(&disk).await;
    assert_eq!(quorum.images().borrow().next_producer_id(), 199);
    assert!(quorum.unkept_bytes > 0, "what is there counts");
}
