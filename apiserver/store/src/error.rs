//! What can go wrong, by step.

use std::path::PathBuf;
use std::sync::Arc;

use crate::key::Key;
use crate::object::Stored;
use crate::revision::Revision;

/// An engine could not be opened, read or written.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// Another process holds the data directory.
    #[error(
        "data directory {path} is in use by {holder}; stop it first, or choose another directory with --data-dir"
    )]
    InUse {
        /// The data directory.
        path: PathBuf,
        /// `process <pid>`, or "another process" when it left no number.
        holder: String,
    },
    /// The data directory can be read by others and holds files of somebody else, so it is not narrowed.
    #[error(
        "data directory {path} is open to other users (mode {mode:04o}) and holds other files; choose an empty directory, or `chmod 700` it"
    )]
    Exposed {
        /// The data directory.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// The file was written by a newer version of this program.
    #[error(
        "{file} has storage format {found}, this version of firstlight reads up to format {supported}; use a newer firstlight"
    )]
    Newer {
        /// The store's file.
        file: String,
        /// The format found.
        found: u64,
        /// The newest format that this version reads.
        supported: u64,
    },
    /// The file is damaged. Nothing is taken from it, and nothing is left out to make it fit.
    #[error("{file} is damaged and is not used: {reason}; restore it from a backup")]
    Damaged {
        /// The store's file.
        file: String,
        /// What does not fit.
        reason: String,
    },
    /// The disk is full. Nothing of the batch was written; the engine can be used again.
    #[error("no space left to write {file}; nothing was changed")]
    Full {
        /// The store's file.
        file: String,
    },
    /// The disk failed; what is on it is only known after opening the store again.
    #[error("cannot {step} {file}: {reason}")]
    Failed {
        /// What was tried, as a verb.
        step: &'static str,
        /// The file or directory.
        file: String,
        /// The system's or engine's words.
        reason: String,
    },
}

/// A transaction was refused or could not be made durable. Nothing of it was or will be visible, except as [`CommitError::Poisoned`] says.
#[derive(Clone, Debug, thiserror::Error)]
pub enum CommitError {
    /// The key to be created exists.
    #[error("{} already exists", current.key)]
    AlreadyExists {
        /// What is there.
        current: Arc<Stored>,
    },
    /// The object was changed since the caller read it.
    #[error("{} is at revision {}, not {expected}", current.key, current.mod_revision)]
    Conflict {
        /// What the caller expected.
        expected: Revision,
        /// What is there.
        current: Arc<Stored>,
    },
    /// The object to be updated or deleted is not there.
    #[error("{key} does not exist")]
    NotFound {
        /// What was looked for.
        key: Key,
    },
    /// The disk is full; nothing was changed, later writes may succeed.
    #[error("{0}")]
    Full(Arc<str>),
    /// Objects and history take what they may; nothing was changed. Deletions, and updates that make nothing larger, go on.
    #[error(
        "etcdserver: mvcc: database space exceeded: {used} of {quota} bytes are taken; delete what is not needed, or start with a larger --quota-backend-bytes"
    )]
    Quota {
        /// Bytes that are taken.
        used: u64,
        /// Bytes that may be taken.
        quota: u64,
    },
    /// The engine failed, now or earlier; this store writes no more. Whether the transaction that met the failure is
    /// on the disk is known when the store is opened again.
    #[error("the store stopped writing after an error: {0}")]
    Poisoned(Arc<str>),
}

/// A point of the history cannot be served.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HistoryError {
    /// The history no longer reaches back to the revision asked for.
    #[error("revision {requested} is too old: the history begins at {oldest}")]
    Compacted {
        /// What was asked for.
        requested: Revision,
        /// The oldest revision that can be asked for.
        oldest: Revision,
    },
    /// The revision asked for lies in the future.
    #[error("revision {requested} is too large: the store is at {current}")]
    Future {
        /// What was asked for.
        requested: Revision,
        /// Where the store is.
        current: Revision,
    },
    /// The engine failed earlier; there will be no more events.
    #[error("the store stopped after an error: {0}")]
    Poisoned(Arc<str>),
}

/// Why a watcher gets no more events.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WatchEnd {
    /// What comes next for it is no longer in the history.
    #[error("the watcher fell too far behind")]
    TooSlow,
    /// The engine failed, or the store was dropped.
    #[error("the store stopped")]
    Stopped,
}
