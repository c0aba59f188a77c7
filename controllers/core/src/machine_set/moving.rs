//! Moves Machines to the MachineSet with the new template, which updates them in place, instead of deleting them.

use std::sync::Arc;

use engine::in_place::{self, PENDING_ACKNOWLEDGE_MOVE, RECEIVE_MACHINES_FROM, UPDATE_IN_PROGRESS};
use engine::object::{annotation, is_deleting, label};
use engine::owners;
use schemas::cluster::{Machine, MachineSet};

use super::facts::target_name;
use super::observed::Observed;
use super::priority;
use crate::machine_deployment::HASH;

/// Returns whether other MachineSets move their Machines to this one.
pub(super) fn receives(set: &MachineSet) -> bool {
    in_place::names(annotation(set, RECEIVE_MACHINES_FROM)).next().is_some()
}

/// Returns the number of Machines that `spec.replicas` does not count yet.
pub(super) fn uncounted(observed: &Observed) -> usize {
    if !receives(&observed.set) {
        return 0;
    }
    let is_pending =
        |machine: &&Arc<Machine>| annotation(machine.as_ref(), PENDING_ACKNOWLEDGE_MOVE).is_some();
    observed.machines.iter().filter(is_pending).count()
}

/// Returns up to `count` of the `machines` as they belong to the other MachineSet, each with its present state.
///
/// # Errors
/// The other MachineSet does not exist, or does not expect these Machines.
pub(super) fn plan(
    observed: &Observed,
    machines: &[Arc<Machine>],
    count: usize,
) -> Result<Vec<(Arc<Machine>, Machine)>, String> {
    let set = observed.set.as_ref();
    let own = set.metadata.name.as_deref().unwrap_or_default();
    let name = target_name(set).unwrap_or_default();
    let target = observed.target.as_deref().ok_or_else(|| {
        format!("MachineSet {own} moves its Machines to MachineSet {name}, which does not exist")
    })?;
    if !in_place::names(annotation(target, RECEIVE_MACHINES_FROM)).any(|source| source == own) {
        return Err(format!("MachineSet {name} does not expect Machines of MachineSet {own} yet"));
    }
    let hash = label(target, HASH).ok_or_else(|| format!("MachineSet {name} has no label {HASH}"))?;
    // A Machine that is still updated by an earlier move stays, and so does one that may not have started yet.
    let can_move = |machine: &&Arc<Machine>| {
        let has_node = machine.status.as_ref().is_some_and(|status| status.node_ref.is_some());
        !in_place::is_in_progress(machine.as_ref()) && (has_node || is_deleting(machine.as_ref()))
    };
    let sorted = priority::sorted(set, machines, observed.now);
    // Machines that are being deleted count, so that no more go than should.
    let leaving = sorted.into_iter().filter(can_move).take(count);
    let moved = leaving.filter(|machine| !is_deleting(machine.as_ref()));
    Ok(moved.map(|machine| (machine.clone(), wanted(set, target, hash, machine))).collect())
}

fn wanted(set: &MachineSet, target: &MachineSet, hash: &str, machine: &Machine) -> Machine {
    let mut wanted = machine.clone();
    owners::remove(&mut wanted, &owners::controller_reference(set, &()));
    owners::ensure(&mut wanted, owners::controller_reference(target, &()));
    wanted.metadata.labels.get_or_insert_default().insert(HASH.to_owned(), hash.to_owned());
    let annotations = wanted.metadata.annotations.get_or_insert_default();
    for mark in [UPDATE_IN_PROGRESS, PENDING_ACKNOWLEDGE_MOVE] {
        annotations.insert(mark.to_owned(), String::new());
    }
    wanted
}
