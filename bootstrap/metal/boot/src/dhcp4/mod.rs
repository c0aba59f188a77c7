//! DHCP for IPv4 (RFC 2131) with what PXE and UEFI ask of it.
//!
//! [`plan`] decides what is answered ([`crate::offer`]: what a program is told to load), [`leases`] who has which address ([`observed`]: of
//! another server); all of them are pure. [`server`] has the sockets, [`journal`] leases on the disk.

mod journal;
pub mod leases;
mod observed;
pub mod plan;
pub(crate) mod probe;
pub mod server;
pub mod subnet;
#[cfg(test)]
pub(crate) mod testing;
