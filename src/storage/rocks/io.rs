//! Every call that changes the disk, in one place, so that tests can record their order and make each of them fail.
//!
//! Not here: reads, and what the calls are for.

use crate::storage::{StorageError, Volume};
use rustix::fs::statvfs;
use std::fs::{File, OpenOptions};
use std::io::{self, IoSlice};
use std::os::unix::fs::FileExt;
use std::path::Path;

/// What is done to the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Call {
    CreateFile,
    WriteSegment,
    WriteDb,
    SyncSegment,
    SyncDirectory,
    SyncWal,
    Cut,
    Unlink,
}

#[derive(Default)]
pub struct Io {
    #[cfg(test)]
    pub faults: parking_lot::Mutex<Faults>,
}

/// What tests see and set.
#[cfg(test)]
#[derive(Default)]
pub struct Faults {
    pub calls: Vec<Call>,
    /// The next such call fails.
    pub fail: Option<Call>,
    /// Free bytes of the disk, instead of the real ones.
    pub free: Option<u64>,
    /// How often they were looked at.
    pub looks: usize,
    /// How much of each file is synced, by inode.
    pub synced: std::collections::HashMap<u64, u64>,
}

#[cfg(test)]
impl Io {
    fn note_synced(&self, file: &std::fs::Metadata) {
        use std::os::unix::fs::MetadataExt;
        self.faults.lock().synced.insert(file.ino(), file.len());
    }

    /// Called before the write-ahead log in `directory` is synced: all of it will be.
    pub fn note_wal_synced(&self, directory: &Path) {
        for entry in std::fs::read_dir(directory).unwrap().flatten() {
            if entry.path().extension().is_some_and(|extension| extension == "log") {
                self.note_synced(&entry.metadata().unwrap());
            }
        }
    }
}

impl Io {
    /// Called before each change of the disk.
    pub fn enter(&self, call: Call) -> io::Result<()> {
        #[cfg(test)]
        {
            let mut faults = self.faults.lock();
            faults.calls.push(call);
            if faults.fail == Some(call) {
                faults.fail = None;
                return Err(io::Error::other(format!("injected: {call:?}")));
            }
        }
        let _ = call;
        Ok(())
    }

    /// Bytes this process may still write to the file system of `path`.
    pub fn free_bytes(&self, path: &Path) -> io::Result<u64> {
        #[cfg(test)]
        {
            let mut faults = self.faults.lock();
            faults.looks += 1;
            if let Some(free) = faults.free {
                return Ok(free);
            }
        }
        let stat = statvfs(path)?;
        Ok(stat.f_bavail.saturating_mul(stat.f_frsize))
    }

    /// The file system of `path`.
    pub fn volume(&self, path: &Path) -> io::Result<Volume> {
        let stat = statvfs(path)?;
        let total_bytes = stat.f_blocks.saturating_mul(stat.f_frsize);
        Ok(Volume { total_bytes, usable_bytes: self.free_bytes(path)? })
    }

    /// A new, empty file; whatever had its name before is unlinked, not overwritten: a reader may have it open.
    pub fn create(&self, path: &Path) -> io::Result<File> {
        self.enter(Call::CreateFile)?;
        match std::fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        OpenOptions::new().read(true).write(true).create_new(true).open(path)
    }

    /// Writes `head` and `body`, one after the other.
    pub fn write_at(&self, file: &File, at: u64, head: &[u8], body: &[u8]) -> io::Result<()> {
        self.enter(Call::WriteSegment)?;
        let written = rustix::io::pwritev(file, &[IoSlice::new(head), IoSlice::new(body)], at)?;
        if written < head.len() {
            file.write_all_at(&head[written..], at + written as u64)?;
            return file.write_all_at(body, at + head.len() as u64);
        }
        file.write_all_at(&body[written - head.len()..], at + written as u64)
    }

    pub fn sync_file(&self, file: &File) -> io::Result<()> {
        self.enter(Call::SyncSegment)?;
        #[cfg(test)]
        self.note_synced(&file.metadata()?);
        file.sync_data()
    }

    pub fn sync_directory(&self, path: &Path) -> io::Result<()> {
        self.enter(Call::SyncDirectory)?;
        File::open(path)?.sync_all()
    }

    pub fn cut(&self, path: &Path, len: u64) -> io::Result<()> {
        self.enter(Call::Cut)?;
        OpenOptions::new().write(true).open(path)?.set_len(len)
    }

    pub fn unlink(&self, path: &Path) -> io::Result<()> {
        self.enter(Call::Unlink)?;
        std::fs::remove_file(path)
    }

    pub fn unlink_all(&self, directory: &Path) -> io::Result<()> {
        self.enter(Call::Unlink)?;
        match std::fs::remove_dir_all(directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            result => result,
        }
    }
}

impl From<io::Error> for StorageError {
    fn from(error: io::Error) -> StorageError {
        StorageError::Io(error.to_string())
    }
}
