//! Tests of the in-cluster IPAM provider: tables over its plan, and its controllers with a real API server in this process, on a paused
//! clock.
#![allow(clippy::unwrap_used, reason = "a test ends where something is not as it must be")]

mod bad_input;
mod faults;
mod kills;
mod ledger;
mod lives;
mod many;
mod pauses;
mod plan;
mod releases;
mod support;
