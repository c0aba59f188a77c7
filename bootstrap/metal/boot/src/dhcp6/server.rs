//! The DHCPv6 socket.

use std::net::{Ipv6Addr, SocketAddr};
use std::sync::Arc;

use tokio::net::UdpSocket;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::packet::{Kind, Packet};
use super::plan::{Link, machine_of, plan};
use crate::error::Error;
use crate::limits;
use crate::machine::Directory;
use crate::metrics::{Metrics, Version};
use crate::network::{self, Interface};

/// The UDP port of servers.
pub(super) const PORT: u16 = 547;
/// The multicast address of all servers and relays of a link.
pub(super) const ALL_SERVERS: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 1, 2);

/// The DHCPv6 server of one interface.
pub struct Server {
    link: Link,
    socket: UdpSocket,
    directory: Arc<dyn Directory>,
    metrics: Metrics,
}

impl Server {
    /// Opens the socket.
    ///
    /// # Errors
    /// [`Error::PortInUse`], [`Error::NotPermitted`], [`Error::Socket`].
    pub fn open(
        interface: &Interface,
        link: Link,
        directory: Arc<dyn Directory>,
        metrics: Metrics,
    ) -> Result<Self, Error> {
        let socket = network::datagrams_v6("DHCPv6", interface, PORT, &[ALL_SERVERS])?;
        Ok(Self { link, socket, directory, metrics })
    }

    /// Answers messages until `shutdown`.
    pub fn run(self, tasks: &TaskTracker, shutdown: &CancellationToken) {
        tasks.spawn(shutdown.clone().run_until_cancelled_owned(async move { self.serve().await }));
    }

    async fn serve(&self) {
        let mut buffer = vec![0; limits::MESSAGE];
        loop {
            let (length, client) = network::receive("DHCPv6", &self.socket, &mut buffer).await;
            let SocketAddr::V6(source) = client else { continue };
            let Some(request) = Packet::read(&buffer[..length]) else {
                self.metrics.dhcp(Version::V6, "invalid", None);
                continue;
            };
            let Some(mac) = machine_of(&request, *source.ip()) else {
                self.metrics.dhcp(Version::V6, request.kind.name(), None);
                tracing::debug!(%client, "DHCPv6: the client does not tell its Ethernet address");
                continue;
            };
            let answer = plan(&request, mac, &self.directory.machine(mac), &self.link);
            let answered = answer.as_ref().map(|answer| answer.kind);
            self.metrics.dhcp(Version::V6, request.kind.name(), answered.map(Kind::name));
            tracing::debug!(%mac, interface = self.link.interface, asked = ?request.kind, ?answered, "DHCPv6");
            if let Some(answer) = answer
                && let Err(error) = self.socket.send_to(&answer.write(), client).await
            {
                tracing::warn!(%client, %mac, %error, "DHCPv6: the answer cannot be sent");
            }
        }
    }
}
