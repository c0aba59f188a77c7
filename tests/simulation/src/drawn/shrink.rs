//! Finds a small script that still fails: with fewer clusters, actions and failures it is easier to see why.

use super::script::{Act, Action, ClusterShape, Script};

/// Maximum number of scripts that are tried. A simulation takes some seconds.
const TRIES: usize = 100;

/// Returns a script that fails and is not larger than `script`, of which any further single part that is left out makes it pass, unless the
/// number of tries is used up. `fails` plays a script.
pub fn smallest(script: &Script, mut fails: impl FnMut(&Script) -> bool) -> Script {
    let mut smallest = script.clone();
    let (mut next, mut is_smaller) = (0, false);
    for _ in 0..TRIES {
        let mut candidates = smaller(&smallest);
        if next >= candidates.len() {
            if !is_smaller {
                break;
            }
            // A part may have been needed only for one that is gone now.
            (next, is_smaller) = (0, false);
        }
        if candidates.is_empty() {
            break;
        }
        let candidate = candidates.swap_remove(next);
        if fails(&candidate) {
            (smallest, is_smaller) = (candidate, true);
        } else {
            next += 1;
        }
    }
    smallest
}

/// Returns scripts that are smaller by one part, the largest parts first.
fn smaller(script: &Script) -> Vec<Script> {
    let mut all = Vec::new();
    if script.clusters.len() > 1 {
        all.extend((0..script.clusters.len()).map(|number| without_cluster(script, number)));
    }
    let mut change = |change: &dyn Fn(&mut Script)| {
        let mut changed = script.clone();
        change(&mut changed);
        if changed != *script {
            all.push(changed);
        }
    };
    change(&|script| script.faults.clear());
    change(&|script| script.deliveries.clear());
    change(&|script| script.kills.clear());
    // In the end everything is repaired and every cluster must be as wanted, so the last action stays.
    for number in 0..script.acts.len().saturating_sub(1) {
        change(&|script| {
            script.acts.remove(number);
        });
    }
    for number in 0..script.faults.len() {
        change(&|script| {
            script.faults.remove(number);
        });
    }
    for number in 0..script.deliveries.len() {
        change(&|script| {
            script.deliveries.remove(number);
        });
    }
    for number in 0..script.kills.len() {
        change(&|script| {
            script.kills.remove(number);
        });
    }
    for number in 0..script.clusters.len() {
        change(&|script| script.clusters[number].control_plane = 1);
        change(&|script| script.clusters[number].workers = script.clusters[number].workers.min(1));
        change(&|script| script.clusters[number].is_of_class = false);
    }
    all.retain(is_possible);
    all
}

/// Returns whether a user could do this: only a cluster of a class is rebased, or upgraded over several versions.
fn is_possible(script: &Script) -> bool {
    script.acts.iter().all(|Act(_, action)| match *action {
        Action::Rebase(number) | Action::UpgradeToLast(number) => script.clusters[number].is_of_class,
        _ => true,
    })
}

/// Returns the script without a cluster and without what is done with it.
fn without_cluster(script: &Script, gone: usize) -> Script {
    let mut smaller = script.clone();
    smaller.clusters.remove(gone);
    smaller.acts.retain_mut(|Act(_, action)| match action.cluster_mut() {
        Some(number) if *number == gone => false,
        Some(number) => {
            *number -= usize::from(*number > gone);
            true
        }
        None => true,
    });
    smaller
}

/// Says what a script has, in a line.
pub fn size(script: &Script) -> String {
    let machines = |shape: &ClusterShape| shape.control_plane + shape.workers;
    format!(
        "{} clusters with {} machines, {} actions, {} faults of requests, {} of events, {} kills",
        script.clusters.len(),
        script.clusters.iter().map(machines).sum::<i64>(),
        script.acts.len(),
        script.faults.len(),
        script.deliveries.len(),
        script.kills.len(),
    )
}
