//! What the verbs answer.

use bytes::Bytes;
use machinery::status::Status;
use serde_json::Value;

/// The answer to a write.
#[derive(Debug, Clone)]
pub struct Written {
    /// The object as JSON in the version asked for.
    pub object: Bytes,
    /// Whether it did not exist before: 201 rather than 200.
    pub created: bool,
}

/// The answer to a deletion.
#[derive(Debug, Clone)]
pub enum Deleted {
    /// The object is still there (finalizers, grace), or the kind answers with the object it deleted.
    Object {
        /// The object as JSON in the version asked for.
        object: Bytes,
        /// Whether the answer is 202: it is not gone yet and no grace period runs.
        accepted: bool,
    },
    /// It is gone: a `Status` with `status: Success`.
    Status(Value),
}

/// One object of a list.
#[derive(Debug, Clone)]
pub struct Item {
    /// Empty for cluster-scoped objects.
    pub namespace: String,
    /// The name.
    pub name: String,
    /// JSON in the version asked for.
    pub object: Bytes,
}

/// A page of a list.
#[derive(Debug, Clone)]
pub struct List {
    /// In the order of their keys.
    pub items: Vec<Item>,
    /// The revision the list shows.
    pub resource_version: u64,
    /// The token for the next page; empty on the last.
    pub continue_token: String,
    /// How many objects follow this page, when that is known.
    pub remaining: Option<u64>,
}

/// The kind of a watch event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventType {
    /// The object is new, or began to match the selectors.
    Added,
    /// The object changed.
    Modified,
    /// The object is gone, or ceased to match the selectors.
    Deleted,
    /// Only `metadata.resourceVersion` counts.
    Bookmark,
    /// The object is a `Status`, and the watch has ended.
    Error,
}

impl EventType {
    /// `ADDED`, …
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Added => "ADDED",
            Self::Modified => "MODIFIED",
            Self::Deleted => "DELETED",
            Self::Bookmark => "BOOKMARK",
            Self::Error => "ERROR",
        }
    }
}

/// One event of a watch.
#[derive(Debug, Clone)]
pub struct WatchEvent {
    /// What happened.
    pub kind: EventType,
    /// The object as JSON in the version asked for.
    pub object: Bytes,
}

/// A running watch. Dropping it ends it.
pub struct Watch {
    pub(crate) inner: crate::watch::WatchState,
}

impl Watch {
    /// The next event; `None` after an [`EventType::Error`] or when the server stops.
    pub async fn next(&mut self) -> Option<WatchEvent> {
        self.inner.next().await
    }

    /// A bookmark that says how far this watch has come; for the caller to send about once a minute when the client
    /// asked for bookmarks, and before it ends the watch for time.
    pub fn bookmark(&mut self) -> WatchEvent {
        self.inner.bookmark()
    }
}

impl From<&Status> for WatchEvent {
    fn from(status: &Status) -> Self {
        let object = serde_json::to_vec(&status.to_value()).unwrap_or_default();
        Self { kind: EventType::Error, object: Bytes::from(object) }
    }
}
