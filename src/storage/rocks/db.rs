//! RocksDB with its fixed set of column families. The only file that names options of it.

use super::io::{Call, Io};
use super::repair::{self, RepairError};
use crate::limits::OpenFiles;
use crate::storage::{Space, StorageError};
use rocksdb::{
    BlockBasedOptions, Cache, ColumnFamily, ColumnFamilyDescriptor, DB, DBCompressionType,
    DBRawIterator, DBRecoveryMode, FlushOptions, LogLevel, Options, ReadOptions, WriteBatch,
    WriteOptions, properties::CUR_SIZE_ALL_MEM_TABLES,
};
use std::{path::Path, sync::Arc};

/// Bytes of blocks kept in memory, for all families together.
const BLOCK_CACHE_BYTES: usize = 16 << 20;
/// Bytes of a memtable of `log`; the other families have a quarter.
const MEMTABLE_BYTES: usize = 32 << 20;
/// Bytes of write-ahead log after which the oldest memtables are flushed: what a start after a crash reads, at about 100 ms
/// for 32 MiB.
const WAL_BYTES_MAX: u64 = 64 << 20;
/// Bytes of memtables that a clean stop still flushes: a stop is quick, and so is the next start.
const STOP_FLUSH_BYTES_MAX: u64 = 8 << 20;

/// A key above all others that every family has.
const ANCHOR: [u8; 16] = [0xff; 16];

/// Why a database does not open.
#[derive(Debug, thiserror::Error)]
pub enum OpenDbError {
    #[error(transparent)]
    Rocks(#[from] rocksdb::Error),
    #[error("{0}; {1}")]
    Unrepaired(rocksdb::Error, RepairError),
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// A column family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    Log,
    State,
    Meta,
    RaftLog,
    RaftMeta,
}

impl Family {
    pub const ALL: [Family; 5] =
        [Family::Log, Family::State, Family::Meta, Family::RaftLog, Family::RaftMeta];

    pub fn name(self) -> &'static str {
        match self {
            Family::Log => "log",
            Family::State => "state",
            Family::Meta => "meta",
            Family::RaftLog => "raft_log",
            Family::RaftMeta => "raft_meta",
        }
    }

    pub fn of(space: Space) -> Family {
        match space {
            Space::Meta => Family::Meta,
            Space::RaftLog => Family::RaftLog,
            Space::RaftMeta => Family::RaftMeta,
        }
    }
}

pub struct Db {
    db: DB,
    pub io: Arc<Io>,
}

impl Db {
    /// Opens the database of a data directory. With `accept_data_loss` records of the write-ahead log that are not readable
    /// are passed over when it cannot be opened otherwise, and when that is not enough it is repaired.
    pub fn open(dir: &Path, io: Arc<Io>, accept_data_loss: bool) -> Result<Db, OpenDbError> {
        repair::end_interrupted(dir)?;
        let path = dir.join("db");
        let mut options = db_options();
        // Where there are tables there was a database: without its CURRENT a new one would delete them.
        options.create_if_missing(!repair::has_tables(&path)?);
        let error = match open_with(options, &path, DBRecoveryMode::PointInTime) {
            Ok(db) => return Ok(Db { db, io }),
            Err(error) if accept_data_loss => error,
            Err(error) => return Err(error.into()),
        };
        tracing::error!(%error, "passing over what is not readable");
        let error = match open(&path, DBRecoveryMode::SkipAnyCorruptedRecord) {
            Ok(db) => return Ok(Db { db, io }),
            Err(error) => error,
        };
        tracing::error!(%error, "repairing the database");
        repair::repair(dir).map_err(|why| OpenDbError::Unrepaired(error, why))?;
        tracing::error!(
            dir = %dir.display(),
            "the database has been repaired, every table was kept; db.damaged holds what it was, and can be deleted; now \
             every log is checked from its start"
        );
        Ok(Db { db: open(&path, DBRecoveryMode::PointInTime)?, io })
    }

    /// Sees to it that every family has a key: with the first flush a table then names each of them, which a repair needs.
    pub fn anchor(&self) -> Result<(), StorageError> {
        for family in Family::ALL {
            if !has_anchor(&self.db, family).map_err(refused)? {
                self.db.put_cf(self.family(family), ANCHOR, []).map_err(refused)?;
            }
        }
        Ok(())
    }

    /// Flushes what is in memory unless it is much, so that the next start has nothing to replay.
    pub fn flush_for_stop(&self) -> Result<(), rocksdb::Error> {
        let families = Family::ALL.map(|family| self.family(family));
        let mut bytes = 0;
        for family in families {
            let size = self.db.property_int_value_cf(family, CUR_SIZE_ALL_MEM_TABLES)?;
            bytes += size.unwrap_or(0);
        }
        if bytes > STOP_FLUSH_BYTES_MAX {
            return Ok(());
        }
        self.db.flush_cfs_opt(&families, &FlushOptions::default())
    }

    #[cfg(test)]
    pub fn flush(&self, family: Family) {
        self.db.flush_cf(self.family(family)).unwrap();
    }

    pub fn get(&self, family: Family, key: &[u8]) -> Result<Option<Vec<u8>>, StorageError> {
        let found = self.db.get_pinned_cf(self.family(family), key).map_err(refused)?;
        Ok(found.map(|value| value.to_vec()))
    }

    /// An iterator over [`lower`, `upper`), not yet positioned.
    pub fn iterate(&self, family: Family, lower: &[u8], upper: &[u8]) -> DBRawIterator<'_> {
        let mut options = ReadOptions::default();
        options.set_iterate_lower_bound(lower);
        options.set_iterate_upper_bound(upper);
        self.db.raw_iterator_cf_opt(self.family(family), options)
    }

    /// Commits to the write-ahead log, unsynced: survives this process, not the machine.
    pub fn write(&self, batch: Batch<'_>) -> Result<(), StorageError> {
        if batch.batch.is_empty() {
            return Ok(());
        }
        self.io.enter(Call::WriteDb).map_err(|error| StorageError::Io(error.to_string()))?;
        self.db.write_opt(batch.batch, &WriteOptions::default()).map_err(refused)
    }

    /// Makes durable what is committed.
    pub fn sync_wal(&self) -> Result<(), StorageError> {
        self.io.enter(Call::SyncWal).map_err(|error| StorageError::Io(error.to_string()))?;
        #[cfg(test)]
        self.io.note_wal_synced(self.db.path());
        self.db.flush_wal(true).map_err(refused)
    }

    /// Grows with every committed change.
    pub fn sequence(&self) -> u64 {
        self.db.latest_sequence_number()
    }

    pub fn batch(&self) -> Batch<'_> {
        Batch { db: self, batch: WriteBatch::default() }
    }

    fn family(&self, family: Family) -> &ColumnFamily {
        self.db.cf_handle(family.name()).expect("the database was opened with every family")
    }
}

/// Changes that are committed together.
pub struct Batch<'a> {
    db: &'a Db,
    batch: WriteBatch,
}

impl Batch<'_> {
    pub fn put(&mut self, family: Family, key: &[u8], value: &[u8]) {
        self.batch.put_cf(self.db.family(family), key, value);
    }

    pub fn delete(&mut self, family: Family, key: &[u8]) {
        self.batch.delete_cf(self.db.family(family), key);
    }

    /// Deletes [`from`, `to`).
    pub fn delete_range(&mut self, family: Family, from: &[u8], to: &[u8]) {
        if from < to {
            self.batch.delete_range_cf(self.db.family(family), from, to);
        }
    }
}

/// RocksDB's refusal as ours.
pub fn refused(error: rocksdb::Error) -> StorageError {
    StorageError::Io(error.to_string())
}

/// Whether a family has its key.
pub fn has_anchor(db: &DB, family: Family) -> Result<bool, rocksdb::Error> {
    let Some(handle) = db.cf_handle(family.name()) else { return Ok(false) };
    Ok(db.get_pinned_cf(handle, ANCHOR)?.is_some())
}

/// Makes a new MANIFEST from the tables there are, and tables of the write-ahead log.
pub fn repair(path: &Path) -> Result<(), rocksdb::Error> {
    DB::repair(&db_options(), path)
}

/// Compacts everything; whether it was done.
pub fn merge(db: &DB) -> Result<bool, rocksdb::Error> {
    for family in Family::ALL {
        if let Some(handle) = db.cf_handle(family.name()) {
            db.compact_range_cf(handle, None::<&[u8]>, None::<&[u8]>);
        }
    }
    Ok(db.live_files()?.iter().all(|table| table.level > 0))
}

pub fn open(path: &Path, mode: DBRecoveryMode) -> Result<DB, rocksdb::Error> {
    open_with(db_options(), path, mode)
}

fn open_with(
    mut options: Options,
    path: &Path,
    mode: DBRecoveryMode,
) -> Result<DB, rocksdb::Error> {
    let cache = Cache::new_lru_cache(BLOCK_CACHE_BYTES);
    let families = Family::ALL
        .map(|family| ColumnFamilyDescriptor::new(family.name(), family_options(family, &cache)));
    // A torn tail ends recovery there; whether synced data is missing is seen from the synced sequence number.
    options.set_wal_recovery_mode(mode);
    DB::open_cf_descriptors(&options, path, families)
}

fn db_options() -> Options {
    let mut options = Options::default();
    options.create_missing_column_families(true);
    options.set_track_and_verify_wals_in_manifest(true);
    options.set_recycle_log_file_num(0);
    options.set_max_total_wal_size(WAL_BYTES_MAX);
    // Range deletions are cheap to look up only while every file stays open: 24,576 tables of 64 MiB where files are many.
    let files = OpenFiles::of_process().store / 2;
    options.set_max_open_files(i32::try_from(files).unwrap_or(i32::MAX));
    options.set_max_background_jobs(2);
    options.set_keep_log_file_num(4);
    options.set_max_log_file_size(4 << 20);
    options.set_log_level(LogLevel::Warn);
    options.set_stats_dump_period_sec(0);
    options
}

fn family_options(family: Family, cache: &Cache) -> Options {
    let mut tables = BlockBasedOptions::default();
    tables.set_block_cache(cache);
    tables.set_format_version(6);
    let mut options = Options::default();
    options.set_block_based_table_factory(&tables);
    let memtable = if family == Family::Log { MEMTABLE_BYTES } else { MEMTABLE_BYTES / 4 };
    options.set_write_buffer_size(memtable);
    options.set_max_write_buffer_number(3);
    // Batches come compressed from their producers, or their producers do not care.
    let compression =
        if family == Family::Log { DBCompressionType::None } else { DBCompressionType::Lz4 };
    options.set_compression_type(compression);
    options
}
