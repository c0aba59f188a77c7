//! The agent that runs on a machine booted over the network: `/init` of the initramfs into which this program packs itself.
//!
//! [`run`] brings up the machine (file systems, drivers, network), enrols at the server, and carries out the server's instructions:
//! inspect, clean, deploy, restart. It makes no decisions of its own.

pub mod clean;
pub mod deploy;
pub mod devices;
pub mod disk;
pub mod erase;
pub mod firmware;
mod init;
pub mod inventory;
pub mod journal;
pub mod machine;
pub mod modules;
pub mod network;
pub mod server;
pub mod tpm;
pub mod work;

pub use init::{is_init, run};
pub use inventory::Disk;
