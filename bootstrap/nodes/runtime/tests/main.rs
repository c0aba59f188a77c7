//! Tests of system containers. Those that start some need root, `unshare`, `nsenter`, `ip` and Debian's busybox-static.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test ends where something is not as it must be"
)]

mod balancers;
mod collisions;
mod damaged;
mod exec;
mod fixture;
mod images;
mod kills;
mod life;
mod moves;
mod network;
mod preflight;
mod pure;
mod settings;
mod version_two;
