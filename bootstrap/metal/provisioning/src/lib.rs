//! What machines are given once firmware has loaded something of ours: boot files and scripts over HTTP, images, metadata, virtual media, and
//! what their agents are told. Who the machines are comes from the API ([`directory`]).
//!
//! [`start()`] opens all services on the interfaces that are named, and on no others: those of `metal-boot`, and HTTP.

pub mod agents;
pub mod directory;
mod fingerprint;
mod handover;
pub mod http;
pub mod limits;
pub mod media;
pub mod metadata;
pub mod personal;
mod start;

pub use start::{Configuration, Doors, HTTP_PORT, HTTPS_PORT, Handle, start};
