//! DHCP for IPv6 (RFC 8415) with the boot options of RFC 5970: boot files, and an address that contains the machine's MAC address.

pub mod packet;
pub mod plan;
pub mod probe;
pub mod server;
