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
use store::{Embedded, HistoryLimits, Memory, Store};
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
use crate::open_files;
use crate::options::server::{ServerOptions, StoreChoice};
use crate::plane::Plane;
use crate::pods;
use crate::providers;
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
        let tcp = bind(options.listen).await?;
        let address = tcp.local_addr().context("the listening socket has no address")?;
        options.netboot.refuse_own_ports(Some(address.port()))?;
        let (doors, networks) = pods::doors(address);
        // Making the keys and syncing them to disk takes as long as opening the store, and is independent of it.
        let certificates = tokio::task::spawn_blocking({
            let (directory, doors) = (directory.clone(), doors.clone());
            move || Certificates::load_or_create(&directory, address, &doors.clock, &doors.random)
        });
        let keys = tokio::task::spawn_blocking({
            let (directory, doors) = (directory.clone(), doors.clone());
            move || token_keys::load_or_create(&directory, &doors.random)
        });
        let store = open_store(lock.clone(), &directory, options, &doors.clock).await?;
        let keys = keys.await.context("the keys of tokens could not be made")??;
        let cluster_api = ClusterApiAdmission { features, controllers: options.controllers.clone() };
        let certificates = certificates.await.context("the certificates could not be made")??;
        let authority = certificates.authority();
        let kubelet = pods::kubelet(&directory, options, address, networks, authority, &doors.clock).await?;
        let node = Arc::new(pods::Machine::new(kubelet.clone(), &doors));
        let plane = Plane::start_with(store, &doors, None, keys, cluster_api, Some(node)).await?;
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
        let merge_into = options.merge_kubeconfig.then(merge_kubeconfig::users_own).transpose()?;
        let written = kubeconfig.clone();
        let write_kubeconfig = move |certificates: &Certificates, make_current: bool| {
            certificates.write_kubeconfig(&written, address)?;
            let merge = |into: &PathBuf| merge_kubeconfig::merge(&written, into, make_current);
            merge_into.as_ref().map(merge).transpose().map(drop)
        };
        write_kubeconfig(&certificates, true)?;
        let kubeconfig = kubeconfig.canonicalize().context("the kubeconfig cannot be found")?;
        let tls = Tls::new(certificates.server_config()?).with_authorities(certificates.authorities()?);
        let (stop, stopped) = oneshot::channel();
        let listener = Listener::new(plane.server.clone(), Some(tls.clone()));
        let serving = tokio::spawn(async move {
            listener.serve(tcp, async { drop(stopped.await) }).await;
        });
        let renewing = tokio::spawn(keep_renewed(certificates, doors.clock.clone(), move |certificates| {
            tls.replace(certificates.server_config()?);
            // The user may have chosen another context since the start.
            write_kubeconfig(certificates, false)
        }));
        plane
            .registry
            .advertise(SocketAddr::new(options.advertise_address.unwrap_or(address.ip()), address.port()));
        let context = of_server(&manager, options, &kubelet);
        let bmcs_here = options.netboot.bmcs_here.clone();
        let context = controllers::Context { interfaces, bmcs_here, boot_images: Some(images), ..context };
        controllers::start(&context, &options.controllers);
        plane.show_progress_of(&manager);
        let server = format!("https://{}", reachable(address));
        let bare_metal = BareMetal::of(&options.netboot);
        let running = Running {
            pid: std::process::id(),
            server,
            kubeconfig: kubeconfig.clone(),
            controllers: Some(options.controllers.to_string()),
            bare_metal,
        };
        if let Err(error) = directory.write_running(&running) {
            tracing::warn!("`firstlight status` will not find this server: {error:#}");
        }
        Ok(Self {
            plane,
            manager,
            address,
            kubeconfig,
            directory,
            lock,
            netboot,
            kubelet,
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
    }
}

/// Returns the context of controllers in the process of the API server: those that install providers and run Pods work, too.
fn of_server(manager: &Manager, options: &ServerOptions, kubelet: &Kubelet) -> controllers::Context {
    controllers::Context {
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
    let quota = options.quota_backend_bytes;
    match options.store {
        StoreChoice::Embedded => {
            directory.refuse_lost_store()?;
            let opened = tokio::task::spawn_blocking(move || Embedded::open(&lock)).await;
            let embedded = opened.context("the store could not be opened")??;
            let limits = HistoryLimits { quota, ..HistoryLimits::default() };
            let store = Store::open_with(embedded, clock.clone(), limits).await?;
            directory.remember_store();
            Ok(store)
        }
        StoreChoice::Memory => {
            let limits = HistoryLimits { quota, ..HistoryLimits::in_memory() };
            Ok(Store::open_with(Memory::default(), clock.clone(), limits).await?)
        }
    }
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
