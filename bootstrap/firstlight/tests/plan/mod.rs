//! Tests of `firstlight plan`.
#![allow(clippy::unwrap_used, reason = "a test ends where something is not as it must be")]

mod actions;
mod from_nothing;
mod pools;
mod stand_ins;
mod text;
mod waits;
