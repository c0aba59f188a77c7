//! Tests of the takeovers.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test ends where something is not as it must be"
)]

mod control_plane;
mod e2e;
mod metal3;
mod providers;
