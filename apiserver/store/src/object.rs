//! Versions of objects, and events.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;

use crate::change::{Change, ChangeKind};
use crate::key::Key;
use crate::limits::OBJECT_BYTES;
use crate::revision::Revision;

/// What readers have derived from the value of a version, kept as long as the version itself, so that it is derived once. The store does
/// not know its type. It is no part of the version: versions that differ only in it are equal.
#[derive(Default)]
pub struct Derived(OnceLock<Box<dyn Any + Send + Sync>>);

impl Derived {
    /// Creates what is known when the version is written.
    pub fn of(known: impl Any + Send + Sync) -> Self {
        Self(OnceLock::from(Box::new(known) as Box<dyn Any + Send + Sync>))
    }

    /// Returns whether something was derived.
    pub fn is_known(&self) -> bool {
        self.0.get().is_some()
    }

    /// Returns what was derived, and calls `derive` if nothing was. All readers of a store must use the same type: the result is `None` if
    /// another type was derived.
    pub fn get_or<T: Any + Send + Sync>(&self, derive: impl FnOnce() -> T) -> Option<&T> {
        self.0.get_or_init(|| Box::new(derive())).downcast_ref()
    }
}

impl Clone for Derived {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl PartialEq for Derived {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Derived {}

impl fmt::Debug for Derived {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_known() { "known" } else { "unknown" })
    }
}

/// One version of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// The key of the object.
    pub key: Key,
    /// The object as it was written.
    pub value: Bytes,
    /// The revision that wrote this version.
    pub mod_revision: Revision,
    /// The revision that created the object.
    pub create_revision: Revision,
    /// What readers have derived from the value.
    pub derived: Derived,
}

impl Stored {
    /// Returns the memory that this version takes as the current one, in bytes.
    pub(crate) fn memory(&self) -> u64 {
        (self.value.len() + self.key.as_str().len() + OBJECT_BYTES) as u64
    }
}

/// The kinds of changes of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// The object was created.
    Added,
    /// The object was changed.
    Modified,
    /// The object was deleted.
    Deleted,
}

/// One change of one object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The kind of change.
    pub kind: EventKind,
    /// The object after the change. For a deletion, this is its last state with the revision of the deletion.
    pub object: Arc<Stored>,
    /// The version that this change replaced or deleted, or `None` for a new object.
    pub prev: Option<Arc<Stored>>,
}

impl Event {
    /// Returns the revision of the event, which is unique.
    pub fn revision(&self) -> Revision {
        self.object.mod_revision
    }

    /// Returns the size of the event's values in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.object.value.len() + self.prev.as_ref().map_or(0, |prev| prev.value.len())
    }

    /// Returns the key of the object.
    pub fn key(&self) -> &Key {
        &self.object.key
    }
}

/// Returns the event of a stored change, given the version that it replaced.
pub(crate) fn event_of(change: Change, prev: Option<Arc<Stored>>, derived: Derived) -> Event {
    let kind = match change.kind {
        ChangeKind::Delete => EventKind::Deleted,
        ChangeKind::Put if change.revision == change.create_revision => EventKind::Added,
        ChangeKind::Put => EventKind::Modified,
    };
    Event { kind, object: Arc::new(Stored { derived, ..stored_of(change) }), prev }
}

/// Returns the version of an object in a row.
pub(crate) fn stored_of(change: Change) -> Stored {
    Stored {
        key: change.key,
        value: change.value,
        mod_revision: change.revision,
        create_revision: change.create_revision,
        derived: Derived::default(),
    }
}
