//! The machine's network: every wired interface comes up and asks for an address; whichever leads to the server is used.

mod client;
pub mod dhcp;
mod fixed;
mod links;
pub mod lldp;

use std::net::Ipv4Addr;

use machinery::clock::Clock;
use machinery::random::Random;
use tokio::sync::watch;

pub use client::ask_on_all;
pub use fixed::Fixed;
pub use links::{Link, Links, interfaces, read_mac};

use crate::journal::Journal;

/// An interface that has an address.
#[derive(Clone, Debug, PartialEq)]
pub struct Attached {
    /// Which one.
    pub link: Link,
    /// Its address.
    pub address: Ipv4Addr,
}

/// What tells of interfaces as they get their addresses, the one that the firmware booted from first.
pub type Network = watch::Receiver<Vec<Attached>>;

/// What asking for addresses needs.
#[derive(Clone)]
pub struct Tools {
    /// Time.
    pub clock: Clock,
    /// Transactions' numbers, and when to ask again.
    pub random: Random,
    /// The log.
    pub journal: Journal,
}
