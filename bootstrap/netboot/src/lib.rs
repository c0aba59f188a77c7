//! Network boot services for machines: DHCP, router advertisements, TFTP, HTTP boot, boot images, metadata.
//!
//! [`start()`] opens all services on the configured interfaces, and on no others. Pure functions read and answer packets; the data
//! about machines come from a [`machine::Directory`].

pub mod agents;
pub mod boot_files;
pub mod client;
pub mod dhcp4;
pub mod dhcp6;
pub mod directory;
pub mod error;
pub mod http;
pub mod image;
pub mod limits;
pub mod mac;
pub mod machine;
pub mod media;
pub mod metadata;
pub mod network;
pub mod personal;
pub mod router;
pub mod shares;
mod start;
pub mod tftp;

pub use error::Error;
pub use mac::MacAddress;
pub use start::{
    Configuration, Doors, HTTP_PORT, HTTPS_PORT, Handle, InterfaceConfiguration, TFTP_PORT, start,
};
