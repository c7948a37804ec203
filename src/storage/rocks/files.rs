//! Segment files: opening them, checking what they hold before it is served, and their ends.
//!
//! A file is written by one process only: after a restart the next large batch begins a new one, so that an entry never
//! points into bytes an earlier process may have left.

use super::directory::{Directory, segment_base, segment_name};
use super::io::Io;
use crate::ids::{LogId, Offset};
use crate::storage::{CHECKSUM_FROM, Summary};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Arc;

/// Segment files kept open for readers, when the process may open so many.
const OPEN_FILES_MAX: usize = 256;
/// Bytes of a segment in memory at a time while it is checked.
const PIECE_BYTES: usize = 256 << 10;

pub struct Files {
    open: Mutex<HashMap<(LogId, Offset), Arc<File>>>,
    open_max: usize,
    /// Files that may grow at a time.
    pub growing_max: usize,
}

impl Files {
    /// `max` of them open at a time.
    pub fn new(max: usize) -> Files {
        let open = Mutex::default();
        Files { open, open_max: OPEN_FILES_MAX.min(max / 2), growing_max: max / 2 }
    }

    /// The file of `log` that begins at `base`, for reading.
    pub fn get(&self, dir: &Directory, log: LogId, base: Offset) -> io::Result<Arc<File>> {
        if let Some(file) = self.open.lock().get(&(log, base)) {
            return Ok(file.clone());
        }
        let file = Arc::new(File::open(dir.segments_of(log).join(segment_name(base)))?);
        self.keep(log, base, file.clone());
        Ok(file)
    }

    pub fn keep(&self, log: LogId, base: Offset, file: Arc<File>) {
        let mut open = self.open.lock();
        if open.len() >= self.open_max {
            open.clear();
        }
        open.insert((log, base), file);
    }

    /// Forgets the files of a log; ranges handed out stay readable.
    pub fn forget(&self, log: LogId) {
        self.open.lock().retain(|(of, _), _| *of != log);
    }
}

/// Creates the segment file of `log` that begins at `base`; with it the directories whose new names must be synced.
pub fn create(
    io: &Io,
    dir: &Directory,
    log: LogId,
    base: Offset,
) -> io::Result<(Arc<File>, Vec<PathBuf>)> {
    let directory = dir.segments_of(log);
    let mut unsynced = vec![directory.clone()];
    if !directory.exists() {
        std::fs::create_dir_all(&directory)?;
        unsynced.push(dir.segments());
    }
    Ok((Arc::new(io.create(&directory.join(segment_name(base)))?), unsynced))
}

/// The segment files of a log: base offset and path, ascending.
pub fn list(dir: &Directory, log: LogId) -> io::Result<Vec<(Offset, PathBuf)>> {
    let entries = match std::fs::read_dir(dir.segments_of(log)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut files = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if let Some(base) = segment_base(&path) {
            files.push((base, path));
        }
    }
    files.sort_unstable();
    Ok(files)
}

/// What can be wrong with the bytes of a batch.
#[derive(Debug, thiserror::Error)]
pub enum Wrong {
    #[error("{0}")]
    Unreadable(#[from] io::Error),
    #[error("the file ends before the batch does")]
    Short,
    #[error("the header is another batch's")]
    Header,
    #[error("the checksum differs")]
    Checksum,
}

/// Checks that the file is long enough for the batch and has its header where it should be.
pub fn check_header(file: &File, at: u64, batch: &Summary) -> Result<(), Wrong> {
    check_length(file, at, batch)?;
    let mut header = [0; CHECKSUM_FROM];
    file.read_exact_at(&mut header, at)?;
    let mut expected = header;
    expected[..8].copy_from_slice(&batch.base_offset.to_be_bytes());
    expected[8..12].copy_from_slice(&batch.size.saturating_sub(12).to_be_bytes());
    expected[12..16].copy_from_slice(&batch.leader_epoch.0.to_be_bytes());
    expected[17..].copy_from_slice(&batch.crc.to_be_bytes());
    if header == expected { Ok(()) } else { Err(Wrong::Header) }
}

pub fn check_length(file: &File, at: u64, batch: &Summary) -> Result<(), Wrong> {
    let end = at.saturating_add(u64::from(batch.size));
    if file.metadata()?.len() < end { Err(Wrong::Short) } else { Ok(()) }
}

/// Checks every byte of the batch.
pub fn check_all(file: &File, at: u64, batch: &Summary) -> Result<(), Wrong> {
    check_header(file, at, batch)?;
    let mut piece = vec![0; PIECE_BYTES.min(batch.size as usize)];
    let (mut from, mut crc) = (CHECKSUM_FROM, 0);
    while from < batch.size as usize {
        let len = piece.len().min(batch.size as usize - from);
        file.read_exact_at(&mut piece[..len], at + from as u64)?;
        crc = crc32c::crc32c_append(crc, &piece[..len]);
        from += len;
    }
    if crc == batch.crc { Ok(()) } else { Err(Wrong::Checksum) }
}
