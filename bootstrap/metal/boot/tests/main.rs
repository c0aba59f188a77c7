//! DHCP, router advertisements and TFTP as machines see them.

mod packets;
mod recorded;
mod server;
mod tftp;
