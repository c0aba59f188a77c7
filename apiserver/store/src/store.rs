//! The store serves reads and watches from memory and writes through the engine in groups.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use machinery::clock::Clock;
use parking_lot::{Mutex, RwLock};
use tokio::sync::Notify;

use crate::engine::{Engine, Loaded, Size};
use crate::error::{CommitError, EngineError, HistoryError};
use crate::head::Head;
use crate::history::Version;
use crate::inner::Inner;
use crate::key::{Key, Prefix};
use crate::limits::{HistoryLimits, READ_EVENTS, STUCK};
use crate::object::{Event, Stored, stored_of};
use crate::operation::Operation;
use crate::revision::Revision;
use crate::state::{Page, Snapshot, State};
use crate::watcher::Watcher;
use crate::watchers::Overflows;

/// The result of a successful [`Store::verify`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verified {
    /// The last revision.
    pub revision: Revision,
    /// The number of objects.
    pub objects: usize,
    /// The number of rows in the engine, for objects and history.
    pub rows: usize,
}

/// The current state and the recent history of all objects. Changes are durable before they are visible. Cloning is
/// cheap.
#[derive(Clone)]
pub struct Store(Arc<Inner>);

impl Store {
    /// Reads all rows from `engine` and uses the default history limits.
    ///
    /// # Errors
    /// The errors of [`Engine::load`], and damage that only shows when the rows are combined.
    pub async fn open(engine: impl Engine, clock: Clock) -> Result<Self, EngineError> {
        let limits = if engine.blocking() { HistoryLimits::default() } else { HistoryLimits::in_memory() };
        Self::open_with(engine, clock, limits).await
    }

    /// Reads all rows from `engine` and uses the history limits `limits`.
    ///
    /// # Errors
    /// As for [`Store::open`].
    pub async fn open_with(
        engine: impl Engine,
        clock: Clock,
        limits: HistoryLimits,
    ) -> Result<Self, EngineError> {
        Self::open_engine(Arc::new(engine), clock, limits).await
    }

    /// Like [`Store::open_with`], for an engine that [`EngineKind::open`](crate::EngineKind::open) has chosen.
    ///
    /// # Errors
    /// As for [`Store::open`].
    pub async fn open_engine(
        engine: Arc<dyn Engine>,
        clock: Clock,
        limits: HistoryLimits,
    ) -> Result<Self, EngineError> {
        let blocking = engine.blocking();
        let loaded = read_all(engine.clone(), blocking).await?;
        let state = replay(&*engine, loaded, limits)?;
        let head = Mutex::new(Head::at(state.revision));
        let memory = AtomicU64::new(state.memory());
        let inner = Inner {
            memory,
            engine,
            blocking,
            clock,
            head,
            state: RwLock::new(state),
            awaiting_quiet: AtomicBool::new(false),
            writing_since: Mutex::default(),
            failed: Notify::new(),
            quota: limits.quota,
            alarm: AtomicBool::new(false),
            refusals: AtomicU64::new(0),
        };
        Ok(Self(Arc::new(inner)))
    }

    /// Returns the last revision that readers see.
    pub fn revision(&self) -> Revision {
        self.0.state.read().revision
    }

    /// Returns the oldest revision that [`Store::watch`] and [`Store::list_at`] accept.
    pub fn oldest(&self) -> Revision {
        self.0.state.read().compacted()
    }

    /// Returns the number of objects.
    pub fn object_count(&self) -> usize {
        self.0.state.read().object_count()
    }

    /// Returns the number of objects below a prefix. It is known for all objects, for a resource and for a namespace of a resource.
    pub fn count(&self, prefix: &Prefix) -> usize {
        self.0.state.read().count_of(prefix)
    }

    /// Returns what counts against the quota, in bytes: the size of objects and history on the disk, or the memory of the objects, whichever
    /// is larger.
    pub fn used(&self) -> u64 {
        self.0.used()
    }

    /// Returns the number of events in the history.
    pub fn history_count(&self) -> usize {
        self.0.state.read().history_count()
    }

    /// Returns the number of watchers.
    pub fn watcher_count(&self) -> usize {
        self.0.state.read().watchers.count()
    }

    /// Returns the reason why the store stopped writing, if it did. Reads still return acknowledged data, but the
    /// process should end.
    pub fn failure(&self) -> Option<Arc<str>> {
        self.0.head.lock().failure().cloned()
    }

    /// Waits until the store has stopped writing, and returns the reason.
    pub async fn failed(&self) -> Arc<str> {
        loop {
            let told = self.0.failed.notified();
            tokio::pin!(told);
            told.as_mut().enable();
            if let Some(failure) = self.failure() {
                return failure;
            }
            told.await;
        }
    }

    /// Checks whether the store can write.
    ///
    /// # Errors
    /// The reason why not: the store stopped, or the disk has been writing one batch for longer than [`STUCK`]. A full
    /// disk or an exhausted quota is not an error, because deletions remain possible.
    pub fn health(&self) -> Result<(), String> {
        if let Some(failure) = self.failure() {
            return Err(format!("the store stopped writing: {failure}"));
        }
        match *self.0.writing_since.lock() {
            Some(since) if self.0.clock.monotonic() - since > STUCK => {
                Err(format!("the disk has not completed a write for {} s", STUCK.as_secs()))
            }
            _ => Ok(()),
        }
    }

    /// Returns the size of the engine's content.
    pub fn size(&self) -> Size {
        self.0.engine.size()
    }

    /// Returns the maximum size in bytes of objects and history on the disk, and of the objects in memory.
    pub fn quota(&self) -> u64 {
        self.0.quota
    }

    /// Returns whether writes are refused because of the quota, or because the disk has space for deletions only.
    pub fn alarm(&self) -> bool {
        self.0.alarm.load(Ordering::Relaxed) || self.0.engine.strained()
    }

    /// Returns the number of writes that were refused because of the quota or a full disk.
    pub fn refusals(&self) -> u64 {
        self.0.refusals.load(Ordering::Relaxed)
    }

    /// Returns how often the queues of watchers were emptied because of a limit.
    pub fn overflows(&self) -> Overflows {
        self.0.state.read().watchers.overflows()
    }

    /// Returns whether both are handles of one open store.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Returns the size of the events that wait for watchers in bytes, with each event counted once.
    pub fn queued_bytes(&self) -> usize {
        self.0.state.read().watchers.queued_bytes()
    }

    /// Reads the whole content of the engine again and verifies that all rows match their checksums, that none is
    /// missing, and that they fit together. Writes wait meanwhile.
    ///
    /// # Errors
    /// The errors that [`Store::open`] would return.
    pub async fn verify(&self) -> Result<Verified, EngineError> {
        let engine = self.0.engine.clone();
        let loaded = read_all(engine.clone(), self.0.blocking).await?;
        let rows = loaded.changes.len();
        let revisions = loaded.changes.iter().map(|change| change.revision).collect();
        let state = replay(&*engine, loaded, HistoryLimits::default())?;
        self.0.check().await?;
        // A load may omit the values of replaced rows, so they are read here. Rows that are trimmed meanwhile do not
        // matter.
        if self.0.blocking {
            let file = engine.name();
            let failed = |error: tokio::task::JoinError| EngineError::Failed {
                step: "read",
                file,
                reason: error.to_string(),
            };
            tokio::task::spawn_blocking(move || read_values(&*engine, revisions)).await.map_err(failed)??;
        }
        Ok(Verified { revision: state.revision, objects: state.object_count(), rows })
    }

    /// Returns one object, or `None` if it does not exist.
    pub fn get(&self, key: &Key) -> Option<Arc<Stored>> {
        self.0.state.read().get(key).cloned()
    }

    /// Returns the objects below a prefix, all at one revision.
    pub fn list(&self, prefix: &Prefix, page: &Page) -> Snapshot {
        self.0.state.read().list(prefix, page)
    }

    /// Returns one object, if it exists, as a list of what has its key.
    pub fn list_one(&self, key: &Key) -> Snapshot {
        self.0.state.read().list_one(key)
    }

    /// Returns the objects below a prefix that are wanted, all at one revision. No write is published while it decides, so `wanted` must
    /// decide at once.
    pub fn list_wanted(&self, prefix: &Prefix, wanted: impl Fn(&Stored) -> bool) -> Snapshot {
        self.0.state.read().list_wanted(prefix, wanted)
    }

    /// Returns the objects below a prefix as they were at `revision`.
    ///
    /// # Errors
    /// The history does not reach back to `revision`, or cannot be read.
    pub async fn list_at(
        &self,
        prefix: &Prefix,
        revision: Revision,
        page: &Page,
    ) -> Result<Snapshot, HistoryError> {
        let (versions, remaining) = self.0.state.read().list_at(prefix, revision, page)?;
        let row = |version: &Version| match version {
            Version::Here(_) => None,
            Version::Row(row) => Some(*row),
        };
        let mut rows = self.0.rows(versions.iter().filter_map(row).collect()).await?;
        let mut items = Vec::with_capacity(versions.len());
        for version in versions {
            items.push(match version {
                Version::Here(stored) => stored,
                Version::Row(row) => match rows.remove(&row) {
                    Some(change) => Arc::new(stored_of(change)),
                    // The row was dropped between the two steps.
                    None => {
                        let oldest = self.oldest();
                        return Err(HistoryError::Compacted { requested: revision, oldest });
                    }
                },
            });
        }
        Ok(Snapshot { revision, items, remaining })
    }

    /// Returns a watcher of all events below a prefix after revision `from`.
    ///
    /// # Errors
    /// The history does not reach back to `from`, or the store stopped.
    pub fn watch(&self, prefix: &Prefix, from: Revision) -> Result<Watcher, HistoryError> {
        let head = self.0.head.lock();
        if let Some(failure) = head.failure() {
            return Err(HistoryError::Poisoned(failure.clone()));
        }
        let mut state = self.0.state.write();
        state.check_reachable(from)?;
        let behind = from < state.revision;
        let subscription = state.watchers.subscribe(prefix, behind);
        Ok(Watcher::new(prefix, from, subscription, &self.0))
    }

    /// Performs all operations or none. Returns when they are durable and visible, with one event for each and
    /// consecutive revisions. Dropping the future does not revert the transaction.
    ///
    /// # Errors
    /// A precondition does not hold, or the engine cannot write.
    pub async fn commit(&self, operations: Vec<Operation>) -> Result<Vec<Arc<Event>>, CommitError> {
        if operations.is_empty() {
            return Ok(Vec::new());
        }
        self.begin(operations).await
    }

    /// Works like [`Self::commit`]. When it returns, the transaction has its place before all that begin later; the future waits for its end.
    pub fn begin(
        &self,
        operations: Vec<Operation>,
    ) -> impl Future<Output = Result<Vec<Arc<Event>>, CommitError>> + Send + use<> {
        let time = self.0.clock.now().timestamp();
        let room = self.0.room();
        let staged = self.0.head.lock().stage(&self.0.state, operations, time, room);
        if let Ok((_, true)) = staged {
            if self.0.blocking {
                // The flush is a separate task, so that a caller that goes away does not stop the transactions of
                // others.
                tokio::spawn(self.0.clone().flush_and_settle());
            } else {
                self.0.flush_inline();
            }
        }
        let store = self.0.clone();
        async move {
            let answer = match staged {
                Ok((answer, _)) => answer.await,
                Err(refusal) => Ok(Err(refusal)),
            };
            let gone = |_| Err(CommitError::Poisoned("the process is shutting down".into()));
            answer.unwrap_or_else(gone).inspect_err(|error| store.look_at_refusal(error))
        }
    }

    /// Waits until every transaction that has begun is visible or has failed.
    pub async fn settled(&self) {
        // It is answered in its turn, and what stops it has stopped the others, too.
        let _answer = self.begin(Vec::new()).await;
    }
}

async fn read_all(engine: Arc<dyn Engine>, blocking: bool) -> Result<Loaded, EngineError> {
    if !blocking {
        return engine.load();
    }
    let file = engine.name();
    tokio::task::spawn_blocking(move || engine.load()).await.map_err(|error| EngineError::Failed {
        step: "read",
        file,
        reason: error.to_string(),
    })?
}

/// Reads all rows in small groups, so that writes do not wait for long.
fn read_values(engine: &dyn Engine, revisions: Vec<Revision>) -> Result<(), EngineError> {
    for some in revisions.chunks(READ_EVENTS) {
        engine.read(&some.iter().copied().collect())?;
    }
    Ok(())
}

fn replay(engine: &dyn Engine, loaded: Loaded, limits: HistoryLimits) -> Result<State, EngineError> {
    State::replay(loaded, limits).map_err(|reason| EngineError::Damaged { file: engine.name(), reason })
}
