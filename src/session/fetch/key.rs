//! What a session calls a partition.

use crate::limits;
use std::{
    hash::{Hash, Hasher},
    sync::Arc,
};
use uuid::Uuid;

/// A topic as the request's version names it.
#[derive(Debug, Clone)]
pub enum TopicKey {
    Name(Arc<str>),
    /// With its name, as soon as it is known: what was there and is gone is told from what never was. The id alone makes
    /// two of them equal.
    Id(Uuid, Option<Arc<str>>),
}

impl TopicKey {
    /// Remembers the name of a topic that is named by id.
    pub(super) fn learn(&mut self, called: &str) {
        if let TopicKey::Id(_, name @ None) = self {
            *name = Some(called.into());
        }
    }
}

impl PartialEq for TopicKey {
    fn eq(&self, other: &TopicKey) -> bool {
        match (self, other) {
            (TopicKey::Name(name), TopicKey::Name(other)) => name == other,
            (TopicKey::Id(id, _), TopicKey::Id(other, _)) => id == other,
            _ => false,
        }
    }
}

impl Eq for TopicKey {}

impl Hash for TopicKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self {
            TopicKey::Name(name) => name.hash(state),
            TopicKey::Id(id, _) => id.hash(state),
        }
    }
}

/// A partition as a request names it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Key {
    pub topic: TopicKey,
    pub partition: i32,
}

impl Key {
    /// Memory it takes to remember it.
    pub(super) fn bytes(&self) -> usize {
        let name = match &self.topic {
            TopicKey::Name(name) | TopicKey::Id(_, Some(name)) => name.len(),
            TopicKey::Id(_, None) => 0,
        };
        limits::FETCH_SESSION_PARTITION_BYTES + name
    }
}
