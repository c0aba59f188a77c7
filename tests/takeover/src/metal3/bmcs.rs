//! The BMCs of the hosts: Redfish services that record each request.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;

use anyhow::{Context as _, Result};
use netboot_tests::redfish::{Behaviour, InMemory, Machine as _, Service, Start};

/// The BMC of a host.
pub struct Bmc {
    /// The name of its host.
    pub host: &'static str,
    /// The address of the service, which a server must allow with `--bmc-on-this-machine`.
    pub address: SocketAddr,
    service: Arc<Service>,
    machine: Arc<InMemory>,
}

impl Bmc {
    /// Starts the BMC of a machine that is on or off.
    ///
    /// # Errors
    /// Returns the errors of the socket.
    pub async fn start(host: &'static str, is_on: bool) -> Result<Self> {
        let machine = Arc::new(InMemory::default());
        if is_on {
            machine.start(from_disk()).await?;
        }
        let service = Service::new(machine.clone(), Behaviour::default());
        let (address, _) = service.clone().listen(SocketAddr::from((own_address()?, 0)), None).await?;
        Ok(Self { host, address, service, machine })
    }

    /// Returns the address for `spec.bmc.address`.
    pub fn url(&self) -> String {
        format!("redfish+http://{}/redfish/v1/Systems/1", self.address)
    }

    /// Forgets the requests until now.
    pub fn forget(&self) {
        self.service.take_requests();
    }

    /// Returns the number of requests since the last call, and those that write, except for the sessions of clients.
    pub fn requests(&self) -> (usize, Vec<String>) {
        let all = self.service.take_requests();
        let is_write =
            |request: &&String| !request.starts_with("GET ") && !request.contains("/SessionService/Sessions");
        (all.len(), all.iter().filter(is_write).cloned().collect())
    }

    /// Returns whether the machine has run, or been off, all the time.
    pub fn is_untouched(&self, was_on: bool) -> bool {
        self.machine.running().is_some() == was_on && self.machine.history().len() == usize::from(was_on)
    }
}

/// Returns the address from which this machine reaches others: no server takes loopback for the address of a BMC.
fn own_address() -> Result<IpAddr> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    // Nothing is sent.
    let routed = socket.connect((Ipv4Addr::new(192, 0, 2, 1), 9));
    routed.context(
        "this machine needs a route and an address that is not loopback, for the BMCs of the test",
    )?;
    Ok(socket.local_addr()?.ip())
}

fn from_disk() -> Start {
    Start { target: "None".to_owned(), http_uri: None, uefi: true, secure_boot: false, media: None }
}
