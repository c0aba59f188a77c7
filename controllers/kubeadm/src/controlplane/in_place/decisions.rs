//! Decisions whether Machines can be updated in place, kept until the control plane acts on them.

use std::time::Duration;

use engine::in_place::Decision;
use machinery::cache::Expiring;
use tokio::time::Instant;

/// As upstream keeps those about MachineSets.
const KEPT_FOR: Duration = Duration::from_secs(600);
/// Number of decisions that are kept; beyond that the updater is asked again.
const KEPT: usize = 20_000;

/// A decision, for one generation of the control plane.
type Kept = (Option<i64>, Decision);

/// The decisions, by UID of the Machine.
#[derive(Debug)]
pub(crate) struct Decisions(Expiring<String, Kept>);

impl Default for Decisions {
    fn default() -> Self {
        Self(Expiring::new(KEPT, KEPT_FOR))
    }
}

impl Decisions {
    /// Returns the decision about a Machine, if it is about the present generation of the control plane.
    pub fn get(&self, uid: &str, generation: Option<i64>, now: Instant) -> Option<Decision> {
        let (about, decision) = self.0.get(uid, now)?;
        (about == generation).then_some(decision)
    }

    /// Keeps a decision.
    pub fn keep(&self, uid: &str, generation: Option<i64>, decision: Decision, now: Instant) {
        self.0.keep(uid.to_owned(), (generation, decision), now);
    }
}
