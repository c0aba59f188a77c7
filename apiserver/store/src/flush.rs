//! The path of batches from the head to the engine, then to readers and watchers, and to the waiting callers. One task
//! at a time flushes.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::engine::{Batch, Engine};
use crate::error::{CommitError, EngineError};
use crate::head::Flight;
use crate::inner::Inner;
use crate::limits::QUIET;
use crate::revision::Revision;

impl Inner {
    fn take(&self) -> Option<Flight> {
        self.head.lock().take(|adding| self.trimmable(adding))
    }

    fn trimmable(&self, adding: usize) -> Option<Revision> {
        let now = self.clock.now().timestamp();
        self.state.read().trimmable(adding, now, self.is_tight(), self.engine.strained())
    }

    /// Writes the queued transactions on the current thread.
    pub(crate) fn flush_inline(&self) {
        while let Some(flight) = self.take() {
            let result = if flight.is_empty() { Ok(()) } else { self.engine.commit(&flight.batch) };
            self.finish(flight, result);
        }
    }

    async fn flush(&self) {
        while let Some(flight) = self.take() {
            self.fly(flight).await;
        }
    }

    async fn fly(&self, mut flight: Flight) {
        *self.writing_since.lock() = Some(self.clock.monotonic());
        let result = if flight.is_empty() {
            Ok(())
        } else {
            let batch = std::mem::take(&mut flight.batch);
            let engine = self.engine.clone();
            let (batch, result) = commit_blocking(engine, batch).await;
            flight.batch = batch;
            result
        };
        *self.writing_since.lock() = None;
        self.finish(flight, result);
    }

    /// Writes the queued transactions. One of these tasks stays until nobody writes.
    pub(crate) async fn flush_and_settle(self: Arc<Self>) {
        self.flush().await;
        if self.awaiting_quiet.swap(true, Ordering::AcqRel) {
            return;
        }
        // A waiting task must not keep a dropped store alive, because the store holds the lock of its directory.
        let (clock, store) = (self.clock.clone(), Arc::downgrade(&self));
        drop(self);
        while let Some(before) = store.upgrade().map(|store| store.state.read().revision) {
            clock.sleep(QUIET).await;
            let Some(store) = store.upgrade() else { return };
            if store.state.read().revision == before && store.settle(before).await {
                return;
            }
        }
    }

    /// Lets the engine prepare for the next start. Returns whether nobody wrote meanwhile.
    async fn settle(&self, revision: Revision) -> bool {
        let trim = if self.is_tight() { self.trimmable(0) } else { None };
        let flight = self.head.lock().take_quiet(&self.state, trim);
        if let Some(flight) = flight {
            self.fly(flight).await;
            self.flush().await;
        }
        let unfinished = self.engine.strained() || trim.is_some();
        if unfinished && self.head.lock().failure().is_none() {
            return false;
        }
        self.awaiting_quiet.store(false, Ordering::Release);
        // A writer that came before the previous line relies on this task.
        self.state.read().revision == revision || self.awaiting_quiet.swap(true, Ordering::AcqRel)
    }

    /// Stops the store if revisions do not increase, because readers would see an order that no writer made.
    fn disorder(&self, flight: &Flight) -> Option<CommitError> {
        if flight.is_empty() {
            return None;
        }
        let order = self.state.read().check_order(&flight.events, flight.batch.revision);
        order.err().map(|reason| CommitError::Poisoned(reason.into()))
    }

    /// Publishes a batch and then answers its callers, so that a caller that knows of a write can read it.
    fn finish(&self, flight: Flight, result: Result<(), EngineError>) {
        let failure = match result {
            Ok(()) => None,
            Err(error @ EngineError::Full { .. }) => Some(CommitError::Full(error.to_string().into())),
            Err(error) => Some(CommitError::Poisoned(error.to_string().into())),
        };
        let failure = failure.or_else(|| self.disorder(&flight));
        match &failure {
            None if flight.is_empty() => {}
            // No caller waits for a quiet batch, and no queued transaction depends on it.
            Some(CommitError::Full(_)) if flight.batch.quiet => {}
            None => {
                let mut state = self.state.write();
                state.publish(&flight.events, flight.batch.revision, flight.batch.trim);
                self.memory.store(state.memory(), Ordering::Relaxed);
                drop(state);
                self.head.lock().published(&flight);
            }
            Some(failure) => {
                tracing::error!(error = %failure, "a batch could not be written");
                let mut head = self.head.lock();
                head.fail(failure);
                if head.failure().is_some() {
                    self.state.write().watchers.stop();
                    self.failed.notify_waiters();
                }
            }
        }
        self.look_at_quota();
        flight.reply(failure.as_ref());
    }
}

/// Commits a batch on a thread that may block, and returns the batch with the outcome. Without an outcome, the future never ends: the runtime
/// stops and did not begin the write.
pub async fn commit_blocking(engine: Arc<dyn Engine>, batch: Batch) -> (Batch, Result<(), EngineError>) {
    let file = engine.name();
    let task = tokio::task::spawn_blocking(move || {
        let result = engine.commit(&batch);
        (batch, result)
    });
    match task.await {
        Ok(done) => done,
        Err(error) if error.is_cancelled() => std::future::pending().await,
        Err(error) => {
            let failed = EngineError::Failed { step: "commit to", file, reason: error.to_string() };
            (Batch::default(), Err(failed))
        }
    }
}
