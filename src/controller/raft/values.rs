//! Small values of a `LogStore` for async callers, with errors as openraft wants them.

#![expect(clippy::result_large_err, reason = "the error is openraft's")]

use crate::storage::{LogStore, Put, Space, StorageError};
use bytes::Bytes;
use openraft::{AnyError, ErrorSubject, ErrorVerb, StorageIOError};
use serde::{Serialize, de::DeserializeOwned};
use std::{error::Error, ops::Range, sync::Arc};

/// What openraft's storage traits return.
pub type Result<T> = std::result::Result<T, openraft::StorageError<u64>>;

/// The store's spaces of small values.
#[derive(Clone)]
pub struct Values {
    store: Arc<dyn LogStore>,
}

impl Values {
    pub fn new(store: Arc<dyn LogStore>) -> Values {
        Values { store }
    }

    pub async fn get(&self, space: Space, key: &'static [u8]) -> Result<Option<Bytes>> {
        self.blocking(move |store| store.get(space, key)).await
    }

    /// In key order, at most `max`.
    pub async fn scan(
        &self,
        space: Space,
        keys: Range<Vec<u8>>,
        max: usize,
    ) -> Result<Vec<(Bytes, Bytes)>> {
        self.blocking(move |store| store.scan(space, keys, max)).await
    }

    /// All or none; with `sync` durable when it returns.
    pub async fn put(&self, changes: Vec<Put>, sync: bool) -> Result<()> {
        match self.store.put(changes, sync).await {
            Ok(done) => done.map_err(|error| failed(ErrorVerb::Write, &error)),
            Err(_) => Err(failed(ErrorVerb::Write, &StorageError::Closed)),
        }
    }

    /// A value that is JSON.
    pub async fn get_json<T: DeserializeOwned>(
        &self,
        space: Space,
        key: &'static [u8],
    ) -> Result<Option<T>> {
        self.get(space, key).await?.map(|bytes| from_json(&bytes)).transpose()
    }

    pub async fn put_json(
        &self,
        space: Space,
        key: &[u8],
        value: &impl Serialize,
        sync: bool,
    ) -> Result<()> {
        self.put(vec![Put::Set(space, key.to_vec(), to_json(value)?.into())], sync).await
    }

    async fn blocking<T: Send + 'static>(
        &self,
        read: impl FnOnce(&dyn LogStore) -> std::result::Result<T, StorageError> + Send + 'static,
    ) -> Result<T> {
        let store = self.store.clone();
        match tokio::task::spawn_blocking(move || read(&*store)).await {
            Ok(done) => done.map_err(|error| failed(ErrorVerb::Read, &error)),
            Err(error) => Err(failed(ErrorVerb::Read, &error)),
        }
    }
}

pub fn to_json(value: &impl Serialize) -> Result<Vec<u8>> {
    serde_json::to_vec(value).map_err(|error| failed(ErrorVerb::Write, &error))
}

pub fn from_json<T: DeserializeOwned>(bytes: &[u8]) -> Result<T> {
    serde_json::from_slice(bytes).map_err(|error| failed(ErrorVerb::Read, &error))
}

pub fn failed(verb: ErrorVerb, error: &(impl Error + 'static)) -> openraft::StorageError<u64> {
    StorageIOError::new(ErrorSubject::Store, verb, AnyError::new(error)).into()
}
