//! The tests of this crate.
#![allow(clippy::expect_used, reason = "a test ends where something is not as it must be")]

mod limits;
mod names;
mod recorded;
