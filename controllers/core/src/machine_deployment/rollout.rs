//! Computes the number of replicas of each MachineSet during a rollout. Plain numbers, no objects.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use schemas::defaults;

use crate::amount;

/// The replica counts of a MachineSet.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Set {
    /// Current `spec.replicas`.
    pub spec: i32,
    /// `status.replicas`.
    pub status: i32,
    /// `status.availableReplicas`.
    pub available: i32,
    /// `status.upToDateReplicas`.
    pub up_to_date: i32,
    /// Wanted `spec.replicas`.
    pub intent: i32,
    /// When the set was created, in seconds since the epoch.
    pub created: i64,
    /// `spec.replicas` of the MachineDeployment when the set was last written; `None` if it does not say.
    pub desired: Option<i32>,
    /// The largest number of Machines of the MachineDeployment when the set was last written; `None` if it does not say.
    pub maximum: Option<i32>,
    /// Whether the set, an old one, hands its Machines over to the new set, which updates them in place.
    pub moves: bool,
}

impl Set {
    /// Creates a set with `spec` replicas, of which `status` exist and `available` are available.
    pub fn new(spec: i32, status: i32, available: i32) -> Self {
        Self { spec, status, available, intent: spec, ..Self::default() }
    }

    /// Returns the number of existing replicas that are deleted, or are about to be.
    fn going(&self) -> i32 {
        (self.status - self.intent.min(self.spec)).max(0)
    }

    /// Returns the number of available replicas that may be among those that are deleted. It is not known which ones are, so this is the
    /// worst case.
    fn at_risk(&self) -> i32 {
        self.going().min(self.available)
    }
}

/// The limits of a rollout, in Machines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// `spec.replicas` of the MachineDeployment.
    pub replicas: i32,
    /// The number of Machines above `replicas` that may exist during the rollout.
    pub surge: i32,
    /// The number of Machines that may be unavailable during the rollout.
    pub unavailable: i32,
}

impl Limits {
    /// Resolves `maxSurge` (rounded up) and `maxUnavailable` (rounded down). If both resolve to 0, one
    /// Machine may be unavailable, since the rollout could not progress otherwise.
    pub fn resolve(replicas: i32, surge: Option<&IntOrString>, unavailable: Option<&IntOrString>) -> Self {
        let surge = value(surge, replicas, defaults::MAX_SURGE, true);
        let mut unavailable = value(unavailable, replicas, defaults::MAX_UNAVAILABLE, false);
        if surge == 0 && unavailable == 0 {
            unavailable = 1;
        }
        Self { replicas, surge, unavailable: unavailable.min(replicas) }
    }

    fn minimum_available(&self) -> i32 {
        (self.replicas - self.unavailable).max(0)
    }
}

/// Resolves a number or a percentage of `total`.
pub fn value(value: Option<&IntOrString>, total: i32, default: i32, round_up: bool) -> i32 {
    value.map_or(default, |value| amount::resolve(value, total, round_up).unwrap_or(0))
}

fn total(new: &Set, old: &[Set]) -> i32 {
    std::iter::once(new).chain(old).map(|set| set.spec.max(set.status)).sum()
}

/// Computes one step of a rolling update; `old` is sorted oldest first. `is_updating` says whether a Machine is being updated in place.
pub fn rolling_update(limits: &Limits, new: &mut Set, old: &mut [Set], is_updating: bool) {
    if new.spec > limits.replicas {
        new.intent = limits.replicas;
    } else if new.spec < limits.replicas {
        let room = limits.replicas + limits.surge - total(new, old);
        new.intent = new.spec + room.min(limits.replicas - new.spec).max(0);
    }
    scale_down_old(limits, new, old);
    if old.iter().any(|set| set.moves) {
        prefer_updates(limits, new, old, is_updating);
    }
    break_deadlock(new, old);
}

/// Scales old sets down as far as availability allows: unavailable replicas first, then any.
fn scale_down_old(limits: &Limits, new: &Set, old: &mut [Set]) {
    let all = || std::iter::once(new).chain(old.iter());
    let sum = |number: fn(&Set) -> i32| all().map(number).sum::<i32>();
    let new_unavailable = (new.spec - new.available).max(0);
    let minimum = limits.minimum_available();
    let mut budget = (sum(|set| set.spec) - sum(Set::going) - minimum - new_unavailable).max(0);
    let mut spare = sum(|set| set.available - set.at_risk()) - minimum;
    for only_unavailable in [true, false] {
        for set in old.iter_mut() {
            let unavailable = (set.intent - set.available).max(0);
            let wanted = if only_unavailable { unavailable } else { set.intent };
            let count = affordable(set, wanted.min(budget), spare);
            let before = set.at_risk();
            set.intent -= count;
            spare -= set.at_risk() - before;
            budget -= count;
        }
    }
}

/// Returns how many of `wanted` replicas can be removed without losing more than `spare` available ones.
fn affordable(set: &Set, wanted: i32, spare: i32) -> i32 {
    if wanted <= 0 {
        return 0;
    }
    // Removing replicas that do not exist yet, or replicas of a set without available ones, costs no
    // availability.
    if set.available == 0 {
        return wanted;
    }
    let missing = (set.intent - set.status).max(0);
    wanted.min(missing + spare.max(0))
}

/// Creates no surplus Machine while old ones are updated in place; but one, if nothing else can change. An update counts as a loss of
/// availability, because it can fail.
fn prefer_updates(limits: &Limits, new: &mut Set, old: &[Set], is_updating: bool) {
    let added = new.intent - new.spec;
    let without_surge = (added - limits.surge).max(0);
    if new.spec >= limits.replicas || added <= without_surge {
        return;
    }
    let is_shrinking = |set: &Set| set.spec < set.status || set.intent < set.spec;
    let is_moving = new.spec != new.status || old.iter().any(is_shrinking);
    let is_settled = !is_updating && new.spec == new.up_to_date && new.spec == new.available;
    let needs_one = without_surge == 0 && !is_moving && is_settled;
    new.intent = new.spec + if needs_one { 1 } else { without_surge };
}

/// Removes one unavailable old replica if no set can change otherwise: old replicas that never become
/// available would block the rollout forever.
fn break_deadlock(new: &Set, old: &mut [Set]) {
    let is_still = |set: &Set| set.spec == set.status && set.intent == set.spec;
    if !is_still(new) || !old.iter().all(is_still) || new.available < new.status {
        return;
    }
    if let Some(set) = old.iter_mut().find(|set| set.available < set.spec) {
        set.intent -= 1;
    }
}

/// Replaces the Machines that the user deleted; `old` is sorted oldest first.
pub fn on_delete(limits: &Limits, new: &mut Set, old: &mut [Set]) {
    if new.spec > limits.replicas {
        new.intent = limits.replicas;
    } else if new.spec < limits.replicas {
        let missing = limits.replicas - total_on_delete(new, old);
        new.intent = new.spec + missing.min(limits.replicas - new.spec).max(0);
    }
    for set in old.iter_mut() {
        set.intent = set.spec.min(set.status);
    }
    let mut excess = new.intent + old.iter().map(|set| set.intent).sum::<i32>() - limits.replicas;
    for set in old.iter_mut() {
        let count = excess.min(set.intent).max(0);
        set.intent -= count;
        excess -= count;
    }
}

/// Counts the Machines for `OnDelete`: a deleted old Machine counts as missing at once.
fn total_on_delete(new: &Set, old: &[Set]) -> i32 {
    new.spec.max(new.status) + old.iter().map(|set| set.status).sum::<i32>()
}
