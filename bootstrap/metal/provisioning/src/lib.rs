//! The services for machines after firmware has loaded one of our programs: boot files and scripts over HTTP, images, metadata, virtual media,
//! and the server's side of agents. The machines are objects of the API ([`directory`]).
//!
//! [`start()`] opens all services on the named interfaces: those of `metal-boot`, and HTTP.

pub mod agents;
pub mod bootstrap;
pub mod directory;
pub mod fingerprint;
pub mod handover;
pub mod http;
pub mod limits;
pub mod media;
pub mod metadata;
pub mod metrics;
pub mod personal;
mod start;

pub use start::{Configuration, Dependencies, HTTP_PORT, HTTPS_PORT, Handle, start};
