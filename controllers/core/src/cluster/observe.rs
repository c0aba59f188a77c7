//! What a Cluster depends on.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use engine::names::CONTROL_PLANE;
use engine::object::label;
use engine::{External, Health, Manager, NamespacedName, Objects};
use k8s_openapi::api::core::v1::Secret;
use schemas::cluster::{Cluster, Machine, MachineDeployment, MachinePool, MachineSet};

use crate::change::Reference;

/// Everything that a plan for a Cluster depends on.
#[derive(Debug, Clone)]
pub struct Observed {
    /// The Cluster.
    pub cluster: Arc<Cluster>,
    /// `spec.infrastructureRef`.
    pub infrastructure: Reference,
    /// `spec.controlPlaneRef`.
    pub control_plane: Reference,
    /// Its control plane Machines.
    pub control_plane_machines: Vec<Arc<Machine>>,
    /// Its other Machines.
    pub worker_machines: Vec<Arc<Machine>>,
    /// Its MachineDeployments.
    pub deployments: Vec<Arc<MachineDeployment>>,
    /// Its MachineSets.
    pub sets: Vec<Arc<MachineSet>>,
    /// Its MachinePools.
    pub pools: Vec<Arc<MachinePool>>,
    /// The connection to it.
    pub health: Health,
    /// The Secret with its kubeconfig exists.
    pub has_kubeconfig: bool,
    /// Its certificate authority, if there is one.
    pub authority: Option<Arc<Secret>>,
    /// Now.
    pub now: DateTime<Utc>,
}

/// The controller of Clusters.
pub(super) struct ClusterController {
    pub manager: Manager,
    pub clusters: Objects<Cluster>,
    pub machines: Objects<Machine>,
    pub deployments: Objects<MachineDeployment>,
    pub sets: Objects<MachineSet>,
    pub pools: Objects<MachinePool>,
    pub secrets: Objects<Secret>,
    pub external: External,
    pub recorder: engine::events::Recorder,
}

impl ClusterController {
    /// Reads it.
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
            infrastructure,
            control_plane,
            control_plane_machines,
            worker_machines,
            deployments: self.deployments.by_cluster(&name),
            sets: self.sets.by_cluster(&name),
            pools: self.pools.by_cluster(&name),
            health: self.manager.clusters().health(&name),
            has_kubeconfig: secret("kubeconfig").is_some(),
            authority: secret("ca"),
            now: self.manager.clock().now(),
            cluster,
        }
    }
}
