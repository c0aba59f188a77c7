//! Computes the number of replicas of each MachineSet of a MachineDeployment. Plain numbers, no objects.

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
}

impl Set {
    #[cfg(test)]
    /// Creates a set with `spec` replicas, of which `status` exist and `available` are available.
    pub fn new(spec: i32, status: i32, available: i32) -> Self {
        Self { spec, status, available, up_to_date: 0, intent: spec }
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

/// Computes one step of a rolling update; `old` is sorted oldest first.
pub fn rolling_update(limits: &Limits, new: &mut Set, old: &mut [Set]) {
    if new.spec > limits.replicas {
        new.intent = limits.replicas;
    } else if new.spec < limits.replicas {
        let room = limits.replicas + limits.surge - total(new, old);
        new.intent = new.spec + room.min(limits.replicas - new.spec).max(0);
    }
    scale_down_old(limits, new, old);
    break_deadlock(limits, new, old);
}

/// Scales old sets down as far as availability allows: unavailable replicas first, then any.
fn scale_down_old(limits: &Limits, new: &Set, old: &mut [Set]) {
    let all = || std::iter::once(new).chain(old.iter());
    let spec: i32 = all().map(|set| set.spec).sum();
    let pending: i32 = all().map(|set| (set.status - set.intent).max(0)).sum();
    let new_unavailable = (new.spec - new.available).max(0);
    let mut budget = (spec - pending - limits.minimum_available() - new_unavailable).max(0);
    let mut spare = all().map(|set| set.available).sum::<i32>() - limits.minimum_available();
    for only_unavailable in [true, false] {
        for set in old.iter_mut() {
            let unavailable = (set.spec - set.available).max(0) - (set.spec - set.intent);
            let wanted = if only_unavailable { unavailable.max(0) } else { set.intent };
            let count = affordable(set, wanted.min(budget), spare);
            // Assumes the worst case, that the removed replicas are available ones.
            let existing = (count - (set.intent - set.status).max(0)).max(0);
            spare -= existing.min(set.available);
            budget -= count;
            set.intent -= count;
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

/// Removes one unavailable old replica if no set can change otherwise: old replicas that never become
/// available would block the rollout forever.
fn break_deadlock(limits: &Limits, new: &Set, old: &mut [Set]) {
    let is_still = |set: &Set| set.spec == set.status && set.intent == set.spec;
    let all_still = is_still(new) && old.iter().all(is_still);
    if !all_still || new.available < new.spec || new.spec >= limits.replicas + limits.surge {
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

/// Follows `spec.replicas` without a rollout, while the MachineDeployment is paused. `new` may be absent;
/// `old` is sorted oldest first.
pub fn scale(limits: &Limits, new: Option<&mut Set>, old: &mut [Set], rolling: bool) {
    let mut sets: Vec<&mut Set> = new.into_iter().chain(old.iter_mut()).collect();
    let active: Vec<usize> = (0..sets.len()).filter(|index| sets[*index].spec > 0).collect();
    if let [only] = active.as_slice() {
        sets[*only].intent = limits.replicas;
        return;
    }
    if active.is_empty() {
        if let Some(first) = sets.first_mut() {
            first.intent = limits.replicas;
        }
        return;
    }
    let is_saturated = sets[0].spec == limits.replicas && sets[0].available == limits.replicas;
    if is_saturated {
        sets.iter_mut().skip(1).for_each(|set| set.intent = 0);
    } else if rolling {
        proportional(limits, &mut sets);
    }
}

/// Distributes the change in replicas over the sets in proportion to their size; the remainder goes to the
/// first set.
fn proportional(limits: &Limits, sets: &mut [&mut Set]) {
    let before: i32 = sets.iter().map(|set| set.spec).sum();
    let allowed = if limits.replicas > 0 { limits.replicas + limits.surge } else { 0 };
    let change = i64::from(allowed) - i64::from(before);
    if before == 0 || change == 0 {
        return;
    }
    let mut left = change;
    for set in sets.iter_mut() {
        let share = i64::from(set.spec) * change / i64::from(before);
        set.intent = i32::try_from((i64::from(set.spec) + share).max(0)).unwrap_or(i32::MAX);
        left -= share;
    }
    if let Some(first) = sets.first_mut() {
        first.intent = i32::try_from((i64::from(first.intent) + left).max(0)).unwrap_or(i32::MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { replicas: 3, surge: 1, unavailable: 0 };

    #[test]
    fn one_step_of_a_rolling_update() {
        // Columns: new set (spec, status, available), old sets, wanted intents (new, old...).
        type Row = ((i32, i32, i32), &'static [(i32, i32, i32)], &'static [i32]);
        let rows: &[Row] = &[
            ((0, 0, 0), &[], &[3]),
            ((0, 0, 0), &[(3, 3, 3)], &[1, 3]),
            ((1, 1, 0), &[(3, 3, 3)], &[1, 3]),
            ((1, 1, 1), &[(3, 3, 3)], &[1, 2]),
            ((1, 1, 1), &[(2, 3, 2)], &[1, 2]),
            ((1, 1, 1), &[(2, 2, 2)], &[2, 2]),
            ((3, 3, 3), &[(1, 1, 1)], &[3, 0]),
            ((3, 3, 3), &[(0, 0, 0)], &[3, 0]),
            // Unavailable old replicas go first, from the oldest set.
            ((1, 1, 1), &[(2, 2, 0), (1, 1, 1)], &[1, 1, 1]),
            // The MachineDeployment is scaled down.
            ((5, 5, 5), &[], &[3]),
        ];
        for (new, old, wanted) in rows {
            let mut new_set = Set::new(new.0, new.1, new.2);
            let mut old_sets: Vec<Set> = old.iter().map(|set| Set::new(set.0, set.1, set.2)).collect();
            rolling_update(&LIMITS, &mut new_set, &mut old_sets);
            let intents: Vec<i32> =
                std::iter::once(&new_set).chain(&old_sets).map(|set| set.intent).collect();
            assert_eq!(intents, *wanted, "new {new:?} old {old:?}");
        }
    }

    /// Runs rollouts to completion while Machines become available one at a time, and checks the limits at
    /// each step.
    #[test]
    fn rollouts_end_within_their_limits() {
        for (replicas, surge, unavailable) in
            [(3, 1, 0), (4, 0, 1), (5, 2, 2), (1, 1, 0), (10, 3, 0), (6, 0, 6)]
        {
            let limits = Limits { replicas, surge, unavailable };
            let (mut new, mut old) = (Set::new(0, 0, 0), vec![Set::new(replicas, replicas, replicas)]);
            for step in 0..200 {
                rolling_update(&limits, &mut new, &mut old);
                for set in std::iter::once(&mut new).chain(&mut old) {
                    set.spec = set.intent;
                }
                let available = new.available + old.iter().map(|set| set.available).sum::<i32>();
                assert!(available >= replicas - unavailable, "{limits:?} step {step}: {new:?} {old:?}");
                // One event per step: a Machine is deleted, is created, or becomes available.
                if let Some(set) = old.iter_mut().find(|set| set.status > set.spec) {
                    set.status -= 1;
                    set.available = set.available.min(set.status);
                } else if new.status < new.spec {
                    new.status += 1;
                } else if new.available < new.status {
                    new.available += 1;
                }
                let total = new.status + old.iter().map(|set| set.status).sum::<i32>();
                assert!(total <= replicas + surge, "{limits:?} step {step}: {total} Machines");
            }
            assert_eq!((new.available, old[0].status), (replicas, 0), "{limits:?}");
        }
    }

    #[test]
    fn on_delete_replaces_only_what_is_gone() {
        let mut new = Set::new(0, 0, 0);
        let mut old = [Set::new(3, 3, 3)];
        on_delete(&LIMITS, &mut new, &mut old);
        assert_eq!((new.intent, old[0].intent), (0, 3));
        let mut old = [Set::new(3, 2, 2)];
        on_delete(&LIMITS, &mut new, &mut old);
        assert_eq!((new.intent, old[0].intent), (1, 2));
        let mut new = Set::new(2, 2, 2);
        let mut old = [Set::new(1, 1, 1), Set::new(1, 1, 1)];
        on_delete(&LIMITS, &mut new, &mut old);
        assert_eq!((new.intent, old[0].intent, old[1].intent), (2, 0, 1));
    }

    #[test]
    fn numbers_and_percentages() {
        let percent = |text: &str| IntOrString::String(text.to_owned());
        let limits = Limits::resolve(10, Some(&percent("25%")), Some(&percent("25%")));
        assert_eq!((limits.surge, limits.unavailable), (3, 2));
        let limits = Limits::resolve(2, Some(&IntOrString::Int(0)), Some(&percent("10%")));
        assert_eq!((limits.surge, limits.unavailable), (0, 1));
        let limits = Limits::resolve(3, None, None);
        assert_eq!((limits.surge, limits.unavailable), (1, 0));
    }

    #[test]
    fn paused_scaling_is_proportional() {
        let limits = Limits { replicas: 10, surge: 0, unavailable: 1 };
        let (mut new, mut old) = (Set::new(2, 2, 2), [Set::new(3, 3, 3)]);
        scale(&limits, Some(&mut new), &mut old, true);
        assert_eq!((new.intent, old[0].intent), (4, 6));
        let mut only = Set::new(2, 2, 2);
        scale(&limits, Some(&mut only), &mut [], true);
        assert_eq!(only.intent, 10);
    }
}
