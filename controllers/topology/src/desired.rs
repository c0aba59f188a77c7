//! The objects that a topology wants, before patches.
//!
//! Each object is an apply configuration of the field manager `capi-topology`: it has only fields that the topology decides about. What is left out, such as replicas that
//! an autoscaler sets, belongs to somebody else. An object that exists keeps its name.

mod cloned;
mod cluster;
mod control_plane;
mod error;
mod health_check;
mod infrastructure;
mod inputs;
mod machine_deployment;
mod machine_pool;
mod metadata;
mod objects;

use std::collections::BTreeMap;

pub use error::DesiredError;
pub use inputs::{Contract, Inputs};
pub use objects::{Desired, DesiredWorkers};

use crate::current::Parts;
use crate::limits::ALL_TEMPLATES_BYTES_MAX;
use crate::names::Random;

/// Makes the desired objects. `random` gives five random characters for a name; it is not drawn for objects that exist.
///
/// # Errors
/// [`DesiredError`] says what of the class or the Cluster is wrong.
pub fn compute(inputs: &Inputs<'_>, random: Random<'_>) -> Result<Desired, DesiredError> {
    let parts = Parts::of(&inputs.current.cluster).ok_or(DesiredError::NoTopology)?;
    if inputs.blueprint.copied_bytes(&inputs.current.cluster) > ALL_TEMPLATES_BYTES_MAX {
        return Err(DesiredError::TooLarge);
    }
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
