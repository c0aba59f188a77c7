//! Reads the objects on which the plan of a Cluster depends.

use std::sync::Arc;

use engine::names::{CONTROL_PLANE, POOL_NAME};
use engine::object::label;
use engine::{External, Manager, NamespacedName, Objects};
use k8s_openapi::api::core::v1::Secret;
use schemas::cluster::{Cluster, ClusterClass, Machine, MachineDeployment, MachinePool, MachineSet};

use super::observed::Observed;
use crate::change::Reference;

/// Returns whether the Machine is one of a MachinePool. Its MachinePool reports about it.
pub(super) fn is_of_pool(machine: &Machine) -> bool {
    label(machine, POOL_NAME).is_some()
}

/// Returns the name of the ClusterClass of a Cluster with a topology. It is in the Cluster's namespace unless the reference names another.
pub(super) fn class_name(cluster: &Cluster) -> Option<NamespacedName> {
    let reference = &cluster.spec.topology.as_ref()?.class_ref;
    let own = cluster.metadata.namespace.as_deref().unwrap_or_default();
    let namespace = reference.namespace.as_deref().filter(|namespace| !namespace.is_empty()).unwrap_or(own);
    Some(NamespacedName::new(namespace, reference.name.as_str()))
}

/// The controller of Clusters.
pub(super) struct ClusterController {
    pub manager: Manager,
    pub clusters: Objects<Cluster>,
    pub classes: Objects<ClusterClass>,
    pub machines: Objects<Machine>,
    pub deployments: Objects<MachineDeployment>,
    pub sets: Objects<MachineSet>,
    pub pools: Objects<MachinePool>,
    pub secrets: Objects<Secret>,
    pub external: External,
    pub recorder: engine::events::Recorder,
}

impl ClusterController {
    /// Reads the state on which the plan of `cluster` depends.
    pub(super) async fn read(&self, cluster: Arc<Cluster>) -> Observed {
        let name = NamespacedName::of(cluster.as_ref());
        let infrastructure =
            Reference::read(&self.external, &name.namespace, cluster.spec.infrastructure_ref.as_ref()).await;
        let control_plane =
            Reference::read(&self.external, &name.namespace, cluster.spec.control_plane_ref.as_ref()).await;
        let machines = self.machines.by_cluster(&name);
        let (control_plane_machines, worker_machines) =
            machines.into_iter().partition(|machine| label(machine.as_ref(), CONTROL_PLANE).is_some());
        let secret = |suffix: &str| {
            self.secrets.get(&NamespacedName::new(name.namespace.as_str(), format!("{}-{suffix}", name.name)))
        };
        Observed {
            class: class_name(&cluster).and_then(|class| self.classes.get(&class)),
            features: self.manager.features(),
            infrastructure,
            control_plane,
            control_plane_machines,
            worker_machines,
            deployments: self.deployments.by_cluster(&name),
            sets: self.sets.by_cluster(&name),
            pools: self.pools.by_cluster(&name),
            health: self.manager.clusters().health(&name),
            connection_problem: self.manager.clusters().problem(&name),
            has_kubeconfig: secret("kubeconfig").is_some(),
            authority: secret("ca"),
            now: self.manager.clock().now(),
            cluster,
        }
    }
}
