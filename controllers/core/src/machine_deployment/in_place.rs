//! Which MachineSets hand their Machines over to the new one, to be updated in place, and which Machines have arrived. Pure functions.

use std::sync::Arc;

use engine::in_place::{self, ACKNOWLEDGED_MOVE, PENDING_ACKNOWLEDGE_MOVE};
use engine::object::{annotation, is_deleting, uid};
use engine::{owners, time};
use schemas::cluster::{Machine, MachineSet};

use super::facts::{Split, is_on_delete, limits, rollout_after};
use super::observed::Observed;
use super::template;

/// Returns the old MachineSets about which a decision is needed now.
pub(super) fn undecided<'a>(observed: &Observed, split: &'a Split) -> Vec<&'a Arc<MachineSet>> {
    let deployment = observed.deployment.as_ref();
    let rolls_out = observed.updates_in_place
        && !is_deleting(deployment)
        && deployment.spec.paused != Some(true)
        && !is_on_delete(deployment)
        && counted(observed, split) < limits(deployment).replicas;
    let has_machines = |set: &&Arc<MachineSet>| {
        set.status.as_ref().and_then(|status| status.replicas).is_some_and(|replicas| replicas > 0)
    };
    let old = split.old.iter().filter(|_| rolls_out).filter(has_machines);
    old.filter(|set| !is_deleting(set.as_ref()) && is_eligible(observed, set)).collect()
}

/// Returns whether updates in place could bring the Machines of an old MachineSet to the template: not if they are to be replaced because of their age,
/// or if they already have the template.
fn is_eligible(observed: &Observed, set: &MachineSet) -> bool {
    let created = set.metadata.creation_timestamp.as_ref().map(time::utc);
    let after = rollout_after(observed).filter(|after| *after <= observed.now);
    after.is_none_or(|after| created >= Some(after))
        && !template::is_same(&set.spec.template, &observed.deployment.spec.template)
}

/// Returns `spec.replicas` of the new MachineSet with the Machines that have arrived.
fn counted(observed: &Observed, split: &Split) -> i32 {
    let Some(new) = split.new.as_deref() else { return 0 };
    new.spec.replicas.unwrap_or(0).saturating_add(arrivals(observed, new).uncounted)
}

/// The Machines that have come to the new MachineSet and are not updated yet.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Arrivals {
    /// Their names, in order.
    pub names: Vec<String>,
    /// How many of them `spec.replicas` does not count yet.
    pub uncounted: i32,
}

/// Returns the Machines that have come to the new MachineSet. Both annotations together make sure that each is counted once.
pub(super) fn arrivals(observed: &Observed, new: &MachineSet) -> Arrivals {
    if !observed.updates_in_place {
        return Arrivals::default();
    }
    let has_arrived = |machine: &&Arc<Machine>| {
        owners::is_controlled_by(machine.as_ref(), uid(new))
            && annotation(machine.as_ref(), PENDING_ACKNOWLEDGE_MOVE).is_some()
    };
    let machines = observed.machines.iter().filter(has_arrived);
    let mut names: Vec<String> = machines.filter_map(|machine| machine.metadata.name.clone()).collect();
    names.sort();
    let counted: Vec<&str> = in_place::names(annotation(new, ACKNOWLEDGED_MOVE)).collect();
    let uncounted = names.iter().filter(|name| !counted.contains(&name.as_str())).count();
    Arrivals { names, uncounted: i32::try_from(uncounted).unwrap_or(i32::MAX) }
}

/// Returns whether a Machine of the MachineDeployment is being updated.
pub(super) fn is_updating(observed: &Observed) -> bool {
    observed.updates_in_place
        && observed.machines.iter().any(|machine| in_place::is_in_progress(machine.as_ref()))
}

/// Writes an annotation of a MachineSet.
pub(super) fn annotate(set: &mut MachineSet, key: &str, names: &[String]) {
    if !names.is_empty() {
        set.metadata.annotations.get_or_insert_default().insert(key.to_owned(), names.join(","));
    }
}
