//! Where this node's logs lie, as clients are told: one directory, or memory.

use crate::{
    partition::handle::storage_code,
    storage::{LogStore, Volume},
    wire::ErrorCode,
};
use std::{path::Path, sync::Arc};

/// The log directory of a node.
pub struct LogDir {
    path: String,
    store: Arc<dyn LogStore>,
}

/// What stands for the path of a directory when there is none.
const MEMORY: &str = "memory";

impl LogDir {
    /// `dir`: None when `store` is in memory.
    pub fn new(dir: Option<&Path>, store: Arc<dyn LogStore>) -> LogDir {
        let absolute = dir.map(|dir| std::path::absolute(dir).unwrap_or_else(|_| dir.to_owned()));
        let path = absolute.map_or(MEMORY.to_owned(), |dir| dir.to_string_lossy().into_owned());
        LogDir { path, store }
    }

    /// Absolute.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The file system it is on; None in memory. Errors: KAFKA_STORAGE_ERROR.
    pub async fn volume(&self) -> Result<Option<Volume>, ErrorCode> {
        let store = self.store.clone();
        match tokio::task::spawn_blocking(move || store.volume()).await {
            Ok(volume) => volume.map_err(storage_code),
            Err(_) => Err(ErrorCode::KafkaStorageError),
        }
    }
}
