//! The door to the disk.
//!
//! An engine keeps *changes*: one row a revision with the value that it wrote, so a value is stored once. The rows after the
//! `compacted` revision are the history. Of the older ones an engine keeps those that are still needed: the current version of each
//! object, and a version that a row of the history replaced. [`Change::previous`] tells which that is, so dropping history
//! touches only the rows dropped ([`Batch::trim`]).

pub(crate) mod embedded;
pub(crate) mod faulty;
pub(crate) mod memory;
pub(crate) mod row;
#[cfg(feature = "sled")]
pub(crate) mod sled;

use std::collections::BTreeSet;

use crate::change::{Change, ChangeKind};
use crate::error::EngineError;
use crate::revision::Revision;

/// What becomes durable together.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// New rows, in the order of their revisions.
    pub changes: Vec<Change>,
    /// The last revision handed out: that of the last row.
    pub revision: Revision,
    /// Drop the history up to and including this revision.
    pub trim: Option<Revision>,
    /// Nobody writes at present: there is time to leave things so that the next start is quick. Such a batch has no changes.
    pub quiet: bool,
    /// Somebody deletes: on a full disk, what is kept free for that may be used.
    pub frees: bool,
}

/// How much an engine holds, bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    /// What objects and history take: what counts against the quota.
    pub rows: u64,
    /// The file, with what is free in it.
    pub file: u64,
}

/// Everything that an engine holds.
#[derive(Clone, Debug, Default)]
pub struct Loaded {
    /// The last revision handed out; [`Revision::NONE`] when nothing was ever written.
    pub revision: Revision,
    /// The rows after this revision are the history.
    pub compacted: Revision,
    /// All rows, in the order of their revisions. A row that another one replaced may lack its value: [`Engine::read`] gives it.
    pub changes: Vec<Change>,
    /// The storage format found.
    pub format: u64,
    /// Bytes of a row on average, for rows that lack their values.
    pub row_bytes: usize,
}

/// A place where changes are kept. All calls may block; the store makes one at a time.
pub trait Engine: Send + Sync + 'static {
    /// Reads everything: before the first commit, and to verify what is there.
    ///
    /// # Errors
    /// Damage is named and refused, never repaired by leaving something out.
    fn load(&self) -> Result<Loaded, EngineError>;

    /// Makes a batch durable: when this returns, all of it survives a power cut; when it fails, or the process dies before,
    /// either all or nothing of it is there.
    ///
    /// # Errors
    /// After [`EngineError::Full`] nothing was written and the engine can be used again. After any other error the outcome is
    /// unknown, and the store calls no more: a failed fsync must not be tried again, it would report success without having written.
    fn commit(&self, batch: &Batch) -> Result<(), EngineError>;

    /// The rows of these numbers, as far as they are there: those of the history, and those that they replaced.
    ///
    /// # Errors
    /// As [`Engine::load`].
    fn read(&self, revisions: &BTreeSet<Revision>) -> Result<Vec<Change>, EngineError>;

    /// Whether everything that it would read is as it was written, beyond what [`Engine::load`] reads.
    ///
    /// # Errors
    /// As [`Engine::load`].
    fn check(&self) -> Result<(), EngineError> {
        Ok(())
    }

    /// How much it holds; nothing where it does not count.
    fn size(&self) -> Size {
        Size::default()
    }

    /// Whether the disk was full and what is kept free for deletions is in use: until [`Batch::quiet`] has got it back, there is room for
    /// deletions only.
    fn strained(&self) -> bool {
        false
    }

    /// What errors call it: the path of its file, or its kind.
    fn name(&self) -> String;

    /// Whether calls may wait for a disk, so that they must not be made on an async thread.
    fn blocking(&self) -> bool;
}

/// The rows to remove when the history is dropped up to some revision: those that its events replaced, and deletions
/// themselves. `dropped` yields `(revision, kind, previous)` of each event dropped.
pub(crate) fn removed_by_trim(
    dropped: impl Iterator<Item = (Revision, ChangeKind, Revision)>,
) -> impl Iterator<Item = Revision> {
    dropped.flat_map(|(revision, kind, previous)| {
        let replaced = (previous != Revision::NONE).then_some(previous);
        let deletion = (kind == ChangeKind::Delete).then_some(revision);
        replaced.into_iter().chain(deletion)
    })
}
