//! The simulated infrastructure: DevCluster, DevMachine and DevMachinePool with the in-memory backend.
//!
//! Each workload cluster has its own API server, made of the same crates as the management cluster's, over
//! the `memory` engine. Once a machine's start-up durations have passed, this crate writes into it what a
//! real machine would create: a Node, static Pods, an etcd member. After a restart of the process the
//! clusters are rebuilt from their DevMachines; when they are moved to another management cluster they keep
//! all their objects ([`hand_over`]).

pub mod backend;
mod cluster;
pub mod hand_over;
pub mod machine;
mod machine_pool;
pub mod names;
pub mod updates;
pub mod workload;

use engine::Provider;

pub use backend::Backend;

/// The table of the simulated infrastructure's controllers.
///
/// It is not in clusterctl's inventory: clusterctl would ask for it in the target of every move, and could not tell by itself which
/// infrastructure `generate cluster` is for when there is one real one.
pub const PROVIDERS: &[Provider<Backend>] = &[Provider {
    inventory: None,
    controllers: &[cluster::CONTROLLER, machine::CONTROLLER, machine_pool::CONTROLLER],
}];
