//! Revisions, history and group commit over an embedded key-value engine.
//!
//! [`Store`] keeps the current state and the recent history of changes in memory and serves all reads and watches from
//! there. An [`Engine`] makes changes durable. It is read when the store is opened, and for history that memory does
//! not hold. Start reading at [`Store::commit`]:
//! stage (check preconditions against the pending state, assign revisions) → one engine batch for everything staged
//! meanwhile → publish to readers and watchers → answer the callers.
//!
//! This crate handles bytes, keys and revisions, and does not interpret objects.

mod change;
mod directory;
mod engine;
mod error;
mod flush;
mod head;
mod history;
mod inner;
mod key;
pub mod limits;
mod object;
mod operation;
mod queue;
mod revision;
mod state;
mod store;
pub mod testing;
mod watcher;
mod watchers;

pub use change::{Change, ChangeKind};
pub use directory::DataDirectory;
#[cfg(feature = "sled")]
pub use engine::sled::Sled;
pub use engine::{
    Batch, Engine, Loaded, Size,
    embedded::{Disk, Embedded},
    kind::EngineKind,
    memory::Memory,
};
pub use error::{CommitError, EngineError, HistoryError, WatchEnd};
pub use key::{InvalidKey, Key, Prefix};
pub use limits::HistoryLimits;
pub use object::{Derived, Event, EventKind, Stored};
pub use operation::{Operation, Value};
pub use revision::Revision;
pub use state::{Page, Snapshot};
pub use store::{Store, Verified};
pub use watcher::Watcher;
pub use watchers::Overflows;
