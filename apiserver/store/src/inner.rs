//! The state that all handles of a store share.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use machinery::clock::Clock;
use parking_lot::{Mutex, RwLock};
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::change::Change;
use crate::engine::Engine;
use crate::error::{CommitError, EngineError, HistoryError};
use crate::head::{Head, Room};
use crate::history::Numbers;
use crate::limits::{QUOTA_PARTS, QUOTA_TIGHT_PARTS, WATCH_CHUNK_BYTES};
use crate::object::Event;
use crate::revision::Revision;
use crate::state::State;

/// Locks must be taken in the order `head`, `state`.
pub(crate) struct Inner {
    pub(crate) engine: Arc<dyn Engine>,
    pub(crate) blocking: bool,
    pub(crate) clock: Clock,
    pub(crate) head: Mutex<Head>,
    pub(crate) state: RwLock<State>,
    /// Whether a task is waiting until nobody writes.
    pub(crate) awaiting_quiet: AtomicBool,
    /// The time at which the engine began the current batch.
    pub(crate) writing_since: Mutex<Option<Instant>>,
    /// Notified when the engine has failed.
    pub(crate) failed: Notify,
    pub(crate) quota: u64,
    /// The memory that the published objects take, in bytes. It is a copy, because `state` is locked where the quota is looked at.
    pub(crate) memory: AtomicU64,
    /// Whether a write was refused because of the quota and there is no space yet.
    pub(crate) alarm: AtomicBool,
    /// The number of writes that were refused because of the quota or a full disk.
    pub(crate) refusals: AtomicU64,
}

impl Inner {
    pub(crate) fn room(&self) -> Room {
        Room { used: self.used(), quota: self.quota, strained: self.engine.strained() }
    }

    /// Returns what counts against the quota, in bytes: the larger one of what the disk and what the memory hold. Values are compressed on the
    /// disk only.
    pub(crate) fn used(&self) -> u64 {
        self.engine.size().rows.max(self.memory.load(Ordering::Relaxed))
    }

    /// Returns whether the history must be shortened in favor of objects.
    pub(crate) fn is_tight(&self) -> bool {
        self.engine.strained() || self.alarm.load(Ordering::Relaxed) || self.is_nearly_spent()
    }

    fn is_nearly_spent(&self) -> bool {
        self.used() >= self.quota / QUOTA_PARTS * QUOTA_TIGHT_PARTS
    }

    /// Counts a write that was refused for want of space, and begins the alarm of the quota.
    pub(crate) fn look_at_refusal(&self, error: &CommitError) {
        if matches!(error, CommitError::Quota { .. } | CommitError::Full(_)) {
            self.refusals.fetch_add(1, Ordering::Relaxed);
        }
        if matches!(error, CommitError::Quota { .. }) && !self.alarm.swap(true, Ordering::Relaxed) {
            tracing::error!(%error, "the quota is exhausted: only deletions and updates that do not enlarge objects are accepted");
        }
    }

    /// Ends the alarm when there is space again.
    pub(crate) fn look_at_quota(&self) {
        if self.alarm.load(Ordering::Relaxed) && !self.is_nearly_spent() {
            self.alarm.store(false, Ordering::Relaxed);
            tracing::info!(quota = self.quota, "usage is below the quota again");
        }
    }

    pub(crate) async fn check(&self) -> Result<(), EngineError> {
        let engine = self.engine.clone();
        if !self.blocking {
            return engine.check();
        }
        let file = engine.name();
        let failed = |error: tokio::task::JoinError| EngineError::Failed {
            step: "read",
            file,
            reason: error.to_string(),
        };
        tokio::task::spawn_blocking(move || engine.check()).await.map_err(failed)?
    }

    /// Returns the first of these events, as many as a watcher takes at a time. The result is empty if a row of the
    /// first event is missing.
    ///
    /// # Errors
    /// [`HistoryError::Poisoned`] if they cannot be read.
    pub(crate) async fn events(self: &Arc<Self>, numbers: Vec<Numbers>) -> Result<Vec<Event>, HistoryError> {
        if !self.blocking {
            return self.events_at_once(numbers.iter());
        }
        let store = self.clone();
        let read = tokio::task::spawn_blocking(move || store.events_at_once(numbers.iter())).await;
        read.unwrap_or_else(|error| Err(HistoryError::Poisoned(error.to_string().into())))
    }

    /// Works like [`Self::events`] on the current thread, which may wait for the disk.
    pub(crate) fn events_at_once<'a>(
        &self,
        numbers: impl Iterator<Item = &'a Numbers>,
    ) -> Result<Vec<Event>, HistoryError> {
        let (mut events, mut bytes) = (Vec::new(), 0);
        for numbers in numbers {
            let rows = self.rows_at_once(&numbers.rows().collect())?;
            let Some(event) = numbers.event(&rows) else { break };
            bytes += event.bytes();
            events.push(event);
            if bytes >= WATCH_CHUNK_BYTES {
                break;
            }
        }
        Ok(events)
    }

    /// Returns rows of the engine by revision.
    ///
    /// # Errors
    /// [`HistoryError::Poisoned`] if they cannot be read.
    pub(crate) async fn rows(
        &self,
        revisions: BTreeSet<Revision>,
    ) -> Result<BTreeMap<Revision, Change>, HistoryError> {
        if revisions.is_empty() || !self.blocking {
            return self.rows_at_once(&revisions);
        }
        let engine = self.engine.clone();
        let read = tokio::task::spawn_blocking(move || engine.read(&revisions)).await;
        match read {
            Ok(read) => by_number(read),
            Err(error) => Err(HistoryError::Poisoned(error.to_string().into())),
        }
    }

    /// Works like [`Self::rows`] on the current thread, which may wait for the disk.
    fn rows_at_once(
        &self,
        revisions: &BTreeSet<Revision>,
    ) -> Result<BTreeMap<Revision, Change>, HistoryError> {
        if revisions.is_empty() { Ok(BTreeMap::new()) } else { by_number(self.engine.read(revisions)) }
    }
}

fn by_number(read: Result<Vec<Change>, EngineError>) -> Result<BTreeMap<Revision, Change>, HistoryError> {
    let changes = read.map_err(|error| {
        tracing::error!(%error, "the history cannot be read");
        HistoryError::Poisoned(error.to_string().into())
    })?;
    Ok(changes.into_iter().map(|change| (change.revision, change)).collect())
}
