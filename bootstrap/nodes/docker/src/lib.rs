//! System containers over the socket of Docker or Podman: [`Docker`] implements the traits [`Runtime`](system_containers::Runtime) and
//! [`Images`](system_containers::Images). Both programs answer to Docker's Engine API, of which few calls are used here (`api`, over `client`).
//!
//! The containers are those of Cluster API's Dev provider with its Docker backend, except where `docs/nodes.md` says otherwise. The daemon keeps
//! them: this process remembers only what it has found out about the daemon and its images. Several processes may use one data directory, which
//! has the owner's name, locks, and archives while they are decompressed.
//!
//! Invariant: a container that this data directory has not created is never changed, whatever its name and labels are.
//!
//! Invariant: each answer is waited for with a limit ([`limits`]); that of a pull is about its silence. Who runs a program gives its limit, and who
//! reads the archive of an image has one. When the daemon is away, each call fails with its name, and the next one after its return goes on.

mod api;
pub mod balancer;
mod body;
mod client;
mod docker;
mod frames;
mod libpod;
pub mod limits;
mod network;
mod owner;
pub mod preflight;
mod progress;
mod socket;

pub use body::{Place, body};
pub use docker::{Docker, NETWORK, Options};
pub use libpod::libpod_body;
pub use progress::Pull;
pub use socket::{Engine, candidates};
