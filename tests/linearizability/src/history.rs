//! What was asked and what was answered, in the order in which clients saw it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

/// A moment: each call and each answer has its own, in order.
pub type Moment = u64;
/// A `resourceVersion`.
pub type Revision = u64;

/// What a request asks of one object. Each written value is written once only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// POST.
    Create(String),
    /// PUT with a `resourceVersion`.
    Update(Revision, String),
    /// A merge patch without one.
    Patch(String),
    /// DELETE with a `resourceVersion` as precondition.
    Delete(Revision),
    /// GET.
    Read,
}

/// How a request ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It was written, under this revision.
    Written(Revision),
    /// It is gone.
    Deleted,
    /// It is there.
    Found(Revision, String),
    /// 404.
    Missing,
    /// 409, of a create.
    Exists,
    /// 409, of anything else.
    Conflict,
    /// No answer, or an error of the server: it may have happened.
    Unknown,
}

/// One request for one object.
#[derive(Clone, Debug)]
pub struct Operation {
    /// `namespace/name`
    pub key: String,
    /// When it was asked.
    pub call: Moment,
    /// When it was answered.
    pub end: Moment,
    /// What was asked.
    pub request: Request,
    /// What was answered.
    pub answer: Answer,
}

/// A list, all pages of it.
#[derive(Clone, Debug)]
pub struct Listing {
    /// The namespace; empty: all.
    pub namespace: String,
    /// When the first page was asked for.
    pub call: Moment,
    /// When the last page was there.
    pub end: Moment,
    /// The revision of each page.
    pub revisions: Vec<Revision>,
    /// Key, revision and value of each item.
    pub items: Vec<(String, Revision, String)>,
}

/// The kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The object is new.
    Added,
    /// It changed.
    Modified,
    /// It is gone.
    Deleted,
}

/// What a watch tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Told {
    /// A change: kind, key, revision, and the value that the object has or had.
    Event(Kind, String, Revision, String),
    /// Everything up to this revision was told.
    Bookmark(Revision),
}

/// One watch, from its start to its end.
#[derive(Clone, Debug, Default)]
pub struct Watching {
    /// The namespace; empty: all.
    pub namespace: String,
    /// Changes after this revision were asked for.
    pub from: Revision,
    /// When it was asked for.
    pub call: Moment,
    /// What came, and when.
    pub told: Vec<(Moment, Told)>,
    /// Whether it ended with 410: the revision is too old.
    pub expired: bool,
}

/// Everything that was recorded.
#[derive(Default)]
pub struct History {
    now: AtomicU64,
    /// Requests for one object.
    pub operations: Mutex<Vec<Operation>>,
    /// Lists.
    pub listings: Mutex<Vec<Listing>>,
    /// Watches.
    pub watches: Mutex<Vec<Watching>>,
}

impl History {
    /// A moment after all earlier ones.
    pub fn now(&self) -> Moment {
        self.now.fetch_add(1, Ordering::SeqCst)
    }
}

/// One change of one object; `None`: it was deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// `namespace/name`
    pub key: String,
    /// What was written.
    pub value: Option<String>,
    /// When a client first knew.
    pub known: Moment,
}

/// All changes that anybody knows of.
pub type Log = BTreeMap<Revision, Change>;
