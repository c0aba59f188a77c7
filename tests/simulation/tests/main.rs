//! Simulations with a paused clock.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test ends where something is not as it must be"
)]

/// That of the program, which needs a quarter less time than the C library's for the pieces of JSON.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

mod budgets;
mod drawn;
mod failures;
mod fleet;
mod healing;
mod idle;
mod idle_bmcs;
mod invariants;
mod lifecycles;
mod long_names;
mod metal_clusters;
mod metal_hosts;
mod metal_redfish;
mod metal_remediation;
mod other_backends;
mod plan;
mod pool_data;
mod pools;
mod ports;
mod quorum;
mod restarts;
mod seeds;
mod shrink;
mod signals;
mod silent;
mod simulation;
mod single_failures;
mod topology;
