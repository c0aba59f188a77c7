//! Reads the objects on which the plan of a Cluster depends.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use engine::names::{CONTROL_PLANE, POOL_NAME};
use engine::object::label;
use engine::{External, Health, Manager, NamespacedName, Objects};
use k8s_openapi::api::core::v1::Secret;
use schemas::admission::Features;
use schemas::cluster::{Cluster, ClusterClass, Machine, MachineDeployment, MachinePool, MachineSet};

use crate::change::Reference;

/// The state of the world that a Cluster's plan depends on.
#[derive(Debug, Clone)]
pub struct Observed {
    /// The reconciled Cluster.
    pub cluster: Arc<Cluster>,
    /// The ClusterClass of the topology, if it exists.
    pub class: Option<Arc<ClusterClass>>,
    /// The features that are on.
    pub features: Features,
    /// The object that `spec.infrastructureRef` names.
    pub infrastructure: Reference,
    /// The object that `spec.controlPlaneRef` names.
    pub control_plane: Reference,
    /// The cluster's control plane Machines.
    pub control_plane_machines: Vec<Arc<Machine>>,
    /// The cluster's worker Machines, with those of MachinePools.
    pub worker_machines: Vec<Arc<Machine>>,
    /// The cluster's MachineDeployments.
    pub deployments: Vec<Arc<MachineDeployment>>,
    /// The cluster's MachineSets.
    pub sets: Vec<Arc<MachineSet>>,
    /// The cluster's MachinePools.
    pub pools: Vec<Arc<MachinePool>>,
    /// State of the connection to the cluster.
    pub health: Health,
    /// Why there is no connection to the cluster, if that has lasted.
    pub connection_problem: Option<String>,
    /// Whether the Secret with the cluster's kubeconfig exists.
    pub has_kubeconfig: bool,
    /// The Secret with the cluster's certificate authority, if it exists.
    pub authority: Option<Arc<Secret>>,
    /// The time of this reconcile.
    pub now: DateTime<Utc>,
}

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
