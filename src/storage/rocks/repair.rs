//! Repair of a database that does not open, when its user accepts the loss of data: usually its MANIFEST is damaged, and
//! every table is there.
//!
//! It works on a copy (tables are linked), which takes the place of the database only when it kept every table and every
//! family; the old one stays in `db.damaged`, so that nothing is lost by trying. RocksDB's repair puts all tables on one
//! level, ordered by what is newest in each: a look-up could find an old value first. So everything is compacted before
//! anything is read: that orders by the number of each change. What had been deleted just before the process died may be
//! back. `DIR/repaired` then says that every log must be checked from its start; the store removes it when they are.

use super::db::{self, Family};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// Why there is no repaired database. The old one is as it was.
#[derive(Debug, thiserror::Error)]
pub enum RepairError {
    #[error("it cannot be repaired: {0}")]
    Rocks(#[from] rocksdb::Error),
    #[error("it cannot be repaired: {0}")]
    Io(#[from] io::Error),
    #[error("it cannot be repaired: {0} of its tables are not readable")]
    Tables(usize),
    #[error("it cannot be repaired: family {0} has no table that names it")]
    Family(&'static str),
    #[error("it cannot be repaired: its tables could not be merged")]
    Unmerged,
}

/// Marks a directory whose logs must be checked from their starts.
pub fn marker(dir: &Path) -> PathBuf {
    dir.join("repaired")
}

/// Replaces the database in `dir` by a repaired copy.
pub fn repair(dir: &Path) -> Result<(), RepairError> {
    let (damaged, copy) = (dir.join("db"), dir.join("db.repaired"));
    remove(&copy)?;
    copy_database(&damaged, &copy)?;
    db::repair(&copy)?;
    // It moves aside what it does not use.
    let lost = count_tables(&copy.join("lost"))?;
    if lost > 0 {
        return Err(RepairError::Tables(lost));
    }
    remove(&copy.join("lost"))?;
    let merged = db::open(&copy, rocksdb::DBRecoveryMode::AbsoluteConsistency)?;
    for family in Family::ALL {
        if !db::has_anchor(&merged, family)? {
            return Err(RepairError::Family(family.name()));
        }
    }
    if !db::merge(&merged)? {
        return Err(RepairError::Unmerged);
    }
    drop(merged);
    File::create(marker(dir))?.sync_all()?;
    File::open(&copy)?.sync_all()?;
    remove(&dir.join("db.damaged"))?;
    fs::rename(&damaged, dir.join("db.damaged"))?;
    fs::rename(&copy, &damaged)?;
    Ok(File::open(dir)?.sync_all()?)
}

/// Ends a repair that the process did not live to end: the copy was whole before the old database was moved away.
pub fn end_interrupted(dir: &Path) -> io::Result<()> {
    let (database, copy) = (dir.join("db"), dir.join("db.repaired"));
    if !database.exists() && copy.exists() && marker(dir).exists() {
        fs::rename(&copy, &database)?;
    }
    Ok(())
}

/// Tables never change, so links are copies. RocksDB's own log and lock are not needed.
fn copy_database(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let path = entry?.path();
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
        if is_table(&path) {
            fs::hard_link(&path, to.join(name))?;
        } else if path.is_file() && !name.starts_with("LO") {
            fs::copy(&path, to.join(name))?;
        }
    }
    Ok(())
}

/// Whether there is a table.
pub fn has_tables(directory: &Path) -> io::Result<bool> {
    Ok(count_tables(directory)? > 0)
}

fn count_tables(directory: &Path) -> io::Result<usize> {
    match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
        entries => Ok(entries?.flatten().filter(|entry| is_table(&entry.path())).count()),
    }
}

fn is_table(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "sst")
}

fn remove(directory: &Path) -> io::Result<()> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    }
}
