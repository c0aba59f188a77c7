//! A cache of decisions about updates in place: nothing of a MachineSet that they depend on changes.

use std::time::Duration;

use engine::in_place::Decision;
use machinery::cache::Expiring;

/// As upstream.
const VALID_FOR: Duration = Duration::from_secs(600);
/// Maximum number of decisions; beyond that the updater is asked again.
const DECISIONS_MAX: usize = 20_000;

/// The namespace of a MachineDeployment, with the names of an old and of the new MachineSet.
pub(super) type Pair = (String, String, String);

/// A cache of decisions.
pub(super) type DecisionCache = Expiring<Pair, Decision>;

/// Creates a cache without decisions.
pub(super) fn none() -> DecisionCache {
    Expiring::new(DECISIONS_MAX, VALID_FOR)
}
