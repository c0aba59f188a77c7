//! Caches of limited size. One that is full forgets the entry that was not used for the longest time.

use std::borrow::Borrow;
use std::fmt::{self, Debug, Formatter};
use std::hash::Hash;
use std::num::NonZeroUsize;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lru::LruCache;
use tokio::time::Instant;

/// Values by key. What is forgotten depends on the order of uses alone, so it is the same in each run of a simulation.
pub struct Cache<K, V>(Mutex<LruCache<K, V>>);

impl<K: Hash + Eq, V: Clone> Cache<K, V> {
    /// Creates a cache of at most `limit` entries, and at least one.
    pub fn new(limit: usize) -> Self {
        let limit = NonZeroUsize::new(limit).unwrap_or(NonZeroUsize::MIN);
        Self(Mutex::new(LruCache::sparse(limit)))
    }

    /// Returns the value of a key, which is used now.
    pub fn get<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        self.entries().get(key).cloned()
    }

    /// Keeps a value instead of an earlier one of the same key.
    pub fn keep(&self, key: K, value: V) {
        self.entries().put(key, value);
    }

    fn entries(&self) -> MutexGuard<'_, LruCache<K, V>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Values by key, each for a limited time from when it was kept, by the monotonic time of a
/// [`Clock`](crate::clock::Clock).
pub struct Expiring<K, V> {
    entries: Cache<K, (Instant, V)>,
    lifetime: Duration,
}

impl<K: Hash + Eq + Clone, V: Clone> Expiring<K, V> {
    /// Creates a cache of at most `limit` entries, and at least one.
    pub fn new(limit: usize, lifetime: Duration) -> Self {
        Self { entries: Cache::new(limit), lifetime }
    }

    /// Returns the value of a key, if its time has not passed.
    pub fn get<Q: Hash + Eq + ?Sized>(&self, key: &Q, now: Instant) -> Option<V>
    where
        K: Borrow<Q>,
    {
        let (until, value) = self.entries.get(key)?;
        (until > now).then_some(value)
    }

    /// Keeps a value instead of an earlier one of the same key, and forgets those whose time has passed.
    pub fn keep(&self, key: K, value: V, now: Instant) {
        let mut entries = self.entries.entries();
        let is_past = |(_, (until, _)): &(&K, &(Instant, V))| *until <= now;
        let past: Vec<K> = entries.iter().filter(is_past).map(|(key, _)| key.clone()).collect();
        for key in &past {
            entries.pop(key);
        }
        entries.put(key, (now + self.lifetime, value));
    }
}

/// The values can be secret.
impl<K: Hash + Eq, V: Clone> Debug for Cache<K, V> {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} entries", self.entries().len())
    }
}

impl<K: Hash + Eq, V: Clone> Debug for Expiring<K, V> {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        self.entries.fmt(formatter)
    }
}
