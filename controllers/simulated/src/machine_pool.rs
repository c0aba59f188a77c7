//! The controller of DevMachinePools whose machines are simulated.

use engine::names::CLUSTER_NAME;
use engine::object::label;
use engine::{Descriptor, GroupKind, Manager, NamespacedName, Objects};
use schemas::cluster::Cluster;
use schemas::infrastructure::{DevCluster, DevMachinePool};

use crate::backend::Backend;

/// The descriptor of the controller.
pub const CONTROLLER: Descriptor<Backend> = Descriptor {
    name: "devmachinepool",
    reconciles: &[GroupKind::new(DevMachinePool::GROUP, DevMachinePool::KIND)],
    start,
};

fn start(manager: &Manager, backend: &Backend) {
    let all = backend.clone();
    let (clusters, infrastructures) = (manager.objects::<Cluster>(), manager.objects::<DevCluster>());
    dev_machine_pools::start(manager, CONTROLLER.name, dev_machine_pools::IN_MEMORY, move |dev| {
        let backend = dev.spec.backend.as_ref();
        let is_in_docker = backend.is_some_and(|backend| backend.docker.is_some());
        let is_named = backend.is_some_and(|backend| backend.in_memory.is_some());
        let is_simulated = is_named || !is_in_docker && is_among_simulated(dev, &clusters, &infrastructures);
        (!is_simulated).then(|| all.left("DevMachinePool", is_in_docker))
    });
}

/// Returns whether the cluster of a DevMachinePool is simulated. Upstream's type of the pool knows only the backend `docker`: programs that use it
/// lose the backend, and simulated machines cannot join any other cluster.
fn is_among_simulated(
    dev: &DevMachinePool,
    clusters: &Objects<Cluster>,
    infrastructures: &Objects<DevCluster>,
) -> bool {
    let name = |name: &str| NamespacedName::new(dev.metadata.namespace.clone().unwrap_or_default(), name);
    let cluster = label(dev, CLUSTER_NAME).and_then(|cluster| clusters.get(&name(cluster)));
    let reference = cluster.as_ref().and_then(|cluster| cluster.spec.infrastructure_ref.as_ref());
    let reference = reference.filter(|reference| reference.kind == DevCluster::KIND);
    let infrastructure = reference.and_then(|reference| infrastructures.get(&name(&reference.name)));
    infrastructure.is_some_and(|infrastructure| infrastructure.spec.backend.in_memory.is_some())
}
