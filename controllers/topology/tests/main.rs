//! Tests of the pure half of topologies: versions, desired objects, patches.
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a test ends where something is not as it must be"
)]

mod class;
mod clean_up;
mod configuration;
mod desired;
mod offline;
mod patches;
mod reactions;
mod recorded;
mod status;
mod support;
mod versions;
