//! The data that the services have about a machine, and the leases that they store.

use std::net::Ipv4Addr;

use agent_protocol::dhcp::MacAddress;
use chrono::{DateTime, Utc};
use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};

use crate::error::Error;

/// The program or image that a machine boots over the network.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Boot {
    /// The agent.
    Agent,
    /// The machine's own disk. Firmware gets the name of a boot file that does not exist, so that it continues with its next boot
    /// device at once; without a name it waits a minute for another server.
    #[default]
    Disk,
    /// An image (a CD, a live system) from a URL.
    Image(String),
}

/// The data about a machine.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Machine {
    /// Whether the machine has a BareMetalHost or a reserved address.
    pub known: bool,
    /// The address that is reserved for it.
    pub reserved: Option<Ipv4Addr>,
    /// The host name that DHCP gives it.
    pub host_name: Option<String>,
    /// The program or image that it boots over the network.
    pub boot: Boot,
}

/// The lease of an address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// The machine that has the lease.
    pub mac: MacAddress,
    /// The leased address.
    pub address: Ipv4Addr,
    /// The end of the lease, which is never before the end that the machine was told.
    pub expires: DateTime<Utc>,
    /// The host name of the machine.
    pub host_name: Option<String>,
    /// The interface of this server on which the request arrived.
    pub interface: String,
    /// The relay that forwarded the request.
    pub relay: Option<Ipv4Addr>,
    /// [`crate::client::Architecture::name`] of the machine, if the program that asked boots over the network.
    pub architecture: Option<String>,
    /// The vendor class of the program that asked last.
    pub vendor_class: Option<String>,
}

/// The directory of machines: objects of an API, or a table in memory.
///
/// `machine` and `reserved_for` are called for each packet, so they must answer from memory.
pub trait Directory: Send + Sync + 'static {
    /// Returns the data about the machine.
    fn machine(&self, mac: MacAddress) -> Machine;

    /// Returns the machine that `address` is reserved for, whether or not it is in use.
    fn reserved_for(&self, address: Ipv4Addr) -> Option<MacAddress>;

    /// Returns the stored leases in any order, for the start of the server.
    fn leases(&self) -> Vec<Lease>;

    /// Stores the lease of a machine, and replaces the machine's earlier lease.
    fn write_lease(&self, lease: Lease) -> BoxFuture<'_, Result<(), Error>>;

    /// Removes the lease of a machine whose address another machine has leased. A reservation of the machine stays.
    fn remove_lease(&self, mac: MacAddress) -> BoxFuture<'_, Result<(), Error>>;
}
