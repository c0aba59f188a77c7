//! The rules of the MachineDeployment controller.

use std::sync::Arc;

use engine::in_place::{ACKNOWLEDGED_MOVE, MOVE_MACHINES_TO, RECEIVE_MACHINES_FROM};
use engine::names::CLUSTER_NAME;
use engine::object::{annotation, is_deleting};
use engine::{Action, owners, time};
use schemas::cluster::{MachineDeployment, MachineSet};

use super::facts::{REVISION, Split, is_on_delete, limits, rollout_after, split};
use super::in_place::{self, Arrivals};
use super::observed::{Observed, Updates};
use super::rollout::{self, Limits, Set};
use super::sets::{DESIRED_REPLICAS, MAX_REPLICAS};
use super::{changes, paused, sets, status};
use crate::change::ExternalChange;

/// The finalizer of MachineDeployments.
pub const FINALIZER: &str = "cluster.x-k8s.io/machinedeployment";

/// What happens to a MachineDeployment and its MachineSets.
pub type Plan = engine::Plan<MachineDeployment>;

/// Applies all rules of a MachineDeployment. Pure function.
pub fn plan(observed: &Observed) -> Plan {
    let mut plan = Plan::of(observed.deployment.as_ref().clone());
    engine::paused::set(&mut plan.wanted, Some(&observed.cluster), observed.now);
    owner_and_labels(&mut plan.wanted, observed);
    let split = split(observed);
    if is_deleting(observed.deployment.as_ref()) {
        let rest = observed.sets.iter().filter(|set| !is_deleting(set.as_ref()));
        plan.steps.extend(rest.map(changes::deletion));
    } else {
        templates(&mut plan, observed);
        roll_out(&mut plan, observed, &split);
    }
    status::set(&mut plan.wanted, observed, &split);
    if is_deleting(observed.deployment.as_ref()) && observed.sets.is_empty() {
        engine::finalizer::remove(&mut plan.wanted, FINALIZER);
    }
    plan
}

fn owner_and_labels(wanted: &mut MachineDeployment, observed: &Observed) {
    let name = observed.deployment.spec.cluster_name.clone();
    wanted.metadata.labels.get_or_insert_default().insert(CLUSTER_NAME.to_owned(), name);
    if !is_deleting(observed.deployment.as_ref()) {
        owners::ensure(wanted, owners::reference(observed.cluster.as_ref(), &()));
    }
}

/// Makes the Cluster an owner of the templates, so that they are deleted with it.
fn templates(plan: &mut Plan, observed: &Observed) {
    for reference in [&observed.infrastructure, &observed.bootstrap] {
        // If there is no object, the event of its creation triggers the next reconcile.
        match reference.owned_by(&observed.cluster) {
            Ok(change) => plan.steps.extend(change.map(ExternalChange::step)),
            Err(error) => plan.errors.push(error),
        }
    }
}

/// A MachineSet, `None` for a new one, and its wanted state.
type Changed = (Option<Arc<MachineSet>>, MachineSet);

fn numbers(set: &MachineSet) -> Set {
    let status = set.status.as_ref();
    let spec = set.spec.replicas.unwrap_or(0);
    Set {
        spec,
        status: status.and_then(|status| status.replicas).unwrap_or(0),
        available: status.and_then(|status| status.available_replicas).unwrap_or(0),
        up_to_date: status.and_then(|status| status.up_to_date_replicas).unwrap_or(0),
        intent: spec,
        created: set.metadata.creation_timestamp.as_ref().map_or(0, |created| time::utc(created).timestamp()),
        desired: number(set, DESIRED_REPLICAS),
        maximum: number(set, MAX_REPLICAS),
        moves: false,
    }
}

/// Returns the number in an annotation; `None` if there is none.
fn number(set: &MachineSet, key: &str) -> Option<i32> {
    annotation(set, key).and_then(|text| text.parse().ok())
}

fn roll_out(plan: &mut Plan, observed: &Observed, split: &Split) {
    if let Updates::Failed(error) = &observed.updates {
        return plan.errors.push(error.clone());
    }
    let limits = limits(&observed.deployment);
    let mut new = split.new.as_deref().map(numbers).unwrap_or_default();
    let mut old: Vec<Set> = split.old.iter().map(|set| numbers(set)).collect();
    for (set, numbers) in split.old.iter().zip(&mut old) {
        numbers.moves = observed.updates.can_move(set);
    }
    let arrivals = split.new.as_deref().map(|new| in_place::arrivals(observed, new)).unwrap_or_default();
    let on_delete = is_on_delete(&observed.deployment);
    let is_paused = observed.deployment.spec.paused == Some(true);
    if is_paused {
        paused::scale(&limits, split.new.is_some().then_some(&mut new), &mut old, !on_delete);
    } else if on_delete {
        rollout::on_delete(&limits, &mut new, &mut old);
    } else {
        new.spec += arrivals.uncounted;
        new.intent = new.spec;
        rollout::rolling_update(&limits, &mut new, &mut old, in_place::is_updating(observed));
    }
    let mut changed: Vec<Changed> = Vec::new();
    let revision = sets::next_revision(split);
    if split.new.is_some() || !is_paused {
        let wanted = sets::wanted(observed, split.new.as_deref(), new.intent, Some(revision), &limits);
        if let Some(value) = wanted.metadata.annotations.as_ref().and_then(|all| all.get(REVISION)) {
            let annotations = plan.wanted.metadata.annotations.get_or_insert_default();
            annotations.insert(REVISION.to_owned(), value.clone());
        }
        changed.push((split.new.clone(), wanted));
    }
    for (set, numbers) in split.old.iter().zip(&old) {
        if is_deleting(set.as_ref()) {
            continue;
        }
        let wanted = sets::wanted(observed, Some(set), numbers.intent, None, &limits);
        changed.push((Some(set.clone()), wanted));
    }
    if !is_paused && !on_delete {
        hand_over(&mut changed, observed, &arrivals);
    }
    if let Some(after) = rollout_after(observed).filter(|after| *after > observed.now) {
        let left = (after - observed.now).to_std().unwrap_or_default();
        plan.action = plan.action.min(Action::requeue_after(left));
    }
    let superfluous = if is_complete(&limits, &new, &old) { superfluous(split) } else { Vec::new() };
    changed.retain(|(current, _)| {
        !current.as_ref().is_some_and(|current| superfluous.iter().any(|set| Arc::ptr_eq(set, current)))
    });
    let suffix = observed.suffix.as_str();
    plan.steps.extend(changed.into_iter().map(|(current, wanted)| changes::change(current, wanted, suffix)));
    plan.steps.extend(superfluous.into_iter().map(changes::deletion));
}

/// Tells the MachineSets, of which the new one is the first, about the Machines that they hand over.
fn hand_over(changed: &mut [Changed], observed: &Observed, arrivals: &Arrivals) {
    let Some(((_, new), old)) = changed.split_first_mut() else { return };
    in_place::annotate(new, ACKNOWLEDGED_MOVE, &arrivals.names);
    let target = new.metadata.name.clone().unwrap_or_default();
    let mut sources = Vec::new();
    for (current, wanted) in old {
        if current.as_ref().is_some_and(|current| observed.updates.can_move(current)) {
            in_place::annotate(wanted, MOVE_MACHINES_TO, std::slice::from_ref(&target));
            sources.extend(wanted.metadata.name.clone());
        }
    }
    sources.sort();
    in_place::annotate(new, RECEIVE_MACHINES_FROM, &sources);
}

fn is_complete(limits: &Limits, new: &Set, old: &[Set]) -> bool {
    let is_gone = |set: &Set| set.spec == 0 && set.status == 0;
    let all = [new.spec, new.intent, new.status, new.up_to_date, new.available];
    all.iter().all(|number| *number == limits.replicas) && old.iter().all(is_gone)
}

/// Returns the old MachineSets that are deleted after a completed rollout. Old revisions are not kept: a rollback creates a new MachineSet.
fn superfluous(split: &Split) -> Vec<&Arc<MachineSet>> {
    let knows = |set: &&Arc<MachineSet>| {
        let observed = set.status.as_ref().and_then(|status| status.observed_generation);
        !is_deleting(set.as_ref()) && observed >= set.metadata.generation
    };
    split.old.iter().filter(knows).collect()
}
