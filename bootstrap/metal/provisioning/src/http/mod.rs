//! The HTTP service: boot files and scripts, images, and what agents and installed machines ask for.

mod agents;
pub(crate) mod file;
mod impatient;
pub mod listener;
pub mod peer;
mod percent;
mod range;
mod script;
pub mod site;
