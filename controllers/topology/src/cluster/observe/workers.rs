//! The MachineDeployments and MachinePools of a topology that exist.

use std::collections::BTreeMap;
use std::sync::Arc;

use engine::names::TOPOLOGY_OWNED;
use engine::object::{is_deleting, label};
use engine::{Error, Kind, Manager, NamespacedName, Objects, Result, selector};
use k8s_openapi::api::core::v1::Node;
use schemas::cluster::{Cluster, Machine, MachineDeployment, MachinePool, MachineTemplateSpec};
use schemas::meta::ContractVersionedObjectReference;
use serde_json::Value;

use super::{Provided, Sources};
use crate::names::{DEPLOYMENT_NAME, POOL_NAME};
use crate::{Blueprint, WorkerTemplates, Workers};

/// Reads the MachineDeployments of a topology, by their names in the topology.
///
/// # Errors
/// Two have the same name in the topology, or a template does not exist or cannot be read.
pub(super) async fn machine_deployments(
    sources: &Sources,
    cluster: &Cluster,
    blueprint: &Blueprint,
) -> Result<BTreeMap<String, Workers<MachineDeployment>>> {
    let name = NamespacedName::of(cluster);
    let owned = owned(&sources.deployments, &name, DEPLOYMENT_NAME)?;
    let machines = if owned.is_empty() { Vec::new() } else { sources.machines.by_cluster(&name) };
    let machines = by_deployment(&machines);
    let topology = cluster.spec.topology.as_ref().and_then(|topology| topology.workers.as_ref());
    let mut all = BTreeMap::new();
    for (topology_name, object) in owned {
        let mut entries = topology.iter().flat_map(|workers| &workers.machine_deployments);
        let class = entries.find(|entry| entry.name == topology_name).map(|entry| entry.class.as_str());
        let templates = class_of("MachineDeployment", class, &blueprint.machine_deployments)?;
        let (bootstrap_template, infrastructure_template) =
            templates_of(&sources.provided, object.as_ref(), &object.spec.template, templates).await?;
        let health_check = sources.checks.get(&NamespacedName::of(object.as_ref()));
        let of_this = machines.get(topology_name.as_str()).map_or(&[][..], Vec::as_slice);
        let is_upgrading = is_upgrading(&object, of_this);
        let workers =
            Workers { object, bootstrap_template, infrastructure_template, health_check, is_upgrading };
        all.insert(topology_name, workers);
    }
    Ok(all)
}

/// Reads the MachinePools of a topology, by their names in the topology.
///
/// # Errors
/// The errors of [`machine_deployments`]. Also: a MachinePool has Nodes, and the workload cluster is not connected.
pub(super) async fn machine_pools(
    sources: &Sources,
    cluster: &Cluster,
    blueprint: &Blueprint,
) -> Result<BTreeMap<String, Workers<MachinePool>>> {
    let name = NamespacedName::of(cluster);
    let topology = cluster.spec.topology.as_ref().and_then(|topology| topology.workers.as_ref());
    let mut all = BTreeMap::new();
    for (topology_name, object) in owned(&sources.pools, &name, POOL_NAME)? {
        let mut entries = topology.iter().flat_map(|workers| &workers.machine_pools);
        let class = entries.find(|entry| entry.name == topology_name).map(|entry| entry.class.as_str());
        let templates = class_of("MachinePool", class, &blueprint.machine_pools)?;
        let (bootstrap_template, infrastructure_template) =
            templates_of(&sources.provided, object.as_ref(), &object.spec.template, templates).await?;
        let is_upgrading = is_pool_upgrading(&sources.manager, &name, &object)?;
        let workers =
            Workers { object, bootstrap_template, infrastructure_template, health_check: None, is_upgrading };
        all.insert(topology_name, workers);
    }
    Ok(all)
}

/// Reads both templates of workers; of a MachinePool, these are the objects themselves. Those of workers that are being deleted are not read:
/// their controller deletes them.
async fn templates_of<K: Kind<DynamicType = ()>>(
    provided: &Provided,
    object: &K,
    template: &MachineTemplateSpec,
    class: Option<&WorkerTemplates>,
) -> Result<(Value, Value)> {
    if is_deleting(object) {
        return Ok((Value::Null, Value::Null));
    }
    let (kind, name) = (K::kind(&()), NamespacedName::of(object));
    let nothing = ContractVersionedObjectReference::default();
    let bootstrap = template.spec.bootstrap.config_ref.as_ref().unwrap_or(&nothing);
    let infrastructure = &template.spec.infrastructure_ref;
    let mut both = Vec::new();
    let fields = [
        ("spec.template.spec.bootstrap.configRef", bootstrap, class.map(|class| &class.bootstrap.object)),
        (
            "spec.template.spec.infrastructureRef",
            infrastructure,
            class.map(|class| &class.infrastructure.object),
        ),
    ];
    for (field, reference, template) in fields {
        if reference.name.is_empty() {
            return Err(Error::failed(format!("{kind} {name} has no {field}")));
        }
        let read = provided.referenced(&name.namespace, reference, template).await;
        both.push(read.map_err(|error| Error::failed(format!("{field} of {kind} {name}: {error}")))?);
    }
    let infrastructure = both.pop().unwrap_or_default();
    Ok((both.pop().unwrap_or_default(), infrastructure))
}

/// Returns whether a Node of the pool has another version than the pool.
fn is_pool_upgrading(manager: &Manager, cluster: &NamespacedName, pool: &MachinePool) -> Result<bool> {
    let Some(version) = &pool.spec.template.spec.version else { return Ok(false) };
    let references = pool.status.iter().flat_map(|status| &status.node_refs);
    let mut names = references.filter_map(|reference| reference.name.as_deref()).peekable();
    if names.peek().is_none() {
        return Ok(false);
    }
    let workload = manager.clusters().get(cluster)?;
    let nodes = workload.objects::<Node>();
    for name in names {
        let missing = || {
            Error::failed(format!("Node {name} of MachinePool {} does not exist", NamespacedName::of(pool)))
        };
        let node = nodes.get(&NamespacedName::new("", name)).ok_or_else(missing)?;
        let info = node.status.as_ref().and_then(|status| status.node_info.as_ref());
        if info.map(|info| &info.kubelet_version) != Some(version) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns the objects of a topology by the name that the label `key` gives.
///
/// # Errors
/// An object lacks the label, or two have the same name.
fn owned<K: Kind<DynamicType = ()>>(
    objects: &Objects<K>,
    cluster: &NamespacedName,
    key: &str,
) -> Result<BTreeMap<String, Arc<K>>> {
    let mut all: BTreeMap<String, Arc<K>> = BTreeMap::new();
    for object in objects.by_cluster(cluster) {
        if label(object.as_ref(), TOPOLOGY_OWNED).is_none() {
            continue;
        }
        let (kind, name) = (K::kind(&()), NamespacedName::of(object.as_ref()));
        let Some(topology_name) = label(object.as_ref(), key).filter(|name| !name.is_empty()) else {
            return Err(Error::failed(format!("{kind} {name} of the topology lacks the label {key}")));
        };
        if let Some(other) = all.insert(topology_name.to_owned(), object.clone()) {
            let other = NamespacedName::of(other.as_ref());
            return Err(Error::failed(format!(
                "{kind}s {other} and {name} are both {topology_name} of the topology (label {key}): delete one of them"
            )));
        }
    }
    Ok(all)
}

/// Returns the templates of a worker class; `None` if the workers are no longer in the topology.
fn class_of<'a>(
    kind: &str,
    class: Option<&str>,
    templates: &'a BTreeMap<String, WorkerTemplates>,
) -> Result<Option<&'a WorkerTemplates>> {
    let Some(class) = class else { return Ok(None) };
    let missing = || Error::failed(format!("the ClusterClass has no {kind} class {class:?}"));
    templates.get(class).map(Some).ok_or_else(missing)
}

/// Returns the Machines by the names in the topology of their MachineDeployments. Each selector of a MachineDeployment contains this label, and a topology can have
/// thousands of them.
fn by_deployment(machines: &[Arc<Machine>]) -> BTreeMap<&str, Vec<&Arc<Machine>>> {
    let mut found: BTreeMap<&str, Vec<&Arc<Machine>>> = BTreeMap::new();
    for machine in machines {
        if let Some(name) = label(machine.as_ref(), DEPLOYMENT_NAME) {
            found.entry(name).or_default().push(machine);
        }
    }
    found
}

/// Returns whether a Machine of the MachineDeployment, or its kubelet, has another version than the MachineDeployment.
fn is_upgrading(deployment: &MachineDeployment, machines: &[&Arc<Machine>]) -> bool {
    let Some(version) = deployment.spec.template.spec.version.as_ref() else { return false };
    let is_selected = |machine: &&&Arc<Machine>| {
        selector::matches(&deployment.spec.selector, machine.metadata.labels.as_ref())
    };
    machines.iter().filter(is_selected).any(|machine| {
        let info = machine.status.as_ref().and_then(|status| status.node_info.as_ref());
        let kubelet = info.map(|info| &info.kubelet_version).filter(|version| !version.is_empty());
        machine.spec.version.as_ref() != Some(version) || kubelet.is_some_and(|kubelet| kubelet != version)
    })
}
