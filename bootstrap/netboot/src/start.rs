//! Starts all services of the crate.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

use engine::Manager;
use machinery::clock::Clock;
use machinery::random::Random;
use rustls::ServerConfig;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::agents::Agents;
use crate::boot_files::BootFiles;
use crate::dhcp4::boot::Offer;
use crate::dhcp4::plan::{Link, Mode};
use crate::dhcp4::server::Addresses;
use crate::dhcp4::subnet::Subnet;
use crate::directory::Kube;
use crate::error::Error;
use crate::http::listener::Listener;
use crate::http::site::Site;
use crate::machine::Directory;
use crate::media::Media;
use crate::metadata::Metadata;
use crate::network::{self, Interface};
use crate::personal::Personal;
use crate::{dhcp4, dhcp6, router, tftp};

/// The default port of HTTP.
pub const HTTP_PORT: u16 = 8080;
/// The port of TFTP.
pub const TFTP_PORT: u16 = 69;
/// The default port of HTTPS.
pub const HTTPS_PORT: u16 = 8443;

/// The configuration of the services on an interface.
#[derive(Clone, Debug)]
pub struct InterfaceConfiguration {
    /// The name of the interface.
    pub name: String,
    /// Which machines get addresses. If `None`, the interface serves only HTTP and HTTPS, for machines that start from virtual media.
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
    /// Full service on the interface `name`, with addresses from the upper half of its network.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            mode: Some(Mode::Full),
            subnets: vec![],
            prefix_v6: None,
            beside_other_server: false,
        }
    }
}

/// The configuration of all services.
#[derive(Clone)]
pub struct Configuration {
    /// The interfaces to serve.
    pub interfaces: Vec<InterfaceConfiguration>,
    /// The boot files.
    pub boot: BootFiles,
    /// A folder whose files are served below `/images/`.
    pub images: Option<PathBuf>,
    /// The file of leases that are not objects yet.
    pub leases: PathBuf,
    /// The port of HTTP.
    pub http_port: u16,
    /// The port of HTTPS.
    pub https_port: u16,
    /// The TLS configuration of HTTPS; without it agents cannot connect.
    pub tls: Option<Arc<ServerConfig>>,
}

/// The dependencies of the services on the outside.
#[derive(Clone)]
pub struct Doors {
    /// The clock.
    pub clock: Clock,
    /// The source of randomness.
    pub random: Random,
    /// The directory of machines.
    pub directory: Arc<dyn Directory>,
    /// The API whose objects the services watch; without it there are no metadata and no agents.
    pub kube: Option<(Manager, Kube)>,
}

impl Doors {
    /// Doors for services that watch the objects of an API. With `discovers`, machines without a BareMetalHost start the agent.
    pub async fn kube(manager: &Manager, discovers: bool) -> Self {
        let kube = Kube::start(manager, discovers).await;
        Self {
            clock: manager.clock().clone(),
            random: manager.random().clone(),
            directory: Arc::new(kube.clone()),
            kube: Some((manager.clone(), kube)),
        }
    }
}

/// The running services.
pub struct Handle {
    /// The listening addresses of HTTP.
    pub http: Vec<SocketAddr>,
    /// The listening addresses of HTTPS.
    pub https: Vec<SocketAddr>,
    /// The leases, and the directory of machines.
    pub addresses: Arc<Addresses>,
    tasks: TaskTracker,
    shutdown: CancellationToken,
}

impl Handle {
    /// Stops all services, and waits for their tasks.
    pub async fn stop(&self) {
        self.shutdown.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}

/// Starts the services. All sockets are open when it returns; if one of them cannot be opened, no service starts.
///
/// # Errors
/// [`Error`], whose message says how to fix the problem.
pub async fn start(configuration: Configuration, doors: Doors) -> Result<Handle, Error> {
    let blocking = {
        let boot = configuration.boot.clone();
        tokio::task::spawn_blocking(move || boot.check().and_then(|()| boot.tftp_names()))
    };
    let tftp =
        blocking.await.map_err(|error| Error::File { path: "boot files".into(), source: error.into() })??;
    let addresses = Addresses::open(doors.directory.clone(), doors.clock.clone(), &configuration.leases)?;
    let handle = Handle {
        http: vec![],
        https: vec![],
        addresses: addresses.clone(),
        tasks: TaskTracker::new(),
        shutdown: CancellationToken::new(),
    };
    let (mut metadata, mut agents, mut media) = (None, None, None);
    if let Some((manager, kube)) = &doors.kube {
        let told = Metadata::start(manager, kube.clone(), addresses.clone()).await;
        agents = Some(Agents::start(manager, kube.clone(), addresses.clone(), told.clone()).await);
        media = Some(Media::start(manager, kube.clone()).await);
        metadata = Some(told);
    }
    let personal = agents.clone().map(|agents| Personal {
        boot: configuration.boot.clone(),
        tftp: tftp.clone(),
        directory: doors.directory.clone(),
        agents,
    });
    let site = Arc::new(Site {
        personal,
        metadata,
        media,
        agents,
        boot: configuration.boot.clone(),
        tftp,
        images: configuration.images.clone(),
        directory: doors.directory.clone(),
        http_port: configuration.http_port,
        https_port: configuration.tls.is_some().then_some(configuration.https_port),
    });
    let mut starting =
        Starting { configuration: &configuration, doors: &doors, site, handle, open: Open::default() };
    for interface in &configuration.interfaces {
        starting.interface(interface).await?;
    }
    Ok(starting.run())
}

/// Sockets that are open but not served yet.
#[derive(Default)]
struct Open {
    dhcp: Vec<dhcp4::server::Server>,
    dhcp6: Vec<dhcp6::server::Server>,
    routers: Vec<router::Server>,
    tftp: Vec<tftp::server::Server>,
    http: Vec<tokio::net::TcpListener>,
    https: Vec<tokio::net::TcpListener>,
}

struct Starting<'a> {
    configuration: &'a Configuration,
    doors: &'a Doors,
    site: Arc<Site>,
    handle: Handle,
    open: Open,
}

impl Starting<'_> {
    async fn interface(&mut self, asked: &InterfaceConfiguration) -> Result<(), Error> {
        let interface = Interface::find(&asked.name)?;
        if let Some(mode) = asked.mode {
            self.network_boot(asked, mode, &interface).await?;
        }
        let v6 = interface.addresses_v6.iter().filter(|address| !address.is_unicast_link_local());
        let own = interface.networks.iter().map(|network| network.address.into());
        for address in own.chain(v6.map(|address| (*address).into())) {
            let socket = |port| SocketAddr::new(address, port);
            self.open.http.push(network::connections("HTTP", socket(self.configuration.http_port))?);
            if self.configuration.tls.is_some() {
                self.open.https.push(network::connections("HTTPS", socket(self.configuration.https_port))?);
            }
        }
        Ok(())
    }

    /// Returns another server that gives addresses of the same IP version as this one. Both versions are probed at the same time.
    async fn other_server(
        &self,
        asked: &InterfaceConfiguration,
        interface: &Interface,
    ) -> Result<Option<IpAddr>, Error> {
        let random = &self.doors.random;
        let six = async {
            match asked.prefix_v6 {
                Some(_) => dhcp6::probe::other_server(interface, random).await,
                None => Ok(None),
            }
        };
        let (four, six) = tokio::try_join!(dhcp4::probe::other_server(interface, random), six)?;
        Ok(four.map(IpAddr::V4).or(six))
    }

    /// Opens the services for firmware that boots over the network: DHCP, TFTP, and router advertisements.
    async fn network_boot(
        &mut self,
        asked: &InterfaceConfiguration,
        mode: Mode,
        interface: &Interface,
    ) -> Result<(), Error> {
        let link = self.link(asked, mode, interface)?;
        let server = dhcp4::server::Server::open(link, self.handle.addresses.clone())?;
        if mode == Mode::Full
            && !asked.beside_other_server
            && let Some(server) = self.other_server(asked, interface).await?
        {
            return Err(Error::OtherServer { interface: asked.name.clone(), server });
        }
        self.open.dhcp.push(server);
        let files = tftp::server::Files {
            boot: self.site.boot.clone(),
            names: self.site.tftp.clone(),
            personal: self.site.personal.clone(),
        };
        let clock = self.doors.clock.clone();
        self.open.tftp.push(tftp::server::Server::open(interface.clone(), TFTP_PORT, files, clock)?);
        self.ipv6(asked, mode, interface)?;
        match router::Server::open(interface.clone(), asked.prefix_v6) {
            Ok(server) => self.open.routers.push(server),
            Err(error @ Error::NotPermitted { .. }) => return Err(error),
            Err(error) => {
                tracing::info!(interface = asked.name, %error, "no IPv6 here: routers are not advertised");
            }
        }
        Ok(())
    }

    /// Opens DHCPv6, if the interface has an address that machines can load boot files from.
    fn ipv6(
        &mut self,
        asked: &InterfaceConfiguration,
        mode: Mode,
        interface: &Interface,
    ) -> Result<(), Error> {
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
        let Some(server) = server else { return Ok(()) };
        let link = dhcp6::plan::Link {
            interface: asked.name.clone(),
            mac: interface.mac,
            prefix: asked.prefix_v6.filter(|_| mode != Mode::Proxy),
            known_only: mode == Mode::Reservations,
            offer: self.offer((*server).into()),
        };
        let server = dhcp6::server::Server::open(interface, link, self.doors.directory.clone())?;
        self.open.dhcp6.push(server);
        Ok(())
    }

    /// Returns the boot files that `server` offers.
    fn offer(&self, server: IpAddr) -> Offer {
        Offer {
            server,
            http_port: self.configuration.http_port,
            unified: self.configuration.boot.unified.keys().copied().collect(),
            tftp: self.site.tftp.clone(),
        }
    }

    fn link(&self, asked: &InterfaceConfiguration, mode: Mode, interface: &Interface) -> Result<Link, Error> {
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
        let offer = self.offer(own.address.into());
        Ok(Link { interface: asked.name.clone(), mode, server: own.address, subnets, offer })
    }

    fn run(self) -> Handle {
        let Self { configuration, doors, site, mut handle, open } = self;
        let addresses = |listeners: &[tokio::net::TcpListener]| {
            listeners.iter().filter_map(|listener| listener.local_addr().ok()).collect()
        };
        handle.http = addresses(&open.http);
        handle.https = addresses(&open.https);
        let (tasks, shutdown) = (&handle.tasks, &handle.shutdown);
        handle.addresses.run(tasks, shutdown);
        for server in open.dhcp {
            server.run(tasks, shutdown);
        }
        for server in open.tftp {
            server.run(tasks, shutdown);
        }
        for server in open.dhcp6 {
            server.run(tasks, shutdown);
        }
        for server in open.routers {
            server.run(tasks, shutdown);
        }
        let plain = Listener::new(site.clone(), None, doors.clock.clone());
        for tcp in open.http {
            plain.clone().run(tcp, tasks, shutdown);
        }
        let secure = Listener::new(site, configuration.tls.clone(), doors.clock.clone());
        for tcp in open.https {
            secure.clone().run(tcp, tasks, shutdown);
        }
        handle
    }
}
