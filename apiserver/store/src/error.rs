//! The errors of the store, by step.

use std::path::PathBuf;
use std::sync::Arc;

use crate::key::Key;
use crate::object::Stored;
use crate::revision::Revision;

/// An error of opening, reading or writing an engine.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// Another process holds the lock of the data directory.
    #[error(
        "data directory {path} is in use by {holder}; stop it first, or choose another directory with --data-dir"
    )]
    InUse {
        /// The data directory.
        path: PathBuf,
        /// `process <pid>`, or "another process" if the lock file has no number.
        holder: String,
    },
    /// Other users can read the data directory, and it contains other files, so its mode is not changed.
    #[error(
        "data directory {path} is open to other users (mode {mode:04o}) and holds other files; choose an empty directory, or `chmod 700` it"
    )]
    Exposed {
        /// The data directory.
        path: PathBuf,
        /// The permission bits of the directory.
        mode: u32,
    },
    /// The data directory has the content of another engine than the chosen one.
    #[error(
        "{content} was written by the engine {found}; use --store {found} instead of {chosen}, or choose another directory with --data-dir"
    )]
    OtherEngine {
        /// The file or folder of the other engine.
        content: String,
        /// The name of the engine that wrote it.
        found: &'static str,
        /// The name of the chosen engine.
        chosen: &'static str,
    },
    /// A newer version of this program wrote the file.
    #[error(
        "{file} has storage format {found}, this version of firstlight reads up to format {supported}; use a newer firstlight"
    )]
    Newer {
        /// The store's file.
        file: String,
        /// The format of the file.
        found: u64,
        /// The newest format that this version reads.
        supported: u64,
    },
    /// The file is damaged. No part of it is used, and nothing is omitted to make it fit.
    #[error("{file} is damaged and is not used: {reason}; restore it from a backup")]
    Damaged {
        /// The store's file.
        file: String,
        /// A description of the damage.
        reason: String,
    },
    /// The disk is full. Nothing of the batch was written, and the engine can be used again.
    #[error("no space left to write {file}; nothing was changed")]
    Full {
        /// The store's file.
        file: String,
    },
    /// The disk failed. Its content is only known after the store is opened again.
    #[error("cannot {step} {file}: {reason}")]
    Failed {
        /// The failed step, as a verb.
        step: &'static str,
        /// The file or directory.
        file: String,
        /// The error of the system or of the engine.
        reason: String,
    },
}

/// The reason why a transaction was refused or is not durable. No part of it is or will be visible, except as for
/// [`CommitError::Poisoned`].
#[derive(Clone, Debug, thiserror::Error)]
pub enum CommitError {
    /// The key to create exists.
    #[error("{} already exists", current.key)]
    AlreadyExists {
        /// The existing object.
        current: Arc<Stored>,
    },
    /// The object has changed since the caller read it.
    #[error("{} is at revision {}, not {expected}", current.key, current.mod_revision)]
    Conflict {
        /// The revision that the caller expected.
        expected: Revision,
        /// The existing object.
        current: Arc<Stored>,
    },
    /// The object to update or delete does not exist.
    #[error("{key} does not exist")]
    NotFound {
        /// The missing key.
        key: Key,
    },
    /// The disk is full. Nothing was changed, and later writes may succeed.
    #[error("{0}")]
    Full(Arc<str>),
    /// Objects and history have reached the quota. Nothing was changed. Deletions, and updates that do not enlarge an
    /// object, remain possible.
    #[error(
        "etcdserver: mvcc: database space exceeded: {used} of {quota} bytes are taken; delete objects that are not needed, or start with a larger --quota-backend-bytes"
    )]
    Quota {
        /// The used size in bytes.
        used: u64,
        /// The quota in bytes.
        quota: u64,
    },
    /// The engine has failed, at this transaction or before, and the store writes no more. Whether the transaction that
    /// met the failure is on disk is known when the store is opened again.
    #[error("the store stopped writing after an error: {0}")]
    Poisoned(Arc<str>),
}

/// The reason why a point of the history cannot be served.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HistoryError {
    /// The history does not reach back to the requested revision.
    #[error("revision {requested} is too old: the history begins at {oldest}")]
    Compacted {
        /// The requested revision.
        requested: Revision,
        /// The oldest available revision.
        oldest: Revision,
    },
    /// The requested revision is greater than the current one.
    #[error("revision {requested} is too large: the store is at {current}")]
    Future {
        /// The requested revision.
        requested: Revision,
        /// The current revision of the store.
        current: Revision,
    },
    /// The engine has failed, so there will be no more events.
    #[error("the store stopped after an error: {0}")]
    Poisoned(Arc<str>),
}

/// The reason why a watcher receives no more events.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WatchEnd {
    /// The next events of the watcher are not in the history.
    #[error("the watcher fell too far behind")]
    TooSlow,
    /// The engine failed, or the store was dropped.
    #[error("the store stopped")]
    Stopped,
}
