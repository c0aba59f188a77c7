//! The configuration of the server on one interface, and the input of its decisions.

use std::net::{Ipv4Addr, SocketAddrV4};

use chrono::{DateTime, Utc};

use super::leases::Reserved;
use super::subnet::Subnet;
use crate::machine::Machine;
use crate::offer::Offer;

/// The UDP port of servers and relays.
pub const SERVER_PORT: u16 = 67;
/// The UDP port of clients.
pub const CLIENT_PORT: u16 = 68;
/// The UDP port of PXE boot servers.
pub const PXE_PORT: u16 = 4011;

/// The machines that the server leases addresses to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// All machines.
    Full,
    /// No machine: another server leases addresses. This server only names the boot file to clients that boot over the network.
    Proxy,
    /// Only machines with a reserved address. Other machines get no answer.
    Reservations,
}

/// The configuration of the server on one interface.
#[derive(Clone, Debug)]
pub struct Link {
    /// The name of the interface.
    pub interface: String,
    /// The machines that get addresses.
    pub mode: Mode,
    /// The server's address on the interface, which clients use as the server identifier.
    pub server: Ipv4Addr,
    /// The networks of the machines: that of the interface, and those behind relays.
    pub subnets: Vec<Subnet>,
    /// The boot files.
    pub offer: Offer,
}

/// The input of a decision about a message.
pub struct Known<'a> {
    /// The interface that the message arrived on.
    pub link: &'a Link,
    /// The UDP port that the message arrived on.
    pub port: u16,
    /// The sender of the message.
    pub source: SocketAddrV4,
    /// The machine with the MAC address of the message.
    pub machine: &'a Machine,
    /// The function that returns the machine for which an address is reserved.
    pub reserved: Reserved<'a>,
    /// The current time.
    pub now: DateTime<Utc>,
}
