//! Tests of the project's own commands.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test ends where something is not as it must be"
)]

mod agent;
mod commands;
mod package;
mod packages;
mod test;
