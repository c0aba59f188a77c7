//! Reads the state on which the plan of a DevMachine depends.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::Result;
use engine::object::{label, uid};
use engine::{Manager, NamespacedName, Objects, names as engine_names, owners};
use k8s_openapi::api::core::v1::{Node, Secret};
use schemas::HasConditions;
use schemas::cluster::{Cluster, Machine};
use schemas::infrastructure::DevMachine;
use system_containers::Container;

use super::observed::{Data, NodeState, Observed};
use super::steps::{self, Done, Step, Wanted};
use super::{data, status};
use crate::container_name;
use crate::names::{
    CONTROL_PLANE_ROLE, LABEL_CLUSTER, LABEL_FAILURE_DOMAIN, LABEL_NAME, LABEL_NAMESPACE, LABEL_ROLE,
    LABEL_UID, PROVIDER_ID, WORKER_ROLE,
};
use crate::nodes::{Nodes, Parts};
use crate::tasks::Tasks;

/// The controller of DevMachines.
pub(super) struct DevMachineController {
    pub objects: Objects<DevMachine>,
    pub machines: Objects<Machine>,
    pub clusters: Objects<Cluster>,
    pub secrets: Objects<Secret>,
    pub tasks: Tasks<Step, Done>,
    pub nodes: Nodes,
    pub manager: Manager,
}

impl DevMachineController {
    /// Returns the Machine that owns a DevMachine.
    pub(super) fn machine_of(&self, dev: &DevMachine) -> Option<Arc<Machine>> {
        let owner = owners::find(dev, Machine::GROUP, Machine::KIND)?;
        self.machines.get(&NamespacedName::new(dev.metadata.namespace.clone()?, owner.name.as_str()))
    }

    /// Reads the state on which the plan of `dev` depends.
    pub(super) async fn read(&self, dev: Arc<DevMachine>, cluster: Option<Arc<Cluster>>) -> Result<Observed> {
        let name = NamespacedName::of(dev.as_ref());
        let machine = self.machine_of(&dev);
        let parts = self.nodes.parts().await;
        let (obstacle, container) = match &parts {
            Ok(parts) => (None, find(parts, &dev, &name).await?),
            Err(error) => (Some(format!("{error:#}")), None),
        };
        let mut wanted = wanted(&dev, machine.as_deref(), cluster.as_deref(), &name);
        if let (Ok(parts), None) = (&parts, &container) {
            avoid_others(parts, &mut wanted, uid(dev.as_ref())).await?;
        }
        let progress = self.tasks.progress(uid(dev.as_ref()), &steps::start_of(container.as_ref()));
        let host = container.as_ref().map_or(wanted.name.as_str(), |container| &container.name).to_owned();
        Ok(Observed {
            image: image(&dev, machine.as_deref()),
            data: self.data(&dev, &name, machine.as_deref(), &host),
            node: self.node(cluster.as_deref(), &host),
            name,
            dev,
            machine,
            cluster,
            obstacle,
            container,
            wanted,
            progress,
        })
    }

    fn data(&self, dev: &DevMachine, name: &NamespacedName, machine: Option<&Machine>, host: &str) -> Data {
        if dev.condition_is_true(status::BOOTSTRAP) {
            return Data::Usable;
        }
        let Some(secret) = machine.and_then(|machine| machine.spec.bootstrap.data_secret_name.clone()) else {
            return Data::Unnamed;
        };
        match self.bootstrap(name, &secret, host) {
            Ok(_) => Data::Usable,
            Err(error) => Data::Unusable(format!("{error:#}")),
        }
    }

    /// Reads bootstrap data.
    pub(super) fn bootstrap(
        &self,
        name: &NamespacedName,
        secret: &str,
        host: &str,
    ) -> Result<node_bootstrap::Bootstrap> {
        let key = NamespacedName::new(name.namespace.as_str(), secret);
        data::read(self.secrets.get(&key).as_deref(), &key, host)
    }

    fn node(&self, cluster: Option<&Cluster>, name: &str) -> NodeState {
        let Some(workload) =
            cluster.and_then(|cluster| self.manager.clusters().get(&NamespacedName::of(cluster)).ok())
        else {
            return NodeState::NotConnected;
        };
        let node = workload.objects::<Node>().get(&NamespacedName::new("", name));
        node.map_or(NodeState::Absent, NodeState::Found)
    }
}

/// Returns the container of a machine: the one that its provider ID names, or the one that was created for this object. A machine that was
/// moved here has another UID, but its provider ID.
async fn find(parts: &Parts, dev: &DevMachine, name: &NamespacedName) -> Result<Option<Container>> {
    if let Some(container) = dev.spec.provider_id.as_deref().and_then(|id| id.strip_prefix(PROVIDER_ID)) {
        let found = parts.runtime.inspect(container).await?;
        return Ok(found.filter(|found| is_of(found, name)));
    }
    let labels = BTreeMap::from([(LABEL_UID.to_owned(), uid(dev).to_owned())]);
    Ok(parts.runtime.list(&labels).await?.into_iter().find(|found| is_of(found, name)))
}

fn is_of(container: &Container, name: &NamespacedName) -> bool {
    let is = |key: &str, value: &str| container.labels.get(key).is_none_or(|found| found == value);
    is(LABEL_NAMESPACE, &name.namespace) && is(LABEL_NAME, &name.name)
}

/// Takes another name if another object has a container of this name.
async fn avoid_others(parts: &Parts, wanted: &mut Wanted, uid: &str) -> Result<()> {
    let found = parts.runtime.inspect(&wanted.name).await?;
    if found.is_some_and(|found| found.labels.get(LABEL_UID).map(String::as_str) != Some(uid)) {
        wanted.name = container_name::other(&wanted.name, uid);
    }
    Ok(())
}

fn wanted(
    dev: &DevMachine,
    machine: Option<&Machine>,
    cluster: Option<&Cluster>,
    name: &NamespacedName,
) -> Wanted {
    let cluster = cluster.and_then(|cluster| cluster.metadata.name.as_deref()).unwrap_or_default();
    let machine_name = machine.and_then(|machine| machine.metadata.name.as_deref()).unwrap_or(&name.name);
    let is_control_plane =
        machine.is_some_and(|machine| label(machine, engine_names::CONTROL_PLANE).is_some());
    let role = if is_control_plane { CONTROL_PLANE_ROLE } else { WORKER_ROLE };
    let mut labels: BTreeMap<String, String> = [
        (LABEL_CLUSTER, cluster),
        (LABEL_ROLE, role),
        (LABEL_NAMESPACE, name.namespace.as_str()),
        (LABEL_NAME, name.name.as_str()),
        (LABEL_UID, uid(dev)),
    ]
    .into_iter()
    .map(|(key, value)| (key.to_owned(), value.to_owned()))
    .collect();
    if let Some(domain) = machine.and_then(|machine| machine.spec.failure_domain.clone()) {
        labels.insert(LABEL_FAILURE_DOMAIN.to_owned(), domain);
    }
    let mut environment = BTreeMap::new();
    if is_control_plane {
        environment.insert("KUBECONFIG".to_owned(), "/etc/kubernetes/admin.conf".to_owned());
    }
    let mounts = dev.spec.backend.docker.iter().flat_map(|docker| &docker.extra_mounts);
    Wanted {
        name: container_name::of_machine(cluster, machine_name),
        labels,
        environment,
        mounts: mounts.filter_map(steps::mount).collect(),
    }
}

/// Returns the image of a machine: its own, or that of its Kubernetes version among kind's.
fn image(dev: &DevMachine, machine: Option<&Machine>) -> std::result::Result<String, String> {
    let custom = dev.spec.backend.docker.as_ref().and_then(|docker| docker.custom_image.clone());
    if let Some(image) = custom.filter(|image| !image.is_empty()) {
        return Ok(image);
    }
    let version = machine.and_then(|machine| machine.spec.version.as_deref()).unwrap_or_default();
    match version.strip_prefix('v').unwrap_or(version) {
        "" => Err("the Machine has no spec.version, and the DevMachine no spec.backend.docker.customImage: \
                   set one of both, so that it has an image"
            .to_owned()),
        version => Ok(format!("kindest/node:v{}", version.replace('+', "_"))),
    }
}
