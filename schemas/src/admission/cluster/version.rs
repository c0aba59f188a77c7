//! Changes of a topology: another version, and another class.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use machinery::selector;
use semver::Version;
use serde_json::{Map, Value};

use super::class::class_key;
use crate::admission::cluster_class::compatibility;
use crate::admission::common::{Errors, annotation, at};
use crate::admission::facts::Running;
use crate::admission::request::Request;
use crate::admission::versions::{is_later, release, tolerant};
use crate::cluster::{ClusterClass, Machine, MachineDeployment, MachinePool, Topology};

const SKIP_CLASS: &str = "unsafe.topology.cluster.x-k8s.io/disable-update-class-name-check";
const SKIP_VERSION: &str = "unsafe.topology.cluster.x-k8s.io/disable-update-version-check";
const PENDING_HOOKS: &str = "runtime.cluster.x-k8s.io/pending-hooks";
const AFTER_UPGRADE: &str = "AfterClusterUpgrade";
const CLASS: &str = "spec.topology.class";
const VERSION: &str = "spec.topology.version";

/// Returns whether an update changes the version of a topology, so that what runs must be known ([`Running`]).
pub fn upgrades(new: &Value, old: &Value) -> bool {
    let version = |cluster| at(cluster, &["spec", "topology", "version"]).as_str();
    annotation(new, SKIP_VERSION).is_none()
        && version(old).is_some_and(|old| version(new).is_some_and(|new| new != old))
}

/// The rules of an update.
pub fn update(
    request: Request<'_>,
    topology: &Topology,
    old: &Value,
    class: Option<&ClusterClass>,
    errors: &mut Errors,
) {
    let (new_key, old_key) = (class_key(request.new), class_key(old));
    let Some(class) = class else {
        let (namespace, name) = new_key.unwrap_or_default();
        return errors.internal(CLASS, format!("ClusterClass {namespace}/{name} does not exist"));
    };
    if old_key.is_none() {
        if annotation(request.new, SKIP_CLASS).is_none() {
            errors.forbidden(CLASS, "a class cannot be set for a Cluster that was made without one");
        }
        return;
    }
    if annotation(request.new, SKIP_VERSION).is_some() {
        errors.warn(format_args!(
            "the change of the version is not checked, because the annotation {SKIP_VERSION} is set"
        ));
    } else if let Some(why) = version_problem(request, topology, old, class) {
        errors.invalid(VERSION, topology.version.as_str(), why);
    }
    if old_key != new_key {
        rebase(request, old, class, errors);
    }
}

/// Checks that the classes before and after an update are compatible. The old class may be broken, but it must be there.
fn rebase(request: Request<'_>, old: &Value, class: &ClusterClass, errors: &mut Errors) {
    let (namespace, name) = class_key(old).unwrap_or_default();
    match request.facts.old_class.known() {
        Ok(Some(old)) => compatibility::compatible(old, class, errors),
        Ok(None) => errors.forbidden(
            CLASS,
            format!("the class before, {namespace}/{name}, does not exist, so it cannot be compared with the new one"),
        ),
        Err(why) => {
            errors.forbidden(CLASS, format!("the class before, {namespace}/{name}, cannot be read: {why}"));
        }
    }
}

/// Returns why the version cannot be changed.
fn version_problem(
    request: Request<'_>,
    topology: &Topology,
    old: &Value,
    class: &ClusterClass,
) -> Option<String> {
    let old_text = at(old, &["spec", "topology", "version"]).as_str().unwrap_or_default();
    // A version that is none was reported before.
    let new = tolerant(&topology.version)?;
    let Some(old) = tolerant(old_text) else {
        return Some(format!("the version before, {old_text:?}, is no version"));
    };
    if new == old {
        return None;
    }
    if release(&new) < release(&old) {
        return Some(format!("version cannot be decreased from \"{old}\" to \"{new}\""));
    }
    let external = class.spec.upgrade.as_ref().and_then(|upgrade| upgrade.external.as_ref());
    let plan = external.and_then(|external| external.generate_upgrade_plan_extension.as_ref());
    let is_planned = !class.spec.kubernetes_versions.is_empty() || plan.is_some_and(|plan| !plan.is_empty());
    if !is_planned && (new.major, new.minor) >= (old.major, old.minor.saturating_add(2)) {
        return Some(format!("version cannot be increased from \"{old}\" to \"{new}\""));
    }
    let pending = annotation(request.new, PENDING_HOOKS).unwrap_or_default();
    if pending.split(',').any(|hook| hook.trim() == AFTER_UPGRADE) {
        return Some(format!("version cannot be changed when the {AFTER_UPGRADE:?} hook is still blocking"));
    }
    let running = match request.facts.running.known() {
        Ok(running) => running,
        Err(why) => return Some(format!("version cannot be changed: what runs is not known: {why}")),
    };
    let problems = [
        control_plane(running.control_plane.as_ref(), &old).err(),
        deployments(running, &old).err(),
        pools(&running.machine_pools, &old).err(),
    ];
    let problems: Vec<String> = problems.into_iter().flatten().collect();
    let problems = match problems.as_slice() {
        [] => return None,
        [one] => one.clone(),
        several => format!("[{}]", several.join(", ")),
    };
    Some(format!("version cannot be changed: {problems}"))
}

fn control_plane(object: Option<&Value>, version: &Version) -> Result<(), String> {
    let missing = "failed to check if control plane is upgrading: failed to get control plane object: it does not exist yet";
    let object = object.ok_or(missing)?;
    let text = object["spec"]["version"].as_str().unwrap_or_default();
    let found = tolerant(text).ok_or_else(|| format!("the control plane has no version, but {text:?}"))?;
    if found != *version {
        return Err(format!(
            "Cluster.spec.topology.version {version} was not propagated to control plane yet (control plane version {found})"
        ));
    }
    let status = &object["status"];
    let of_machines = status["versions"].as_array().into_iter().flatten();
    let mut reported: Vec<&str> = of_machines.filter_map(|entry| entry["version"].as_str()).collect();
    if reported.is_empty() {
        reported.extend(status["version"].as_str().filter(|text| !text.is_empty()));
    }
    if reported.is_empty() {
        return Err("control plane is currently provisioning".to_owned());
    }
    for text in reported {
        let at = tolerant(text).ok_or_else(|| format!("the control plane reports the version {text:?}"))?;
        if is_later(&found, &at) {
            return Err("control plane is still completing a previous upgrade".to_owned());
        }
    }
    Ok(())
}

fn deployments(running: &Running, version: &Version) -> Result<(), String> {
    let labels: Vec<Map<String, Value>> = running.machines.iter().map(labels).collect();
    let mut upgrading = Vec::new();
    for deployment in &running.machine_deployments {
        let name = deployment.metadata.name.as_deref().unwrap_or_default();
        let machines = selected(&deployment.spec.selector, &running.machines, &labels)
            .map_err(|why| format!("the MachineDeployment {name} has an invalid selector: {why}"))?;
        if is_upgrading(deployment, machines, version)? {
            upgrading.push(name);
        }
    }
    still_upgraded("MachineDeployments", &upgrading)
}

fn labels(machine: &Machine) -> Map<String, Value> {
    let labels = machine.metadata.labels.iter().flatten();
    labels.map(|(key, value)| (key.clone(), Value::from(value.as_str()))).collect()
}

fn selected<'a>(
    selector: &LabelSelector,
    machines: &'a [Machine],
    labels: &[Map<String, Value>],
) -> Result<Vec<&'a Machine>, String> {
    let selector = serde_json::to_value(selector).map_err(|error| error.to_string())?;
    let selector = selector::LabelSelector::from_object(&selector)?;
    let pairs = machines.iter().zip(labels);
    Ok(pairs.filter(|(_, labels)| selector.matches(Some(labels))).map(|(machine, _)| machine).collect())
}

/// Returns whether a MachineDeployment has another version, or a Machine of it has another than it. The kubelet counts, too, because
/// of upgrades in place.
fn is_upgrading(
    deployment: &MachineDeployment,
    machines: Vec<&Machine>,
    version: &Version,
) -> Result<bool, String> {
    let name = deployment.metadata.name.as_deref().unwrap_or_default();
    let wanted = deployment.spec.template.spec.version.as_deref().unwrap_or_default();
    let found = tolerant(wanted)
        .ok_or_else(|| format!("the MachineDeployment {name} has no version, but {wanted:?}"))?;
    if found != *version {
        return Ok(true);
    }
    for machine in machines {
        let version = machine.spec.version.as_deref().filter(|version| !version.is_empty());
        let version = version.ok_or_else(|| {
            let machine = machine.metadata.name.as_deref().unwrap_or_default();
            format!("the Machine {machine} of the MachineDeployment {name} has no version")
        })?;
        let info = machine.status.as_ref().and_then(|status| status.node_info.as_ref());
        let kubelet = info.map_or("", |info| info.kubelet_version.as_str());
        if version != wanted || !kubelet.is_empty() && kubelet != wanted {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Checks the versions that MachinePools report of their Nodes. Upstream reads the Nodes themselves.
fn pools(pools: &[MachinePool], version: &Version) -> Result<(), String> {
    let mut upgrading = Vec::new();
    for pool in pools {
        let name = pool.metadata.name.as_deref().unwrap_or_default();
        let wanted = pool.spec.template.spec.version.as_deref().unwrap_or_default();
        let found = tolerant(wanted)
            .ok_or_else(|| format!("the MachinePool {name} has no version, but {wanted:?}"))?;
        let status = pool.status.as_ref();
        let reported = status.map_or(&[][..], |status| &status.versions);
        let has_nodes = status.is_some_and(|status| !status.node_refs.is_empty());
        if reported.is_empty() && has_nodes {
            return Err(format!("the MachinePool {name} does not report the versions of its Nodes yet"));
        }
        if found != *version || reported.iter().any(|entry| entry.version != wanted) {
            upgrading.push(name);
        }
    }
    still_upgraded("MachinePools", &upgrading)
}

fn still_upgraded(kind: &str, names: &[&str]) -> Result<(), String> {
    if names.is_empty() {
        Ok(())
    } else {
        Err(format!("there are still {kind} completing a previous upgrade: [{}]", names.join(", ")))
    }
}
