//! Containers of pods.

pub(crate) mod container;
mod environment;
mod mounts;
pub(crate) mod ports;
mod probes;
pub(crate) mod resource_ref;
