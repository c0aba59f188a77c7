//! Locks by name: whoever holds one works on that image alone. They are those of tasks and threads of this process.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use tokio::sync::OwnedMutexGuard;

/// The locks that somebody holds or waits for.
#[derive(Debug, Clone, Default)]
pub struct Locks(Arc<Mutex<BTreeMap<String, Weak<tokio::sync::Mutex<()>>>>>);

/// A lock that is held until this is dropped.
pub struct Locked {
    _guard: OwnedMutexGuard<()>,
}

impl Locks {
    /// Waits for the lock of this name.
    pub async fn lock(&self, name: &str) -> Locked {
        Locked { _guard: self.of(name).lock_owned().await }
    }

    /// The same as [`Self::lock`], for a thread that may wait.
    pub(crate) fn blocking_lock(&self, name: &str) -> Locked {
        Locked { _guard: self.of(name).blocking_lock_owned() }
    }

    /// Calls `work` if somebody holds only one lock, which is the caller's. Nobody gets another one meanwhile.
    pub(crate) fn if_last(&self, work: impl FnOnce()) {
        let locks = self.0.lock();
        if locks.values().filter(|lock| lock.strong_count() > 0).count() <= 1 {
            work();
        }
    }

    fn of(&self, name: &str) -> Arc<tokio::sync::Mutex<()>> {
        let mut locks = self.0.lock();
        locks.retain(|_, lock| lock.strong_count() > 0);
        if let Some(known) = locks.get(name).and_then(Weak::upgrade) {
            return known;
        }
        let new = Arc::default();
        locks.insert(name.to_owned(), Arc::downgrade(&new));
        new
    }
}
