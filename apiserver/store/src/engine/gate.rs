//! An engine whose commits wait while a test holds them.

use std::collections::BTreeSet;
use std::sync::Arc;

use parking_lot::{Condvar, Mutex};

use super::memory::Memory;
use super::{Batch, Engine, Loaded};
use crate::change::Change;
use crate::error::EngineError;
use crate::revision::Revision;

/// A gate before an engine in memory, for tests. It opens when it is dropped, so that a test that fails ends.
#[derive(Default)]
pub struct Gate(Gated);

/// The engine behind a gate. Clones share it.
#[derive(Clone, Default)]
pub struct Gated {
    inner: Arc<Memory>,
    state: Arc<(Mutex<State>, Condvar)>,
}

type Held = dyn Fn(&Change) -> bool + Send;

#[derive(Default)]
struct State {
    /// Which change keeps its batch waiting, and all batches after it; `None` if all pass.
    held: Option<Box<Held>>,
    /// Whether a batch waits.
    is_waiting: bool,
}

impl Gate {
    /// Returns the engine behind the gate.
    pub fn engine(&self) -> Gated {
        self.0.clone()
    }

    /// Holds the batch with a change for which `held` is true, and lets what waits pass unless it is such a batch, too.
    pub fn hold(&self, held: impl Fn(&Change) -> bool + Send + 'static) {
        self.set(Some(Box::new(held)));
    }

    /// Lets all batches pass.
    pub fn open(&self) {
        self.set(None);
    }

    fn set(&self, held: Option<Box<Held>>) {
        let (state, changed) = &*self.0.state;
        *state.lock() = State { held, is_waiting: false };
        changed.notify_all();
    }

    /// Waits until a batch waits.
    pub async fn waits(&self) {
        while !self.0.state.0.lock().is_waiting {
            tokio::task::yield_now().await;
        }
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.open();
    }
}

impl Engine for Gated {
    fn load(&self) -> Result<Loaded, EngineError> {
        self.inner.load()
    }

    fn commit(&self, batch: &Batch) -> Result<(), EngineError> {
        let (state, changed) = &*self.state;
        let mut state = state.lock();
        while state.held.as_ref().is_some_and(|held| batch.changes.iter().any(held)) {
            state.is_waiting = true;
            changed.wait(&mut state);
        }
        drop(state);
        self.inner.commit(batch)
    }

    fn read(&self, revisions: &BTreeSet<Revision>) -> Result<Vec<Change>, EngineError> {
        self.inner.read(revisions)
    }

    fn name(&self) -> String {
        "gate".to_owned()
    }

    fn blocking(&self) -> bool {
        true
    }
}
