//! What topologies are written with.

use std::sync::Arc;

use engine::events::Recorder;
use engine::{External, Manager, Objects};
use k8s_openapi::api::core::v1::Secret;
use machinery::random::Random;
use schemas::cluster::{Cluster, MachineDeployment, MachineHealthCheck, MachinePool};

/// The handles on the kinds of a topology.
pub struct Handles {
    pub clusters: Objects<Cluster>,
    pub deployments: Objects<MachineDeployment>,
    pub pools: Objects<MachinePool>,
    pub checks: Objects<MachineHealthCheck>,
    pub secrets: Objects<Secret>,
    pub external: Arc<External>,
    pub random: Random,
    pub recorder: Recorder,
}

impl Handles {
    /// Writes with the client of `manager`, and knows provider objects by `external`.
    pub fn new(manager: &Manager, external: &Arc<External>) -> Self {
        Self {
            clusters: manager.objects(),
            deployments: manager.objects(),
            pools: manager.objects(),
            checks: manager.objects(),
            secrets: manager.objects(),
            external: external.clone(),
            random: manager.random().clone(),
            recorder: manager.recorder("topology/cluster-controller"),
        }
    }
}
