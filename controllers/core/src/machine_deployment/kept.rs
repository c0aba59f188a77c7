//! Decisions about updates in place, kept for a while: nothing of a MachineSet that they depend on changes.

use std::time::Duration;

use engine::in_place::Decision;
use machinery::cache::Expiring;

/// As upstream.
const KEPT_FOR: Duration = Duration::from_secs(600);
/// Number of decisions that are kept; beyond that the updater is asked again.
const KEPT: usize = 20_000;

/// The namespace of a MachineDeployment, with the names of an old and of the new MachineSet.
pub(super) type Pair = (String, String, String);

/// The decisions that are kept.
pub(super) type Decisions = Expiring<Pair, Decision>;

/// Creates a cache without decisions.
pub(super) fn none() -> Decisions {
    Expiring::new(KEPT, KEPT_FOR)
}
