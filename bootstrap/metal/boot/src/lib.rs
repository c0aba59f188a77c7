//! What firmware asks for before it runs anything of ours: addresses (DHCP for IPv4 and IPv6, alone or as a proxy beside another server),
//! router advertisements, and boot files over TFTP. Knows nothing of Kubernetes and nothing of HTTP.
//!
//! [`services::Services::open`] opens the services of an interface, and of no other. Packets are read and answered by pure functions; what is
//! known of machines comes from a [`machine::Directory`], the files of single machines from a [`personal::PersonalFiles`].

pub mod boot_files;
pub mod client;
pub mod dhcp4;
pub mod dhcp6;
mod error;
pub mod limits;
pub mod machine;
pub mod network;
pub mod offer;
pub mod personal;
pub mod pieces;
pub mod router;
pub mod services;
pub mod shares;
pub mod table;
pub mod tftp;

pub use error::Error;
