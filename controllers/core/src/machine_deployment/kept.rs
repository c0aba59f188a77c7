//! Decisions about updates in place, kept for a while: nothing of a MachineSet that they depend on changes.

use std::collections::BTreeMap;
use std::time::Duration;

use engine::in_place::Decision;
use parking_lot::Mutex;
use tokio::time::Instant;

/// As upstream.
const KEPT_FOR: Duration = Duration::from_secs(600);

/// The namespace of a MachineDeployment, with the names of an old and of the new MachineSet.
pub(super) type Pair = (String, String, String);

/// The kept decisions, each with the time at which it is forgotten, on the monotonic clock.
#[derive(Debug, Default)]
pub(super) struct Decisions(Mutex<BTreeMap<Pair, (Instant, Decision)>>);

impl Decisions {
    pub(super) fn get(&self, pair: &Pair, now: Instant) -> Option<Decision> {
        let kept = self.0.lock();
        kept.get(pair).filter(|(until, _)| *until > now).map(|(_, decision)| decision.clone())
    }

    pub(super) fn keep(&self, pair: Pair, decision: Decision, now: Instant) {
        let mut kept = self.0.lock();
        kept.retain(|_, (until, _)| *until > now);
        kept.insert(pair, (now + KEPT_FOR, decision));
    }
}
