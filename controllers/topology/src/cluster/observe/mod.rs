//! Reads the objects on which the plan of a Cluster with a topology depends.

mod blueprint;
mod current;
mod provided;
mod variables;
mod workers;

use std::sync::Arc;

use engine::{External, Manager, Objects, Result, aside};
use schemas::cluster::{Cluster, Machine, MachineDeployment, MachineHealthCheck, MachinePool};

use super::memory::OfCluster;
use super::observed::Observed;
use crate::Blueprint;

pub(super) use blueprint::blueprint;
pub(super) use provided::Provided;

/// What is read about Clusters with a topology.
pub(super) struct Sources {
    manager: Manager,
    deployments: Objects<MachineDeployment>,
    pools: Objects<MachinePool>,
    machines: Objects<Machine>,
    checks: Objects<MachineHealthCheck>,
    /// The objects of providers.
    pub provided: Provided,
}

impl Sources {
    /// Reads the caches of `manager`, and provider objects by `external`.
    pub fn new(manager: &Manager, external: &Arc<External>) -> Self {
        Self {
            manager: manager.clone(),
            deployments: manager.objects(),
            pools: manager.objects(),
            machines: manager.objects(),
            checks: manager.objects(),
            provided: Provided::new(manager, external),
        }
    }
}

/// Reads the state on which the plan of `cluster` depends.
///
/// # Errors
/// An object that the class or the Cluster refers to does not exist or cannot be read, or it is not one of a topology; or the class does
/// not define or lacks a variable.
pub(super) async fn observe(
    sources: &Sources,
    cluster: &Arc<Cluster>,
    blueprint: Blueprint,
    memory: &OfCluster,
) -> Result<Observed> {
    let cluster = &aside(|| variables::with_defaults(cluster, &blueprint.class, memory))?;
    let contract = sources.provided.contract(&blueprint.control_plane.object).await?;
    let current = current::current(sources, cluster, &blueprint, contract).await?;
    Ok(Observed { blueprint, current, contract, calls_hooks: sources.manager.features().runtime_sdk })
}
