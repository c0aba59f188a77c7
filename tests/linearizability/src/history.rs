//! Records requests and responses in the order in which clients saw them.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

/// A moment: each call and each response has its own, in order.
pub type Moment = u64;
/// A `resourceVersion`.
pub type Revision = u64;

/// A request for one object. Each value is written only once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// A create (POST).
    Create(String),
    /// An update (PUT) with a `resourceVersion`.
    Update(Revision, String),
    /// A merge patch without `resourceVersion`.
    Patch(String),
    /// A delete with a `resourceVersion` as precondition.
    Delete(Revision),
    /// A read (GET).
    Read,
}

/// The outcome of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The object was written with this revision.
    Written(Revision),
    /// The object was deleted.
    Deleted,
    /// The object exists, with this revision and value.
    Found(Revision, String),
    /// The object does not exist (404).
    Missing,
    /// A create failed because the object exists (409).
    Exists,
    /// Any other request failed with a conflict (409).
    Conflict,
    /// No response, or a server error; the request may have had an effect.
    Unknown,
}

/// A request for one object.
#[derive(Clone, Debug)]
pub struct Operation {
    /// Key of the object, `namespace/name`.
    pub key: String,
    /// When the request was sent.
    pub call: Moment,
    /// When the response arrived.
    pub end: Moment,
    /// The request.
    pub request: Request,
    /// The response.
    pub answer: Answer,
}

/// A list with all its pages.
#[derive(Clone, Debug)]
pub struct Listing {
    /// The namespace; empty for all.
    pub namespace: String,
    /// When the first page was requested.
    pub call: Moment,
    /// When the last page arrived.
    pub end: Moment,
    /// The revision of each page.
    pub revisions: Vec<Revision>,
    /// Key, revision and value of each item.
    pub items: Vec<(String, Revision, String)>,
}

/// The type of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The object was created.
    Added,
    /// The object was changed.
    Modified,
    /// The object was deleted.
    Deleted,
}

/// A message of a watch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    /// A change: type, key, revision, and the object's present or last value.
    Event(Kind, String, Revision, String),
    /// All changes up to this revision were sent.
    Bookmark(Revision),
}

/// A watch from start to end.
#[derive(Clone, Debug, Default)]
pub struct Watching {
    /// The namespace; empty for all.
    pub namespace: String,
    /// The revision after which changes were requested.
    pub from: Revision,
    /// When the watch was requested.
    pub call: Moment,
    /// The messages, and when they arrived.
    pub told: Vec<(Moment, Seen)>,
    /// Whether it ended with 410 because the revision was too old.
    pub expired: bool,
}

/// All recorded events.
#[derive(Default)]
pub struct History {
    now: AtomicU64,
    /// Requests for single objects.
    pub operations: Mutex<Vec<Operation>>,
    /// Lists.
    pub listings: Mutex<Vec<Listing>>,
    /// Watches.
    pub watches: Mutex<Vec<Watching>>,
}

impl History {
    /// Returns a moment after all earlier ones.
    pub fn now(&self) -> Moment {
        self.now.fetch_add(1, Ordering::SeqCst)
    }
}

/// A change of an object; the value is `None` for a deletion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Key of the object, `namespace/name`.
    pub key: String,
    /// The written value.
    pub value: Option<String>,
    /// When a client first learned of the change.
    pub known: Moment,
}

/// All changes that any client observed.
pub type Log = BTreeMap<Revision, Change>;
