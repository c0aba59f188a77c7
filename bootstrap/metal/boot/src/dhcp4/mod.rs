//! DHCP for IPv4 (RFC 2131), with the extensions of PXE and UEFI.
//!
//! [`plan`] decides about the answer to a message ([`crate::offer`] about the boot file), `exchange` about the address, and [`leases`] has the
//! addresses of machines (`observed`: those of another server); all of these are pure. [`server`] has the sockets, and `journal` the leases on
//! the disk.

pub mod answer;
mod exchange;
mod journal;
pub mod leases;
pub mod link;
pub mod observed;
pub mod plan;
pub(crate) mod probe;
pub mod server;
pub mod subnet;
