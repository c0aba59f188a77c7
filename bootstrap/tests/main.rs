//! The tests of bootstrap's crates, a module for each. Those of the program `firstlight` and of the runtime of nodes are programs of their own,
//! because they run programs of their packages.
//!
//! The files stand beside the sources that they test. `cargo xtask test NAME` runs those of one crate.

#[path = "../bundle/tests/main.rs"]
mod bundle;
#[path = "../clusterctl/tests/main.rs"]
mod clusterctl;
#[path = "../distribution/tests/main.rs"]
mod distribution;
#[path = "../metal/agent/tests/main.rs"]
mod metal_agent;
#[path = "../metal/boot/tests/main.rs"]
mod metal_boot;
#[path = "../metal/erase/tests/main.rs"]
mod metal_erase;
#[path = "../metal/provisioning/tests/main.rs"]
mod metal_provisioning;
#[path = "../nodes/balancer/tests/main.rs"]
mod nodes_balancer;
#[path = "../nodes/docker/tests/main.rs"]
mod nodes_docker;
#[path = "../nodes/images/tests/main.rs"]
mod nodes_images;
#[path = "../operator/tests/main.rs"]
mod operator;
#[path = "../pivot/tests/main.rs"]
mod pivot;
#[path = "../pods/folders/tests/main.rs"]
mod pods_folders;
#[path = "../pods/images/tests/main.rs"]
mod pods_images;
#[path = "../pods/kubelet/tests/main.rs"]
mod pods_kubelet;
#[path = "../pods/network/tests/main.rs"]
mod pods_network;
#[path = "../server/tests/main.rs"]
mod server;
#[path = "../terminal/tests/main.rs"]
mod terminal;
