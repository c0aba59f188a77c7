//! A client of registries (OCI distribution specification): [`Client`] finds images and artifacts, and fetches their blobs.
//!
//! Nobody has checked what a registry sends. Manifests and blobs are verified by their digests, each has a limit, and credentials are sent
//! only to the host that they are for ([`Credentials`]). Mirrors and authorities are configured as for containerd ([`Hosts`]).

mod blob;
mod body;
pub mod challenge;
mod client;
mod credentials;
mod hosts;
pub mod limits;
mod manifest;
mod retry;
mod transport;

pub use blob::Received;
pub use body::Pace;
pub use client::{Client, Report, Session};
pub use credentials::{Credentials, Login};
pub use hosts::{Endpoint, Hosts};
pub use manifest::Artifact;
pub use transport::redirected;
