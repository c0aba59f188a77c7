//! The load balancer of a cluster's API servers. It forwards TCP connections to servers that are ready, and knows nothing of what is in them.
//!
//! It is the only process of a container ([`system_containers::Init::Balancer`]), so that it goes on while the server is away. [`open`] is
//! that process. It reads its configuration from a folder and says its status at a socket in another one ([`write`] and [`read_status`]).
//! [`Contained`] implements [`system_containers::balancer::Balancers`] with such containers.
//!
//! Invariant: a connection that a server has taken ends only with one of its two sides, whatever becomes of the configuration and of the health
//! of the server.

mod check;
mod choice;
mod console;
mod contained;
mod folder;
mod forward;
pub mod limits;
mod listen;
mod pool;
mod process;
mod shares;
mod status;

pub use choice::{Candidate, order};
pub use contained::{Contained, delete};
pub use folder::write;
pub use process::{Opened, open};
pub use status::read as read_status;
