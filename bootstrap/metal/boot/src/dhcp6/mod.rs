//! DHCP for IPv6 (RFC 8415) with the boot options of RFC 5970: what a machine needs to start, and an address that is made of its own.

pub mod packet;
pub mod plan;
pub mod probe;
pub mod server;
