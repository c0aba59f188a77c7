//! The simulated infrastructure: DevCluster and DevMachine with the in-memory backend.
//!
//! Each workload cluster is an API server of its own, made of the same crates as the management cluster's, over the `memory` engine. What
//! a machine would do (a node that registers, static pods, an etcd member) is written into it when the machine's start-up durations
//! have passed. After a restart of the process the clusters are made again from their DevMachines; on a way to another management cluster
//! they keep all that they hold ([`hand_over`]).

pub mod backend;
mod cluster;
pub mod hand_over;
pub mod machine;
mod names;
mod owner;
pub mod workload;

use engine::Provider;

pub use backend::Backend;

/// The table of the simulated infrastructure's controllers.
///
/// It is not in clusterctl's inventory: clusterctl would ask for it in the target of every move, and could not tell by itself which
/// infrastructure `generate cluster` is for when there is one real one.
pub const PROVIDERS: &[Provider<Backend>] =
    &[Provider { inventory: None, controllers: &[cluster::CONTROLLER, machine::CONTROLLER] }];
