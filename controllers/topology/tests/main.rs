//! Tests of the pure half of topologies: versions, desired objects, patches, rotation of templates.
#![allow(clippy::expect_used, reason = "a test ends where something is not as it must be")]

mod desired;
mod offline;
mod patches;
mod recorded;
mod rotation;
mod support;
mod versions;
