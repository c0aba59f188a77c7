//! Starts all services.

use std::net::{Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

use machinery::clock::Clock;
use machinery::random::Random;
use rustls::ServerConfig;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::boot_files::BootFiles;
use crate::dhcp4::boot::Offer;
use crate::dhcp4::plan::{Link, Mode};
use crate::dhcp4::server::Addresses;
use crate::dhcp4::subnet::Subnet;
use crate::error::Error;
use crate::http::listener::Listener;
use crate::http::site::Site;
use crate::machine::Directory;
use crate::network::{self, Interface};
use crate::{dhcp4, router};

/// The port of HTTP, unless another one is given.
pub const HTTP_PORT: u16 = 8080;
/// The port of HTTPS, unless another one is given.
pub const HTTPS_PORT: u16 = 8443;

/// What is served on an interface.
#[derive(Clone, Debug)]
pub struct InterfaceConfiguration {
    /// Its name.
    pub name: String,
    /// Whom addresses are given.
    pub mode: Mode,
    /// The networks that addresses are given in: that of the interface, and those behind relays. None: that of the interface, whose
    /// upper half is given away.
    pub subnets: Vec<Subnet>,
    /// A network of 64 bits in which addresses of IPv6 are given.
    pub prefix_v6: Option<Ipv6Addr>,
    /// Start as a full server although another one answers.
    pub beside_other_server: bool,
}

impl InterfaceConfiguration {
    /// Full service on the interface `name`, addresses from the upper half of its network.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            mode: Mode::Full,
            subnets: vec![],
            prefix_v6: None,
            beside_other_server: false,
        }
    }
}

/// What is served.
#[derive(Clone)]
pub struct Configuration {
    /// Where.
    pub interfaces: Vec<InterfaceConfiguration>,
    /// What machines boot.
    pub boot: BootFiles,
    /// A folder whose files are served below `/images/`.
    pub images: Option<PathBuf>,
    /// The port of HTTP.
    pub http_port: u16,
    /// The port of HTTPS.
    pub https_port: u16,
    /// How HTTPS is served; without it agents cannot speak to the server.
    pub tls: Option<Arc<ServerConfig>>,
}

/// The doors of the services.
#[derive(Clone)]
pub struct Doors {
    /// Time.
    pub clock: Clock,
    /// Randomness.
    pub random: Random,
    /// Who knows the machines.
    pub directory: Arc<dyn Directory>,
}

/// The services that run.
pub struct Handle {
    /// Addresses of HTTP.
    pub http: Vec<SocketAddr>,
    /// Addresses of HTTPS.
    pub https: Vec<SocketAddr>,
    /// Who has which address.
    pub addresses: Arc<Addresses>,
    tasks: TaskTracker,
    shutdown: CancellationToken,
}

impl Handle {
    /// Ends all services, and waits for them.
    pub async fn stop(&self) {
        self.shutdown.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}

/// Starts the services. All sockets are open when it returns; when one cannot be opened, none is.
///
/// # Errors
/// [`Error`]: each says what to do.
pub async fn start(configuration: Configuration, doors: Doors) -> Result<Handle, Error> {
    let blocking = {
        let boot = configuration.boot.clone();
        tokio::task::spawn_blocking(move || boot.check().and_then(|()| boot.tftp_names()))
    };
    let tftp =
        blocking.await.map_err(|error| Error::File { path: "boot files".into(), source: error.into() })??;
    let addresses = Addresses::new(doors.directory.clone(), doors.clock.clone());
    let handle = Handle {
        http: vec![],
        https: vec![],
        addresses,
        tasks: TaskTracker::new(),
        shutdown: CancellationToken::new(),
    };
    let site = Arc::new(Site {
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

/// What is open but does not answer yet.
#[derive(Default)]
struct Open {
    dhcp: Vec<dhcp4::server::Server>,
    routers: Vec<router::Server>,
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
        let link = self.link(asked, &interface)?;
        let server = dhcp4::server::Server::open(link, self.handle.addresses.clone())?;
        if asked.mode == Mode::Full
            && !asked.beside_other_server
            && let Some(server) = dhcp4::probe::other_server(&interface, &self.doors.random).await?
        {
            return Err(Error::OtherServer { interface: asked.name.clone(), server });
        }
        self.open.dhcp.push(server);
        if interface.link_local().is_some() {
            self.open.routers.push(router::Server::open(interface.clone(), asked.prefix_v6)?);
        } else {
            tracing::info!(interface = asked.name, "no IPv6 on this interface: routers are not advertised");
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

    fn link(&self, asked: &InterfaceConfiguration, interface: &Interface) -> Result<Link, Error> {
        let mut subnets = asked.subnets.clone();
        // The server knows each network of its own by its address there.
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
        let offer = Offer {
            server: own.address,
            http_port: self.configuration.http_port,
            unified: self.configuration.boot.unified.keys().copied().collect(),
            tftp: self.site.tftp.clone(),
        };
        Ok(Link { interface: asked.name.clone(), mode: asked.mode, server: own.address, subnets, offer })
    }

    fn run(self) -> Handle {
        let Self { configuration, doors, site, mut handle, open } = self;
        let addresses = |listeners: &[tokio::net::TcpListener]| {
            listeners.iter().filter_map(|listener| listener.local_addr().ok()).collect()
        };
        handle.http = addresses(&open.http);
        handle.https = addresses(&open.https);
        let (tasks, shutdown) = (&handle.tasks, &handle.shutdown);
        for server in open.dhcp {
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
