//! The rules of the MachineDeployment controller.

use std::sync::Arc;

use engine::names::CLUSTER_NAME;
use engine::object::{annotation, is_deleting};
use engine::{Action, owners, time};
use machinery::clock::parse_rfc3339;
use schemas::cluster::{MachineDeployment, MachineSet};
use schemas::defaults;

use super::observe::Observed;
use super::rollout::{self, Limits, Set};
use super::sets::{DESIRED_REPLICAS, MAX_REPLICAS};
use super::{paused, sets, status, template};
use crate::change::{ExternalChange, Reference};

/// The finalizer of MachineDeployments.
pub const FINALIZER: &str = "cluster.x-k8s.io/machinedeployment";
/// Annotation on MachineDeployments and MachineSets: the number of the template's revision.
pub const REVISION: &str = "machinedeployment.clusters.x-k8s.io/revision";

/// The changes that a MachineDeployment needs.
#[derive(Debug, Default)]
pub struct Plan {
    /// The MachineDeployment with its wanted metadata and status.
    pub deployment: MachineDeployment,
    /// Changes of the templates.
    pub external: Vec<ExternalChange>,
    /// MachineSets to apply: the current object (`None` for a new one) and the wanted object.
    pub sets: Vec<(Option<Arc<MachineSet>>, MachineSet)>,
    /// MachineSets to delete.
    pub delete: Vec<Arc<MachineSet>>,
    /// When to reconcile again.
    pub action: Action,
    /// Errors that the reconcile returns.
    pub errors: Vec<String>,
}

/// The MachineSet with the current template, and all others, oldest first.
pub(super) struct Split {
    pub new: Option<Arc<MachineSet>>,
    pub old: Vec<Arc<MachineSet>>,
}

/// Applies all rules of a MachineDeployment. Pure function.
pub fn plan(observed: &Observed) -> Plan {
    let mut plan = Plan { deployment: observed.deployment.as_ref().clone(), ..Plan::default() };
    engine::paused::set(&mut plan.deployment, Some(&observed.cluster), observed.now);
    owner_and_labels(&mut plan, observed);
    let split = split(observed);
    if is_deleting(observed.deployment.as_ref()) {
        plan.delete = observed.sets.iter().filter(|set| !is_deleting(set.as_ref())).cloned().collect();
    } else {
        templates(&mut plan, observed);
        roll_out(&mut plan, observed, &split);
    }
    status::set(&mut plan, observed, &split);
    if is_deleting(observed.deployment.as_ref()) && observed.sets.is_empty() {
        engine::finalizer::remove(&mut plan.deployment, FINALIZER);
    }
    plan
}

fn owner_and_labels(plan: &mut Plan, observed: &Observed) {
    let name = observed.deployment.spec.cluster_name.clone();
    plan.deployment.metadata.labels.get_or_insert_default().insert(CLUSTER_NAME.to_owned(), name);
    if !is_deleting(observed.deployment.as_ref()) {
        owners::ensure(&mut plan.deployment, owners::reference(observed.cluster.as_ref(), &()));
    }
}

/// Makes the Cluster an owner of the templates, so that they are deleted with it.
fn templates(plan: &mut Plan, observed: &Observed) {
    for reference in [&observed.infrastructure, &observed.bootstrap] {
        match reference {
            Reference::Found(object) => {
                let mut wanted = object.object.as_ref().clone();
                owners::ensure(&mut wanted, owners::reference(observed.cluster.as_ref(), &()));
                if wanted.metadata != object.object.metadata {
                    plan.external.push(ExternalChange { read: object.clone(), wanted });
                }
            }
            Reference::Failed(error) => plan.errors.push(error.clone()),
            // The template's creation event triggers the next reconcile; until then the MachineSet reports
            // that it is missing.
            Reference::None | Reference::NotFound => {}
        }
    }
}

/// Returns `spec.rollout.after`: once that time has come, MachineSets created before it are replaced.
fn rollout_after(observed: &Observed) -> Option<chrono::DateTime<chrono::Utc>> {
    let rollout = observed.deployment.spec.rollout.as_ref()?;
    parse_rfc3339(rollout.after.as_deref()?)
}

pub(super) fn split(observed: &Observed) -> Split {
    let created = |set: &MachineSet| set.metadata.creation_timestamp.as_ref().map(time::utc);
    let mut candidates: Vec<Arc<MachineSet>> = observed
        .sets
        .iter()
        .filter(|set| !is_deleting(set.as_ref()))
        .filter(|set| template::is_same(&set.spec.template, &observed.deployment.spec.template))
        .cloned()
        .collect();
    candidates.sort_by_key(|set| (std::cmp::Reverse(set.spec.replicas.unwrap_or(0)), created(set)));
    let after = rollout_after(observed).filter(|after| *after <= observed.now);
    let new = candidates.into_iter().find(|set| after.is_none_or(|after| created(set) >= Some(after)));
    let is_new =
        |set: &&Arc<MachineSet>| new.as_ref().is_some_and(|new| new.metadata.uid == set.metadata.uid);
    let mut old: Vec<Arc<MachineSet>> = observed.sets.iter().filter(|set| !is_new(set)).cloned().collect();
    old.sort_by_key(|set| (created(set), set.metadata.name.clone()));
    Split { new, old }
}

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
    }
}

/// Returns the number in an annotation; `None` if there is none.
fn number(set: &MachineSet, key: &str) -> Option<i32> {
    annotation(set, key).and_then(|text| text.parse().ok())
}

/// Returns `spec.replicas` with the resolved surge and unavailability limits.
pub(super) fn limits(deployment: &MachineDeployment) -> Limits {
    let rolling = deployment
        .spec
        .rollout
        .as_ref()
        .and_then(|rollout| rollout.strategy.as_ref())
        .and_then(|strategy| strategy.rolling_update.as_ref());
    let replicas = deployment.spec.replicas.unwrap_or(defaults::REPLICAS);
    Limits::resolve(
        replicas,
        rolling.and_then(|rolling| rolling.max_surge.as_ref()),
        rolling.and_then(|rolling| rolling.max_unavailable.as_ref()),
    )
}

/// Returns whether old Machines are replaced only after a user deletes them.
pub(super) fn is_on_delete(deployment: &MachineDeployment) -> bool {
    let strategy = deployment.spec.rollout.as_ref().and_then(|rollout| rollout.strategy.as_ref());
    strategy.is_some_and(|strategy| strategy.type_ == defaults::ON_DELETE)
}

fn roll_out(plan: &mut Plan, observed: &Observed, split: &Split) {
    let limits = limits(&observed.deployment);
    let mut new = split.new.as_deref().map(numbers).unwrap_or_default();
    let mut old: Vec<Set> = split.old.iter().map(|set| numbers(set)).collect();
    let on_delete = is_on_delete(&observed.deployment);
    let is_paused = observed.deployment.spec.paused == Some(true);
    if is_paused {
        paused::scale(&limits, split.new.is_some().then_some(&mut new), &mut old, !on_delete);
    } else if on_delete {
        rollout::on_delete(&limits, &mut new, &mut old);
    } else {
        rollout::rolling_update(&limits, &mut new, &mut old);
    }
    let revision = sets::next_revision(split);
    if split.new.is_some() || !is_paused {
        let wanted = sets::wanted(observed, split.new.as_deref(), new.intent, Some(revision), &limits);
        if let Some(value) = wanted.metadata.annotations.as_ref().and_then(|all| all.get(REVISION)) {
            let annotations = plan.deployment.metadata.annotations.get_or_insert_default();
            annotations.insert(REVISION.to_owned(), value.clone());
        }
        plan.sets.push((split.new.clone(), wanted));
    }
    for (set, numbers) in split.old.iter().zip(&old) {
        if is_deleting(set.as_ref()) {
            continue;
        }
        let wanted = sets::wanted(observed, Some(set), numbers.intent, None, &limits);
        plan.sets.push((Some(set.clone()), wanted));
    }
    if let Some(after) = rollout_after(observed).filter(|after| *after > observed.now) {
        let left = (after - observed.now).to_std().unwrap_or_default();
        plan.action = plan.action.min(Action::requeue_after(left));
    }
    if is_complete(&limits, &new, &old) {
        clean_up(plan, split);
    }
}

fn is_complete(limits: &Limits, new: &Set, old: &[Set]) -> bool {
    let is_gone = |set: &Set| set.spec == 0 && set.status == 0;
    let all = [new.spec, new.intent, new.status, new.up_to_date, new.available];
    all.iter().all(|number| *number == limits.replicas) && old.iter().all(is_gone)
}

/// Deletes the old MachineSets after a completed rollout. Old revisions are not kept: a rollback creates a
/// new MachineSet.
fn clean_up(plan: &mut Plan, split: &Split) {
    for set in &split.old {
        let observed = set.status.as_ref().and_then(|status| status.observed_generation);
        if is_deleting(set.as_ref()) || observed < set.metadata.generation {
            continue;
        }
        let name = set.metadata.name.clone().unwrap_or_default();
        plan.sets.retain(|(_, wanted)| wanted.metadata.name.as_ref() != Some(&name));
        plan.delete.push(set.clone());
    }
}
