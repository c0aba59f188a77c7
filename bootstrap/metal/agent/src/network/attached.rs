//! Interfaces that have addresses, and what asking for one needs.

use std::net::Ipv4Addr;

use machinery::clock::Clock;
use machinery::random::Random;
use tokio::sync::watch;

use super::links::Link;
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
