//! Decides where a connection of a Pod leads.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use machinery::clock::Clock;
use parking_lot::Mutex;
use tokio::net::TcpStream;

use crate::addresses::{API, GATEWAY, Place, place};
use crate::connector::Connector;
use crate::dns::{self, PORT, name_servers};
use crate::limits;

/// The Services of the Pods' world.
pub trait Services: Send + Sync + 'static {
    /// Returns the addresses of a Service: its own, or without one those of its Pods. `None` if there is no such Service.
    fn addresses(&self, namespace: &str, name: &str) -> Option<Vec<Ipv4Addr>>;

    /// Returns where the port of the Service with this address leads; `None` if nothing is ready there.
    fn endpoint(&self, service: SocketAddrV4) -> Option<SocketAddr>;

    /// Returns where it leads for the server itself, if its Pod uses the network of this machine. Pods do not reach that: it may be loopback.
    fn endpoint_on_host(&self, _service: SocketAddrV4) -> Option<SocketAddr> {
        None
    }
}

/// What is known of the world outside of a Pod. All Pods share it.
pub(crate) struct Router {
    /// Where the API server listens on this machine.
    pub(crate) api: SocketAddr,
    /// This machine's list of name servers.
    pub(crate) resolv_conf: PathBuf,
    pub(crate) connectors: Mutex<BTreeMap<Ipv4Addr, Connector>>,
    pub(crate) services: OnceLock<Arc<dyn Services>>,
    pub(crate) clock: Clock,
}

impl Router {
    /// Connects to an address that a Pod has named.
    ///
    /// # Errors
    /// The errors of TCP; [`io::ErrorKind::PermissionDenied`] if Pods may not connect to it.
    pub(crate) async fn connect(&self, to: SocketAddr) -> io::Result<TcpStream> {
        let called = self.call(to);
        let called = tokio::time::timeout(limits::CONNECT, called).await;
        let stream = called.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))?;
        stream.set_nodelay(true)?;
        Ok(stream)
    }

    async fn call(&self, to: SocketAddr) -> io::Result<TcpStream> {
        match (place(to.ip()), to) {
            (Place::Service, SocketAddr::V4(to)) => self.call_service(to).await,
            _ => self.reach(to).await,
        }
    }

    async fn call_service(&self, to: SocketAddrV4) -> io::Result<TcpStream> {
        if to == API {
            return TcpStream::connect(self.api).await;
        }
        if *to.ip() == GATEWAY {
            let servers = name_servers(&self.resolv_conf);
            let server = servers.first().filter(|_| to.port() == PORT);
            return TcpStream::connect(*server.ok_or(io::ErrorKind::ConnectionRefused)?).await;
        }
        let services = self.services.get().ok_or(io::ErrorKind::HostUnreachable)?;
        let endpoint = services.endpoint(to).ok_or(io::ErrorKind::ConnectionRefused)?;
        self.reach(endpoint).await
    }

    /// Connects to an address that is no Service.
    async fn reach(&self, to: SocketAddr) -> io::Result<TcpStream> {
        match (place(to.ip()), to.ip()) {
            (Place::Pod, IpAddr::V4(address)) => self.enter(address, to.port()).await,
            (Place::Outside, _) => TcpStream::connect(to).await,
            _ => Err(io::ErrorKind::PermissionDenied.into()),
        }
    }

    async fn enter(&self, address: Ipv4Addr, port: u16) -> io::Result<TcpStream> {
        let connector = self.connectors.lock().get(&address).cloned();
        connector.ok_or(io::ErrorKind::HostUnreachable)?.connect(port).await
    }

    /// Connects to a host that the server itself has named, if it is a Pod or a Service; `None` for any other.
    pub(crate) async fn dial(&self, host: &str, port: u16) -> Option<io::Result<TcpStream>> {
        if let Ok(address) = host.parse::<Ipv4Addr>() {
            return match place(IpAddr::V4(address)) {
                Place::Pod => Some(self.enter(address, port).await),
                Place::Service => Some(self.serve(SocketAddrV4::new(address, port)).await),
                _ => None,
            };
        }
        let address = self.lookup(host)?.into_iter().next()?;
        Some(self.serve(SocketAddrV4::new(address, port)).await)
    }

    /// Connects the server to a Service.
    async fn serve(&self, to: SocketAddrV4) -> io::Result<TcpStream> {
        let endpoint = self.services.get().and_then(|services| services.endpoint_on_host(to));
        match endpoint {
            Some(endpoint) => TcpStream::connect(endpoint).await,
            None => self.connect(SocketAddr::V4(to)).await,
        }
    }

    /// Returns the addresses of a Service, named as in a cluster; `None` for other names. A Service that does not exist has none.
    pub(crate) fn lookup(&self, name: &str) -> Option<Vec<Ipv4Addr>> {
        let (namespace, service) = match dns::service(name)? {
            dns::Named::Service { namespace, name } => (namespace, name),
            dns::Named::Nothing => return Some(Vec::new()),
        };
        if (namespace.as_str(), service.as_str()) == ("default", "kubernetes") {
            return Some(vec![*API.ip()]);
        }
        let found = self.services.get().and_then(|services| services.addresses(&namespace, &service));
        Some(found.unwrap_or_default())
    }
}
