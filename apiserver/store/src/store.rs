//! The store: reads and watches from memory, writes through the engine in groups.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

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

/// What [`Store::verify`] found whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verified {
    /// The last revision.
    pub revision: Revision,
    /// How many objects there are.
    pub objects: usize,
    /// How many rows the engine keeps: the objects, and the history.
    pub rows: usize,
}

/// The current state and the recent history of all objects, durable before visible. Cheap to clone.
#[derive(Clone)]
pub struct Store(Arc<Inner>);

impl Store {
    /// Reads everything from `engine`, with the usual length of history.
    ///
    /// # Errors
    /// What [`Engine::load`] reports, and damage that only shows when the rows are put together.
    pub async fn open(engine: impl Engine, clock: Clock) -> Result<Self, EngineError> {
        let limits = if engine.blocking() { HistoryLimits::default() } else { HistoryLimits::in_memory() };
        Self::open_with(engine, clock, limits).await
    }

    /// Reads everything from `engine`.
    ///
    /// # Errors
    /// As [`Store::open`].
    pub async fn open_with(
        engine: impl Engine,
        clock: Clock,
        limits: HistoryLimits,
    ) -> Result<Self, EngineError> {
        let engine: Arc<dyn Engine> = Arc::new(engine);
        let blocking = engine.blocking();
        let loaded = read_all(engine.clone(), blocking).await?;
        let state = replay(&*engine, loaded, limits)?;
        let head = Mutex::new(Head::at(state.revision));
        let inner = Inner {
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
        };
        Ok(Self(Arc::new(inner)))
    }

    /// The last revision that readers see.
    pub fn revision(&self) -> Revision {
        self.0.state.read().revision
    }

    /// The oldest revision that [`Store::watch`] and [`Store::list_at`] accept.
    pub fn oldest(&self) -> Revision {
        self.0.state.read().compacted()
    }

    /// How many objects there are.
    pub fn object_count(&self) -> usize {
        self.0.state.read().object_count()
    }

    /// How many events the history holds.
    pub fn history_count(&self) -> usize {
        self.0.state.read().history_count()
    }

    /// How many watchers there are.
    pub fn watcher_count(&self) -> usize {
        self.0.state.read().watchers.count()
    }

    /// Why the store stopped writing, if it did. Reads still answer what was acknowledged; the process should end.
    pub fn failure(&self) -> Option<Arc<str>> {
        self.0.head.lock().failure().cloned()
    }

    /// Done when the store has stopped writing; gives the reason.
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

    /// Whether the store can write.
    ///
    /// # Errors
    /// Why not: it stopped, or the disk has been at one batch for longer than [`STUCK`]. A full disk and a spent quota are no such reason: deletions
    /// go on.
    pub fn health(&self) -> Result<(), String> {
        if let Some(failure) = self.failure() {
            return Err(format!("the store stopped writing: {failure}"));
        }
        match *self.0.writing_since.lock() {
            Some(since) if self.0.clock.monotonic() - since > STUCK => {
                Err(format!("the disk has not taken a write for {} s", STUCK.as_secs()))
            }
            _ => Ok(()),
        }
    }

    /// How much the engine holds.
    pub fn size(&self) -> Size {
        self.0.engine.size()
    }

    /// What objects and history may take, bytes.
    pub fn quota(&self) -> u64 {
        self.0.quota
    }

    /// Whether writes are refused for the quota, or since the disk has room for deletions only.
    pub fn alarm(&self) -> bool {
        self.0.alarm.load(Ordering::Relaxed) || self.0.engine.strained()
    }

    /// Bytes of the events that wait for watchers, each counted once.
    pub fn queued_bytes(&self) -> usize {
        self.0.state.read().watchers.queued_bytes()
    }

    /// Reads all that the engine holds once more: whether every row has its checksum, none is missing, and they fit together. Writes wait
    /// meanwhile.
    ///
    /// # Errors
    /// What [`Store::open`] would report.
    pub async fn verify(&self) -> Result<Verified, EngineError> {
        let engine = self.0.engine.clone();
        let loaded = read_all(engine.clone(), self.0.blocking).await?;
        let rows = loaded.changes.len();
        let revisions = loaded.changes.iter().map(|change| change.revision).collect();
        let state = replay(&*engine, loaded, HistoryLimits::default())?;
        self.0.check().await?;
        // A load may leave out values that others replaced; rows that are trimmed meanwhile are nobody's loss.
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

    /// One object.
    pub fn get(&self, key: &Key) -> Option<Arc<Stored>> {
        self.0.state.read().get(key).cloned()
    }

    /// The objects below a prefix, all at one revision.
    pub fn list(&self, prefix: &Prefix, page: &Page) -> Snapshot {
        self.0.state.read().list(prefix, page)
    }

    /// The objects below a prefix as they were at `revision`.
    ///
    /// # Errors
    /// The history does not reach there, or cannot be read.
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
                    // Dropped between the two steps.
                    None => {
                        let oldest = self.oldest();
                        return Err(HistoryError::Compacted { requested: revision, oldest });
                    }
                },
            });
        }
        Ok(Snapshot { revision, items, remaining })
    }

    /// Every event below a prefix after revision `from`.
    ///
    /// # Errors
    /// The history does not reach there, or the store stopped.
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

    /// Performs all operations or none, and returns when they are durable and visible: an event for each, with consecutive
    /// revisions. Dropping the future does not take the transaction back.
    ///
    /// # Errors
    /// A precondition that does not hold, or an engine that cannot write.
    pub async fn commit(&self, operations: Vec<Operation>) -> Result<Vec<Arc<Event>>, CommitError> {
        if operations.is_empty() {
            return Ok(Vec::new());
        }
        let time = self.0.clock.now().timestamp();
        let room = self.0.room();
        let staged = self.0.head.lock().stage(&self.0.state, operations, time, room);
        let (answer, lead) = staged.inspect_err(|error| self.0.look_at_refusal(error))?;
        if lead {
            if self.0.blocking {
                // Of its own, so that a caller that goes away does not take the others' transactions with it.
                tokio::spawn(self.0.clone().flush_and_settle());
            } else {
                self.0.flush_inline();
            }
        }
        match answer.await {
            Ok(answer) => answer,
            Err(_) => Err(CommitError::Poisoned("the process is shutting down".into())),
        }
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

/// Reads every row, a few at a time so that writes do not wait for long.
fn read_values(engine: &dyn Engine, revisions: Vec<Revision>) -> Result<(), EngineError> {
    for some in revisions.chunks(READ_EVENTS) {
        engine.read(&some.iter().copied().collect())?;
    }
    Ok(())
}

fn replay(engine: &dyn Engine, loaded: Loaded, limits: HistoryLimits) -> Result<State, EngineError> {
    State::replay(loaded, limits).map_err(|reason| EngineError::Damaged { file: engine.name(), reason })
}
