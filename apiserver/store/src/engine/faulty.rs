//! An engine that fails on purpose.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use parking_lot::Mutex;

use super::{Batch, Engine, Loaded, Size};
use crate::change::Change;
use crate::error::EngineError;
use crate::revision::Revision;

/// The ways in which a commit fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The disk is full: nothing is written, and the engine can be used again.
    Full,
    /// The engine fails and nothing is written, as in a crash before the fsync.
    Lost,
    /// The engine fails although everything is written, as in a crash after the fsync.
    Written,
}

/// A wrapper of an engine for tests and the simulation. Clones share the planned faults and the count of commits.
#[derive(Clone)]
pub struct Faulty {
    inner: Arc<dyn Engine>,
    plan: Arc<Mutex<Plan>>,
}

#[derive(Default)]
struct Plan {
    commits: u64,
    faults: BTreeMap<u64, Fault>,
}

impl Faulty {
    /// Wraps `inner`. Without planned faults, nothing fails.
    pub fn new(inner: impl Engine) -> Self {
        Self { inner: Arc::new(inner), plan: Arc::default() }
    }

    /// Plans a fault for commit number `commit`. The first commit has number 1.
    pub fn fail(&self, commit: u64, fault: Fault) {
        self.plan.lock().faults.insert(commit, fault);
    }

    /// Returns the number of commits so far, including failed ones.
    pub fn commits(&self) -> u64 {
        self.plan.lock().commits
    }
}

impl Engine for Faulty {
    fn load(&self) -> Result<Loaded, EngineError> {
        self.inner.load()
    }

    fn commit(&self, batch: &Batch) -> Result<(), EngineError> {
        let fault = {
            let mut plan = self.plan.lock();
            plan.commits += 1;
            let commit = plan.commits;
            plan.faults.remove(&commit)
        };
        let failed = || EngineError::Failed {
            step: "commit to",
            file: self.inner.name(),
            reason: "as planned".to_owned(),
        };
        match fault {
            None => self.inner.commit(batch),
            Some(Fault::Full) => Err(EngineError::Full { file: self.inner.name() }),
            Some(Fault::Lost) => Err(failed()),
            Some(Fault::Written) => self.inner.commit(batch).and(Err(failed())),
        }
    }

    fn read(&self, revisions: &BTreeSet<Revision>) -> Result<Vec<Change>, EngineError> {
        self.inner.read(revisions)
    }

    fn check(&self) -> Result<(), EngineError> {
        self.inner.check()
    }

    fn size(&self) -> Size {
        self.inner.size()
    }

    fn strained(&self) -> bool {
        self.inner.strained()
    }

    fn name(&self) -> String {
        self.inner.name()
    }

    fn blocking(&self) -> bool {
        self.inner.blocking()
    }
}
