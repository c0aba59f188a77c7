//! Tests against a daemon that keeps everything in memory. The suite with a real one is `cargo run -p firstlight-node-docker --bin node-docker-suite`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test ends where something is not as it must be"
)]

mod away;
mod body;
mod daemon;
mod exec;
mod fixture;
mod images;
mod life;
mod preflight;
mod socket;
