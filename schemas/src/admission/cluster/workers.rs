//! The workers of a topology, which are MachineDeployments and MachinePools.

use crate::cluster::{MachineDeploymentTopology, MachinePoolTopology, MachineTaint, Topology};
use crate::meta::ObjectMetaTemplate;

/// What MachineDeployments and MachinePools of a topology have in common.
pub struct Workers<'a> {
    /// The path, such as `spec.topology.workers.machineDeployments[md-0]`.
    pub field: String,
    /// Labels and annotations.
    pub metadata: Option<&'a ObjectMetaTemplate>,
    /// The taints of their Nodes.
    pub taints: &'a [MachineTaint],
}

/// Returns the MachineDeployments of a topology.
pub fn deployments(topology: &Topology) -> impl Iterator<Item = &MachineDeploymentTopology> {
    topology.workers.iter().flat_map(|workers| &workers.machine_deployments)
}

/// Returns the MachinePools of a topology.
pub fn pools(topology: &Topology) -> impl Iterator<Item = &MachinePoolTopology> {
    topology.workers.iter().flat_map(|workers| &workers.machine_pools)
}

/// Returns the path of a MachineDeployment of a topology.
pub fn deployment_field(name: &str) -> String {
    format!("spec.topology.workers.machineDeployments[{name}]")
}

/// Returns the path of a MachinePool of a topology.
pub fn pool_field(name: &str) -> String {
    format!("spec.topology.workers.machinePools[{name}]")
}

/// Returns all workers of a topology.
pub fn all(topology: &Topology) -> impl Iterator<Item = Workers<'_>> {
    let deployments = deployments(topology).map(|part| Workers {
        field: deployment_field(&part.name),
        metadata: part.metadata.as_ref(),
        taints: &part.taints,
    });
    let pools = pools(topology).map(|part| Workers {
        field: pool_field(&part.name),
        metadata: part.metadata.as_ref(),
        taints: &part.taints,
    });
    deployments.chain(pools)
}
