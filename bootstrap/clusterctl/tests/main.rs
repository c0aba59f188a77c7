//! Tests clusterctl's verbs with recorded outputs.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test ends where something is not as it must be"
)]

mod configuration;
mod connection;
mod convert;
mod describe;
mod install;
mod repositories;
mod rollout;
mod substitution;
mod upgrade;
mod yaml;
