//! The services that firmware needs before it runs any of our programs: addresses (DHCP for IPv4 and IPv6, alone or as a proxy next to
//! another server), router advertisements, boot files over TFTP, and the [`images`] that machines boot. This crate depends neither on Kubernetes nor on HTTP.
//!
//! [`services::Services::open`] opens the services of one interface. Pure functions parse packets and decide about answers. A
//! [`machine::Directory`] has the known data of machines, and [`personal::PersonalFiles`] generates the files of single machines.

pub mod boot_files;
pub mod client;
pub mod dhcp4;
pub mod dhcp6;
mod error;
pub mod images;
pub mod limits;
pub mod machine;
pub mod metrics;
pub mod moving_address;
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
