//! The networks of all Pods of this machine.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use anyhow::{Context, Result};
use machinery::clock::Clock;
use metrics::Limits;
use parking_lot::Mutex;
use pod_processes::Namespaces;
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

use crate::addresses::{Addresses, GATEWAY};
use crate::connector::Connector;
use crate::dns;
use crate::gateway::{Device, Gateway};
use crate::helper::{Helper, Program, Request};
use crate::router::{Router, Services};

/// The inputs of [`Networks`].
pub struct Options {
    /// Where the API server listens on this machine.
    pub api: SocketAddr,
    /// This machine's list of name servers.
    pub resolv_conf: PathBuf,
    /// How this program becomes a helper.
    pub program: Program,
    /// The clock.
    pub clock: Clock,
}

/// The networks of the Pods of this machine.
#[derive(Clone)]
pub struct Networks(Arc<All>);

struct All {
    program: Program,
    router: Arc<Router>,
    addresses: Mutex<Addresses>,
    helper: tokio::sync::Mutex<Option<Helper>>,
    /// Whether this machine allows networks of Pods, once the first was made or not.
    is_allowed: OnceLock<bool>,
}

/// The network of one Pod. It is gone when this is dropped and the Pod's processes have ended.
pub struct Network {
    address: Ipv4Addr,
    network: Arc<OwnedFd>,
    user: Option<OwnedFd>,
    all: Arc<All>,
    gateway: JoinHandle<()>,
}

impl Networks {
    /// Prepares the networks of a machine. Nothing is done before there is a Pod.
    pub fn new(options: Options) -> Self {
        let router = Router {
            api: options.api,
            resolv_conf: options.resolv_conf,
            connectors: Mutex::default(),
            services: OnceLock::new(),
            clock: options.clock,
        };
        Self(Arc::new(All {
            program: options.program,
            router: Arc::new(router),
            addresses: Mutex::default(),
            helper: tokio::sync::Mutex::default(),
            is_allowed: OnceLock::new(),
        }))
    }

    /// Says where Services are found. The first call counts.
    pub fn serve(&self, services: Arc<dyn Services>) {
        self.0.router.services.set(services).ok();
    }

    /// Makes a network for a Pod, with the wanted address if it is free; `None` if this machine does not allow it, which is logged once.
    ///
    /// # Errors
    /// It failed this time.
    pub async fn make(&self, wanted: Option<Ipv4Addr>, reached: &Limits) -> Result<Option<Network>> {
        if self.0.is_allowed.get() == Some(&false) {
            return Ok(None);
        }
        let address = self.0.addresses.lock().take(wanted).context("there is no free address for a Pod")?;
        let made = self.make_at(address, reached).await;
        let is_allowed = *self.0.is_allowed.get_or_init(|| made.is_ok());
        match made {
            Ok(network) => Ok(Some(network)),
            Err(error) => {
                self.0.addresses.lock().give_back(address);
                if is_allowed {
                    return Err(error);
                }
                tracing::warn!(
                    "Pods use the network of this machine, because they can have none of their own: {error:#}"
                );
                Ok(None)
            }
        }
    }

    async fn make_at(&self, address: Ipv4Addr, reached: &Limits) -> Result<Network> {
        let helper = self.helper().await?;
        let mut files = helper.ask(Request::Network(address), None).await?.into_iter();
        let mut file = || files.next().context("the helper gave too few files");
        let (network, device, listener) = (Arc::new(file()?), file()?, file()?);
        let device = Device::new(device).context("the device of a Pod's network cannot be used")?;
        let listener = TcpListener::from(listener);
        listener.set_nonblocking(true)?;
        let listener = tokio::net::TcpListener::from_std(listener)?;
        let router = self.0.router.clone();
        let gateway = Gateway::new(address, device, listener, router, reached.clone());
        let connector = Connector { address, network: network.clone(), helper };
        self.0.router.connectors.lock().insert(address, connector);
        let gateway = tokio::spawn(gateway.run());
        Ok(Network { address, network, user: files.next(), all: self.0.clone(), gateway })
    }

    /// Returns the helper, and starts one if there is none.
    async fn helper(&self) -> Result<Helper> {
        let mut helper = self.0.helper.lock().await;
        match helper.as_ref().filter(|helper| !helper.has_ended()) {
            Some(helper) => Ok(helper.clone()),
            None => Ok(helper.insert(Helper::start(self.0.program.clone()).await?).clone()),
        }
    }

    /// Connects to a Pod by its address, or to a Service by its address or its name in the cluster. `None` for any other host.
    pub async fn dial(&self, host: &str, port: u16) -> Option<std::io::Result<TcpStream>> {
        self.0.router.dial(host, port).await
    }

    /// Returns the `/etc/resolv.conf` of a Pod with a network of its own.
    pub fn resolv_conf(&self, namespace: &str) -> String {
        dns::resolv_conf(namespace, GATEWAY, &self.0.router.resolv_conf)
    }
}

impl Network {
    /// Returns the address of the Pod.
    pub fn address(&self) -> Ipv4Addr {
        self.address
    }

    /// Returns the namespaces that the processes of the Pod enter.
    pub fn namespaces(&self) -> Namespaces {
        let path = |file: &OwnedFd| {
            Path::new("/proc").join(std::process::id().to_string()).join(format!("fd/{}", file.as_raw_fd()))
        };
        Namespaces { user: self.user.as_ref().map(path), network: path(&self.network) }
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        self.gateway.abort();
        self.all.router.connectors.lock().remove(&self.address);
        self.all.addresses.lock().give_back(self.address);
    }
}
