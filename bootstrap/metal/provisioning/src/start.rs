//! Starts all services of the crate.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use bundle::Catalogue;
use engine::Manager;
use machinery::clock::Clock;
use machinery::random::Random;
use metal_boot::Error;
use metal_boot::boot_files::BootFiles;
use metal_boot::dhcp4::server::Addresses;
use metal_boot::machine::Directory;
use metal_boot::network::{self, Interface};
use metal_boot::personal::PersonalFiles;
use metal_boot::services::{InterfaceConfiguration, Services, Shared};
use rustls::ServerConfig;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::agents::Agents;
use crate::bootstrap::{BootstrapReports, NodeRegistry};
use crate::directory::Kube;
use crate::http::bundles::BundleFiles;
use crate::http::registry::Registry;
use crate::http::server::server;
use crate::http::site::Site;
use crate::media::Media;
use crate::metadata::Metadata;
use crate::metrics::Metrics;
use crate::personal::Personal;

/// The default port of HTTP.
pub const HTTP_PORT: u16 = 8080;
/// The default port of HTTPS.
pub const HTTPS_PORT: u16 = 8443;

/// The configuration of all services.
#[derive(Clone)]
pub struct Configuration {
    /// The interfaces to serve.
    pub interfaces: Vec<InterfaceConfiguration>,
    /// The boot files.
    pub boot: BootFiles,
    /// A folder whose files are served below `/images/`.
    pub images: Option<PathBuf>,
    /// The bundles whose container images and disk images are served.
    pub bundles: Arc<Catalogue>,
    /// The files of bundles, for the server that takes over.
    pub bundle_files: Option<BundleFiles>,
    /// The registry of the bundles' container images, of which nodes are told.
    pub registry: Option<NodeRegistry>,
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
pub struct Dependencies {
    /// The clock.
    pub clock: Clock,
    /// The source of randomness.
    pub random: Random,
    /// The registry of metrics that the services count in.
    pub metrics: metrics::Metrics,
    /// The directory of machines.
    pub directory: Arc<dyn Directory>,
    /// The API whose objects the services watch; without it there are no metadata and no agents.
    pub kube: Option<(Manager, Kube)>,
}

impl Dependencies {
    /// The dependencies of services that watch the objects of an API. With `discovers`, machines without a BareMetalHost start the agent.
    pub async fn kube(manager: &Manager, discovers: bool) -> Self {
        let kube = Kube::start(manager, discovers).await;
        Self {
            clock: manager.clock().clone(),
            random: manager.random().clone(),
            metrics: manager.all_metrics().clone(),
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
pub async fn start(configuration: Configuration, dependencies: Dependencies) -> Result<Handle, Error> {
    let blocking = {
        let boot = configuration.boot.clone();
        tokio::task::spawn_blocking(move || boot.check().and_then(|()| boot.tftp_names()))
    };
    let tftp =
        blocking.await.map_err(|error| Error::File { path: "boot files".into(), source: error.into() })??;
    let boot_metrics = metal_boot::metrics::Metrics::of(&dependencies.metrics);
    let (directory, clock) = (dependencies.directory.clone(), dependencies.clock.clone());
    let addresses = Addresses::open(directory, clock, &configuration.leases, boot_metrics.clone())?;
    let handle = Handle {
        http: vec![],
        https: vec![],
        addresses: addresses.clone(),
        tasks: TaskTracker::new(),
        shutdown: CancellationToken::new(),
    };
    let (mut metadata, mut agents, mut media, mut bootstrap) = (None, None, None, None);
    if let Some((manager, kube)) = &dependencies.kube {
        let told = Metadata::start(manager, kube.clone(), addresses.clone()).await;
        let registry = configuration.registry.clone();
        agents = Some(Agents::start(manager, kube.clone(), addresses.clone(), told.clone(), registry).await);
        bootstrap = Some(BootstrapReports::new(manager, kube.clone(), addresses.clone()));
        media = Some(Media::start(manager, kube.clone()).await);
        metadata = Some(told);
    }
    let personal = agents.clone().map(|agents| Personal {
        boot: configuration.boot.clone(),
        tftp: tftp.clone(),
        directory: dependencies.directory.clone(),
        agents,
    });
    let shared = Shared {
        boot: configuration.boot.clone(),
        tftp: tftp.clone(),
        http_port: configuration.http_port,
        addresses,
        directory: dependencies.directory.clone(),
        personal: personal.clone().map(|personal| Arc::new(personal) as Arc<dyn PersonalFiles>),
        metrics: boot_metrics,
        clock: dependencies.clock.clone(),
        random: dependencies.random.clone(),
    };
    let site = Site {
        personal,
        metadata,
        bootstrap,
        media,
        agents,
        boot: configuration.boot.clone(),
        tftp,
        images: configuration.images.clone(),
        bundle_files: configuration.bundle_files.clone(),
        registry: Registry::new(configuration.bundles.clone()),
        directory: dependencies.directory.clone(),
        http_port: configuration.http_port,
        https_port: configuration.tls.is_some().then_some(configuration.https_port),
    };
    let mut open = Open::default();
    for interface in &configuration.interfaces {
        open.interface(interface, &configuration, &shared).await?;
    }
    Ok(open.run(handle, Arc::new(site), &configuration, &dependencies))
}

/// Sockets that are open but not served yet.
#[derive(Default)]
struct Open {
    boot: Services,
    http: Vec<TcpListener>,
    https: Vec<TcpListener>,
}

impl Open {
    async fn interface(
        &mut self,
        asked: &InterfaceConfiguration,
        configuration: &Configuration,
        shared: &Shared,
    ) -> Result<(), Error> {
        let interface = Interface::find(&asked.name)?.only(asked.address)?;
        if let Some(mode) = asked.mode {
            self.boot.open(asked, mode, &interface, shared).await?;
        }
        let v6 = interface.addresses_v6.iter().filter(|address| !address.is_unicast_link_local());
        let own = interface.networks.iter().map(|network| network.address.into());
        for address in own.chain(v6.map(|address| (*address).into())) {
            let socket = |port| SocketAddr::new(address, port);
            self.http.push(network::connections("HTTP", socket(configuration.http_port))?);
            if configuration.tls.is_some() {
                self.https.push(network::connections("HTTPS", socket(configuration.https_port))?);
            }
        }
        Ok(())
    }

    fn run(
        self,
        mut handle: Handle,
        site: Arc<Site>,
        configuration: &Configuration,
        dependencies: &Dependencies,
    ) -> Handle {
        let addresses = |listeners: &[TcpListener]| {
            listeners.iter().filter_map(|listener| listener.local_addr().ok()).collect()
        };
        handle.http = addresses(&self.http);
        handle.https = addresses(&self.https);
        let (tasks, shutdown) = (&handle.tasks, &handle.shutdown);
        handle.addresses.run(tasks, shutdown);
        self.boot.run(tasks, shutdown);
        let (random, metrics) = (&dependencies.random, Metrics::of(&dependencies.metrics));
        let plain = server(site.clone(), None, &metrics, random);
        let secure = server(site, configuration.tls.clone(), &metrics, random);
        let listeners = self.http.into_iter().map(|tcp| (tcp, &plain));
        for (tcp, server) in listeners.chain(self.https.into_iter().map(|tcp| (tcp, &secure))) {
            // Open connections are closed, too, because clients can ask for boot files and images again.
            tasks.spawn(server.clone().serve_until(tcp, shutdown.clone().cancelled_owned()));
        }
        handle
    }
}
