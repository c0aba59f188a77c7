//! Tests of pivot.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test ends where something is not as it must be"
)]

mod comparison;
mod desired;
mod graph;
mod journal;
mod limits;
mod normal;
mod preflight;
mod server;
mod steady;
