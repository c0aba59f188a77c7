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

use engine::Manager;

/// Starts the controllers. The workload clusters listen on `host`.
pub fn start(manager: &Manager, host: &str) {
    let backend = backend::Backend::new(manager, host);
    cluster::start(manager, &backend);
    machine::start(manager, &backend);
}
