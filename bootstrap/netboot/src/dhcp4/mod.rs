//! DHCP for IPv4 (RFC 2131) with the options of PXE and UEFI.
//!
//! [`packet`] reads and writes messages, [`plan`] decides about answers, [`boot`] chooses boot files, [`leases`] holds the addresses of
//! machines ([`observed`]: those of another server); all of them are pure. [`server`] has the sockets, [`journal`] stores leases on the
//! disk.

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
