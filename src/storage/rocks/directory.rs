//! The data directory: who holds it, whose it is, and how its last user left it.
//!
//!   DIR/lock        held by the process that uses the directory
//!   DIR/node.yaml   format version, cluster id, node id, directory id
//!   DIR/boot        the boot id of the machine when all logs had been recovered last
//!   DIR/clean       there only after a clean stop
//!   DIR/synced      the sequence number of the last sync of RocksDB, u64 big-endian, then its CRC-32C, u32 big-endian
//!   DIR/db/         RocksDB; db.repaired/ and db.damaged/ beside it: see `repair`
//!   DIR/repaired    there from a repair until every log has been checked
//!   DIR/segments/   LOGID/BASEOFFSET.log, decimal, the offset with 20 digits
//!
//! Small files are replaced by renaming, so that they are there whole or not at all; `synced` is overwritten in place and
//! not synced itself: an older number only makes the check weaker.

use super::{OpenError, repair};
use crate::ids::{LogId, NodeId, Offset, fresh_uuid};
use rustix::fs::{FlockOperation, flock};
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use uuid::Uuid;

/// The newest format this program reads, and the one it writes.
const FORMAT_VERSION: u32 = 1;

/// `node.yaml`.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Identity {
    pub format_version: u32,
    /// None until the node has joined a cluster.
    pub cluster_id: Option<String>,
    pub node_id: NodeId,
    /// Random, given at the first start (KIP-853).
    pub directory_id: Uuid,
}

/// How the directory was left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LastStop {
    /// There was none: the directory is new.
    Never,
    Clean,
    /// The process died, the machine did not: what was written is there.
    ProcessDied,
    /// The machine may have lost what was not synced.
    MachineDied,
}

/// A locked data directory.
pub struct Directory {
    path: PathBuf,
    pub last_stop: LastStop,
    /// The database was repaired, and not every log has been checked since.
    pub repaired: bool,
    synced: File,
    _lock: File,
}

impl Directory {
    /// Locks and reads the directory, creating it when it is not there.
    pub fn open(path: &Path, node_id: NodeId) -> Result<(Directory, Identity), OpenError> {
        std::fs::create_dir_all(path.join("segments"))?;
        let lock =
            OpenOptions::new().create(true).truncate(false).write(true).open(path.join("lock"))?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive)
            .map_err(|_| OpenError::Locked(path.to_owned()))?;
        let found = read(&path.join("node.yaml"))?;
        let identity = match &found {
            Some(text) => known(path, text, node_id)?,
            None => Identity {
                format_version: FORMAT_VERSION,
                cluster_id: None,
                node_id,
                directory_id: fresh_uuid(),
            },
        };
        let boot = boot_id();
        let same_boot = boot.is_some() && read(&path.join("boot"))? == boot;
        let last_stop = match (&found, path.join("clean").exists()) {
            (None, _) => LastStop::Never,
            (_, true) => LastStop::Clean,
            _ if same_boot => LastStop::ProcessDied,
            _ => LastStop::MachineDied,
        };
        let synced = OpenOptions::new()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .open(path.join("synced"))?;
        let (path, repaired) = (path.to_owned(), false);
        Ok((Directory { path, last_stop, repaired, synced, _lock: lock }, identity))
    }

    /// Notes that the directory is in use: nothing is written before.
    pub fn begin(&self, identity: &Identity) -> io::Result<()> {
        self.keep(identity)?;
        match std::fs::remove_file(self.path.join("clean")) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        File::open(&self.path)?.sync_all()
    }

    /// To be called when the database is open.
    pub fn look_for_repair(&mut self) {
        self.repaired = repair::marker(&self.path).exists();
        if self.repaired {
            self.last_stop = LastStop::MachineDied;
        }
    }

    /// Notes that what the last start of the machine left, or a repair, is recovered.
    pub fn note_recovered(&self) -> io::Result<()> {
        if self.repaired {
            std::fs::remove_file(repair::marker(&self.path))?;
        }
        match boot_id() {
            Some(boot) => replace(&self.path, "boot", &boot),
            None => Ok(()),
        }
    }

    /// Notes a clean stop.
    pub fn end(&self) -> io::Result<()> {
        replace(&self.path, "clean", "")
    }

    pub fn keep(&self, identity: &Identity) -> io::Result<()> {
        let text = serde_yaml::to_string(identity).map_err(io::Error::other)?;
        replace(&self.path, "node.yaml", &text)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn segments(&self) -> PathBuf {
        self.path.join("segments")
    }

    pub fn segments_of(&self, log: LogId) -> PathBuf {
        self.segments().join(log.to_string())
    }

    /// The sequence number of the last sync; None: none was noted.
    pub fn synced(&self) -> Option<u64> {
        let mut bytes = [0; 12];
        self.synced.read_exact_at(&mut bytes, 0).ok()?;
        let (number, crc) = bytes.split_first_chunk()?;
        let whole = crc == crc32c::crc32c(number).to_be_bytes();
        whole.then(|| u64::from_be_bytes(*number))
    }

    pub fn set_synced(&self, sequence: u64) -> io::Result<()> {
        let number = sequence.to_be_bytes();
        let mut bytes = [0; 12];
        bytes[..8].copy_from_slice(&number);
        bytes[8..].copy_from_slice(&crc32c::crc32c(&number).to_be_bytes());
        self.synced.write_all_at(&bytes, 0)
    }
}

/// The name of a segment file.
pub fn segment_name(base: Offset) -> String {
    format!("{base:020}.log")
}

/// The base offset in the name of a segment file.
pub fn segment_base(name: &Path) -> Option<Offset> {
    name.file_name()?.to_str()?.strip_suffix(".log")?.parse().ok()
}

fn known(path: &Path, text: &str, node_id: NodeId) -> Result<Identity, OpenError> {
    #[derive(serde::Deserialize)]
    struct Versioned {
        format_version: u32,
    }
    let damaged = |error: serde_yaml::Error| OpenError::Damaged {
        dir: path.to_owned(),
        what: format!("node.yaml: {error}"),
    };
    let Versioned { format_version } = serde_yaml::from_str(text).map_err(damaged)?;
    if format_version > FORMAT_VERSION {
        return Err(OpenError::NewerFormat { dir: path.to_owned(), version: format_version });
    }
    let identity: Identity = serde_yaml::from_str(text).map_err(damaged)?;
    if identity.node_id != node_id {
        let dir = path.to_owned();
        return Err(OpenError::OtherNode { dir, owner: identity.node_id, node: node_id });
    }
    Ok(identity)
}

fn read(path: &Path) -> io::Result<Option<String>> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Changes whenever the machine starts. None where the system has none: then every stop counts as the machine's.
fn boot_id() -> Option<String> {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(id.trim().to_owned())
}

fn replace(directory: &Path, name: &str, text: &str) -> io::Result<()> {
    let new = directory.join(format!("{name}.new"));
    let mut file = File::create(&new)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    std::fs::rename(&new, directory.join(name))?;
    File::open(directory)?.sync_all()
}
