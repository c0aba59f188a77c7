//! Versions of objects, and what happened to them.

use std::sync::Arc;

use bytes::Bytes;

use crate::change::{Change, ChangeKind};
use crate::key::Key;
use crate::revision::Revision;

/// One version of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Where it is stored.
    pub key: Key,
    /// The object as it was written.
    pub value: Bytes,
    /// The revision that wrote this version.
    pub mod_revision: Revision,
    /// The revision that created the object.
    pub create_revision: Revision,
}

/// What happened to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// It was created.
    Added,
    /// It was changed.
    Modified,
    /// It was deleted.
    Deleted,
}

/// One change of one object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// What happened.
    pub kind: EventKind,
    /// The object after the change; of a deleted one, its last state under the revision of the deletion.
    pub object: Arc<Stored>,
    /// The version that this change replaced or deleted; `None` for a new object.
    pub prev: Option<Arc<Stored>>,
}

impl Event {
    /// When: no two events have the same revision.
    pub fn revision(&self) -> Revision {
        self.object.mod_revision
    }

    /// Bytes of its values.
    pub(crate) fn bytes(&self) -> usize {
        self.object.value.len() + self.prev.as_ref().map_or(0, |prev| prev.value.len())
    }

    /// Which object.
    pub fn key(&self) -> &Key {
        &self.object.key
    }
}

/// The event that a stored change stands for, given the version that it replaced.
pub(crate) fn event_of(change: Change, prev: Option<Arc<Stored>>) -> Event {
    let kind = match change.kind {
        ChangeKind::Delete => EventKind::Deleted,
        ChangeKind::Put if change.revision == change.create_revision => EventKind::Added,
        ChangeKind::Put => EventKind::Modified,
    };
    Event { kind, object: Arc::new(stored_of(change)), prev }
}

/// The version of an object that a row holds.
pub(crate) fn stored_of(change: Change) -> Stored {
    Stored {
        key: change.key,
        value: change.value,
        mod_revision: change.revision,
        create_revision: change.create_revision,
    }
}
