//! The interface to the network.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};

use futures::future::BoxFuture;
use net::{BoxStream, Dial};
use tokio::net::{TcpStream, UdpSocket};

use crate::limits::DATAGRAM_MAX;
pub use crate::reach::check;
use crate::reach::resolve;

/// Datagrams to and from one peer.
pub trait Datagrams: Send + Sync {
    /// Sends a datagram.
    fn send<'a>(&'a self, datagram: &'a [u8]) -> BoxFuture<'a, io::Result<()>>;

    /// Waits for a datagram.
    fn receive(&self) -> BoxFuture<'_, io::Result<Vec<u8>>>;
}

/// The operations on the network. Tests have their own implementation.
pub trait Network: Dial {
    /// Opens a UDP socket that is connected to `host` at `port`.
    fn datagrams<'a>(&'a self, host: &'a str, port: u16) -> BoxFuture<'a, io::Result<Box<dyn Datagrams>>>;

    /// Sends a UDP broadcast through the network interface `interface`.
    fn broadcast<'a>(
        &'a self,
        interface: &'a str,
        port: u16,
        datagram: &'a [u8],
    ) -> BoxFuture<'a, io::Result<()>>;
}

/// The network of this machine. Nothing is sent to its loopback and link-local addresses, nor to its own addresses.
#[derive(Debug, Clone, Default)]
pub struct Sockets {
    /// The addresses of this machine at which controllers may be all the same.
    here: Vec<SocketAddr>,
}

impl Sockets {
    /// Returns a network in which controllers may be at the addresses `here` of this machine, too.
    pub fn new(here: Vec<SocketAddr>) -> Self {
        Self { here }
    }
}

impl Dial for Sockets {
    fn dial<'a>(&'a self, host: &'a str, port: u16) -> BoxFuture<'a, io::Result<BoxStream>> {
        Box::pin(async move {
            let addresses = resolve(host, port, &self.here).await?;
            let stream = TcpStream::connect(addresses.as_slice()).await?;
            stream.set_nodelay(true)?;
            Ok(Box::new(stream) as BoxStream)
        })
    }
}

impl Network for Sockets {
    fn datagrams<'a>(&'a self, host: &'a str, port: u16) -> BoxFuture<'a, io::Result<Box<dyn Datagrams>>> {
        Box::pin(async move {
            let addresses = resolve(host, port, &self.here).await?;
            let any: SocketAddr = match addresses.first() {
                Some(SocketAddr::V6(_)) => ([0u16; 8], 0).into(),
                _ => ([0; 4], 0).into(),
            };
            let socket = UdpSocket::bind(any).await?;
            socket.connect(addresses.as_slice()).await?;
            Ok(Box::new(socket) as Box<dyn Datagrams>)
        })
    }

    fn broadcast<'a>(
        &'a self,
        interface: &'a str,
        port: u16,
        datagram: &'a [u8],
    ) -> BoxFuture<'a, io::Result<()>> {
        Box::pin(async move {
            let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).await?;
            socket.set_broadcast(true)?;
            socket.bind_device(Some(interface.as_bytes()))?;
            socket.send_to(datagram, (Ipv4Addr::BROADCAST, port)).await.map(drop)
        })
    }
}

impl Datagrams for UdpSocket {
    fn send<'a>(&'a self, datagram: &'a [u8]) -> BoxFuture<'a, io::Result<()>> {
        Box::pin(async move { Self::send(self, datagram).await.map(drop) })
    }

    fn receive(&self) -> BoxFuture<'_, io::Result<Vec<u8>>> {
        Box::pin(async move {
            let mut buffer = vec![0; DATAGRAM_MAX];
            let length = self.recv(&mut buffer).await?;
            buffer.truncate(length);
            Ok(buffer)
        })
    }
}
