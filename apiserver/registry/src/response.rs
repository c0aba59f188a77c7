//! The results of the verbs.

use bytes::Bytes;
use machinery::status::Status;
use serde_json::Value;

/// The result of a write.
#[derive(Debug, Clone)]
pub struct Written {
    /// The object as JSON in the requested version.
    pub object: Bytes,
    /// Whether the object was created, so that the HTTP status is 201 and not 200.
    pub created: bool,
}

/// The result of a deletion.
#[derive(Debug, Clone)]
pub enum Deleted {
    /// The object still exists because of finalizers or a grace period, or the kind returns the deleted object.
    Object {
        /// The object as JSON in the requested version.
        object: Bytes,
        /// Whether the HTTP status is 202: the object still exists, and no grace period runs.
        accepted: bool,
    },
    /// The object has been removed: a `Status` with `status: Success`.
    Status(Value),
}

/// One object of a list.
#[derive(Debug, Clone)]
pub struct Item {
    /// The namespace; empty for cluster-scoped objects.
    pub namespace: String,
    /// The name of the object.
    pub name: String,
    /// The object as JSON in the requested version.
    pub object: Bytes,
}

/// A page of a list.
#[derive(Debug, Clone)]
pub struct List {
    /// The objects in the order of their keys.
    pub items: Vec<Item>,
    /// The revision that the list shows.
    pub resource_version: u64,
    /// The token for the next page; empty on the last page.
    pub continue_token: String,
    /// The number of objects after this page, if it is known.
    pub remaining: Option<u64>,
}

/// The kind of a watch event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventType {
    /// The object is new, or has started to match the selectors.
    Added,
    /// The object has changed.
    Modified,
    /// The object has been removed, or has stopped matching the selectors.
    Deleted,
    /// A bookmark: only `metadata.resourceVersion` is relevant.
    Bookmark,
    /// The object is a `Status`, and the watch ends.
    Error,
}

impl EventType {
    /// Returns `ADDED`, `MODIFIED`, `DELETED`, `BOOKMARK` or `ERROR`.
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
    /// The type of the event.
    pub kind: EventType,
    /// The object as JSON in the requested version.
    pub object: Bytes,
}

impl From<&Status> for WatchEvent {
    fn from(status: &Status) -> Self {
        let object = kinds::json::text(&status.to_value());
        Self { kind: EventType::Error, object: Bytes::from(object) }
    }
}
