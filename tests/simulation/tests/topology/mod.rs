//! Clusters of a ClusterClass: created, scaled, changed, upgraded over two minor versions and deleted, also with a process that is killed at
//! each write.
#![allow(clippy::expect_used, reason = "a test ends where something is not as it must be")]

mod at_rest;
mod changes;
mod kills;
mod life;
mod places;
