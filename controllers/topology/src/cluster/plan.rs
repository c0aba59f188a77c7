//! The rules of a Cluster with a topology: which versions its parts get now, and which objects it wants.

use engine::NamespacedName;
use schemas::HasConditions;
use schemas::cluster::{Cluster, ClusterClass};

use super::observed::Observed;
use crate::Patching;
use crate::desired::{self, Inputs};
use crate::versions::{self, Facts, Hooks, Question, Source, UpgradePlan, Versions};

/// What was decided about versions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Decision {
    /// The versions that an upgrade still goes through.
    pub plan: UpgradePlan,
    /// The versions that the parts get now, and what waits.
    pub versions: Versions,
}

/// Returns the versions that an upgrade goes through. `answer` is what the extension of the class planned, if it has one.
///
/// # Errors
/// There is no way to the wanted version, or the answer breaks a rule.
pub fn upgrade_plan(
    observed: &Observed,
    facts: &Facts,
    answer: Option<&UpgradePlan>,
) -> Result<UpgradePlan, String> {
    let Some(control_plane) = &facts.control_plane else { return Ok(UpgradePlan::default()) };
    let class = &observed.blueprint.class.spec;
    let source = match answer {
        Some(answer) => Source::Extension(answer),
        None if class.kubernetes_versions.is_empty() => Source::OneMinor,
        None => Source::ClassVersions(&class.kubernetes_versions),
    };
    versions::plan(source, &facts.wanted, &control_plane.version, facts.lowest_workers.as_deref())
}

/// Returns the name of the extension that plans upgrades of Clusters of the class.
pub fn planner(observed: &Observed) -> Option<&str> {
    let upgrade = observed.blueprint.class.spec.upgrade.as_ref()?;
    let name = upgrade.external.as_ref()?.generate_upgrade_plan_extension.as_deref()?;
    Some(name).filter(|name| !name.is_empty())
}

/// Returns the hooks of a Cluster before any was called.
pub fn hooks_of(observed: &Observed) -> Hooks {
    let annotations = observed.current.cluster.metadata.annotations.clone().unwrap_or_default();
    Hooks::of_annotations(observed.calls_hooks, &annotations)
}

/// Chooses the versions; the question is the hook that must be called before more can be decided.
///
/// # Errors
/// The plan has no next version.
pub fn decide(
    facts: &Facts,
    plan: &UpgradePlan,
    hooks: &Hooks,
) -> Result<(Decision, Option<Question>), String> {
    let versions = versions::choose(facts, plan, hooks)?;
    let question = versions.control_plane.ask.clone();
    Ok((Decision { plan: plan.clone(), versions }, question))
}

/// Returns the wanted objects before the patches of the class.
///
/// # Errors
/// The class or the Cluster is wrong.
pub fn patching<'a>(
    observed: &'a Observed,
    decision: &Decision,
    random: &mut dyn FnMut() -> String,
) -> Result<Patching<'a>, String> {
    let inputs = Inputs {
        blueprint: &observed.blueprint,
        current: &observed.current,
        contract: observed.contract,
        versions: &decision.versions,
    };
    let desired = desired::compute(&inputs, random).map_err(|error| error.to_string())?;
    let (blueprint, cluster) = (&observed.blueprint, &observed.current.cluster);
    Patching::new(blueprint, cluster, desired, observed.contract).map_err(|error| error.to_string())
}

/// Returns whether the objects of the topology are still to be created.
pub fn is_new(cluster: &Cluster) -> bool {
    cluster.spec.infrastructure_ref.is_none() && cluster.spec.control_plane_ref.is_none()
}

/// Returns the kind of the control plane, for messages.
pub fn control_plane_kind(observed: &Observed) -> &str {
    let template = &observed.blueprint.control_plane.object;
    let kind = template["kind"].as_str().unwrap_or_default();
    kind.strip_suffix("Template").unwrap_or(kind)
}

/// Returns what a ClusterClass lacks before Clusters can be made from it; `None` if it is reconciled.
pub fn not_reconciled(class: &ClusterClass) -> Option<String> {
    let name = NamespacedName::of(class);
    let status = class.status.as_ref();
    let observed = status.and_then(|status| status.observed_generation).unwrap_or_default();
    let generation = class.metadata.generation.unwrap_or_default();
    let not_ready = match class.condition("VariablesReady") {
        None => Some("VariablesReady is not reported yet".to_owned()),
        Some(ready) if ready.status == "False" => Some(format!("VariablesReady is False: {}", ready.message)),
        Some(_) if observed != generation => {
            // A class with a template that cannot be used never gets there.
            let versions = class.condition("RefVersionsUpToDate").filter(|found| found.status == "Unknown");
            let why = versions.map(|found| format!(": {}", found.message)).unwrap_or_default();
            Some(format!("status.observedGeneration must be {generation}, but is {observed}{why}"))
        }
        Some(_) => None,
    };
    not_ready.map(|problem| format!("ClusterClass {name} is not reconciled: {problem}"))
}
