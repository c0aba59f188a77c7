//! Connections to the ports of one Pod, made inside of its network.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::OwnedFd;
use std::sync::Arc;

use tokio::net::{TcpSocket, TcpStream};

use crate::helper::{Helper, Request};

/// Connects to the ports of one Pod.
#[derive(Clone)]
pub(crate) struct Connector {
    pub(crate) address: Ipv4Addr,
    pub(crate) network: Arc<OwnedFd>,
    pub(crate) helper: Helper,
}

impl Connector {
    /// Connects to a port of the Pod.
    ///
    /// # Errors
    /// The errors of TCP: nothing listens there.
    pub(crate) async fn connect(&self, port: u16) -> io::Result<TcpStream> {
        let socket = self.helper.ask(Request::Socket, Some(self.network.clone())).await;
        let mut socket = socket.map_err(|error| io::Error::other(format!("{error:#}")))?;
        let socket = socket.pop().ok_or_else(|| io::Error::other("the helper gave no socket"))?;
        // A socket stays in the network in which it was made, whoever uses it.
        let socket = TcpSocket::from_std_stream(socket.into());
        let stream = socket.connect(SocketAddr::new(IpAddr::V4(self.address), port)).await?;
        stream.set_nodelay(true)?;
        Ok(stream)
    }
}
