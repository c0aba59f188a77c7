//! What the services know of a machine, and what they write down about it.

use std::net::Ipv4Addr;

use chrono::{DateTime, Utc};
use dhcp::MacAddress;
use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};

use crate::error::Error;

/// What a machine that starts over the network is to do.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Boot {
    /// Start the agent.
    Agent,
    /// Start what is on its disk. Firmware is given a boot file that does not exist, so that it goes on to its next boot device at
    /// once; without any it waits for another server, for a minute.
    #[default]
    Disk,
    /// Start this image (a CD, of a live system) from a URL.
    Image(String),
}

/// What is known of a machine.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Machine {
    /// Somebody described it: a host, or an agent that was here before.
    pub known: bool,
    /// The address that is kept for it.
    pub reserved: Option<Ipv4Addr>,
    /// The name that it is told.
    pub host_name: Option<String>,
    /// What it is to boot.
    pub boot: Boot,
}

/// An address that a machine has for a while.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// Whose it is.
    pub mac: MacAddress,
    /// The address.
    pub address: Ipv4Addr,
    /// Never before what the machine was told.
    pub expires: DateTime<Utc>,
    /// The name that the machine has.
    pub host_name: Option<String>,
    /// The interface of this server that it was asked through.
    pub interface: String,
    /// The relay that it was asked through.
    pub relay: Option<Ipv4Addr>,
    /// [`crate::client::Architecture::name`], of a machine that boots.
    pub architecture: Option<String>,
    /// What the program that asked last calls itself.
    pub vendor_class: Option<String>,
}

/// Who knows the machines: objects of an API, or a table in memory.
///
/// The look-ups are made for each packet: they must answer from memory.
pub trait Directory: Send + Sync + 'static {
    /// What is known of the machine.
    fn machine(&self, mac: MacAddress) -> Machine;

    /// Who `address` is kept for, whether or not it is in use.
    fn reserved_for(&self, address: Ipv4Addr) -> Option<MacAddress>;

    /// The leases that were written down, in any order, to begin with.
    fn leases(&self) -> Vec<Lease>;

    /// Writes down a lease; one for each machine.
    fn write_lease(&self, lease: Lease) -> BoxFuture<'_, Result<(), Error>>;

    /// Removes the lease of a machine whose address is another one's now; a reservation stays.
    fn remove_lease(&self, mac: MacAddress) -> BoxFuture<'_, Result<(), Error>>;
}
