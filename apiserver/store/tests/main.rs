//! Tests of the store's public functions, against a model, on disk and in memory.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test ends where something is not as it must be"
)]

mod behaviour;
mod bounds;
mod directory;
mod disk;
mod flips;
mod flush;
mod full;
mod groups;
mod key;
mod kinds;
mod model;
mod row;
