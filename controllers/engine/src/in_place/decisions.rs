//! Decisions about updates in place, kept until a controller acts on them.

use std::hash::Hash;
use std::time::Duration;

use machinery::cache::Expiring;
use tokio::time::Instant;

use super::Decision;

/// As upstream.
const VALID_FOR: Duration = Duration::from_secs(600);
/// Maximum number of decisions; beyond that the updater is asked again.
const DECISIONS_MAX: usize = 20_000;

/// The decisions of an updater, by all that they depend on. One that nobody asks for any more, because what it depended on has changed, is
/// forgotten when its time is over.
#[derive(Debug)]
pub struct Decisions<K: Hash + Eq>(Expiring<K, Decision>);

impl<K: Hash + Eq + Clone> Default for Decisions<K> {
    fn default() -> Self {
        Self(Expiring::new(DECISIONS_MAX, VALID_FOR))
    }
}

impl<K: Hash + Eq + Clone> Decisions<K> {
    /// Returns a decision.
    pub fn get(&self, about: &K, now: Instant) -> Option<Decision> {
        self.0.get(about, now)
    }

    /// Keeps a decision.
    pub fn keep(&self, about: K, decision: Decision, now: Instant) {
        self.0.keep(about, decision, now);
    }
}
