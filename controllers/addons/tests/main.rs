//! The tests of the controllers as a whole.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test ends where something is not as it must be"
)]

mod binding;
mod kills;
mod lives;
mod resource_set;
mod resting;
mod support;
