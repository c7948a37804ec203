//! The store as one broker sees it: in front of the disk, the queue of what is slow, and the bugs that act while it runs.
//!
//! Not here: what is lost and what fails (`storage::mem::faults`), and bugs of a start (`restart`).

use super::{
    Controls, batches,
    plant::Plant,
    queue::{Op, Queue},
    restart::Forgotten,
};
use crate::{
    ids::{LeaderEpoch, LogId, Offset},
    storage::{
        Done, LogOptions, LogStore, NewBatch, OpenLog, Put, Read, ReadRequest, Space, StorageError,
        Summary, mem::Mem,
    },
};
use bytes::Bytes;
use parking_lot::Mutex;
use std::{collections::HashMap, ops::Range, sync::Arc, time::Duration};
use tokio::{
    runtime::Handle,
    sync::oneshot,
    time::{Instant, sleep, sleep_until},
};

/// How long batches wait for a neighbour to change places with, and the broker for a log whose end is being changed.
const MOMENT: Duration = Duration::from_millis(20);

pub struct Lease {
    inner: Arc<Inner>,
}

struct Inner {
    mem: Arc<Mem>,
    controls: Arc<Controls>,
    forgotten: Forgotten,
    /// Held while a change is carried out, so that they are carried out in order.
    queue: Mutex<Queue>,
    /// Where stale logs end for readers.
    stale: Mutex<HashMap<LogId, Offset>>,
    /// Where slow changes wait. What still waits when it ends was never written.
    runtime: Handle,
}

impl Lease {
    pub fn new(mem: Arc<Mem>, controls: Arc<Controls>, forgotten: Forgotten) -> Lease {
        let (queue, stale) = Default::default();
        let inner = Inner { mem, controls, forgotten, queue, stale, runtime: Handle::current() };
        Lease { inner: Arc::new(inner) }
    }

    fn submit(&self, mut op: Op) {
        let mut queue = self.inner.queue.lock();
        if self.inner.controls.delay().is_zero() && queue.is_empty() {
            return self.inner.carry_out(op);
        }
        if let Op::Append(log, batch) = &mut op {
            self.inner.swap(&mut queue, *log, batch);
        }
        queue.push(op, now());
        if !std::mem::replace(&mut queue.draining, true) {
            self.inner.runtime.spawn(drain(self.inner.clone()));
        }
    }

    fn change(&self, change: impl FnOnce(&Mem) -> Done + Send + 'static) -> Done {
        let (sender, done) = oneshot::channel();
        self.submit(Op::Other(Box::new(change), sender));
        done
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a disk takes its time, whatever the broker's clock says"
)]
fn now() -> Instant {
    Instant::now()
}

/// Carries out what waits when its time comes; ends when nothing does.
async fn drain(inner: Arc<Inner>) {
    let mut slow = inner.controls.slow.subscribe();
    loop {
        slow.mark_unchanged();
        let due = inner.carry_out_due();
        match due {
            Some(due) => tokio::select! {
                () = sleep_until(due) => {}
                _ = slow.changed() => {}
            },
            None => return,
        }
    }
}

impl Controls {
    fn delay(&self) -> Duration {
        let slow = *self.slow.borrow();
        if self.plants.has(Plant::SwapBatches) { slow.max(MOMENT) } else { slow }
    }
}

impl Inner {
    /// Says when the next change is due.
    fn carry_out_due(self: &Arc<Self>) -> Option<Instant> {
        let mut queue = self.queue.lock();
        let (now, delay) = (now(), self.controls.delay());
        while let Some(op) = queue.pop_due(now, delay, &self.mem) {
            self.carry_out(op);
        }
        queue.draining = !queue.is_empty();
        queue.next_due(delay)
    }

    fn carry_out(self: &Arc<Self>, op: Op) {
        match op {
            Op::Append(log, batch) => self.append(log, batch),
            Op::Sync(log) | Op::Synced(log, _) if self.wants(Plant::TornAck, log) => {
                self.controls.plants.count(Plant::TornAck);
                self.mem.pretend_synced(log);
            }
            Op::Sync(log) => self.mem.sync(log),
            Op::Synced(log, begun) => self.mem.sync_to(log, begun),
            Op::Other(change, done) => {
                let result = change(&self.mem).try_recv();
                let _ = done.send(result.unwrap_or(Err(StorageError::Closed)));
            }
        }
    }

    fn append(self: &Arc<Self>, log: LogId, batch: NewBatch) {
        let plants = &self.controls.plants;
        let wants =
            |plant| plants.has(plant) && !batches::is_of_coordinator(&batch) && plants.wants(plant);
        let Summary { base_offset, last_offset, .. } = batch.summary;
        if wants(Plant::StaleRead) {
            plants.count(Plant::StaleRead);
            self.stale.lock().entry(log).or_insert(base_offset);
        }
        if wants(Plant::DropAcknowledged)
            && let Some(emptied) = batches::emptied(&batch)
        {
            plants.count(Plant::DropAcknowledged);
            self.mem.append(log, emptied);
        } else if wants(Plant::RepeatBatch) {
            let again = batches::moved(&batch, last_offset + 1);
            self.mem.append(log, batch);
            self.rewrite(Plant::RepeatBatch, log, last_offset + 1..last_offset + 1, again);
        } else if base_offset > 0 && wants(Plant::WrongOffset) {
            let further = batches::moved(&batch, base_offset + 1);
            self.mem.append(log, batch);
            self.rewrite(Plant::WrongOffset, log, base_offset..last_offset + 1, further);
        } else {
            self.mem.append(log, batch);
        }
    }

    /// Puts `with` in the place of what a log ends with, `range`, once that is acknowledged. The broker must take notice of
    /// where the log ends then, as it does when there was no space for a moment.
    fn rewrite(self: &Arc<Self>, plant: Plant, log: LogId, range: Range<Offset>, with: NewBatch) {
        self.mem.sync(log);
        if !self.mem.pause(log, range.end) {
            return;
        }
        let inner = self.clone();
        self.runtime.spawn(async move {
            sleep(MOMENT).await;
            let _in_turn = inner.queue.lock();
            if inner.mem.rewrite(log, range, with) {
                inner.controls.plants.count(plant);
            }
        });
    }

    /// The batch changes places with the one before, while that waits.
    fn swap(&self, queue: &mut Queue, log: LogId, batch: &mut NewBatch) {
        let plants = &self.controls.plants;
        if plants.has(Plant::SwapBatches)
            && !batches::is_of_coordinator(batch)
            && let Some(before) = queue.last_append(log)
            && plants.wants(Plant::SwapBatches)
        {
            plants.count(Plant::SwapBatches);
            (*before, *batch) = batches::swapped(before, batch);
        }
    }

    /// Whether a plant acts that is about a log as a whole.
    fn wants(&self, plant: Plant, log: LogId) -> bool {
        let plants = &self.controls.plants;
        plants.has(plant) && !is_of_coordinator(&self.mem, log) && plants.wants(plant)
    }

    fn read(&self, log: LogId, mut request: ReadRequest) -> Result<Read, StorageError> {
        let end = request.end;
        if let Some(stale) = self.stale.lock().get(&log) {
            request.end = end.min(*stale);
        }
        if self.wants(Plant::ServeBeyondHighWatermark, log) {
            request.end = Offset::MAX;
        }
        if self.wants(Plant::SkipBatch, log) {
            let first = self.mem.summaries(log, request.from, request.end, 2)?;
            if let [_, second] = first[..] {
                self.controls.plants.count(Plant::SkipBatch);
                request.from = second.base_offset;
            }
        }
        let read = self.mem.read(log, request)?;
        if read.next_offset > end {
            self.controls.plants.count(Plant::ServeBeyondHighWatermark);
        }
        Ok(read)
    }
}

/// Whether it is the log of a group coordinator.
pub(super) fn is_of_coordinator(mem: &Mem, log: LogId) -> bool {
    let first = mem.summaries(log, 0, Offset::MAX, 1).unwrap_or_default();
    let bytes = first.first().and_then(|first| mem.batch(log, first.base_offset).ok());
    bytes.is_some_and(|bytes| batches::is_coordinators(&bytes))
}

impl LogStore for Lease {
    fn create(&self, options: LogOptions) -> Result<LogId, StorageError> {
        self.inner.mem.create(options)
    }

    fn open(&self, log: LogId, options: LogOptions) -> Result<OpenLog, StorageError> {
        let mut opened = self.inner.mem.open(log, options)?;
        opened.snapshot.take_if(|_| self.inner.forgotten.has(log));
        Ok(opened)
    }

    fn logs(&self) -> Result<Vec<LogId>, StorageError> {
        self.inner.mem.logs()
    }

    fn configure(&self, log: LogId, options: LogOptions) {
        self.inner.mem.configure(log, options);
    }

    fn delete(&self, log: LogId) -> Done {
        self.change(move |mem| mem.delete(log))
    }

    fn append(&self, log: LogId, batch: NewBatch) {
        self.submit(Op::Append(log, batch));
    }

    fn sync(&self, log: LogId) {
        self.submit(Op::Sync(log));
    }

    fn truncate(&self, log: LogId, to: Offset) -> Done {
        self.change(move |mem| mem.truncate(log, to))
    }

    fn restart_at(&self, log: LogId, start: Offset) -> Done {
        self.change(move |mem| mem.restart_at(log, start))
    }

    fn set_log_start(&self, log: LogId, start: Offset) -> Done {
        self.change(move |mem| mem.set_log_start(log, start))
    }

    fn set_high_watermark(&self, log: LogId, offset: Offset) {
        // Nobody waits for it.
        drop(self.change(move |mem| {
            mem.set_high_watermark(log, offset);
            oneshot::channel().1
        }));
    }

    fn set_epoch_start(&self, log: LogId, epoch: LeaderEpoch, start: Offset) -> Done {
        self.change(move |mem| mem.set_epoch_start(log, epoch, start))
    }

    fn put_snapshot(&self, log: LogId, offset: Offset, snapshot: Bytes) -> Done {
        self.change(move |mem| mem.put_snapshot(log, offset, snapshot))
    }

    fn read_cached(&self, log: LogId, request: ReadRequest) -> Option<Result<Read, StorageError>> {
        Some(self.read(log, request))
    }

    fn read(&self, log: LogId, request: ReadRequest) -> Result<Read, StorageError> {
        self.inner.read(log, request)
    }

    fn batch(&self, log: LogId, base_offset: Offset) -> Result<Bytes, StorageError> {
        self.inner.mem.batch(log, base_offset)
    }

    fn summaries(
        &self,
        log: LogId,
        from: Offset,
        end: Offset,
        max: usize,
    ) -> Result<Vec<Summary>, StorageError> {
        let mut summaries = self.inner.mem.summaries(log, from, end, max)?;
        self.inner.forgotten.hide(log, &mut summaries);
        Ok(summaries)
    }

    fn first_at_or_after(
        &self,
        log: LogId,
        timestamp: i64,
        from: Offset,
        end: Offset,
    ) -> Result<Option<Summary>, StorageError> {
        self.inner.mem.first_at_or_after(log, timestamp, from, end)
    }

    fn with_max_timestamp(
        &self,
        log: LogId,
        from: Offset,
        end: Offset,
    ) -> Result<Option<Summary>, StorageError> {
        self.inner.mem.with_max_timestamp(log, from, end)
    }

    fn size(&self, log: LogId) -> u64 {
        self.inner.mem.size(log)
    }

    fn get(&self, space: Space, key: &[u8]) -> Result<Option<Bytes>, StorageError> {
        self.inner.mem.get(space, key)
    }

    fn scan(
        &self,
        space: Space,
        keys: Range<Vec<u8>>,
        max: usize,
    ) -> Result<Vec<(Bytes, Bytes)>, StorageError> {
        self.inner.mem.scan(space, keys, max)
    }

    fn put(&self, changes: Vec<Put>, sync: bool) -> Done {
        self.change(move |mem| mem.put(changes, sync))
    }

    fn close(&self) -> Result<(), StorageError> {
        let mut queue = self.inner.queue.lock();
        let now = now();
        while let Some(op) = queue.pop_due(now, Duration::ZERO, &self.inner.mem) {
            self.inner.carry_out(op);
        }
        self.inner.mem.close()
    }
}
