//! What a Cluster's class says about its topology.

use std::borrow::Cow;
use std::collections::BTreeSet;

use machinery::meta;
use serde_json::Value;

use super::workers;
use crate::admission::cluster_class::health_checks;
use crate::admission::common::{Errors, at};
use crate::cluster::{ClusterClass, ClusterClassStatusVariable, Topology};
use crate::variables::inline_definitions;

const VARIABLES_READY: &str = "VariablesReady";

/// Returns namespace and name of the class of a Cluster; `None` if it has none.
pub fn class_key(cluster: &Value) -> Option<(&str, &str)> {
    let reference = at(cluster, &["spec", "topology", "classRef"]);
    let name = reference["name"].as_str().filter(|name| !name.is_empty())?;
    let namespace = reference["namespace"].as_str().filter(|namespace| !namespace.is_empty());
    Some((namespace.unwrap_or_else(|| meta::namespace(cluster)), name))
}

/// Returns whether a write belongs to the deletion of a Cluster and leaves its topology as it is. A class that has changed, or is gone,
/// must not hold up the removal of finalizers.
pub fn is_settled(new: &Value, old: Option<&Value>) -> bool {
    let topology = ["spec", "topology"];
    meta::is_deleting(new) && old.is_some_and(|old| at(old, &topology) == at(new, &topology))
}

/// Returns the definitions of a class's variables; `None` while extensions have not told all of them.
///
/// A class that defines all variables itself needs no controller for this, so that a Cluster may be written right after its class.
pub fn definitions(class: &ClusterClass) -> Option<Cow<'_, [ClusterClassStatusVariable]>> {
    let status = class.status.as_ref();
    if let Some(status) = status.filter(|_| is_reconciled(class)) {
        return Some(Cow::Borrowed(&status.variables));
    }
    let externals = class.spec.patches.iter().filter_map(|patch| patch.external.as_ref());
    let mut discovering = externals.filter_map(|external| external.discover_variables_extension.as_ref());
    let discovers = discovering.any(|extension| !extension.is_empty());
    (!discovers).then(|| Cow::Owned(inline_definitions(&class.spec.variables)))
}

fn is_reconciled(class: &ClusterClass) -> bool {
    let Some(status) = &class.status else { return false };
    let observed = status.observed_generation.unwrap_or_default();
    let ready = status.conditions.iter().find(|condition| condition.type_ == VARIABLES_READY);
    class.metadata.generation.unwrap_or_default() == observed
        && ready.is_some_and(|condition| condition.status != "False")
}

/// Warns if the class cannot be used yet.
pub fn warn(cluster: &Value, class: Option<&ClusterClass>, errors: &mut Errors) {
    let (namespace, name) = class_key(cluster).unwrap_or_default();
    match class {
        None => errors.warn(format_args!(
            "the ClusterClass {namespace}/{name} does not exist, so the topology was not fully checked; it must be created before anything \
             happens with this Cluster"
        )),
        Some(class) if definitions(class).is_none() => errors.warn(format_args!(
            "the ClusterClass {namespace}/{name} is not reconciled yet, so the variables of the topology were not checked; look at its \
             status"
        )),
        Some(_) => {}
    }
}

/// The rules of a topology that depend on its class.
pub fn class(topology: &Topology, class: &ClusterClass, errors: &mut Errors) {
    let versions = &class.spec.kubernetes_versions;
    if !versions.is_empty() && !versions.contains(&topology.version) {
        let detail = format!("must be one of the versions of the ClusterClass: {}", versions.join(", "));
        errors.invalid("spec.topology.version", topology.version.as_str(), detail);
    }
    let workers = || class.spec.workers.iter();
    let known = workers().flat_map(|workers| &workers.machine_deployments).map(|class| class.class.as_str());
    let used = workers::deployments(topology).map(|part| (part.class.as_str(), part.name.as_str()));
    worker_classes("MachineDeployment", "machineDeployments", known.collect(), used, class, errors);
    let known = workers().flat_map(|workers| &workers.machine_pools).map(|class| class.class.as_str());
    let used = workers::pools(topology).map(|part| (part.class.as_str(), part.name.as_str()));
    worker_classes("MachinePool", "machinePools", known.collect(), used, class, errors);
    health_checks::of_topology(topology, class, errors);
}

/// Checks the class and the name of each of the workers of a kind.
fn worker_classes<'a>(
    kind: &str,
    list: &str,
    known: BTreeSet<&str>,
    used: impl Iterator<Item = (&'a str, &'a str)>,
    class: &ClusterClass,
    errors: &mut Errors,
) {
    let class_name = class.metadata.name.as_deref().unwrap_or_default();
    let mut names = BTreeSet::new();
    for (index, (worker_class, name)) in used.enumerate() {
        let field = format!("spec.topology.workers.{list}[{index}]");
        if !known.contains(worker_class) {
            let detail = format!("the ClusterClass {class_name:?} has no {kind} class {worker_class:?}");
            errors.invalid(format_args!("{field}.class"), worker_class, detail);
        }
        if name.is_empty() {
            errors.required(format_args!("{field}.name"), "must be set");
        } else if !names.insert(name) {
            let detail = format!("names must be unique: {name:?} is used more than once");
            errors.invalid(format_args!("{field}.name"), name, detail);
        }
    }
}
