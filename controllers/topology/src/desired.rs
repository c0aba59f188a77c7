//! The objects that a topology wants, before patches.
//!
//! Each object is an apply configuration of the field manager `capi-topology`: it has only fields that the topology decides about. What is left out, such as replicas that
//! an autoscaler sets, belongs to somebody else. An object that exists keeps its name.

mod cloned;
mod cluster;
mod control_plane;
mod health_check;
mod infrastructure;
mod machine_deployment;
mod machine_pool;
mod metadata;

use std::collections::BTreeMap;

use serde_json::Value;
use thiserror::Error;

use crate::blueprint::Blueprint;
use crate::current::{Current, Parts};
use crate::names::Random;
use crate::versions::Versions;

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

/// A contract of Cluster API that a control plane's kind implements. It decides where fields are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Contract {
    /// `v1beta1`.
    V1Beta1,
    /// `v1beta2`.
    #[default]
    V1Beta2,
}

/// What the desired objects depend on.
#[derive(Clone, Copy)]
pub struct Inputs<'a> {
    /// The class with its templates.
    pub blueprint: &'a Blueprint,
    /// The Cluster and what exists of it.
    pub current: &'a Current,
    /// The contract of the control plane's kind.
    pub contract: Contract,
    /// The versions that the parts get.
    pub versions: &'a Versions,
}

/// Why desired objects cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum DesiredError {
    /// The Cluster has no topology.
    #[error("the Cluster has no spec.topology")]
    NoTopology,
    /// A class of workers that the topology names does not exist.
    #[error("{field}: the ClusterClass {class} has no such class of {kind}: {missing:?}")]
    NoWorkerClass {
        /// The field of the Cluster.
        field: String,
        /// The ClusterClass.
        class: String,
        /// `MachineDeployments` or `MachinePools`.
        kind: &'static str,
        /// The class that is missing.
        missing: String,
    },
    /// The template of a name cannot be rendered, or gives no name.
    #[error("{field} of the ClusterClass: {message}")]
    Name {
        /// The field of the class.
        field: String,
        /// What is wrong.
        message: String,
    },
    /// A template of the class has not the form of one.
    #[error("{template}: {message}")]
    Template {
        /// Kind, namespace and name of the template.
        template: String,
        /// What is wrong.
        message: String,
    },
}

/// Makes the desired objects. `random` gives five random characters for a name; it is drawn for objects that exist, too, so that the draws do not depend on them.
///
/// # Errors
/// [`DesiredError`] says what of the class or the Cluster is wrong.
pub fn compute(inputs: &Inputs<'_>, random: Random<'_>) -> Result<Desired, DesiredError> {
    let parts = Parts::of(&inputs.current.cluster).ok_or(DesiredError::NoTopology)?;
    let infrastructure = infrastructure::compute(inputs, random)?;
    let control_plane_machines_template = control_plane::machines_template(inputs, random)?;
    let control_plane =
        control_plane::compute(inputs, &parts, control_plane_machines_template.as_ref(), random)?;
    let control_plane_health_check =
        health_check::of_control_plane(inputs, parts.control_plane(), &control_plane);
    let cluster = cluster::compute(inputs, &infrastructure, &control_plane)?;
    let mut desired = Desired {
        cluster,
        infrastructure,
        control_plane,
        control_plane_machines_template,
        control_plane_health_check,
        machine_deployments: BTreeMap::new(),
        machine_pools: BTreeMap::new(),
    };
    for (index, topology) in parts.machine_deployments.iter().enumerate() {
        let workers = machine_deployment::compute(inputs, index, topology, random)?;
        desired.machine_deployments.insert(topology.name.clone(), workers);
    }
    for (index, topology) in parts.machine_pools.iter().enumerate() {
        let workers = machine_pool::compute(inputs, index, topology, random)?;
        desired.machine_pools.insert(topology.name.clone(), workers);
    }
    Ok(desired)
}

/// Wraps a sentence about a template.
fn in_template(template: &Value) -> impl Fn(String) -> DesiredError + '_ {
    move |message| DesiredError::Template { template: crate::object::described(template), message }
}
