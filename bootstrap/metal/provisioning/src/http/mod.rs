//! The HTTP service: boot files and scripts, images, and what agents and installed machines ask for.

mod agents;
pub mod file;
pub mod impatient;
pub mod listener;
pub mod range;
pub mod script;
pub mod site;
