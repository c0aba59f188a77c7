//! The HTTP service: boot files, scripts, images, and the requests of agents and installed machines.

mod agents;
mod bootstrap;
pub mod bundles;
mod counted;
pub(crate) mod file;
pub mod peer;
mod percent;
mod range;
pub mod registry;
pub mod routes;
mod script;
pub mod server;
pub mod site;
