//! What a transaction does, and what must hold for it.

use std::sync::Arc;

use bytes::Bytes;

use crate::error::CommitError;
use crate::key::Key;
use crate::object::Stored;
use crate::revision::Revision;

/// Makes an object's bytes when its revision is known, since they contain it. It is called under a lock: it must be quick and
/// must not call the store.
pub type Value = Box<dyn FnOnce(Revision) -> Bytes + Send>;

/// One step of a transaction.
pub enum Operation {
    /// Writes an object that must not exist.
    Create {
        /// Where.
        key: Key,
        /// What.
        value: Value,
    },
    /// Replaces an object that must be at `expected`.
    Update {
        /// Where.
        key: Key,
        /// The revision that the caller read.
        expected: Revision,
        /// What.
        value: Value,
        /// It is a step of the object's deletion, for which there is room when there is none for others.
        removal: bool,
    },
    /// Removes an object that must be at `expected`.
    Delete {
        /// Where.
        key: Key,
        /// The revision that the caller read.
        expected: Revision,
        /// The last state that the event carries, under the revision of the deletion; `None`: as it was stored.
        last: Option<Value>,
    },
}

impl Operation {
    /// Writes an object that must not exist.
    pub fn create(key: Key, value: impl FnOnce(Revision) -> Bytes + Send + 'static) -> Self {
        Self::Create { key, value: Box::new(value) }
    }

    /// Replaces an object that must be at `expected`.
    pub fn update(
        key: Key,
        expected: Revision,
        value: impl FnOnce(Revision) -> Bytes + Send + 'static,
    ) -> Self {
        Self::Update { key, expected, value: Box::new(value), removal: false }
    }

    /// As [`Operation::update`], of an object that is being deleted.
    pub fn removal(
        key: Key,
        expected: Revision,
        value: impl FnOnce(Revision) -> Bytes + Send + 'static,
    ) -> Self {
        Self::Update { key, expected, value: Box::new(value), removal: true }
    }

    /// Whether it deletes, or is a step of a deletion.
    pub(crate) fn frees(&self) -> bool {
        matches!(self, Self::Delete { .. } | Self::Update { removal: true, .. })
    }

    /// Removes an object that must be at `expected`; its event carries `last`.
    pub fn delete(
        key: Key,
        expected: Revision,
        last: impl FnOnce(Revision) -> Bytes + Send + 'static,
    ) -> Self {
        Self::Delete { key, expected, last: Some(Box::new(last)) }
    }

    pub(crate) fn key(&self) -> &Key {
        match self {
            Self::Create { key, .. } | Self::Update { key, .. } | Self::Delete { key, .. } => key,
        }
    }

    pub(crate) fn check(&self, current: Option<&Arc<Stored>>) -> Result<(), CommitError> {
        match (self, current) {
            (Self::Create { .. }, None) => Ok(()),
            (Self::Create { .. }, Some(current)) => {
                Err(CommitError::AlreadyExists { current: current.clone() })
            }
            (Self::Update { key, .. } | Self::Delete { key, .. }, None) => {
                Err(CommitError::NotFound { key: key.clone() })
            }
            (Self::Update { expected, .. } | Self::Delete { expected, .. }, Some(current)) => {
                if current.mod_revision == *expected {
                    return Ok(());
                }
                Err(CommitError::Conflict { expected: *expected, current: current.clone() })
            }
        }
    }
}
