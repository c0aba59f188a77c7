//! Computes the number of replicas of each MachineSet while the MachineDeployment is paused: it follows `spec.replicas` without a rollout.

use std::cmp::Reverse;

use super::rollout::{Limits, Set};

/// Follows `spec.replicas`. `new` is the set with the current template, if there is one; `old` is sorted oldest first.
pub fn scale(limits: &Limits, new: Option<&mut Set>, old: &mut [Set], rolling: bool) {
    let is_saturated = new.as_deref().is_some_and(|new| is_saturated(limits, new));
    // The set with the current template comes first, then the newest.
    let mut sets: Vec<&mut Set> = new.into_iter().chain(old.iter_mut().rev()).collect();
    let mut active: Vec<usize> = (0..sets.len()).filter(|index| sets[*index].spec > 0).collect();
    if active.is_empty() {
        active.extend((!sets.is_empty()).then_some(0));
    }
    if let [only] = active.as_slice() {
        sets[*only].intent = limits.replicas;
    } else if is_saturated {
        sets.iter_mut().skip(1).for_each(|set| set.intent = 0);
    } else if rolling {
        proportional(limits, &mut sets);
    }
}

/// Returns whether the set has all replicas, and knew how many these are when it got them.
fn is_saturated(limits: &Limits, set: &Set) -> bool {
    [set.desired.unwrap_or(0), set.spec, set.available].iter().all(|number| *number == limits.replicas)
}

/// Distributes the change in replicas over the sets in proportion to their size. What is left over goes to the largest set.
fn proportional(limits: &Limits, sets: &mut [&mut Set]) {
    let before: i32 = sets.iter().map(|set| set.spec).sum();
    let allowed = if limits.replicas > 0 { limits.replicas.saturating_add(limits.surge) } else { 0 };
    let change = allowed - before;
    let current: i32 = sets.iter().map(|set| set.status).sum();
    let mut active: Vec<&mut &mut Set> = sets.iter_mut().filter(|set| set.spec > 0).collect();
    // Of sets of one size, the newer one grows first, and the older one shrinks first.
    let age = |set: &Set| if change > 0 { -set.created } else { set.created };
    active.sort_by_key(|set| (Reverse(set.spec), age(set)));
    let mut left = change;
    for set in &mut active {
        let wanted = proportion(limits, set, current);
        let share = if change > 0 { wanted.min(left) } else { wanted.max(left) };
        set.intent = (set.spec + share).max(0);
        left -= share;
    }
    if let Some(largest) = active.first_mut() {
        largest.intent = (largest.intent + left).max(0);
    }
}

/// Returns by how much a set would change if it kept its part of all Machines. `current` is the number of Machines, for a set that does not
/// say how many there were.
fn proportion(limits: &Limits, set: &Set, current: i32) -> i32 {
    if limits.replicas == 0 {
        return -set.spec;
    }
    let before = i64::from(set.maximum.unwrap_or(current));
    if before <= 0 {
        return 0;
    }
    let size = i64::from(set.spec) * (i64::from(limits.replicas) + i64::from(limits.surge));
    // Rounded, half up.
    let rounded = (2 * size + before) / (2 * before);
    i32::try_from(rounded).unwrap_or(i32::MAX) - set.spec
}
