//! The rules of the MachineSet controller.

use std::sync::Arc;

use engine::names::{CLUSTER_NAME, DEPLOYMENT_NAME};
use engine::object::{annotation, is_deleting, uid};
use engine::propagated::Removed;
use engine::{Action, ExternalObject, conditions, owners};
use kube::api::DynamicObject;
use schemas::HasConditions;
use schemas::cluster::{Machine, MachineSet};

use super::facts::{is_of_deployment, target_name};
use super::observe::Observed;
use super::remediation::{self, Remediation};
use super::start_update::{self, Start};
use super::{create, moving, preflight, priority, status, sync};
use crate::change::{Event, ExternalChange, Reference};

const DISABLE_CREATE: &str = "cluster.x-k8s.io/disable-machine-create";

/// The finalizer of MachineSets.
pub const FINALIZER: &str = "cluster.x-k8s.io/machineset";

/// The changes that a MachineSet needs.
#[derive(Debug, Default)]
pub struct Plan {
    /// The MachineSet with its wanted metadata and status.
    pub set: MachineSet,
    /// Changes of the templates.
    pub external: Vec<ExternalChange>,
    /// Machines to apply: the current and the wanted object.
    pub sync: Vec<(Arc<Machine>, Machine)>,
    /// Machines to patch because they are being deleted or adopted: the current and the wanted object.
    pub update: Vec<(Arc<Machine>, Machine)>,
    /// Bootstrap and infrastructure objects whose labels and annotations follow the template.
    pub sync_parts: Vec<(ExternalObject, DynamicObject)>,
    /// Bootstrap and infrastructure objects with labels and annotations that the template no longer has.
    pub remove_metadata: Vec<(ExternalObject, Removed)>,
    /// Bootstrap and infrastructure objects without a Machine, to be deleted.
    pub delete_parts: Vec<ExternalObject>,
    /// Machines whose condition `OwnerRemediated` changes, and those of them that are deleted then.
    pub remediate: Vec<Remediation>,
    /// Machines whose update in place begins.
    pub starts: Vec<Start>,
    /// Machines that get another MachineSet: the current and the wanted object.
    pub moves: Vec<(Arc<Machine>, Machine)>,
    /// Machines to delete.
    pub delete: Vec<Arc<Machine>>,
    /// Machines to create, with their bootstrap and infrastructure objects.
    pub create: Vec<create::NewMachine>,
    /// The reasons for which no Machine may be created, if they were others before; for an event.
    pub newly_blocked: Option<Event>,
    /// When to reconcile again.
    pub action: Action,
    /// Errors that the reconcile returns.
    pub errors: Vec<String>,
}

/// Applies all rules of a MachineSet. Pure function.
pub fn plan(observed: &Observed) -> Plan {
    let mut plan = Plan { set: observed.set.as_ref().clone(), ..Plan::default() };
    engine::paused::set(&mut plan.set, Some(&observed.cluster), observed.now);
    owner_and_labels(&mut plan, observed);
    let mut blocked = Vec::new();
    if is_deleting(observed.set.as_ref()) {
        plan.delete =
            observed.machines.iter().filter(|machine| !is_deleting(machine.as_ref())).cloned().collect();
        if observed.machines.is_empty() {
            engine::finalizer::remove(&mut plan.set, FINALIZER);
        }
    } else {
        templates(&mut plan, observed);
        blocked = preflight::failures(observed);
        plan.remediate = remediation::plan(observed, &blocked);
        sync::plan(&mut plan, observed);
        if observed.features.in_place_updates {
            let (starts, errors) = start_update::plan(observed);
            starts.into_iter().for_each(|start| plan.start(start));
            plan.errors.extend(errors);
        }
        replicas(&mut plan, observed, &blocked);
    }
    status::set(&mut plan, observed, &blocked);
    plan.newly_blocked = newly_blocked(&plan.set, &observed.set, &blocked);
    plan
}

/// Returns the event about a blocked scale-up, unless the condition had the same message before. A control plane becomes stable by itself,
/// so waiting only for this is not a warning.
fn newly_blocked(set: &MachineSet, before: &MachineSet, blocked: &[String]) -> Option<Event> {
    let message = |set: &MachineSet| {
        let condition = set.condition("ScalingUp").filter(|condition| condition.status == conditions::TRUE);
        condition.map(|condition| condition.message.clone())
    };
    let text = message(set).filter(|text| !blocked.is_empty() && message(before).as_ref() != Some(text))?;
    let passes = blocked.iter().all(|reason| reason.contains(preflight::CONTROL_PLANE_IS_STABLE));
    Some(Event { warning: !passes, reason: "PreflightCheckFailed", message: text })
}

/// Adds the labels that the MachineSet, its selector and its Machines always have, and the Cluster as owner if no MachineDeployment is.
fn owner_and_labels(plan: &mut Plan, observed: &Observed) {
    let name = observed.set.spec.cluster_name.clone();
    let label = || (CLUSTER_NAME.to_owned(), name.clone());
    plan.set.metadata.labels.get_or_insert_default().extend([label()]);
    if is_deleting(observed.set.as_ref()) {
        return;
    }
    plan.set.spec.selector.match_labels.get_or_insert_default().extend([label()]);
    plan.set.spec.template.metadata.get_or_insert_default().labels.extend([label()]);
    // Between the loss of its reference and the adoption, the label still tells.
    let is_child = is_of_deployment(&observed.set)
        || engine::object::label(observed.set.as_ref(), DEPLOYMENT_NAME).is_some();
    if !is_child {
        owners::ensure(&mut plan.set, owners::reference(observed.cluster.as_ref(), &()));
    }
}

/// Makes the Cluster an owner of the templates, so that they are deleted with it.
fn templates(plan: &mut Plan, observed: &Observed) {
    for reference in [&observed.infrastructure, &observed.bootstrap] {
        // If there is no object, the event of its creation triggers the next reconcile.
        match reference.owned_by(&observed.cluster) {
            Ok(change) => plan.external.extend(change),
            Err(error) => plan.errors.push(error),
        }
    }
}

/// Plans the creation or deletion of Machines to reach `spec.replicas`.
fn replicas(plan: &mut Plan, observed: &Observed, blocked: &[String]) {
    let Some(replicas) = observed.set.spec.replicas else { return };
    orphaned_parts(plan, observed);
    let replicas = usize::try_from(replicas).unwrap_or(0);
    // As Machines that are being deleted, those that are remediated go first and still count.
    let (replaced, rest): (Vec<_>, Vec<_>) =
        observed.machines.iter().cloned().partition(|machine| plan.is_replaced(machine));
    let existing = observed.machines.len();
    if existing > replicas {
        let surplus = (existing - replicas).saturating_sub(moving::uncounted(observed));
        return scale_down(plan, observed, &rest, surplus.saturating_sub(replaced.len()));
    }
    let disabled = annotation(observed.set.as_ref(), DISABLE_CREATE) == Some("true");
    let is_template = |reference: &Reference| matches!(reference, Reference::Found(_) | Reference::None);
    if disabled || !blocked.is_empty() || !is_template(&observed.bootstrap) {
        return;
    }
    if observed.infrastructure.found().is_none() {
        return;
    }
    for suffix in observed.suffixes.iter().take(replicas - existing) {
        match create::new_machine(observed, suffix) {
            Ok(new) => plan.create.push(new),
            Err(error) => plan.errors.push(error.to_string()),
        }
    }
}

/// Plans that `count` of the `machines` are deleted, or go to another MachineSet.
fn scale_down(plan: &mut Plan, observed: &Observed, machines: &[Arc<Machine>], count: usize) {
    if observed.features.in_place_updates && target_name(&observed.set).is_some() {
        match moving::plan(observed, machines, count) {
            Ok(moves) => plan.moves = moves,
            Err(error) => plan.errors.push(error),
        }
    } else {
        plan.delete = priority::choose(&observed.set, machines, count, observed.now);
    }
    let moved = plan.moves.iter().map(|(machine, _)| machine);
    let leaving: Vec<&str> = plan.delete.iter().chain(moved).map(|machine| uid(machine.as_ref())).collect();
    plan.sync.retain(|(machine, _)| !leaving.contains(&uid(machine.as_ref())));
    plan.starts.retain(|start| !leaving.contains(&uid(start.machine.as_ref())));
}

/// Deletes the objects of a reconcile that was interrupted before it created their Machine.
fn orphaned_parts(plan: &mut Plan, observed: &Observed) {
    let is_orphan = |part: &&ExternalObject| {
        let name = part.object.metadata.name.as_ref();
        owners::is_owned_by(part.object.as_ref(), uid(observed.set.as_ref()))
            && !is_deleting(part.object.as_ref())
            && !observed.machines.iter().any(|machine| machine.metadata.name.as_ref() == name)
    };
    plan.delete_parts = observed.parts.iter().filter(is_orphan).cloned().collect();
}

impl Plan {
    /// Adds the start of an update. It writes all that would be propagated to the Machine and its objects.
    fn start(&mut self, start: Start) {
        self.sync.retain(|(machine, _)| uid(machine.as_ref()) != uid(start.machine.as_ref()));
        let is_started = |part: &ExternalObject| {
            start.parts.iter().any(|(started, _)| uid(started.object.as_ref()) == uid(part.object.as_ref()))
        };
        self.sync_parts.retain(|(part, _)| !is_started(part));
        self.remove_metadata.retain(|(part, _)| !is_started(part));
        self.starts.push(start);
    }

    /// Returns whether the plan deletes the Machine to have another one in its place.
    pub(super) fn is_replaced(&self, machine: &Machine) -> bool {
        let deleted = self.remediate.iter().filter(|remediation| remediation.deletes);
        deleted.into_iter().any(|remediation| uid(remediation.machine.as_ref()) == uid(machine))
    }
}
