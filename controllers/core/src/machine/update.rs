//! The update of a Machine in place, which its owner has prepared. Whoever makes it is called until it is done; then the marks are removed.
//!
//! The marks go in this order: that of the Machine, those of its objects, the pending hook. A process that ends in between leaves at least the hook, by
//! which the next one knows what is left to remove.

use std::time::Duration;

use chrono::{DateTime, Utc};
use engine::conditions::{self, TRUE, is_false};
use engine::in_place::{self, Objects, Progress, UPDATE_IN_PROGRESS};
use engine::object::{is_deleting, uid};
use engine::{Action, NamespacedName, Outcome, Result};
use schemas::cluster::Machine;
use schemas::meta::Condition;
use serde_json::json;

use super::changes::Plan;
use super::facts::{node_name, was_bootstrapped, was_provisioned};
use super::observe::MachineController;
use super::observed::{LastUpdate, Observed, UpdateOutcome};
use crate::change::{ExternalChange, Reference};

const TYPE: &str = "Updating";
/// The message while nothing more is known.
const IN_PROGRESS: &str = "In-place update in progress";
/// How long until the update is called again after its first failure. It doubles with each further one.
const RETRY: Duration = Duration::from_secs(1);
/// The longest time until a failed update is called again.
const LONGEST_RETRY: Duration = Duration::from_secs(300);

/// Plans the next call of the update, or the removal of the marks.
pub(super) fn plan(plan: &mut Plan, observed: &Observed) {
    let machine = observed.machine.as_ref();
    if !observed.updates_in_place || is_deleting(machine) || !in_place::is_hook_pending(machine) {
        return;
    }
    if !in_place::is_marked(machine) {
        return complete(plan, observed);
    }
    if !is_ready(observed) {
        return;
    }
    match &observed.last_update {
        Some(LastUpdate { outcome: UpdateOutcome::Done, .. }) => complete(plan, observed),
        Some(last) if last.next > observed.now => {
            let left = (last.next - observed.now).to_std().unwrap_or_default();
            plan.action = plan.action.min(Action::requeue_after(left));
        }
        _ => plan.update = true,
    }
}

/// Returns whether the owner has written everything, and there is a running machine to update.
fn is_ready(observed: &Observed) -> bool {
    let is_marked = |reference: &Reference| {
        reference.found().is_some_and(|object| in_place::is_marked(object.object.as_ref()))
    };
    let machine = observed.machine.as_ref();
    was_provisioned(machine)
        && was_bootstrapped(machine)
        && node_name(machine).is_some()
        && is_marked(&observed.infrastructure)
        && (matches!(observed.bootstrap, Reference::None) || is_marked(&observed.bootstrap))
}

/// Plans the removal of all marks.
fn complete(plan: &mut Plan, observed: &Observed) {
    plan.completes_update = true;
    if let Some(annotations) = &mut plan.machine.metadata.annotations {
        annotations.remove(UPDATE_IN_PROGRESS);
    }
    in_place::remove_hook(&mut plan.machine);
    for reference in [&observed.infrastructure, &observed.bootstrap] {
        let Some(read) = reference.found().filter(|read| in_place::is_marked(read.object.as_ref())) else {
            continue;
        };
        let is_same = |change: &&mut ExternalChange| uid(&change.wanted) == uid(read.object.as_ref());
        if plan.external.iter_mut().find(is_same).is_none() {
            plan.external.push(ExternalChange { read: read.clone(), wanted: read.object.as_ref().clone() });
        }
        if let Some(change) = plan.external.iter_mut().find(is_same)
            && let Some(annotations) = &mut change.wanted.metadata.annotations
        {
            annotations.remove(UPDATE_IN_PROGRESS);
        }
    }
}

/// Returns the condition `Updating` of the planned Machine.
pub(super) fn condition(machine: &Machine, observed: &Observed) -> Condition {
    if !in_place::is_in_progress(machine) {
        return is_false(TYPE, "NotUpdating", "");
    }
    let is_updating = |message: String| conditions::new(TYPE, TRUE, "InPlaceUpdating", message);
    let has_failed = |message: String| conditions::new(TYPE, TRUE, "InPlaceUpdateFailed", message);
    if matches!(observed.infrastructure, Reference::NotFound) {
        let kind = &machine.spec.infrastructure_ref.kind;
        return has_failed(format!("In-place update not possible: {kind} not found"));
    }
    match observed.last_update.as_ref().map(|last| &last.outcome) {
        Some(UpdateOutcome::Failed(why)) => has_failed(format!("UpdateMachine hook failed: {why}")),
        Some(UpdateOutcome::Waits(what)) if !what.is_empty() => is_updating(format!("{IN_PROGRESS}: {what}")),
        Some(UpdateOutcome::Waits(_) | UpdateOutcome::Done) | None => is_updating(IN_PROGRESS.to_owned()),
    }
}

/// Returns what to remember of a call that was answered at `now`.
pub fn remembered(
    before: Option<&LastUpdate>,
    answer: Result<Progress, String>,
    now: DateTime<Utc>,
) -> LastUpdate {
    let after = |wait: Duration| now + chrono::Duration::from_std(wait).unwrap_or_default();
    match answer {
        Ok(Progress::Done) => LastUpdate { outcome: UpdateOutcome::Done, next: now, failures: 0 },
        Ok(Progress::Waits { message, retry_after }) => {
            LastUpdate { outcome: UpdateOutcome::Waits(message), next: after(retry_after), failures: 0 }
        }
        Err(why) => {
            let failures = before.map_or(0, |last| last.failures);
            let wait = RETRY.saturating_mul(2_u32.saturating_pow(failures)).min(LONGEST_RETRY);
            LastUpdate {
                outcome: UpdateOutcome::Failed(why),
                next: after(wait),
                failures: failures.saturating_add(1),
            }
        }
    }
}

impl MachineController {
    /// Calls the update, and remembers the answer for the next plan.
    pub(super) async fn update(&self, observed: &Observed) -> Result<()> {
        let desired = Objects {
            machine: in_place::value(observed.machine.as_ref()),
            infrastructure: observed.infrastructure.found().map(in_place::external_value),
            bootstrap: observed.bootstrap.found().map(in_place::external_value),
        };
        let answer = self.updater.update_machine(&observed.cluster, &desired).await;
        let told = answer.as_ref().cloned().map_err(ToString::to_string);
        let last = remembered(observed.last_update.as_ref(), told, self.manager.clock().now());
        self.updates.lock().insert(NamespacedName::of(observed.machine.as_ref()), last);
        answer.map(drop)
    }

    /// Removes the mark of the Machine, the first of the marks to go.
    pub(super) async fn unmark(&self, observed: &Observed) -> Result<()> {
        if !in_place::is_marked(observed.machine.as_ref()) {
            return Ok(());
        }
        let key = NamespacedName::of(observed.machine.as_ref());
        let patch = json!({"metadata": {"annotations": {UPDATE_IN_PROGRESS: null}}});
        self.machines.merge(&key, None, patch).await.map(drop)
    }

    /// Ends the update if all marks of the objects are removed; otherwise the hook stays, so that they are removed later.
    pub(super) fn end_update(&self, observed: &Observed, outcome: &mut Outcome<Machine>) {
        if outcome.errors.is_empty() {
            self.updates.lock().remove(&NamespacedName::of(observed.machine.as_ref()));
        } else if let Some(wanted) = &mut outcome.wanted {
            let hooks = in_place::with_hook(wanted);
            wanted
                .metadata
                .annotations
                .get_or_insert_default()
                .insert(in_place::PENDING_HOOKS.to_owned(), hooks);
        }
    }
}
