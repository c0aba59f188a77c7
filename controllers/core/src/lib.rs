//! The controllers of Cluster, Machine, MachineSet, MachineDeployment, MachineHealthCheck and MachinePool, and the CRD migrator.
//!
//! Each controller of a kind runs in the frame of [`engine::planned`]: `observe` reads what the rules depend on, `plan` holds them and is pure,
//! and `apply` carries out the plan, unless it is a list of [`engine::steps`].

mod amount;
mod change;
pub mod cluster;
mod contract;
pub mod crd_migrator;
pub mod machine;
pub mod machine_deployment;
pub mod machine_health_check;
pub mod machine_pool;
pub mod machine_set;
mod nodes;
mod scaling;

pub use change::{Reference, report};
use std::sync::Arc;

use engine::in_place::{NoUpdater, SharedUpdater};
use engine::{InventoryEntry, Manager, Provider};

/// The table of the core provider's controllers.
pub const PROVIDERS: &[Provider<SharedUpdater>] = &[Provider {
    inventory: Some(InventoryEntry {
        label: "cluster-api",
        name: "cluster-api",
        kind: "CoreProvider",
        namespace: "capi-system",
    }),
    controllers: &[
        cluster::CONTROLLER,
        machine::CONTROLLER,
        machine_set::CONTROLLER,
        machine_deployment::CONTROLLER,
        machine_health_check::CONTROLLER,
        machine_pool::CONTROLLER,
        crd_migrator::CONTROLLER,
    ],
}];

/// Starts the controllers of the core kinds. Nothing updates machines in place.
pub fn start(manager: &Manager) {
    let updater: SharedUpdater = Arc::new(NoUpdater);
    PROVIDERS.iter().for_each(|provider| provider.start(manager, &updater));
}
