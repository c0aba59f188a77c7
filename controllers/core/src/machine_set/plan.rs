//! The rules of the MachineSet controller.

use std::collections::BTreeSet;
use std::sync::Arc;

use engine::names::{CLUSTER_NAME, DEPLOYMENT_NAME};
use engine::object::{annotation, is_deleting, uid};
use engine::steps::Event;
use engine::{ExternalObject, conditions, owners};
use schemas::HasConditions;
use schemas::cluster::{Machine, MachineSet};

use super::create::{self, NewMachine};
use super::facts::{is_of_deployment, target_name};
use super::observed::Observed;
use super::start_update::{self, Start};
use super::{moving, preflight, priority, remediation, status, sync};
use crate::change::{ExternalChange, Reference};

const DISABLE_CREATE: &str = "cluster.x-k8s.io/disable-machine-create";

/// The finalizer of MachineSets.
pub const FINALIZER: &str = "cluster.x-k8s.io/machineset";

/// What happens to a MachineSet and its Machines.
pub type Plan = engine::Plan<MachineSet, NewMachine>;
pub(super) type Step = engine::Step<NewMachine>;

/// Applies all rules of a MachineSet. Pure function.
pub fn plan(observed: &Observed) -> Plan {
    let set = observed.set.as_ref();
    let blocked = if is_deleting(set) { Vec::new() } else { preflight::failures(observed) };
    let mut plan = Plan::of(set.clone());
    engine::paused::set(&mut plan.wanted, Some(&observed.cluster), observed.now);
    owner_and_labels(&mut plan.wanted, observed);
    status::set(&mut plan.wanted, observed, &blocked);
    if !is_deleting(set) {
        steps(&mut plan, observed, &blocked);
        return plan;
    }
    if observed.machines.is_empty() {
        engine::finalizer::remove(&mut plan.wanted, FINALIZER);
    }
    let rest = observed.machines.iter().filter(|machine| !is_deleting(machine.as_ref()));
    plan.steps.extend(rest.map(deletion));
    plan
}

/// Adds the steps in the order in which they happen. Each Machine is written once: what replaces, moves, deletes or starts it comes
/// instead of what is propagated to it.
fn steps(plan: &mut Plan, observed: &Observed, blocked: &[String]) {
    templates(plan, observed);
    let remediations = remediation::plan(observed, blocked);
    let mut written: BTreeSet<String> =
        remediations.iter().filter(|it| it.deletes).map(|it| uid(it.machine.as_ref()).to_owned()).collect();
    let mut starts = Vec::new();
    if observed.features.in_place_updates {
        let (possible, errors) = start_update::plan(observed);
        plan.errors.extend(errors);
        starts = possible;
    }
    let resize = resize(observed, blocked, &written);
    plan.errors.extend(resize.errors);
    let moved = resize.moves.iter().map(|(machine, _)| machine);
    let leaving: BTreeSet<String> =
        resize.delete.iter().chain(moved).map(|machine| uid(machine.as_ref()).to_owned()).collect();
    written.extend(starts.iter().flat_map(Start::uids));
    starts.retain(|start| !leaving.contains(uid(start.machine.as_ref())));
    written.extend(leaving);

    remediations.into_iter().for_each(|it| plan.steps.in_order(it.steps()));
    sync::plan(&mut plan.steps, observed, &written);
    starts.into_iter().for_each(|start| plan.steps.in_order(start.steps()));
    plan.steps.extend(
        resize.moves.into_iter().map(|(machine, wanted)| Step::patch(&machine, wanted).unless_gone()),
    );
    plan.steps.extend(resize.orphans.iter().map(Step::delete));
    plan.steps.extend(resize.delete.iter().map(deletion));
    plan.steps.extend(newly_blocked(&plan.wanted, &observed.set, blocked).map(Step::tell));
    plan.steps.extend(resize.create.into_iter().map(creation));
}

fn deletion(machine: &Arc<Machine>) -> Step {
    let name = machine.metadata.name.as_deref().unwrap_or_default();
    Step::delete(machine)
        .says(Event::normal("SuccessfulDelete", format!("Deleted Machine \"{name}\"")))
        .warns(Event::warning("FailedDelete", format!("Failed to delete Machine \"{name}\"")))
}

fn creation(new: NewMachine) -> Step {
    let name = new.machine.metadata.name.as_deref().unwrap_or_default();
    let created = Event::normal("SuccessfulCreate", format!("Created Machine \"{name}\""));
    let suffix = new.suffix.clone();
    Step::own(new)
        .says(created)
        .warns(Event::warning("FailedCreate", "Failed to create a Machine"))
        .without_suffix(&suffix)
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
    let event = if passes { Event::normal } else { Event::warning };
    Some(event("PreflightCheckFailed", text))
}

/// Adds the labels that the MachineSet, its selector and its Machines always have, and the Cluster as owner if no MachineDeployment is.
fn owner_and_labels(wanted: &mut MachineSet, observed: &Observed) {
    let name = observed.set.spec.cluster_name.clone();
    let label = || (CLUSTER_NAME.to_owned(), name.clone());
    wanted.metadata.labels.get_or_insert_default().extend([label()]);
    if is_deleting(observed.set.as_ref()) {
        return;
    }
    wanted.spec.selector.match_labels.get_or_insert_default().extend([label()]);
    wanted.spec.template.metadata.get_or_insert_default().labels.extend([label()]);
    // Between the loss of its reference and the adoption, the label still tells.
    let is_child = is_of_deployment(&observed.set)
        || engine::object::label(observed.set.as_ref(), DEPLOYMENT_NAME).is_some();
    if !is_child {
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

/// What changes the number of Machines.
#[derive(Default)]
struct Resize {
    /// Objects of Machines that do not exist.
    orphans: Vec<ExternalObject>,
    /// Machines that get another MachineSet: the current and the wanted object.
    moves: Vec<(Arc<Machine>, Machine)>,
    delete: Vec<Arc<Machine>>,
    create: Vec<NewMachine>,
    errors: Vec<String>,
}

/// Returns what is needed to reach `spec.replicas`. `replaced` are the UIDs of Machines that are remediated: they go first, and still
/// count, as those that are being deleted.
fn resize(observed: &Observed, blocked: &[String], replaced: &BTreeSet<String>) -> Resize {
    let Some(replicas) = observed.set.spec.replicas else { return Resize::default() };
    let resize = Resize { orphans: orphans(observed), ..Resize::default() };
    let replicas = usize::try_from(replicas).unwrap_or(0);
    let existing = observed.machines.len();
    if existing > replicas {
        let surplus = (existing - replicas).saturating_sub(moving::uncounted(observed));
        let rest = observed.machines.iter().filter(|machine| !replaced.contains(uid(machine.as_ref())));
        let rest: Vec<_> = rest.cloned().collect();
        return scale_down(resize, observed, &rest, surplus.saturating_sub(replaced.len()));
    }
    let disabled = annotation(observed.set.as_ref(), DISABLE_CREATE) == Some("true");
    let is_template = |reference: &Reference| matches!(reference, Reference::Found(_) | Reference::None);
    if disabled
        || !blocked.is_empty()
        || !is_template(&observed.bootstrap)
        || observed.infrastructure.found().is_none()
    {
        return resize;
    }
    let suffixes = observed.suffixes.iter().take(replicas - existing);
    let (create, errors): (Vec<_>, Vec<_>) =
        suffixes.map(|suffix| create::new_machine(observed, suffix)).partition(Result::is_ok);
    let errors = errors.into_iter().filter_map(Result::err).map(|error| error.to_string()).collect();
    Resize { create: create.into_iter().flatten().collect(), errors, ..resize }
}

/// Deletes `count` of the `machines`, or moves them to another MachineSet.
fn scale_down(resize: Resize, observed: &Observed, machines: &[Arc<Machine>], count: usize) -> Resize {
    if !observed.features.in_place_updates || target_name(&observed.set).is_none() {
        return Resize { delete: priority::choose(&observed.set, machines, count, observed.now), ..resize };
    }
    match moving::plan(observed, machines, count) {
        Ok(moves) => Resize { moves, ..resize },
        Err(error) => Resize { errors: vec![error], ..resize },
    }
}

/// Returns the objects of a reconcile that was interrupted before it created their Machine.
fn orphans(observed: &Observed) -> Vec<ExternalObject> {
    let is_orphan = |part: &&ExternalObject| {
        let name = part.object.metadata.name.as_ref();
        owners::is_owned_by(part.object.as_ref(), uid(observed.set.as_ref()))
            && !is_deleting(part.object.as_ref())
            && !observed.machines.iter().any(|machine| machine.metadata.name.as_ref() == name)
    };
    observed.parts.iter().filter(is_orphan).cloned().collect()
}
