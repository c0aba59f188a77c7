//! The tests of the controllers' crates, a module for each.
//!
//! The files stand beside the sources that they test. `cargo xtask test NAME` runs those of one crate.

/// That of the program, which needs a quarter less time than the C library's for the pieces of JSON.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

#[path = "../addons/tests/main.rs"]
mod addons;
#[path = "../certificates/tests/main.rs"]
mod certificates;
#[path = "../containers/bootstrap/tests/main.rs"]
mod containers_bootstrap;
#[path = "../containers/machines/tests/main.rs"]
mod containers_machines;
#[path = "../core/tests/main.rs"]
mod core;
#[path = "../engine/tests/main.rs"]
mod engine;
#[path = "../extensions/tests/main.rs"]
mod extensions;
#[path = "../ipam/tests/main.rs"]
mod ipam;
#[path = "../kubeadm/tests/main.rs"]
mod kubeadm;
#[path = "../metal/bmc/tests/main.rs"]
mod metal_bmc;
#[path = "../metal/hosts/tests/main.rs"]
mod metal_hosts;
#[path = "../metal/machines/tests/main.rs"]
mod metal_machines;
#[path = "../metal/protocol/tests/main.rs"]
mod metal_protocol;
#[path = "../pools/tests/main.rs"]
mod pools;
#[path = "../simulated/tests/main.rs"]
mod simulated;
#[path = "../topology/tests/main.rs"]
mod topology;
#[path = "../workloads/tests/main.rs"]
mod workloads;
