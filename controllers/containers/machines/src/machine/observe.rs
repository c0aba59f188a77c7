//! Reads the state on which the plan of a DevMachine depends.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::Result;
use dev_machine_pools::{image_of, node_image};
use engine::object::{is_deleting, uid};
use engine::{Manager, NamespacedName, Objects, Upstream, owners};
use k8s_openapi::api::core::v1::{Node, Secret};
use schemas::HasConditions;
use schemas::cluster::{Cluster, Machine, MachinePool};
use schemas::infrastructure::{DevMachine, DevMachinePool};
use system_containers::Container;

use super::observed::{Data, NodeState, Observed, Obstacle, is_control_plane, secret, version};
use super::steps::{self, Wanted};
use super::tasks::Tasks;
use super::{data, failure_domain, status};
use crate::container_name;
use crate::names::{
    CONTROL_PLANE_ROLE, LABEL_CLUSTER, LABEL_FAILURE_DOMAIN, LABEL_NAME, LABEL_NAMESPACE, LABEL_POOL,
    LABEL_ROLE, LABEL_UID, PROVIDER_ID, WORKER_ROLE,
};
use crate::nodes::{Nodes, Parts};

/// The controller of DevMachines.
pub(super) struct DevMachineController {
    pub objects: Objects<DevMachine>,
    pub machines: Objects<Machine>,
    pub pools: Objects<MachinePool>,
    pub clusters: Objects<Cluster>,
    pub secrets: Objects<Secret>,
    pub tasks: Tasks,
    pub upstream: Upstream,
    pub nodes: Nodes,
    pub manager: Manager,
}

impl DevMachineController {
    /// Returns the Machine that owns a DevMachine.
    pub(super) fn machine_of(&self, dev: &DevMachine) -> Option<Arc<Machine>> {
        self.machines.get(&owners::named::<Machine>(dev)?)
    }

    /// Returns the MachinePool that controls a Machine.
    fn pool_of(&self, machine: &Machine) -> Option<Arc<MachinePool>> {
        self.pools.get(&owners::named::<MachinePool>(machine)?)
    }

    /// Reads the state on which the plan of `dev` depends.
    pub(super) async fn read(&self, dev: Arc<DevMachine>, cluster: Option<Arc<Cluster>>) -> Result<Observed> {
        let name = NamespacedName::of(dev.as_ref());
        let machine = self.machine_of(&dev);
        let pool = machine.as_ref().and_then(|machine| self.pool_of(machine));
        let parts = match self.nodes.parts().await {
            // As below, nothing is said of a machine that was there.
            Err(error) if dev.spec.provider_id.is_some() && !is_deleting(dev.as_ref()) => return Err(error),
            parts => parts,
        };
        let (obstacle, container) = match &parts {
            Ok(parts) => match find(parts, &dev, &name).await {
                Ok(container) => (None, container),
                // Nothing is known of a machine that was there, so nothing is said of it, and it is asked again.
                Err(error) if dev.spec.provider_id.is_some() => return Err(error),
                Err(error) => (Some(Obstacle::Silence(format!("{error:#}"))), None),
            },
            Err(error) => (Some(Obstacle::Runtime(format!("{error:#}"))), None),
        };
        let failure_domain =
            self.failure_domain(&dev, machine.as_deref(), pool.as_deref(), container.as_ref());
        let mut wanted = wanted(&dev, machine.as_deref(), cluster.as_deref(), &name);
        wanted.labels.extend(failure_domain.clone().map(|domain| (LABEL_FAILURE_DOMAIN.to_owned(), domain)));
        if let (Ok(parts), None, None) = (&parts, &container, &obstacle) {
            avoid_others(parts, &mut wanted, uid(dev.as_ref())).await?;
        }
        let progress = match &obstacle {
            // What was done stays done when the container is seen again.
            Some(_) => self.tasks.last(uid(dev.as_ref())),
            None => self.tasks.progress(uid(dev.as_ref()), &steps::start_of(container.as_ref())),
        };
        let host = container.as_ref().map_or(wanted.name.as_str(), |container| &container.name).to_owned();
        Ok(Observed {
            image: image(&dev, version(machine.as_deref(), pool.as_deref())),
            preload: parts.as_ref().map(|parts| parts.preload.clone()).unwrap_or_default(),
            data: self.data(&dev, &name, secret(machine.as_deref(), pool.as_deref()), &host),
            node: self.node(cluster.as_deref(), &host),
            name,
            dev,
            machine,
            pool,
            cluster,
            failure_domain,
            obstacle,
            container,
            wanted,
            progress,
        })
    }

    /// Returns the failure domain of a machine: what its Machine says, or one of its pool. It stays as long as the container is there.
    fn failure_domain(
        &self,
        dev: &DevMachine,
        machine: Option<&Machine>,
        pool: Option<&MachinePool>,
        container: Option<&Container>,
    ) -> Option<String> {
        if let Some(own) = machine.and_then(|machine| machine.spec.failure_domain.clone()) {
            return Some(own);
        }
        if let Some(container) = container {
            return container.labels.get(LABEL_FAILURE_DOMAIN).cloned();
        }
        let pool = pool?;
        let owner = owners::find(dev, DevMachinePool::GROUP, DevMachinePool::KIND)?;
        let siblings = self.objects.by_owner(&owner.uid);
        let known = siblings.iter().filter(|sibling| self.stays_with(sibling, dev)).filter_map(|sibling| {
            let domain = sibling.status.as_ref().and_then(|status| status.failure_domain.clone());
            Some((sibling.metadata.name.clone()?, domain))
        });
        let name = dev.metadata.name.as_deref().unwrap_or_default();
        failure_domain::choose(&pool.spec.failure_domains, &known.collect(), name)
    }

    /// Returns whether another machine of the pool will be there as long as this one: it does not go, and an upgrade does not replace it.
    fn stays_with(&self, other: &DevMachine, dev: &DevMachine) -> bool {
        let goes = |machine: Arc<Machine>| is_deleting(machine.as_ref());
        !is_deleting(other) && !self.machine_of(other).is_some_and(goes) && image_of(other) == image_of(dev)
    }

    fn data(&self, dev: &DevMachine, name: &NamespacedName, secret: Option<&str>, host: &str) -> Data {
        if dev.condition_is_true(status::BOOTSTRAP) {
            return Data::Used;
        }
        let Some(secret) = secret else { return Data::Unnamed };
        let key = NamespacedName::new(name.namespace.as_str(), secret);
        match data::read(self.secrets.get(&key).as_deref(), &key, host) {
            Ok(bootstrap) => Data::Usable(Arc::new(bootstrap)),
            Err(error) => Data::Unusable(format!("{error:#}")),
        }
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
    let is_control_plane = is_control_plane(machine);
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
    if let Some(pool) = owners::find(dev, DevMachinePool::GROUP, DevMachinePool::KIND) {
        labels.insert(LABEL_POOL.to_owned(), pool.name.clone());
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

/// Returns the image of a machine.
fn image(dev: &DevMachine, version: Option<&str>) -> std::result::Result<String, String> {
    let custom = dev.spec.backend.docker.as_ref().and_then(|docker| docker.custom_image.as_deref());
    node_image(custom, version).ok_or_else(|| {
        "the Machine has no spec.version, and the DevMachine no spec.backend.docker.customImage: \
         set one of both, so that it has an image"
            .to_owned()
    })
}
