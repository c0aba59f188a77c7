//! Tests of Deployments and ReplicaSets.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod owners;
mod rollouts;
mod unscheduled;
