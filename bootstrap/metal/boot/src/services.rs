//! Opens the services of an interface.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use machinery::clock::Clock;
use machinery::random::Random;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::boot_files::BootFiles;
use crate::dhcp4::link::{Link, Mode};
use crate::dhcp4::server::Addresses;
use crate::dhcp4::subnet::Subnet;
use crate::error::Error;
use crate::machine::Directory;
use crate::metrics::Metrics;
use crate::network::Interface;
use crate::offer::Offer;
use crate::personal::PersonalFiles;
use crate::{dhcp4, dhcp6, router, tftp};

/// The port of TFTP.
pub const TFTP_PORT: u16 = 69;

/// The configuration of the services on an interface.
#[derive(Clone, Debug)]
pub struct InterfaceConfiguration {
    /// The name of the interface.
    pub name: String,
    /// The only address that is served; `None` serves all addresses of the interface.
    pub address: Option<Ipv4Addr>,
    /// The machines that get addresses. If `None`, the interface serves only HTTP and HTTPS, for machines that start from virtual media.
    pub mode: Option<Mode>,
    /// The networks in which addresses are leased: that of the interface, and those behind relays. If the interface's own network is
    /// missing, it is added with its upper half as the pool.
    pub subnets: Vec<Subnet>,
    /// The 64-bit prefix in which IPv6 addresses are given.
    pub prefix_v6: Option<Ipv6Addr>,
    /// Whether to start as a full server even if another DHCP server answers.
    pub beside_other_server: bool,
}

impl InterfaceConfiguration {
    /// Returns the configuration of full service on the interface `name`, with addresses from the upper half of its network.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            address: None,
            mode: Some(Mode::Full),
            subnets: vec![],
            prefix_v6: None,
            beside_other_server: false,
        }
    }
}

/// The dependencies that the services of all interfaces share.
pub struct Shared {
    /// The boot files that the services offer and send.
    pub boot: BootFiles,
    /// The names of the files that TFTP serves ([`BootFiles::tftp_names`]).
    pub tftp: BTreeSet<String>,
    /// The port of the HTTP server that has the boot files.
    pub http_port: u16,
    /// The leases, and the directory of machines.
    pub addresses: Arc<Addresses>,
    /// The directory of machines.
    pub directory: Arc<dyn Directory>,
    /// Generates the files of single machines.
    pub personal: Option<Arc<dyn PersonalFiles>>,
    /// The metrics that the services count in.
    pub metrics: Metrics,
    /// The clock.
    pub clock: Clock,
    /// The source of randomness.
    pub random: Random,
}

/// Services that are open but do not answer yet.
#[derive(Default)]
pub struct Services {
    dhcp: Vec<dhcp4::server::Server>,
    dhcp6: Vec<dhcp6::server::Server>,
    routers: Vec<router::Server>,
    tftp: Vec<tftp::server::Server>,
}

impl Services {
    /// Opens DHCP, TFTP and router advertisements on the interface.
    ///
    /// # Errors
    /// [`Error`], whose message says how to fix the problem.
    pub async fn open(
        &mut self,
        asked: &InterfaceConfiguration,
        mode: Mode,
        interface: &Interface,
        shared: &Shared,
    ) -> Result<(), Error> {
        let link = link(asked, mode, interface, shared)?;
        let server = dhcp4::server::Server::open(link, shared.addresses.clone())?;
        if mode == Mode::Full
            && !asked.beside_other_server
            && let Some(server) = other_server(asked, interface, &shared.random).await?
        {
            return Err(Error::OtherServer { interface: asked.name.clone(), server });
        }
        self.dhcp.push(server);
        let files = tftp::server::Files {
            boot: shared.boot.clone(),
            names: shared.tftp.clone(),
            personal: shared.personal.clone(),
        };
        let (clock, metrics) = (shared.clock.clone(), shared.metrics.clone());
        self.tftp.push(tftp::server::Server::open(interface.clone(), TFTP_PORT, files, clock, metrics)?);
        self.dhcp6.extend(ipv6(asked, mode, interface, shared)?);
        match router::Server::open(interface.clone(), asked.prefix_v6, shared.metrics.clone()) {
            Ok(server) => self.routers.push(server),
            Err(error @ Error::NotPermitted { .. }) => return Err(error),
            Err(error) => {
                tracing::info!(interface = asked.name, %error, "no IPv6 here: routers are not advertised");
            }
        }
        Ok(())
    }

    /// Serves until `shutdown` is cancelled.
    pub fn run(self, tasks: &TaskTracker, shutdown: &CancellationToken) {
        for server in self.dhcp {
            server.run(tasks, shutdown);
        }
        for server in self.tftp {
            server.run(tasks, shutdown);
        }
        for server in self.dhcp6 {
            server.run(tasks, shutdown);
        }
        for server in self.routers {
            server.run(tasks, shutdown);
        }
    }
}

/// Returns another server that gives addresses of the same IP version as this one. Both versions are probed at the same time.
async fn other_server(
    asked: &InterfaceConfiguration,
    interface: &Interface,
    random: &Random,
) -> Result<Option<IpAddr>, Error> {
    let six = async {
        match asked.prefix_v6 {
            Some(_) => dhcp6::probe::other_server(interface, random).await,
            None => Ok(None),
        }
    };
    let (four, six) = tokio::try_join!(dhcp4::probe::other_server(interface, random), six)?;
    Ok(four.map(IpAddr::V4).or(six))
}

/// Opens DHCPv6, if the interface has an address that machines can load boot files from.
fn ipv6(
    asked: &InterfaceConfiguration,
    mode: Mode,
    interface: &Interface,
    shared: &Shared,
) -> Result<Option<dhcp6::server::Server>, Error> {
    let near = |address: &&Ipv6Addr| !address.is_unicast_link_local();
    let mut own = interface.addresses_v6.iter().filter(near);
    let in_prefix = |prefix: Ipv6Addr| move |own: &&Ipv6Addr| own.octets()[..8] == prefix.octets()[..8];
    let server = match asked.prefix_v6 {
        None => own.next(),
        Some(prefix) => Some(own.find(in_prefix(prefix)).ok_or_else(|| Error::Pool {
            name: asked.name.clone(),
            what: format!(
                "it has no address in {prefix}/64: give it one (`ip address add … dev {}`)",
                asked.name
            ),
        })?),
    };
    let Some(server) = server else { return Ok(None) };
    let link = dhcp6::plan::Link {
        interface: asked.name.clone(),
        mac: interface.mac,
        prefix: asked.prefix_v6.filter(|_| mode != Mode::Proxy),
        known_only: mode == Mode::Reservations,
        offer: offer((*server).into(), shared),
    };
    let (directory, metrics) = (shared.directory.clone(), shared.metrics.clone());
    dhcp6::server::Server::open(interface, link, directory, metrics).map(Some)
}

/// Returns the boot files that `server` offers.
fn offer(server: IpAddr, shared: &Shared) -> Offer {
    Offer {
        server,
        http_port: shared.http_port,
        unified: shared.boot.unified.keys().copied().collect(),
        tftp: shared.tftp.clone(),
    }
}

fn link(
    asked: &InterfaceConfiguration,
    mode: Mode,
    interface: &Interface,
    shared: &Shared,
) -> Result<Link, Error> {
    let mut subnets = asked.subnets.clone();
    // The interface's own network is recognised by the server's address in it.
    let Some(own) = interface.networks.first().copied() else {
        return Err(Error::NoAddress { name: asked.name.clone() });
    };
    if !subnets.iter().any(|subnet| subnet.network.contains(own.address)) {
        subnets.push(Subnet::new(own, Subnet::upper_half(own)));
    }
    for subnet in &subnets {
        if let Some(what) = subnet.problem() {
            return Err(Error::Pool { name: asked.name.clone(), what });
        }
    }
    let offer = offer(own.address.into(), shared);
    Ok(Link { interface: asked.name.clone(), mode, server: own.address, subnets, offer })
}
