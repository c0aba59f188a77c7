//! The operations of a transaction and their preconditions.

use std::sync::Arc;

use bytes::Bytes;

use crate::error::CommitError;
use crate::key::Key;
use crate::object::{Derived, Stored};
use crate::revision::Revision;

/// Creates an object's bytes for a revision, because they contain it. It is called under a lock, so it must be quick
/// and must not call the store.
pub type Value = Box<dyn FnOnce(Revision) -> Bytes + Send>;

/// One operation of a transaction.
pub enum Operation {
    /// Writes an object, which must not exist.
    Create {
        /// The key of the object.
        key: Key,
        /// The value to write.
        value: Value,
        /// What is known of the value.
        derived: Derived,
    },
    /// Replaces an object, which must be at `expected`.
    Update {
        /// The key of the object.
        key: Key,
        /// The revision that the caller read.
        expected: Revision,
        /// The value to write.
        value: Value,
        /// Whether this is a step of the object's deletion, which may exceed the quota.
        removal: bool,
        /// What is known of the value.
        derived: Derived,
    },
    /// Removes an object, which must be at `expected`.
    Delete {
        /// The key of the object.
        key: Key,
        /// The revision that the caller read.
        expected: Revision,
        /// The last state in the event, with the revision of the deletion, or `None` for the stored state.
        last: Option<Value>,
    },
}

impl Operation {
    /// Creates an operation that writes an object, which must not exist.
    pub fn create(key: Key, value: impl FnOnce(Revision) -> Bytes + Send + 'static) -> Self {
        Self::Create { key, value: Box::new(value), derived: Derived::default() }
    }

    /// Creates an operation that replaces an object, which must be at `expected`.
    pub fn update(
        key: Key,
        expected: Revision,
        value: impl FnOnce(Revision) -> Bytes + Send + 'static,
    ) -> Self {
        Self::Update { key, expected, value: Box::new(value), removal: false, derived: Derived::default() }
    }

    /// Creates an operation like [`Operation::update`] for an object that is being deleted.
    pub fn removal(
        key: Key,
        expected: Revision,
        value: impl FnOnce(Revision) -> Bytes + Send + 'static,
    ) -> Self {
        Self::Update { key, expected, value: Box::new(value), removal: true, derived: Derived::default() }
    }

    /// Returns the operation with what is already known of the value that it writes.
    pub fn with(mut self, known: Derived) -> Self {
        if let Self::Create { derived, .. } | Self::Update { derived, .. } = &mut self {
            *derived = known;
        }
        self
    }

    /// Returns whether the operation is a deletion or a step of one.
    pub(crate) fn frees(&self) -> bool {
        matches!(self, Self::Delete { .. } | Self::Update { removal: true, .. })
    }

    /// Creates an operation that removes an object, which must be at `expected`. Its event contains `last`.
    pub fn delete(
        key: Key,
        expected: Revision,
        last: impl FnOnce(Revision) -> Bytes + Send + 'static,
    ) -> Self {
        Self::Delete { key, expected, last: Some(Box::new(last)) }
    }

    /// Returns the key of the object.
    pub fn key(&self) -> &Key {
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
