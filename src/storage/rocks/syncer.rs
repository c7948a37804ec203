//! The syncing stage: makes durable what the writing thread has written, while that goes on with the next group.
//!
//! One round takes every job that waits: the segment files of all of them, in parallel, then directories with new names,
//! then the write-ahead log, then what may only happen after that.

use super::log::Log;
use super::queue::Sender;
use super::values::Point;
use super::writer::{Command, Reply};
use super::{Shared, files};
use crate::ids::{LogId, Offset};
use crate::storage::StorageError;
use std::collections::BTreeSet;
use std::fs::File;
use std::path::PathBuf;
use std::sync::{Arc, mpsc};
use std::{io, thread};

/// Files synced at a time.
const SYNCS_AT_ONCE: usize = 4;

/// What is to be made durable, and what then.
#[derive(Default)]
pub struct Job {
    pub logs: Vec<LogSync>,
    pub after: Vec<After>,
    pub replies: Vec<Reply>,
}

/// One log up to `end`.
pub struct LogSync {
    pub log: Arc<Log>,
    pub end: Offset,
    pub files: Vec<Arc<File>>,
    pub directories: Vec<PathBuf>,
    /// The recovery point this makes, and the generation of offsets it belongs to.
    pub point: Option<(u64, Point)>,
}

/// What may go once it is durable that nothing refers to it.
pub enum After {
    /// Segment files of a log that have nothing at or above `start`: there the next file begins no later, or the log is
    /// `empty`. To begin below is not enough: where segments begin is counted anew at recovery, perhaps with other settings
    /// than the file was written with, so that one may begin in the middle of a file.
    UnlinkBelow { log: LogId, start: Offset, empty: bool },
    /// All of a log.
    UnlinkAll(LogId),
}

pub fn run(shared: &Shared, jobs: mpsc::Receiver<Job>, commands: &Sender<Command>) {
    while let Ok(first) = jobs.recv() {
        let mut round = first;
        for job in jobs.try_iter() {
            round.logs.extend(job.logs);
            round.after.extend(job.after);
            round.replies.extend(job.replies);
        }
        let result = match shared.failure() {
            Some(error) => Err(error),
            None => sync(shared, &round.logs),
        };
        match &result {
            Ok(()) => {
                for part in round.logs {
                    part.log.set_durable(part.end);
                    if let Some((generation, point)) = part.point {
                        commands.send(Command::Point(part.log, generation, point));
                    }
                }
                round.after.iter().for_each(|after| unlink(shared, after));
            }
            Err(error) => shared.stop(error.clone()),
        }
        for reply in round.replies {
            let _ = reply.send(result.clone());
        }
    }
}

fn sync(shared: &Shared, logs: &[LogSync]) -> Result<(), StorageError> {
    let refused = |error: io::Error| StorageError::Io(error.to_string());
    let files: Vec<&Arc<File>> = logs.iter().flat_map(|part| &part.files).collect();
    sync_files(shared, &files).map_err(refused)?;
    let directories: BTreeSet<&PathBuf> = logs.iter().flat_map(|part| &part.directories).collect();
    for directory in directories {
        match shared.io.sync_directory(directory) {
            // The log has been deleted meanwhile.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            result => result.map_err(refused)?,
        }
    }
    let sequence = shared.db.sequence();
    shared.db.sync_wal()?;
    shared.dir.set_synced(sequence).map_err(refused)
}

fn sync_files(shared: &Shared, files: &[&Arc<File>]) -> io::Result<()> {
    if let [file] = files {
        return shared.io.sync_file(file);
    }
    for some in files.chunks(SYNCS_AT_ONCE) {
        thread::scope(|scope| {
            let syncs: Vec<_> =
                some.iter().map(|file| scope.spawn(|| shared.io.sync_file(file))).collect();
            syncs.into_iter().try_for_each(|sync| {
                sync.join().unwrap_or_else(|_| Err(io::Error::other("a sync panicked")))
            })
        })?;
    }
    Ok(())
}

/// Files that cannot be unlinked cost space, nothing else.
fn unlink(shared: &Shared, after: &After) {
    let result = match after {
        After::UnlinkBelow { log, start, empty } => unlink_below(shared, *log, *start, *empty),
        After::UnlinkAll(log) => {
            shared.files.forget(*log);
            shared.io.unlink_all(&shared.dir.segments_of(*log))
        }
    };
    if let Err(error) = result {
        tracing::warn!(%error, "segment files stay behind");
    }
}

fn unlink_below(shared: &Shared, log: LogId, start: Offset, empty: bool) -> io::Result<()> {
    let bases: Vec<Offset> =
        files::list(&shared.dir, log)?.into_iter().map(|(base, _)| base).collect();
    unlink_if(shared, log, |base| {
        let next = bases.get(bases.partition_point(|other| *other <= base));
        base < start && (empty || next.is_some_and(|next| *next <= start))
    })
}

/// Unlinks the segment files of a log whose base offset is one of these.
pub fn unlink_if(shared: &Shared, log: LogId, which: impl Fn(Offset) -> bool) -> io::Result<()> {
    shared.files.forget(log);
    for (base, path) in files::list(&shared.dir, log)? {
        if which(base) {
            shared.io.unlink(&path)?;
        }
    }
    Ok(())
}
