//! The rules of the ClusterClass controller.

use std::sync::Arc;

use engine::conditions::{self, is_false, is_true, is_unknown};
use engine::v1beta1::{self, Severity};
use engine::{messages, owners};
use kube::api::DynamicObject;
use schemas::cluster::ClusterClass;
use schemas::meta::{Condition, TemplateReference, V1Beta1Condition};

use super::observed::{Observed, Template};
use super::variables;

const VERSIONS: &str = "RefVersionsUpToDate";
const VARIABLES: &str = "VariablesReady";
/// The name of [`VARIABLES`] for clients of the API version v1beta1.
const OLD_VARIABLES: &str = "VariablesReconciled";

/// The changes that a ClusterClass needs.
#[derive(Debug, Default)]
pub struct Plan {
    /// The ClusterClass with its wanted status.
    pub class: ClusterClass,
    /// Templates that get the class as an owner: the reference, the template, and the wanted template.
    pub owned: Vec<(TemplateReference, Arc<DynamicObject>, DynamicObject)>,
    /// Templates that do not exist. Their creation triggers the next reconcile.
    pub missing: Vec<String>,
    /// Errors that the reconcile returns.
    pub errors: Vec<String>,
}

/// Applies all rules of a ClusterClass. Pure function.
pub fn plan(observed: &Observed) -> Plan {
    let mut plan = Plan { class: observed.class.as_ref().clone(), ..Plan::default() };
    engine::paused::set(&mut plan.class, None, observed.now);
    own_templates(&mut plan, observed);
    versions(&mut plan, observed);
    variables(&mut plan, observed);
    let generation = plan.class.metadata.generation;
    plan.class.status.get_or_insert_default().observed_generation = generation;
    plan
}

/// Makes the class an owner of its templates, so that they are deleted and moved with it. Objects of kinds that implement no contract of Cluster API belong to
/// somebody else, whatever the class says.
fn own_templates(plan: &mut Plan, observed: &Observed) {
    let owner = owners::reference(observed.class.as_ref(), &());
    for template in &observed.templates {
        let (Ok(Some(object)), Ok(_)) = (&template.object, &template.newest_version) else { continue };
        let mut wanted = object.as_ref().clone();
        owners::ensure(&mut wanted, owner.clone());
        if wanted.metadata != object.metadata {
            plan.owned.push((template.reference.clone(), object.clone(), wanted));
        }
    }
}

/// Returns why a template cannot be used.
fn problem(template: &Template) -> Option<String> {
    let reference = &template.reference;
    match (&template.object, &template.newest_version) {
        (Err(error), _) | (Ok(Some(_)), Err(error)) => Some(error.clone()),
        (Ok(None), _) => Some(format!(
            "the template {} {} ({}) does not exist in the namespace of the class",
            reference.kind, reference.name, reference.api_version
        )),
        (Ok(Some(_)), Ok(_)) => None,
    }
}

/// Returns the line about a reference to another version than the newest.
fn outdated(template: &Template) -> Option<String> {
    let reference = &template.reference;
    let version = reference.api_version.rsplit('/').next().unwrap_or_default();
    let newest = template.newest_version.as_deref().ok().filter(|newest| *newest != version)?;
    Some(format!("* {} {}: current: {version}, latest: {newest}", reference.kind, reference.name))
}

fn versions(plan: &mut Plan, observed: &Observed) {
    let is_missing = |template: &&Template| matches!(template.object, Ok(None));
    let (missing, others): (Vec<_>, Vec<_>) = observed.templates.iter().partition(is_missing);
    let problems: Vec<String> = observed.templates.iter().filter_map(problem).collect();
    let outdated: Vec<String> = observed.templates.iter().filter_map(outdated).collect();
    let (condition, old) = if !problems.is_empty() {
        let message = messages::INTERNAL_ERROR;
        let message = format!("{message}: {}", problems.join(", "));
        plan.missing.extend(missing.into_iter().filter_map(problem));
        plan.errors.extend(others.into_iter().filter_map(problem));
        (
            is_unknown(VERSIONS, "InternalError", message.clone()),
            v1beta1::is_unknown(VERSIONS, "InternalError", message),
        )
    } else if outdated.is_empty() {
        (is_true(VERSIONS, VERSIONS), v1beta1::is_true(VERSIONS))
    } else {
        let message = format!(
            "The following templateRefs are not using the latest apiVersion:\n{}",
            outdated.join("\n")
        );
        (
            is_false(VERSIONS, "RefVersionsNotUpToDate", message.clone()),
            v1beta1::is_false(VERSIONS, Severity::Warning, "OutdatedRefVersions", message),
        )
    };
    set(plan, observed, condition, old);
}

fn variables(plan: &mut Plan, observed: &Observed) {
    let failed = match variables::all(observed) {
        Err(error) => Some(error),
        Ok(all) => {
            let conflicts = variables::conflicts(&all).join(", ");
            plan.class.status.get_or_insert_default().variables = all;
            (!conflicts.is_empty())
                .then(|| format!("the following variables have conflicting schemas: {conflicts}"))
        }
    };
    let (condition, old) = match failed {
        None => (is_true(VARIABLES, VARIABLES), v1beta1::is_true(OLD_VARIABLES)),
        Some(error) => {
            let message = format!("VariableDiscovery failed: {error}");
            plan.errors.push(message.clone());
            (
                is_false(VARIABLES, "VariableDiscoveryFailed", message.clone()),
                v1beta1::is_false(OLD_VARIABLES, Severity::Error, "VariableDiscoveryFailed", message),
            )
        }
    };
    set(plan, observed, condition, old);
}

fn set(plan: &mut Plan, observed: &Observed, condition: Condition, old: V1Beta1Condition) {
    conditions::set(&mut plan.class, observed.now, condition);
    let status = plan.class.status.get_or_insert_default();
    let deprecated = status.deprecated.get_or_insert_default().v1beta1.get_or_insert_default();
    v1beta1::set(&mut deprecated.conditions, observed.now, old);
}
