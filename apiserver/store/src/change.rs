//! Changes of keys, which engines store as rows.

use bytes::Bytes;

use crate::key::Key;
use crate::revision::Revision;

/// The effect of a change on its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// The change wrote a value.
    Put,
    /// The change removed the key.
    Delete,
}

/// One row: one change of one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The revision, which is the number of the row.
    pub revision: Revision,
    /// Whether the key was written or removed.
    pub kind: ChangeKind,
    /// The key of the object.
    pub key: Key,
    /// The value after the change, or for a deletion the last state of the object.
    pub value: Bytes,
    /// The revision that created the object.
    pub create_revision: Revision,
    /// The row that this one replaces, or [`Revision::NONE`] for a new object.
    pub previous: Revision,
    /// The time of the change in seconds since the Unix epoch.
    pub time: i64,
}
