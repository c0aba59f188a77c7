//! Changes, as engines keep them: one row each.

use bytes::Bytes;

use crate::key::Key;
use crate::revision::Revision;

/// What a change did to its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// It wrote a value.
    Put,
    /// It removed the key.
    Delete,
}

/// One row: one change of one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The row's number.
    pub revision: Revision,
    /// Whether the key was written or removed.
    pub kind: ChangeKind,
    /// The key.
    pub key: Key,
    /// The value written; of a deletion, the object's last state.
    pub value: Bytes,
    /// The revision that created the object.
    pub create_revision: Revision,
    /// The row that this one replaces; [`Revision::NONE`] for a new object.
    pub previous: Revision,
    /// When, in seconds since the Unix epoch.
    pub time: i64,
}
