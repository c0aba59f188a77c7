//! A serving process on a data directory: lock, store, certificates, sockets, controllers, and an orderly stop.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail};
use engine::Manager;
use kubelet::Kubelet;
use machinery::clock::Clock;
use serving::Listener;
use serving::Tls;
use store::{EngineKind, HistoryLimits, Store};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::admission::ClusterApiAdmission;
use crate::certificates::{Certificates, keep_renewed, reachable};
use crate::controllers;
use crate::data_directory::{DataDirectory, Running};
use crate::declared_providers;
use crate::merge_kubeconfig;
use crate::netboot::{self, BareMetal};
use crate::nodes;
use crate::open_files;
use crate::options::ServerOptions;
use crate::plane::Plane;
use crate::pods;
use crate::providers;
use crate::servers;
use crate::token_keys;

/// A running server.
pub struct Process {
    /// The plane that it serves.
    pub plane: Plane,
    /// The manager of its controllers.
    pub manager: Manager,
    /// The address on which it listens.
    pub address: SocketAddr,
    /// The path of the administrator's kubeconfig.
    pub kubeconfig: PathBuf,
    directory: DataDirectory,
    lock: store::DataDirectory,
    netboot: Option<netboot::Services>,
    kubelet: Kubelet,
    unmerges: bool,
    stop: oneshot::Sender<()>,
    serving: JoinHandle<()>,
    renewing: JoinHandle<()>,
}

impl Process {
    /// Starts everything that `options` select. When this returns, the API answers and the kubeconfig is written. With network boot,
    /// the API answers only after the network boot services have started.
    ///
    /// # Errors
    /// The directory is locked by another process or damaged, a port is in use, or a write fails.
    pub async fn start(options: &ServerOptions) -> Result<Self> {
        open_files::raise_limit();
        let features = options.features().map_err(|error| anyhow!(error))?;
        let directory = DataDirectory::locate(options.directory.data_dir.as_deref())?;
        // The lock is needed for a store in memory, too, because the certificates and the kubeconfig belong to one process.
        let lock = store::DataDirectory::open(directory.path())?;
        directory.create()?;
        let (name, range) = (options.context(&directory), options.service_cluster_ip_range);
        let merging = Merging::of(options, &directory, &name)?;
        let tcp = bind(options.listen).await?;
        let address = tcp.local_addr().context("the listening socket has no address")?;
        options.netboot.refuse_own_ports(Some(address.port()))?;
        let (dependencies, networks) = pods::dependencies(address);
        // Making the keys and syncing them to disk takes as long as opening the store, and is independent of it.
        let certificates = tokio::task::spawn_blocking({
            let (directory, dependencies) = (directory.clone(), dependencies.clone());
            move || {
                Certificates::load_or_create(&directory, address, &dependencies.clock, &dependencies.random)
            }
        });
        let keys = tokio::task::spawn_blocking({
            let (directory, dependencies) = (directory.clone(), dependencies.clone());
            move || token_keys::load_or_create(&directory, &dependencies.random)
        });
        let store = open_store(lock.clone(), &directory, options, &dependencies.clock).await?;
        let keys = keys.await.context("the keys of tokens could not be made")??;
        let rules = ClusterApiAdmission { features, controllers: options.controllers.clone() };
        let certificates = certificates.await.context("the certificates could not be made")??;
        let (authority, duties) = (certificates.authority(), certificates.duties(&options.controllers));
        let kubelet =
            pods::kubelet(&directory, options, address, networks, authority, &dependencies.clock).await?;
        let node = Arc::new(pods::Machine::new(kubelet.clone(), &dependencies));
        let plane = Plane::start_with(store, &dependencies, duties, keys, rules, Some(node), range).await?;
        providers::record(&plane, &options.controllers).await?;
        let manager = plane.manager();
        // Started before anything else that is visible: if it fails, the API has not answered, and no controller has worked.
        let files = netboot::Files { directory: &directory, authority: None };
        let netboot::Started { services: netboot, images, interfaces } =
            match netboot::start(&options.netboot, files, &manager).await {
                Ok(started) => started,
                Err(error) => {
                    manager.stop().await;
                    return Err(error);
                }
            };
        let kubeconfig = options.kubeconfig.clone().unwrap_or_else(|| directory.kubeconfig());
        let written = kubeconfig.clone();
        let unmerges = merging.is_wanted;
        let write_kubeconfig = move |certificates: &Certificates, is_start: bool| {
            certificates.write_kubeconfig(&written, address, &name)?;
            merging.merge(&written, is_start)
        };
        write_kubeconfig(&certificates, true)?;
        let kubeconfig = kubeconfig.canonicalize().context("the kubeconfig cannot be found")?;
        plane.registry.publish_client_authority(certificates.authority());
        let tls = Tls::new(certificates.server_config()?).with_authorities(certificates.authorities()?);
        let (stop, stopped) = oneshot::channel();
        let listener = Listener::new(plane.server.clone(), Some(tls.clone()));
        let serving = tokio::spawn(async move {
            listener.serve(tcp, async { drop(stopped.await) }).await;
        });
        let renewing =
            tokio::spawn(keep_renewed(certificates, dependencies.clock.clone(), move |certificates| {
                tls.replace(certificates.server_config()?);
                // The user may have chosen another context since the start.
                write_kubeconfig(certificates, false)
            }));
        let ip = options.advertise_address.unwrap_or(address.ip());
        plane.server.advertise(SocketAddr::new(ip, address.port()));
        let context = of_server(&manager, options, &directory, &kubelet);
        let bmcs_here = options.netboot.bmcs_here.clone();
        let context = controllers::Context { interfaces, bmcs_here, boot_images: Some(images), ..context };
        controllers::start(&context, &options.controllers);
        plane.show_progress_of(&manager);
        write_running(&directory, options, address, &kubeconfig);
        Ok(Self {
            plane,
            manager,
            address,
            kubeconfig,
            directory,
            lock,
            netboot,
            kubelet,
            unmerges,
            stop,
            serving,
            renewing,
        })
    }

    /// Waits until the store fails, and returns the error. The process should end then, because after a restart it reads what is on the
    /// disk.
    pub async fn store_failed(&self) -> anyhow::Error {
        let failure = self.plane.registry.store().failed().await;
        anyhow::anyhow!(
            "the store has stopped writing, so this process ends; started again, it goes on from what is on the disk: {failure}"
        )
    }

    /// Adds this server to those that `firstlight list` shows.
    pub fn remember(&self) {
        if let Err(error) = servers::remember(&self.directory) {
            tracing::debug!("`firstlight list` will not show this server: {error:#}");
        }
    }

    /// Returns the path of the data directory.
    pub fn data(&self) -> &Path {
        self.directory.path()
    }

    /// Returns a future that ends when the directory can be used again: after [`Self::stop`], when the last task has ended that still answers
    /// a client, and everything else that the caller has taken from this process is dropped.
    pub fn released(&self) -> impl Future<Output = ()> + Send + use<> {
        self.lock.released()
    }

    /// Stops the controllers and finishes running requests.
    pub async fn stop(self) {
        self.renewing.abort();
        if let Some(netboot) = self.netboot {
            netboot.stop().await;
        }
        self.manager.stop().await;
        self.kubelet.stop();
        // An error means that the listener has already ended.
        let _ = self.stop.send(());
        if let Err(error) = self.serving.await {
            tracing::warn!(%error, "the listener did not end well");
        }
        self.directory.remove_running();
        if self.unmerges
            && let Err(error) = merge_kubeconfig::unmerge(&self.directory)
        {
            tracing::warn!("the entries of this server stay in your kubeconfig: {error:#}");
        }
    }
}

/// The user's kubeconfig that has the entries of a server.
struct Merging {
    directory: DataDirectory,
    into: Option<PathBuf>,
    /// Whether the server itself was told to merge.
    is_wanted: bool,
}

impl Merging {
    /// Returns the file of `--merge-kubeconfig`, or the one that `firstlight kubeconfig --merge` put the entries into.
    ///
    /// # Errors
    /// The file has entries of this name of another server, or cannot be read.
    fn of(options: &ServerOptions, directory: &DataDirectory, name: &str) -> Result<Self> {
        let is_wanted = options.merge_kubeconfig;
        let into = match is_wanted {
            true => Some(merge_kubeconfig::users_own()?),
            false => merge_kubeconfig::merged_into(directory)?,
        };
        if let Some(into) = into.as_ref().filter(|_| is_wanted) {
            merge_kubeconfig::refuse_foreign(directory, name, into)?;
        }
        Ok(Self { directory: directory.clone(), into, is_wanted })
    }

    /// Merges the kubeconfig again. The context becomes the current one at the start only, because the user may choose another one.
    fn merge(&self, kubeconfig: &Path, is_start: bool) -> Result<()> {
        let Some(into) = &self.into else { return Ok(()) };
        let merged = merge_kubeconfig::merge(&self.directory, kubeconfig, into, is_start && self.is_wanted);
        match merged {
            Err(error) if !self.is_wanted => {
                tracing::warn!("your kubeconfig has old entries of this server: {error:#}");
                Ok(())
            }
            outcome => outcome.map(drop),
        }
    }
}

/// Writes the file by which other commands find the server.
fn write_running(directory: &DataDirectory, options: &ServerOptions, address: SocketAddr, kubeconfig: &Path) {
    let running = Running {
        pid: std::process::id(),
        name: Some(options.server_name(directory)),
        server: format!("https://{}", reachable(address)),
        kubeconfig: kubeconfig.to_owned(),
        controllers: Some(options.controllers.to_string()),
        bare_metal: BareMetal::of(&options.netboot),
    };
    if let Err(error) = directory.write_running(&running) {
        tracing::warn!("`firstlight status` will not find this server: {error:#}");
    }
}

/// Returns the context of controllers in the process of the API server: those that install providers and run Pods work, too.
fn of_server(
    manager: &Manager,
    options: &ServerOptions,
    directory: &DataDirectory,
    kubelet: &Kubelet,
) -> controllers::Context {
    let images = &options.container_images;
    let settings = nodes::Settings::new(directory, &options.nodes, images, options.registry_hosts.as_ref());
    let nodes = || nodes::nodes(settings, manager.clock(), manager.random());
    controllers::Context {
        nodes: options.nodes.run_here(&options.controllers).then(nodes),
        operator: Some(declared_providers::context(options)),
        kubelet: Some(kubelet.clone()),
        ..controllers::Context::new(manager)
    }
}

async fn open_store(
    lock: store::DataDirectory,
    directory: &DataDirectory,
    options: &ServerOptions,
    clock: &Clock,
) -> Result<Store> {
    let kind = options.store.engine();
    let content = kind.content(directory.path());
    if let Some(content) = content.as_deref().filter(|_| EngineKind::of(directory.path()).is_none()) {
        directory.refuse_lost_store(content)?;
    }
    let opened = tokio::task::spawn_blocking(move || kind.open(&lock)).await;
    let engine = opened.context("the store could not be opened")??;
    let limits = HistoryLimits { quota: options.quota_backend_bytes, ..kind.limits() };
    let store = Store::open_engine(engine, clock.clone(), limits).await?;
    if content.is_some() {
        directory.remember_store();
    }
    Ok(store)
}

async fn bind(address: SocketAddr) -> Result<TcpListener> {
    match TcpListener::bind(address).await {
        Ok(listener) => Ok(listener),
        Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => bail!(
            "{address} is in use; stop what listens there, or choose another address with --listen (port 0 takes any free one)"
        ),
        Err(error) => Err(error).with_context(|| format!("cannot listen on {address}")),
    }
}
