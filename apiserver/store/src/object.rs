//! Versions of objects, and events.

use std::sync::Arc;

use bytes::Bytes;

use crate::change::{Change, ChangeKind};
use crate::key::Key;
use crate::revision::Revision;

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
pub(crate) fn event_of(change: Change, prev: Option<Arc<Stored>>) -> Event {
    let kind = match change.kind {
        ChangeKind::Delete => EventKind::Deleted,
        ChangeKind::Put if change.revision == change.create_revision => EventKind::Added,
        ChangeKind::Put => EventKind::Modified,
    };
    Event { kind, object: Arc::new(stored_of(change)), prev }
}

/// Returns the version of an object in a row.
pub(crate) fn stored_of(change: Change) -> Stored {
    Stored {
        key: change.key,
        value: change.value,
        mod_revision: change.revision,
        create_revision: change.create_revision,
    }
}
