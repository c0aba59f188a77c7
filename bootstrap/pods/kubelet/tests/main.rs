//! Tests of the kubelet.
#![allow(clippy::unwrap_used, reason = "a test ends where something is not as it must be")]

mod generations;
mod groups;
mod logs;
mod mounts;
mod plan;
mod pod;
mod pods;
mod probe;
mod roots;
mod services;
mod volumes;
