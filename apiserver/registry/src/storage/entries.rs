//! The registry's interface to the store, with keys as text and errors as `Status` for clients.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use futures::FutureExt;
use futures::future::Either;
use machinery::status::Status;
use parking_lot::RwLock;
use store::{
    CommitError, Event, HistoryError, Key, Operation, Page, Prefix, Revision, Store, Stored, Watcher,
};

use super::document::{self, Document};

/// A stored object.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) revision: u64,
    pub(crate) value: Bytes,
}

/// The reason why a write failed.
#[derive(Debug)]
pub(crate) enum WriteError {
    /// The key does not have the expected revision.
    Conflict,
    /// The store cannot write.
    Failed(Status),
}

impl WriteError {
    /// Returns the error for the client. For a conflict with another write, this is the result of `conflict`.
    pub(crate) fn status(self, conflict: impl FnOnce() -> Status) -> Status {
        match self {
            Self::Conflict => conflict(),
            Self::Failed(status) => status,
        }
    }
}

impl From<CommitError> for WriteError {
    fn from(error: CommitError) -> Self {
        match error {
            CommitError::AlreadyExists { .. }
            | CommitError::Conflict { .. }
            | CommitError::NotFound { .. } => Self::Conflict,
            CommitError::Full(why) => Self::Failed(Status::new(
                507,
                "InsufficientStorage",
                format!("cannot store the object: {why}"),
            )),
            error @ CommitError::Quota { .. } => {
                Self::Failed(Status::new(507, "InsufficientStorage", error.to_string()))
            }
            CommitError::Poisoned(why) => Self::Failed(Status::internal(why.to_string())),
        }
    }
}

/// The reason why a revision is not available.
#[derive(Debug)]
pub(crate) enum Gone {
    /// The revision is not in the history.
    Expired,
    /// The store has stopped.
    Failed(Status),
}

impl From<HistoryError> for Gone {
    fn from(error: HistoryError) -> Self {
        match error {
            HistoryError::Compacted { .. } | HistoryError::Future { .. } => Self::Expired,
            HistoryError::Poisoned(_) => Self::Failed(Status::internal(error.to_string())),
        }
    }
}

/// The store.
pub(crate) struct Storage {
    store: Store,
    /// The number of changes of admission configurations since the start.
    admission_changes: Arc<AtomicU64>,
    /// Held for reading from the last look at the namespace and the definition of a new object until its write has begun. Whoever removes
    /// the content of a namespace or of a definition first takes it for writing, and then waits for the writes that have begun: what was
    /// allowed before the deletion is stored then, also for a client that has gone, and nothing is created afterwards.
    creations: RwLock<()>,
}

fn bad_key(key: &str) -> WriteError {
    WriteError::Failed(Status::internal(format!("{key} cannot be a key")))
}

/// Parses a prefix of keys. Returns `None` for an invalid one.
fn prefix(text: &str) -> Option<Prefix> {
    if text == "/registry/" {
        return Some(Prefix::all());
    }
    let (group, resource, namespace, _) = crate::storage::keys::split(text);
    if resource.is_empty() {
        return Prefix::group(group).ok();
    }
    if namespace.is_empty() {
        Prefix::resource(group, resource).ok()
    } else {
        Prefix::namespace(group, resource, namespace).ok()
    }
}

impl Storage {
    pub(crate) fn new(store: Store) -> Self {
        Self { store, admission_changes: Arc::default(), creations: RwLock::new(()) }
    }

    /// Returns a counter that increases with each change of an admission configuration.
    pub(crate) fn admission_changes(&self) -> u64 {
        self.admission_changes.load(Ordering::Acquire)
    }

    pub(crate) fn store(&self) -> &Store {
        &self.store
    }

    pub(crate) fn revision(&self) -> u64 {
        self.store.revision().0
    }

    pub(crate) fn get(&self, key: &str) -> Option<Entry> {
        let stored = self.stored(key)?;
        Some(Entry { revision: stored.mod_revision.0, value: stored.value.clone() })
    }

    /// Returns an object with what is kept beside it.
    pub(crate) fn stored(&self, key: &str) -> Option<Arc<Stored>> {
        self.store.get(&Key::parse(key).ok()?)
    }

    /// Returns the size of a stored object in bytes; 0 if it does not exist.
    pub(crate) fn bytes(&self, key: &str) -> usize {
        self.stored(key).map_or(0, |stored| stored.value.len())
    }

    /// Returns the number of objects below the prefix `text`.
    pub(crate) fn count(&self, text: &str) -> usize {
        prefix(text).map_or(0, |prefix| self.store.count(&prefix))
    }

    /// Returns all objects below the prefix `text`, and the revision of this state.
    pub(crate) fn range(&self, text: &str) -> (Vec<Arc<Stored>>, u64) {
        let Some(prefix) = prefix(text) else { return (Vec::new(), self.revision()) };
        let snapshot = self.store.list(&prefix, &Page::default());
        (snapshot.items, snapshot.revision.0)
    }

    /// Returns the objects below the prefix `text` that are wanted, and the revision of this state. `wanted` must decide at once.
    pub(crate) fn wanted(&self, text: &str, wanted: impl Fn(&Stored) -> bool) -> (Vec<Arc<Stored>>, u64) {
        let Some(prefix) = prefix(text) else { return (Vec::new(), self.revision()) };
        let snapshot = self.store.list_wanted(&prefix, wanted);
        (snapshot.items, snapshot.revision.0)
    }

    /// Returns the object with this key, if it exists, and the revision of this state.
    pub(crate) fn one(&self, key: &str) -> (Vec<Arc<Stored>>, u64) {
        let Ok(key) = Key::parse(key) else { return (Vec::new(), self.revision()) };
        let snapshot = self.store.list_one(&key);
        (snapshot.items, snapshot.revision.0)
    }

    /// Returns all objects below the prefix `text` as of `revision`.
    pub(crate) async fn range_at(&self, text: &str, revision: u64) -> Result<Vec<Arc<Stored>>, Gone> {
        let Some(prefix) = prefix(text) else { return Ok(Vec::new()) };
        Ok(self.store.list_at(&prefix, Revision(revision), &Page::default()).await?.items)
    }

    /// Stores `document` if the current revision of the key is `expected`. `None` means that the key must not exist. The write has begun when
    /// this returns, and takes place even if nobody awaits its end.
    pub(crate) fn put(
        &self,
        key: &str,
        expected: Option<u64>,
        document: Document,
    ) -> impl Future<Output = Result<Entry, WriteError>> + Send + use<> {
        let key = Key::parse(key).map_err(|_| bad_key(key));
        let event = key.map(|key| self.begin(Self::put_of(key, expected, document)));
        async move {
            let event = event?.await?;
            Ok(Entry { revision: event.revision().0, value: event.object.value.clone() })
        }
    }

    /// Begins to store a new object, like [`Self::put`], if `check` allows it at this moment.
    pub(crate) fn create(
        &self,
        key: &str,
        document: Document,
        check: &dyn Fn() -> Result<(), Status>,
    ) -> Result<impl Future<Output = Result<Entry, WriteError>> + Send + use<>, Status> {
        let _creating = self.creations.read();
        check()?;
        Ok(self.put(key, None, document))
    }

    /// Waits until all creations are stored that [`Self::create`] has allowed so far.
    pub(crate) async fn creations_stored(&self) {
        drop(self.creations.write());
        self.store.settled().await;
    }

    fn put_of(key: Key, expected: Option<u64>, mut document: Document) -> Operation {
        let terminating = document.is_terminating();
        let derived = document.take_derived();
        let value = move |revision: Revision| document.at(revision.0);
        let operation = match expected {
            None => Operation::create(key, value),
            Some(expected) if terminating => Operation::removal(key, Revision(expected), value),
            Some(expected) => Operation::update(key, Revision(expected), value),
        };
        operation.with(derived)
    }

    /// Removes the entry if it is still current. Watchers get the last stored state. Returns the revision of the
    /// removal.
    pub(crate) async fn remove(&self, key: &str, entry: &Entry) -> Result<u64, WriteError> {
        let key = Key::parse(key).map_err(|_| bad_key(key))?;
        let last = entry.value.clone();
        let operation = Operation::delete(key, Revision(entry.revision), move |revision| {
            document::at_revision(&last, revision.0).unwrap_or(last)
        });
        Ok(self.begin(operation).await?.revision().0)
    }

    fn begin(
        &self,
        operation: Operation,
    ) -> impl Future<Output = Result<Arc<Event>, WriteError>> + Send + use<> {
        let is_admission = operation.key().group() == crate::storage::keys::ADMISSION_GROUP;
        let events = self.store.begin(vec![operation]);
        let event = async {
            let nothing = || WriteError::Failed(Status::internal("the store committed nothing"));
            events.await?.into_iter().next().ok_or_else(nothing)
        };
        if !is_admission {
            return Either::Left(event);
        }
        // A task of its own, because the configuration must take effect although the client has gone.
        let changes = self.admission_changes.clone();
        let counted = tokio::spawn(async move {
            let event = event.await?;
            changes.fetch_add(1, Ordering::Release);
            Ok(event)
        });
        let ended =
            |error: tokio::task::JoinError| Err(WriteError::Failed(Status::internal(error.to_string())));
        Either::Right(counted.map(move |written| written.unwrap_or_else(ended)))
    }

    /// Watches the changes below the prefix `text` after `revision`, in order.
    pub(crate) fn watch(&self, text: &str, revision: u64) -> Result<Watcher, Gone> {
        let prefix = prefix(text).ok_or(Gone::Expired)?;
        Ok(self.store.watch(&prefix, Revision(revision))?)
    }

    /// Returns the oldest revision from which [`Self::watch`] can start.
    pub(crate) fn oldest(&self) -> u64 {
        self.store.oldest().0
    }

    /// Waits until the store has reached `revision`.
    pub(crate) async fn reached(&self, revision: u64) {
        while self.revision() < revision {
            let Ok(mut changes) = self.store.watch(&Prefix::all(), self.store.revision()) else { return };
            if self.revision() < revision && changes.next().await.is_err() {
                return;
            }
        }
    }
}
