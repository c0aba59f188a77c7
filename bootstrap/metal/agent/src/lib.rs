//! The agent that runs on a machine booted over the network: `/init` of the initramfs into which this program packs itself.
//!
//! [`run`] brings up the machine (file systems, drivers, network), enrols at the server, and carries out the server's instructions:
//! inspect, clean, deploy, restart. It makes no decisions of its own.

mod clean;
mod deploy;
mod devices;
mod disk;
mod erase;
mod firmware;
mod init;
mod inventory;
mod journal;
mod machine;
mod modules;
mod network;
mod server;
pub mod testing;
pub mod tpm;
mod work;

pub use deploy::choose;
pub use init::{is_init, run};
pub use inventory::Disk;
