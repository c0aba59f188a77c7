//! The simulated infrastructure: DevCluster and DevMachine with the in-memory backend.
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
