//! What runs on a machine that was booted over the network: `/init` of the initramfs that this program packs of itself.
//!
//! [`run`] brings up the machine (file systems, drivers, network), enrols at the server, and does what that says: inspect, clean, deploy,
//! restart. It decides nothing by itself.

mod clean;
pub mod deploy;
mod devices;
pub mod disk;
mod erase;
mod firmware;
mod init;
mod inventory;
pub mod journal;
pub mod machine;
pub mod modules;
pub mod network;
pub mod server;
pub mod tpm;
mod work;

pub use init::{is_init, run};
