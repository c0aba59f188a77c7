//! Tests of Deployments and ReplicaSets.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod replica_set;
mod rollouts;
