//! System containers: a whole Linux with an init of its own, from the root folder of an image. [`LinuxRuntime`] implements the trait
//! [`Runtime`](system_containers::Runtime) without a container runtime: namespaces, overlayfs, control groups, and a bridge.
//!
//! A container outlives the server. Its parent is a supervisor ([`supervisor`]), this same program started again, which keeps its exit code and
//! its console, and which every later server finds by files in the data directory. `docs/architecture/pods-and-nodes.md` has the processes and their order.
//!
//! Invariant: all mounts of a container are in its own namespace, and everything else that it needs of the machine has a name which is made of
//! its record alone. So a server that ends at any step leaves nothing that [`Runtime::remove`](system_containers::Runtime::remove) does not find.

mod containers;
pub mod groups;
pub mod limits;
mod network;
pub mod preflight;
mod process;
pub mod supervisor;

pub use containers::{LinuxRuntime, Options, machine_has};
pub use network::{Order, Range, choose, settings};
