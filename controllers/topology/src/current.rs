//! What exists of a Cluster with a topology.

use std::collections::BTreeMap;
use std::sync::Arc;

use schemas::cluster::{
    Cluster, ControlPlaneTopology, MachineDeployment, MachineDeploymentTopology, MachineHealthCheck,
    MachinePool, MachinePoolTopology, Topology,
};
use serde_json::Value;

/// The Cluster and its objects.
#[derive(Debug, Clone)]
pub struct Current {
    /// The Cluster. Its topology has the defaults of the class's variables, and the values are valid.
    pub cluster: Arc<Cluster>,
    /// The object that `spec.infrastructureRef` names.
    pub infrastructure: Option<Value>,
    /// The control plane.
    pub control_plane: Option<ControlPlane>,
    /// MachineDeployments of the topology, by the name that they have there.
    pub machine_deployments: BTreeMap<String, Workers<MachineDeployment>>,
    /// MachinePools of the topology, by the name that they have there.
    pub machine_pools: BTreeMap<String, Workers<MachinePool>>,
}

/// A control plane that exists.
#[derive(Debug, Clone)]
pub struct ControlPlane {
    /// The object that `spec.controlPlaneRef` of the Cluster names.
    pub object: Value,
    /// The template of its machines' infrastructure.
    pub machines_template: Option<Value>,
    /// The health check of its machines.
    pub health_check: Option<Arc<MachineHealthCheck>>,
}

/// Workers that exist. In a MachinePool, the two templates are the objects themselves.
#[derive(Debug, Clone)]
pub struct Workers<K> {
    /// The MachineDeployment or MachinePool.
    pub object: Arc<K>,
    /// The bootstrap template that it uses.
    pub bootstrap_template: Value,
    /// The infrastructure template that it uses.
    pub infrastructure_template: Value,
    /// The health check of its machines.
    pub health_check: Option<Arc<MachineHealthCheck>>,
    /// Whether one of its machines has another version than it says.
    pub is_upgrading: bool,
}

/// The parts of a Cluster's topology, absent ones as if they were empty.
pub(crate) struct Parts<'a> {
    pub topology: &'a Topology,
    pub machine_deployments: &'a [MachineDeploymentTopology],
    pub machine_pools: &'a [MachinePoolTopology],
}

impl<'a> Parts<'a> {
    /// Returns the parts; `None` if the Cluster has no topology.
    pub fn of(cluster: &'a Cluster) -> Option<Self> {
        let topology = cluster.spec.topology.as_ref()?;
        let workers = topology.workers.as_ref();
        Some(Self {
            topology,
            machine_deployments: workers.map_or(&[], |workers| &workers.machine_deployments),
            machine_pools: workers.map_or(&[], |workers| &workers.machine_pools),
        })
    }

    /// The control plane of the topology.
    pub fn control_plane(&self) -> Option<&'a ControlPlaneTopology> {
        self.topology.control_plane.as_ref()
    }
}
