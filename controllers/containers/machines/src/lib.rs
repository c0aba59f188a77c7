//! Real nodes on this machine: DevCluster, DevMachine and DevMachinePool with the Docker backend of Cluster API's Dev provider, in system
//! containers. What runs the containers is behind the interfaces of `system-containers`.
//!
//! Invariant: a container belongs to the DevMachine whose namespace, name and UID are in its labels, or whose provider ID names it. So a
//! machine is made once, wherever this process ends, and another object of the same name never takes it over.

mod cluster;
pub mod container_name;
pub mod limits;
pub mod machine;
mod machine_pool;
pub mod names;
mod nodes;
pub mod storage;

use engine::Provider;

pub use machine::import;
pub use nodes::{Nodes, Parts, check};

/// The table of the controllers. As the Docker provider of Cluster API, it is in clusterctl's inventory only where somebody chooses it.
pub const PROVIDERS: &[Provider<Nodes>] = &[Provider {
    inventory: None,
    controllers: &[cluster::CONTROLLER, machine::CONTROLLER, machine_pool::CONTROLLER, storage::CONTROLLER],
}];
