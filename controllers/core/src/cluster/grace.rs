//! The grace period of a Cluster's deletion, before which nothing is deleted.
//!
//! The end of the period is a write of its own: it removes the annotation, and fails if the Cluster has changed since it was read. The API
//! server undoes a deletion only while the annotation is there, in a write with the same precondition. So one of the two comes first, and
//! nothing is deleted for a deletion that was undone.

use chrono::{DateTime, Utc};
use engine::initialization::{has_control_plane, has_infrastructure};
use engine::object::is_deleting;
use engine::steps::Event;
use engine::{Action, conditions, deletion_grace};
use machinery::clock::rfc3339;
use schemas::HasConditions;
use schemas::deletion_grace::ANNOTATION;

use super::deletion::Stage;
use super::observed::Observed;
use super::plan::{Plan, Step};
use crate::change::Reference;

/// Returns the stage of a deletion that can still be undone; `None` if the Cluster's objects can be deleted.
pub(super) fn plan(plan: &mut Plan, observed: &Observed) -> Option<Stage> {
    let end = deletion_grace::end(&observed.cluster)?;
    let passed = end.as_ref().is_ok_and(|end| *end <= observed.now);
    let name = observed.cluster.metadata.name.clone().unwrap_or_default();
    if let Some(why) = already_deleted(observed).or(passed.then(|| "it has passed".to_owned())) {
        let message = format!("The grace period of the deletion of Cluster {name} ends: {why}");
        plan.steps.push(Step::tell(Event::normal("DeletionGracePeriodEnded", message)));
        return Some(Stage::GracePeriodEnds(message_until(observed.now)));
    }
    let message = match end {
        Ok(end) => {
            // The clock has a finer resolution than the time in the object.
            let left = (end - observed.now).to_std().unwrap_or_default();
            plan.action = plan.action.min(Action::requeue_after(left));
            message_until(end)
        }
        Err(why) => format!("Nothing is deleted until it is corrected or removed: {why}"),
    };
    if !is_held(observed) {
        plan.steps.push(Step::tell(Event::normal(deletion_grace::REASON, message.clone())));
    }
    Some(Stage::Waiting(deletion_grace::REASON, message))
}

/// Returns the plan that ends the grace period, with the events of `plan`: the annotation is removed, unless the Cluster has changed since it
/// was read, because its deletion may have been undone. The write is a change of the Cluster, which is reconciled again for it.
pub(super) fn end(plan: &Plan, observed: &Observed) -> Plan {
    let mut wanted = observed.cluster.as_ref().clone();
    if let Some(annotations) = &mut wanted.metadata.annotations {
        annotations.remove(ANNOTATION);
    }
    let removal = Step::patch_unchanged(&observed.cluster, wanted);
    let mut end = Plan::without_write(observed.cluster.as_ref().clone());
    end.steps.in_order(std::iter::once(removal).chain(plan.steps.events().cloned().map(Step::tell)));
    end
}

/// Records that a deletion was undone, which the conditions of the Cluster still show.
pub(super) fn undone(plan: &mut Plan, observed: &Observed) {
    if !is_deleting(observed.cluster.as_ref()) && is_held(observed) {
        let name = observed.cluster.metadata.name.clone().unwrap_or_default();
        let message = format!("The deletion of Cluster {name} was undone; nothing of it was deleted");
        plan.steps.push(Step::tell(Event::normal("DeletionUndone", message)));
    }
}

/// Returns whether the last reconcile has reported that the deletion waits.
fn is_held(observed: &Observed) -> bool {
    observed.cluster.condition("Deleting").is_some_and(|condition| {
        condition.status == conditions::TRUE && condition.reason == deletion_grace::REASON
    })
}

fn message_until(end: DateTime<Utc>) -> String {
    format!("Nothing is deleted before {} (annotation {ANNOTATION})", rfc3339(end))
}

/// Says which object, without which there is no cluster, somebody else has deleted already, for example with their namespace.
fn already_deleted(observed: &Observed) -> Option<String> {
    let spec = &observed.cluster.spec;
    let kind = |reference: &Option<schemas::meta::ContractVersionedObjectReference>| {
        reference.as_ref().map_or_else(String::new, |reference| reference.kind.clone())
    };
    let parts = [
        (&observed.infrastructure, kind(&spec.infrastructure_ref), has_infrastructure(&observed.cluster)),
        (&observed.control_plane, kind(&spec.control_plane_ref), has_control_plane(&observed.cluster)),
    ];
    parts.into_iter().find_map(|(part, kind, existed)| match part {
        Reference::Found(object) if is_deleting(object.object.as_ref()) => {
            Some(format!("its {kind} is being deleted"))
        }
        Reference::NotFound if existed => Some(format!("its {kind} has been deleted")),
        _ => None,
    })
}
