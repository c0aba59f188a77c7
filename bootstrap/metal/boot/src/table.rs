//! A [`Directory`] in memory.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use agent_protocol::dhcp::MacAddress;
use futures::FutureExt;
use futures::future::BoxFuture;
use parking_lot::Mutex;

use crate::error::Error;
use crate::machine::{Directory, Lease, Machine};

/// Machines and leases in memory, for tests and for sites without an API.
#[derive(Default)]
pub struct MachineTable {
    machines: Mutex<BTreeMap<MacAddress, Machine>>,
    leases: Mutex<BTreeMap<MacAddress, Lease>>,
    other: Mutex<Machine>,
}

impl MachineTable {
    /// Adds or replaces `machine`.
    pub fn set(&self, mac: MacAddress, machine: Machine) {
        self.machines.lock().insert(mac, machine);
    }

    /// Sets the answer for machines that are not known.
    pub fn set_others(&self, machine: Machine) {
        *self.other.lock() = machine;
    }

    /// Returns the stored lease of a machine.
    pub fn lease(&self, mac: MacAddress) -> Option<Lease> {
        self.leases.lock().get(&mac).cloned()
    }
}

impl Directory for MachineTable {
    fn machine(&self, mac: MacAddress) -> Machine {
        self.machines.lock().get(&mac).cloned().unwrap_or_else(|| self.other.lock().clone())
    }

    fn reserved_for(&self, address: Ipv4Addr) -> Option<MacAddress> {
        let machines = self.machines.lock();
        machines.iter().find(|(_, machine)| machine.reserved == Some(address)).map(|(mac, _)| *mac)
    }

    fn leases(&self) -> Vec<Lease> {
        self.leases.lock().values().cloned().collect()
    }

    fn write_lease(&self, lease: Lease) -> BoxFuture<'_, Result<(), Error>> {
        self.leases.lock().insert(lease.mac, lease);
        async { Ok(()) }.boxed()
    }

    fn remove_lease(&self, mac: MacAddress) -> BoxFuture<'_, Result<(), Error>> {
        self.leases.lock().remove(&mac);
        async { Ok(()) }.boxed()
    }
}
