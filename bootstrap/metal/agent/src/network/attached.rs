//! Interfaces with addresses, and the dependencies of DHCP clients.

use std::net::Ipv4Addr;

use machinery::clock::Clock;
use machinery::random::Random;
use tokio::sync::watch;

use super::links::Link;
use crate::journal::Journal;

/// An interface with an address.
#[derive(Clone, Debug, PartialEq)]
pub struct Attached {
    /// The interface.
    pub link: Link,
    /// The IPv4 address.
    pub address: Ipv4Addr,
}

/// The list of interfaces with addresses as it grows; the one that the firmware booted from comes first.
pub type Network = watch::Receiver<Vec<Attached>>;

/// The dependencies of the network tasks.
#[derive(Clone)]
pub struct Tools {
    /// The clock.
    pub clock: Clock,
    /// The source of transaction identifiers and of jitter.
    pub random: Random,
    /// The log.
    pub journal: Journal,
}
