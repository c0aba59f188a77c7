//! The keys that a part of the housekeeping has to look at, with those that failed.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use machinery::status::Status;
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

    /// Takes the keys to look at now. Each of them has to be given back to [`Self::ended`].
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

    /// Records how the work on a taken key has ended. If it failed, the key is tried again, and the first failure in a row is returned,
    /// because it is news.
    pub(super) fn ended(
        &mut self,
        writes: &Writes,
        key: &str,
        outcome: Result<(), Status>,
    ) -> Option<Status> {
        // The change that came first is observed, too, and handled then.
        let came_late = |status: &Status| matches!(status.reason, "NotFound" | "Conflict");
        let Some(failure) = outcome.err().filter(|status| !came_late(status)) else {
            self.failed.remove(key);
            return None;
        };
        self.failed(writes, key).then_some(failure)
    }

    /// Records that a key has to be tried again. Returns whether it failed for the first time in a row.
    fn failed(&mut self, writes: &Writes, key: &str) -> bool {
        let now = writes.clock().monotonic();
        let before = self.failed.get(key).map(|failure| failure.pause);
        let pause = before.map_or(FIRST, |pause| (pause * 2).min(LONGEST));
        self.failed.insert(key.to_owned(), Failure { again_at: Some(now + pause), pause });
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
