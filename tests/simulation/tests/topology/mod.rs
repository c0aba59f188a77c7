//! Clusters of a ClusterClass: created, scaled, changed, upgraded over two minor versions and deleted, also with a process that is killed at
//! each write.
#![allow(clippy::expect_used, reason = "a test ends where something is not as it must be")]

mod at_rest;
mod bad_input;
mod changes;
mod creation;
mod discovery;
mod empty;
mod extension;
mod failing_extensions;
mod hostile;
mod in_place;
mod kills;
mod life;
mod older;
mod patches;
mod places;
mod plans;
mod rebases;
mod refused;
mod undo;
mod upgrade;
