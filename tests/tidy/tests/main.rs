//! Checks the workspace, and tests the checks.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test ends where something is not as it must be"
)]

mod circles;
mod dependencies;
mod edges;
mod foreign;
mod impls;
mod limits;
mod map;
mod pages;
mod references;
mod sources;
mod tidy;
