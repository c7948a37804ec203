//! The store on disk: one RocksDB entry a batch for all logs, small batches inside it, large ones in segment files.
//!
//! `directory` is the data directory, `keys` and `values` what RocksDB holds, `writer` the one thread that changes it, `queue`
//! where it is told what to do, `syncer` the stage behind it that makes things durable, `recovery` how a log is opened,
//! `repair` what is left to try when RocksDB does not open, `reader` and `times` how a log is read. `io` has every call that
//! changes the disk.
//!
//! Order: an append is acknowledged as synced after segment files and write-ahead log are, in that order. What is taken
//! away is taken from RocksDB first, synced, and then from the files. An entry may so reach the disk before its bytes;
//! recovery looks at every entry above the recovery point, and cuts.
//!
//! Failures: below the reserve of free space appends are refused until twice the reserve is free; any other failure of a
//! write or sync stops writing until restart. Reads go on.

mod db;
mod directory;
mod files;
mod io;
mod keys;
mod log;
mod queue;
mod reader;
mod recovery;
mod repair;
mod syncer;
mod times;
mod totals;
mod trim;
mod values;
mod writer;

#[cfg(test)]
mod tests;

use super::slab::Pool;
use super::{
    Done, LogOptions, LogStore, NewBatch, OpenLog, Put, Read, ReadRequest, Space, StorageError,
    Summary, Volume,
};
use crate::ids::{LeaderEpoch, LogId, NodeId, Offset};
use crate::limits::OpenFiles;
use bytes::Bytes;
use db::{Db, Family};
use directory::{Directory, Identity};
use files::Files;
use io::Io;
use log::Log;
use parking_lot::{Mutex, RwLock};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::{ops::Range, thread};
use tokio::sync::oneshot;
use writer::Command;

/// Bytes of a slab for recent batches: every log that is written to holds one.
const TAIL_SLAB_BYTES: usize = 64 << 10;

/// What a refusal advises.
const ACCEPT: &str = "--accept-data-loss goes on with what can be saved";

/// How to open a data directory.
#[derive(Debug, Clone)]
pub struct RocksOptions {
    pub dir: PathBuf,
    pub node_id: NodeId,
    /// `log.dir.reserve.bytes`: appends are refused when less is free.
    pub reserve_bytes: u64,
    /// Go on although synced data is missing.
    pub accept_data_loss: bool,
}

/// Why a data directory cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("{} is in use by another process", .0.display())]
    Locked(PathBuf),
    #[error("{} has format {version}, written by a newer version of Ottla", .dir.display())]
    NewerFormat { dir: PathBuf, version: u32 },
    #[error("{} belongs to node {owner}, not to node {node}", .dir.display())]
    OtherNode { dir: PathBuf, owner: NodeId, node: NodeId },
    /// Synced data is missing or unreadable.
    #[error("{} is damaged: {what}", .dir.display())]
    Damaged { dir: PathBuf, what: String },
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// What the threads share.
struct Shared {
    db: Db,
    io: Arc<Io>,
    dir: Directory,
    files: Files,
    pool: Arc<Pool>,
    reserve_bytes: u64,
    /// Logs that are open.
    logs: RwLock<HashMap<LogId, Arc<Log>>>,
    /// Writing has stopped for good.
    failed: Mutex<Option<StorageError>>,
    /// The reserve is reached.
    full: AtomicBool,
}

impl Shared {
    fn log(&self, log: LogId) -> Result<Arc<Log>, StorageError> {
        self.logs.read().get(&log).cloned().ok_or(StorageError::NoSuchLog(log))
    }

    /// Stops writing for good and tells every log.
    fn stop(&self, error: StorageError) {
        let error = self.failed.lock().get_or_insert(error).clone();
        for log in self.logs.read().values() {
            log.fail(&error);
        }
    }

    fn failure(&self) -> Option<StorageError> {
        self.failed.lock().clone()
    }

    fn set_full(&self, full: bool) {
        if self.full.swap(full, Ordering::Relaxed) == full {
            return;
        }
        tracing::warn!(dir = %self.dir.path().display(), full, "the reserve of free space");
        for log in self.logs.read().values() {
            match full {
                true => log.fail(&StorageError::OutOfSpace),
                false => log.resume(),
            }
        }
    }
}

/// Held by each thread: one that panics stops writing, so that nobody waits for it.
struct StopOnPanic(Arc<Shared>);

impl Drop for StopOnPanic {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.stop(StorageError::Io("a thread of the store has panicked".into()));
        }
    }
}

/// A data directory that is open.
pub struct Rocks {
    shared: Arc<Shared>,
    commands: queue::Sender<Command>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    identity: Mutex<Identity>,
    /// The last log id given out; held while the command that keeps it is queued.
    last_log: Mutex<u32>,
}

impl Rocks {
    /// Locks and opens a data directory, creating it when it is not there. *Blocking.*
    pub fn open(options: RocksOptions) -> Result<Rocks, OpenError> {
        Rocks::open_with(options, Arc::new(Io::default()))
    }

    fn open_with(options: RocksOptions, io: Arc<Io>) -> Result<Rocks, OpenError> {
        let (mut dir, identity) = Directory::open(&options.dir, options.node_id)?;
        let damaged = |what: String| OpenError::Damaged { dir: options.dir.clone(), what };
        let refused = |what: String| damaged(format!("{what}; {ACCEPT}"));
        let db = match Db::open(&options.dir, io.clone(), options.accept_data_loss) {
            Err(error) if options.accept_data_loss => return Err(damaged(error.to_string())),
            opened => opened.map_err(|error| refused(error.to_string()))?,
        };
        dir.look_for_repair();
        let (found, synced) = (db.sequence(), dir.synced().unwrap_or(0));
        if found < synced {
            let what = format!("RocksDB ends at change {found}, but {synced} was synced");
            if !options.accept_data_loss {
                return Err(refused(what));
            }
            tracing::error!(dir = %options.dir.display(), "going on without synced data: {what}");
        }
        tracing::info!(
            dir = %options.dir.display(),
            id = %identity.directory_id,
            last_stop = ?dir.last_stop,
            "data directory opened"
        );
        dir.begin(&identity)?;
        dir.set_synced(found)?;
        db.anchor().map_err(|error| damaged(error.to_string()))?;
        let last_log = db.get(Family::State, &keys::last_log());
        let last_log = last_log.map_err(|error| damaged(error.to_string()))?;
        let last_log = last_log.as_deref().and_then(values::decode_last_log).unwrap_or(0);
        let shared = Arc::new(Shared {
            db,
            io,
            dir,
            files: Files::new(OpenFiles::of_process().store / 2),
            pool: Arc::new(Pool::new(TAIL_SLAB_BYTES)),
            reserve_bytes: options.reserve_bytes,
            logs: RwLock::default(),
            failed: Mutex::default(),
            full: AtomicBool::new(false),
        });
        recovery::remove_strays(&shared).map_err(|error| damaged(error.to_string()))?;
        let (commands, queue) = queue::queue();
        let (jobs, job_queue) = mpsc::channel();
        let syncing = (StopOnPanic(shared.clone()), commands.clone());
        let writing = StopOnPanic(shared.clone());
        let threads = vec![
            thread::Builder::new()
                .name("storage-sync".into())
                .spawn(move || syncer::run(&syncing.0.0, job_queue, &syncing.1))?,
            thread::Builder::new()
                .name("storage-write".into())
                .spawn(move || writer::run(&writing.0, &queue, jobs))?,
        ];
        Ok(Rocks {
            shared,
            commands,
            threads: Mutex::new(threads),
            identity: Mutex::new(identity),
            last_log: Mutex::new(last_log),
        })
    }

    /// What tests see and set of the calls that change the disk.
    #[cfg(test)]
    pub fn faults(&self) -> parking_lot::MutexGuard<'_, io::Faults> {
        self.shared.io.faults.lock()
    }

    /// The same, beyond the store's life.
    #[cfg(test)]
    pub fn io(&self) -> Arc<Io> {
        self.shared.io.clone()
    }

    fn send(&self, command: Command) {
        // The writing thread ends when the store closes; a reply dropped with its command says so.
        self.commands.send(command);
    }

    /// Queues a change of a log that is open.
    fn change(&self, log: LogId, command: impl FnOnce(Arc<Log>, writer::Reply) -> Command) -> Done {
        let (reply, done) = oneshot::channel();
        match self.shared.log(log) {
            Ok(log) => self.send(command(log, reply)),
            Err(error) => {
                let _ = reply.send(Err(error));
            }
        }
        done
    }

    fn exists(&self, log: LogId) -> Result<bool, StorageError> {
        let key = keys::single(keys::Kind::Exists, log);
        Ok(self.shared.db.get(Family::State, &key)?.is_some())
    }
}

impl Drop for Rocks {
    fn drop(&mut self) {
        self.send(Command::Stop);
        for thread in self.threads.lock().drain(..) {
            let _ = thread.join();
        }
    }
}

impl LogStore for Rocks {
    fn belongs_to(&self, cluster_id: &str) -> Result<(), StorageError> {
        let mut identity = self.identity.lock();
        match &identity.cluster_id {
            Some(owner) if owner == cluster_id => Ok(()),
            Some(owner) => Err(StorageError::Io(format!(
                "{} belongs to cluster {owner}, not to cluster {cluster_id}",
                self.shared.dir.path().display()
            ))),
            None => {
                let joined =
                    Identity { cluster_id: Some(cluster_id.to_owned()), ..identity.clone() };
                self.shared.dir.keep(&joined)?;
                *identity = joined;
                Ok(())
            }
        }
    }

    fn recovered(&self) -> Result<(), StorageError> {
        let all = recovery::existing(&self.shared)?;
        let open = self.shared.logs.read();
        // One that is opened only after the next start must be looked at then.
        if all.iter().all(|log| open.contains_key(log)) {
            self.shared.dir.note_recovered()?;
        }
        Ok(())
    }

    fn create(&self, _options: LogOptions) -> Result<LogId, StorageError> {
        let (reply, done) = oneshot::channel();
        let log = {
            let mut last_log = self.last_log.lock();
            *last_log += 1;
            self.send(Command::Create(LogId(*last_log), reply));
            LogId(*last_log)
        };
        done.blocking_recv().unwrap_or(Err(StorageError::Closed)).map(|()| log)
    }

    fn open(&self, log: LogId, options: LogOptions) -> Result<OpenLog, StorageError> {
        if !self.exists(log)? {
            return Err(StorageError::NoSuchLog(log));
        }
        let (opened, answer) = recovery::open(&self.shared, log, options)?;
        self.shared.logs.write().insert(log, opened.clone());
        if let Some(error) = self.shared.failure() {
            opened.fail(&error);
        } else if self.shared.full.load(Ordering::Relaxed) {
            opened.fail(&StorageError::OutOfSpace);
        }
        Ok(answer)
    }

    fn logs(&self) -> Result<Vec<LogId>, StorageError> {
        recovery::existing(&self.shared)
    }

    fn configure(&self, log: LogId, options: LogOptions) {
        if let Ok(log) = self.shared.log(log) {
            log.state.lock().options = options;
        }
    }

    fn delete(&self, log: LogId) -> Done {
        let (reply, done) = oneshot::channel();
        match self.exists(log) {
            Ok(true) => self.send(Command::Delete(log, reply)),
            result => {
                let error = result.err().unwrap_or(StorageError::NoSuchLog(log));
                let _ = reply.send(Err(error));
            }
        }
        done
    }

    fn append(&self, log: LogId, batch: NewBatch) {
        if let Ok(log) = self.shared.log(log) {
            self.commands.send_soon(Command::Append(log, batch));
        }
    }

    fn sync(&self, log: LogId) {
        if let Ok(log) = self.shared.log(log) {
            self.commands.send_soon(Command::Sync(log));
        }
    }

    fn truncate(&self, log: LogId, to: Offset) -> Done {
        self.change(log, |log, reply| Command::Truncate(log, to, reply))
    }

    fn restart_at(&self, log: LogId, start: Offset) -> Done {
        self.change(log, |log, reply| Command::RestartAt(log, start, reply))
    }

    fn set_log_start(&self, log: LogId, start: Offset) -> Done {
        self.change(log, |log, reply| Command::LogStart(log, start, reply))
    }

    fn set_high_watermark(&self, log: LogId, offset: Offset) {
        if let Ok(log) = self.shared.log(log) {
            self.commands.send_soon(Command::HighWatermark(log, offset));
        }
    }

    fn set_epoch_start(&self, log: LogId, epoch: LeaderEpoch, start: Offset) -> Done {
        self.change(log, |log, reply| Command::Epoch(log, epoch, start, reply))
    }

    fn put_snapshot(&self, log: LogId, offset: Offset, snapshot: Bytes) -> Done {
        self.change(log, |log, reply| Command::Snapshot(log, offset, snapshot, reply))
    }

    fn read_cached(&self, log: LogId, request: ReadRequest) -> Option<Result<Read, StorageError>> {
        let log = match self.shared.log(log) {
            Ok(log) => log,
            Err(error) => return Some(Err(error)),
        };
        reader::read_cached(&log, request)
    }

    fn read(&self, log: LogId, request: ReadRequest) -> Result<Read, StorageError> {
        reader::read(&self.shared, &*self.shared.log(log)?, request)
    }

    fn batch(&self, log: LogId, base_offset: Offset) -> Result<Bytes, StorageError> {
        reader::batch(&self.shared, &*self.shared.log(log)?, base_offset)
    }

    fn summaries(
        &self,
        log: LogId,
        from: Offset,
        end: Offset,
        max: usize,
    ) -> Result<Vec<Summary>, StorageError> {
        reader::summaries(&self.shared, &*self.shared.log(log)?, from, end, max)
    }

    fn first_at_or_after(
        &self,
        log: LogId,
        timestamp: i64,
        from: Offset,
        end: Offset,
    ) -> Result<Option<Summary>, StorageError> {
        times::first_at_or_after(&self.shared, &*self.shared.log(log)?, timestamp, from..end)
    }

    fn with_max_timestamp(
        &self,
        log: LogId,
        from: Offset,
        end: Offset,
    ) -> Result<Option<Summary>, StorageError> {
        times::with_max_timestamp(&self.shared, &*self.shared.log(log)?, from..end)
    }

    fn size(&self, log: LogId) -> u64 {
        self.shared.log(log).map_or(0, |log| log.state.lock().size())
    }

    fn volume(&self) -> Result<Option<Volume>, StorageError> {
        Ok(Some(self.shared.io.volume(self.shared.dir.path())?))
    }

    fn get(&self, space: Space, key: &[u8]) -> Result<Option<Bytes>, StorageError> {
        Ok(self.shared.db.get(Family::of(space), key)?.map(Bytes::from))
    }

    fn scan(
        &self,
        space: Space,
        keys: Range<Vec<u8>>,
        max: usize,
    ) -> Result<Vec<(Bytes, Bytes)>, StorageError> {
        reader::scan(&self.shared, Family::of(space), keys, max)
    }

    fn put(&self, changes: Vec<Put>, sync: bool) -> Done {
        let (reply, done) = oneshot::channel();
        self.send(Command::Put(changes, sync, reply));
        done
    }

    fn close(&self) -> Result<(), StorageError> {
        let (reply, done) = oneshot::channel();
        self.send(Command::Close(reply));
        let result = done.blocking_recv().unwrap_or(Err(StorageError::Closed));
        for thread in self.threads.lock().drain(..) {
            let _ = thread.join();
        }
        result
    }
}
