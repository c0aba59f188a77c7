//! Volumes of pods.

mod drivers;
mod files;
pub(crate) mod paths;
pub(crate) mod volume;
