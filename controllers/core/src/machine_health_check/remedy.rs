//! How an unhealthy Machine is remediated: its owner is asked, by a condition, or an external controller, by an object.

use engine::conditions::{self, FALSE, TRUE, is_false};
use engine::external::{Clone, clone_template};
use engine::names::CLUSTER_NAME;
use engine::object::is_deleting;
use engine::{Error, ExternalObject, NamespacedName, Result, owners};
use schemas::HasConditions;
use schemas::cluster::Machine;
use schemas::meta::Condition;

use super::observe::template_of;
use super::observed::{Observed, Target};
use super::plan::Mark;
use super::{EXTERNAL, SUCCEEDED};
use crate::change::Reference;
use engine::messages::INTERNAL_ERROR;

const OWNER: &str = "OwnerRemediated";
const WAITING: &str = "WaitingForRemediation";
const TEMPLATE_NOT_FOUND: &str = "RemediationTemplateNotFound";
const CREATION_FAILED: &str = "RemediationRequestCreationFailed";

/// Asks for the remediation of a Machine, unless it is being deleted anyway.
///
/// # Errors
/// Fails if the object that asks an external controller cannot be read or made.
pub fn ask(mark: &mut Mark, observed: &Observed, target: &Target) -> Result<()> {
    if is_deleting(target.machine.as_ref()) {
        return Ok(());
    }
    if template_of(&observed.check).is_some() {
        return ask_external(mark, observed, target);
    }
    // The owner says in this condition what it does, until it is done.
    if target.machine.condition(OWNER).is_none_or(|condition| condition.status == TRUE) {
        wait(mark, observed, is_false(OWNER, WAITING, "Waiting for remediation"));
    }
    Ok(())
}

/// Returns the object that asked for the remediation of a Machine that is healthy again. Whoever may write a health check names its kind, so an
/// object with the Machine's name is only deleted if it belongs to the Machine and is no part of it.
pub fn obsolete(target: &Target) -> Option<ExternalObject> {
    let request = target.request.found().filter(|request| !is_deleting(request.object.as_ref()))?;
    let machine = target.machine.as_ref();
    let uid = machine.metadata.uid.as_deref().unwrap_or_default();
    let parts = std::iter::once(&machine.spec.infrastructure_ref).chain(&machine.spec.bootstrap.config_ref);
    let is_part = parts.into_iter().any(|part| {
        part.kind == request.resource.kind
            && part.api_group == request.resource.group
            && request.object.metadata.name.as_ref() == Some(&part.name)
    });
    (owners::is_owned_by(request.object.as_ref(), uid) && !is_part).then(|| request.clone())
}

/// Returns the condition of a Machine if the object that asks for its remediation could not be created.
pub fn creation_failed() -> Condition {
    is_false(EXTERNAL, CREATION_FAILED, INTERNAL_ERROR)
}

fn ask_external(mark: &mut Mark, observed: &Observed, target: &Target) -> Result<()> {
    match &target.request {
        Reference::Found(_) => {
            // The controller that remediates may change or remove the condition.
            if is_unmarked(&target.machine) {
                wait(mark, observed, is_false(EXTERNAL, WAITING, ""));
            }
            return Ok(());
        }
        Reference::Failed(error) => return Err(Error::failed(error)),
        Reference::None | Reference::NotFound => {}
    }
    let template = match &observed.template {
        Reference::Found(template) => template,
        Reference::Failed(error) => {
            set(mark, observed, template_not_found(observed));
            return Err(Error::failed(error));
        }
        // Its creation is an event.
        Reference::None | Reference::NotFound => {
            set(mark, observed, template_not_found(observed));
            return Ok(());
        }
    };
    match clone_template(template, clone(&target.machine)) {
        Ok(request) => {
            mark.create = Some(request);
            wait(mark, observed, is_false(EXTERNAL, WAITING, ""));
            Ok(())
        }
        Err(error) => {
            set(mark, observed, creation_failed());
            Err(error)
        }
    }
}

/// Returns whether a Machine whose object exists was not marked, because the process ended after it had created the object, or
/// because the object could not be created before.
fn is_unmarked(machine: &Machine) -> bool {
    match machine.condition(EXTERNAL) {
        Some(condition) => [TEMPLATE_NOT_FOUND, CREATION_FAILED].contains(&condition.reason.as_str()),
        None => !conditions::has(machine.conditions(), SUCCEEDED, FALSE),
    }
}

fn template_not_found(observed: &Observed) -> Condition {
    let template = template_of(&observed.check).cloned().unwrap_or_default();
    let namespace = observed.check.metadata.namespace.as_deref().unwrap_or_default();
    let (kind, name) = (template.kind, NamespacedName::new(namespace, template.name));
    is_false(EXTERNAL, TEMPLATE_NOT_FOUND, format!("Error retrieving remediation template {kind} {name}"))
}

fn clone(machine: &Machine) -> Clone {
    let NamespacedName { namespace, name } = NamespacedName::of(machine);
    let labels = [(CLUSTER_NAME.to_owned(), machine.spec.cluster_name.clone())].into();
    let owner = Some(owners::reference(machine, &()));
    Clone { name, namespace, labels, owner, ..Clone::default() }
}

fn wait(mark: &mut Mark, observed: &Observed, condition: Condition) {
    set(mark, observed, condition);
    mark.is_new = true;
}

fn set(mark: &mut Mark, observed: &Observed, condition: Condition) {
    conditions::set(&mut mark.wanted, observed.now, condition);
}
