//! Tests of the kubelet.
#![allow(clippy::unwrap_used, reason = "a test ends where something is not as it must be")]

mod generations;
mod groups;
mod mounts;
mod pods;
mod roots;
mod volumes;
