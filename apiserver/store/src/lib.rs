//! Revisions, history and group commit over an embedded key-value engine.
//!
//! [`Store`] keeps the whole current state and the recent history of changes in memory and serves every read and watch from
//! there. An [`Engine`] makes changes durable; it is read when the store is opened, and where somebody goes back further in the
//! history than memory reaches. Start reading at [`Store::commit`]:
//! stage (preconditions against the pending state, revisions assigned) → one engine batch for everything staged meanwhile → publish
//! to readers and watchers → answer.
//!
//! This crate knows bytes, keys and revisions; what an object is, it does not know.

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
mod watcher;
mod watchers;

pub use change::{Change, ChangeKind};
pub use directory::DataDirectory;
#[cfg(feature = "sled")]
pub use engine::sled::Sled;
pub use engine::{
    Batch, Engine, Loaded, Size,
    embedded::{Disk, Embedded},
    faulty::{Fault, Faulty},
    memory::Memory,
};
pub use error::{CommitError, EngineError, HistoryError, WatchEnd};
pub use key::{InvalidKey, Key, Prefix};
pub use limits::HistoryLimits;
pub use object::{Event, EventKind, Stored};
pub use operation::{Operation, Value};
pub use revision::Revision;
pub use state::{Page, Snapshot};
pub use store::{Store, Verified};
pub use watcher::Watcher;
