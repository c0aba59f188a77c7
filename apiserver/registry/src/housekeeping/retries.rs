//! The keys that a part of the housekeeping has to look at, with those that failed.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tokio::time::Instant;

use crate::write::writes::Writes;

/// The time after which a key is tried again that failed once. It doubles with each failure, as in the real controllers.
const FIRST: Duration = Duration::from_millis(200);
/// The longest time between two tries, as in the real controllers.
const LONGEST: Duration = Duration::from_secs(1000);

/// Keys to look at. One that failed comes again, even if nothing changes.
#[derive(Default)]
pub(super) struct Retries {
    pending: BTreeSet<String>,
    failed: BTreeMap<String, Failure>,
}

struct Failure {
    /// When to try again; `None` if the next try has begun.
    again_at: Option<Instant>,
    /// The time before the next try.
    pause: Duration,
}

impl Retries {
    /// Adds a key to look at now.
    pub(super) fn insert(&mut self, key: String) {
        self.pending.insert(key);
    }

    /// Takes the keys to look at now. Each of them has to be given back to [`Self::done`] or [`Self::failed`].
    pub(super) fn take(&mut self, writes: &Writes) -> BTreeSet<String> {
        let now = writes.clock().monotonic();
        let mut taken = std::mem::take(&mut self.pending);
        for (key, failure) in &mut self.failed {
            if failure.again_at.is_some_and(|at| at <= now) || taken.contains(key) {
                failure.again_at = None;
                taken.insert(key.clone());
            }
        }
        taken
    }

    /// Records that nothing is left to do for a key.
    pub(super) fn done(&mut self, key: &str) {
        self.failed.remove(key);
    }

    /// Records that a key could not be worked on, and has to be tried again. Returns whether it failed for the first time in a row, so that
    /// the failure is news.
    pub(super) fn failed(&mut self, writes: &Writes, key: String) -> bool {
        let now = writes.clock().monotonic();
        let before = self.failed.get(&key).map(|failure| failure.pause);
        let pause = before.map_or(FIRST, |pause| (pause * 2).min(LONGEST));
        self.failed.insert(key, Failure { again_at: Some(now + pause), pause });
        before.is_none()
    }

    /// Returns when to work again even without a change.
    pub(super) fn again_at(&self) -> Option<Instant> {
        self.failed.values().filter_map(|failure| failure.again_at).min()
    }
}

impl Extend<String> for Retries {
    fn extend<K: IntoIterator<Item = String>>(&mut self, keys: K) {
        self.pending.extend(keys);
    }
}

impl FromIterator<String> for Retries {
    fn from_iter<K: IntoIterator<Item = String>>(keys: K) -> Self {
        Self { pending: keys.into_iter().collect(), ..Self::default() }
    }
}
