//! Tests of the balancer. Its life in a container is tested with the runtime of containers (bootstrap/nodes/runtime).
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test ends where something is not as it must be"
)]

mod configuration;
mod connections;
mod fixture;
mod health;
mod pure;
