//! The HTTP service: boot files, scripts, images, and the requests of agents and installed machines.

mod agents;
pub mod file;
pub mod impatient;
pub mod listener;
pub mod range;
pub mod script;
pub mod site;
