//! DHCP for IPv4 (RFC 2131) with what PXE and UEFI ask of it.
//!
//! [`packet`] reads and writes messages, [`plan`] decides what is answered, [`boot`] what a program is told to load, [`leases`] who has
//! which address ([`observed`]: of another server); all of them are pure. [`server`] has the sockets, [`journal`] leases on the disk.

pub mod boot;
pub mod journal;
pub mod leases;
pub mod observed;
pub mod options;
pub mod packet;
pub mod plan;
pub mod probe;
pub mod server;
pub mod subnet;
#[cfg(test)]
pub(crate) mod testing;
