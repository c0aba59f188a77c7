//! Tests of folders that a container can change.
#![allow(clippy::unwrap_used, reason = "a test ends where something is not as it must be")]

mod folders;
mod places;
mod removal;
