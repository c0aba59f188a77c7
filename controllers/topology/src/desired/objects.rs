//! The objects that a topology wants.

use std::collections::BTreeMap;

use serde_json::Value;

/// The objects of a topology.
#[derive(Debug, Clone, PartialEq)]
pub struct Desired {
    /// The Cluster: only the fields that the topology decides about.
    pub cluster: Value,
    /// What the cluster shares.
    pub infrastructure: Value,
    /// The control plane.
    pub control_plane: Value,
    /// Template of the infrastructure of control plane machines, if the class has one.
    pub control_plane_machines_template: Option<Value>,
    /// Health check of control plane machines, if there is to be one.
    pub control_plane_health_check: Option<Value>,
    /// MachineDeployments, by the name in the topology.
    pub machine_deployments: BTreeMap<String, DesiredWorkers>,
    /// MachinePools, by the name in the topology.
    pub machine_pools: BTreeMap<String, DesiredWorkers>,
}

/// The objects of one entry of a topology's workers.
#[derive(Debug, Clone, PartialEq)]
pub struct DesiredWorkers {
    /// The MachineDeployment or MachinePool.
    pub object: Value,
    /// Its bootstrap template; for a MachinePool the bootstrap object.
    pub bootstrap_template: Value,
    /// Its infrastructure template; for a MachinePool the infrastructure object.
    pub infrastructure_template: Value,
    /// Its health check, if there is to be one. A MachinePool has none.
    pub health_check: Option<Value>,
}
