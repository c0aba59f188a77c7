//! The machine's network: every wired interface is activated and obtains an address; the agent uses the one that reaches the server.

mod attached;
mod client;
mod fixed;
pub mod lease;
pub mod links;
pub mod lldp;

pub use attached::{Attached, Network, Tools};
pub use client::ask_on_all;
pub use fixed::Fixed;
pub use links::{Links, interfaces, read_mac};
