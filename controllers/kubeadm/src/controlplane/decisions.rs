//! Decisions whether Machines can be updated in place, kept until the control plane acts on them.

use std::collections::BTreeMap;
use std::time::Duration;

use engine::in_place::Decision;
use parking_lot::Mutex;
use tokio::time::Instant;

/// As upstream keeps those about MachineSets.
const KEPT_FOR: Duration = Duration::from_secs(600);

/// A decision for one generation of the control plane.
#[derive(Debug, Clone)]
struct Kept {
    generation: Option<i64>,
    /// When it is forgotten, on the monotonic clock.
    until: Instant,
    decision: Decision,
}

/// The decisions, by UID of the Machine.
#[derive(Debug, Default)]
pub(super) struct Decisions(Mutex<BTreeMap<String, Kept>>);

impl Decisions {
    /// Returns the decision about a Machine, if it is about the present generation of the control plane.
    pub fn get(&self, uid: &str, generation: Option<i64>, now: Instant) -> Option<Decision> {
        let kept = self.0.lock();
        let found = kept.get(uid).filter(|kept| kept.generation == generation && kept.until > now);
        found.map(|kept| kept.decision.clone())
    }

    /// Keeps a decision, and forgets those whose time has passed.
    pub fn keep(&self, uid: &str, generation: Option<i64>, decision: Decision, now: Instant) {
        let mut all = self.0.lock();
        all.retain(|_, kept| kept.until > now);
        all.insert(uid.to_owned(), Kept { generation, until: now + KEPT_FOR, decision });
    }
}
