//! The interface to persistent storage.
//!
//! An engine keeps *changes*: one row for each revision, with the value that the change wrote, so each value is stored
//! once. Rows after the `compacted` revision are the history. Of the older rows, an engine keeps the current version of
//! each object, and versions that rows of the history replaced. [`Change::previous`] refers to the replaced row, so
//! dropping history only affects the dropped rows ([`Batch::trim`]).

pub(crate) mod embedded;
pub(crate) mod faulty;
pub(crate) mod gate;
pub(crate) mod kind;
pub(crate) mod memory;
pub(crate) mod row;
#[cfg(feature = "sled")]
pub(crate) mod sled;

use std::collections::BTreeSet;

use crate::change::{Change, ChangeKind};
use crate::error::EngineError;
use crate::revision::Revision;

/// The changes that become durable together.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// New rows in the order of their revisions.
    pub changes: Vec<Change>,
    /// The last assigned revision, which is that of the last row.
    pub revision: Revision,
    /// Drop the history up to and including this revision.
    pub trim: Option<Revision>,
    /// Whether nobody writes at present, so that there is time to prepare for a quick start. Such a batch has no
    /// changes.
    pub quiet: bool,
    /// Whether the batch contains a deletion or a step of one, which may use the reserved space on a full disk.
    pub frees: bool,
}

/// The size of an engine's content in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    /// Size of objects and history, which counts against the quota.
    pub rows: u64,
    /// Size of the file including its free space.
    pub file: u64,
}

/// The content of an engine.
#[derive(Clone, Debug, Default)]
pub struct Loaded {
    /// The last assigned revision, or [`Revision::NONE`] for an empty engine.
    pub revision: Revision,
    /// Rows after this revision are the history.
    pub compacted: Revision,
    /// All rows in the order of their revisions. Replaced rows may lack their values, which [`Engine::read`] returns.
    pub changes: Vec<Change>,
    /// The storage format of the content.
    pub format: u64,
    /// The average size of a row in bytes, for rows without values.
    pub row_bytes: usize,
}

/// A place that keeps changes. All calls may block, and the store makes one call at a time.
pub trait Engine: Send + Sync + 'static {
    /// Reads all rows, before the first commit and for verification.
    ///
    /// # Errors
    /// Damage is reported with a description. It is never repaired by omitting something.
    fn load(&self) -> Result<Loaded, EngineError>;

    /// Makes a batch durable. If this returns `Ok`, the whole batch survives a power loss. If it fails or the process
    /// dies before, either the whole batch or nothing of it is stored.
    ///
    /// # Errors
    /// After [`EngineError::Full`] nothing was written, and the engine can be used again. After any other error the
    /// outcome is unknown and the store makes no more calls. In particular, a failed fsync must not be repeated,
    /// because it would report success without having written.
    fn commit(&self, batch: &Batch) -> Result<(), EngineError>;

    /// Returns the rows of these revisions that exist, in the history or replaced by it.
    ///
    /// # Errors
    /// As for [`Engine::load`].
    fn read(&self, revisions: &BTreeSet<Revision>) -> Result<Vec<Change>, EngineError>;

    /// Verifies that all stored data is as written, including data that [`Engine::load`] does not read.
    ///
    /// # Errors
    /// As for [`Engine::load`].
    fn check(&self) -> Result<(), EngineError> {
        Ok(())
    }

    /// Returns the size of the content, or zeros if the engine does not count it.
    fn size(&self) -> Size {
        Size::default()
    }

    /// Returns whether the disk was full and the space reserved for deletions is in use. Until a [`Batch::quiet`]
    /// reserves space again, only deletions are possible.
    fn strained(&self) -> bool {
        false
    }

    /// Returns the name for error messages: the path of the file, or the kind of the engine.
    fn name(&self) -> String;

    /// Returns whether calls may wait for a disk and so must not be made on an async thread.
    fn blocking(&self) -> bool;
}

/// Returns the rows to remove when the history is dropped up to a revision: the rows that the dropped events replaced,
/// and deletions. `dropped` yields `(revision, kind, previous)` of each dropped event.
pub(crate) fn removed_by_trim(
    dropped: impl Iterator<Item = (Revision, ChangeKind, Revision)>,
) -> impl Iterator<Item = Revision> {
    dropped.flat_map(|(revision, kind, previous)| {
        let replaced = (previous != Revision::NONE).then_some(previous);
        let deletion = (kind == ChangeKind::Delete).then_some(revision);
        replaced.into_iter().chain(deletion)
    })
}
