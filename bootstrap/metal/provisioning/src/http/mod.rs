//! The HTTP service: boot files, scripts, images, and the requests of agents and installed machines.

mod agents;
mod bootstrap;
pub mod bundles;
pub mod counted;
pub(crate) mod file;
pub mod peer;
mod percent;
pub mod range;
pub mod registry;
pub mod routes;
pub mod script;
pub mod server;
pub mod site;
