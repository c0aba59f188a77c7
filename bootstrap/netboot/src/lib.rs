//! What a machine needs to start over the network: DHCP, router advertisements, TFTP, HTTP boot, boot images, metadata.
pub mod image;
