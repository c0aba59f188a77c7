//! Router advertisements (RFC 4861) of a router that routes nothing. Machines that boot over the network wait for an advertisement
//! before they give up IPv6; iPXE waits 13 seconds.

use std::net::{Ipv6Addr, SocketAddr, SocketAddrV6};
use std::sync::Arc;

use agent_protocol::dhcp::MacAddress;
use tokio::net::UdpSocket;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::error::Error;
use crate::metrics::Metrics;
use crate::network::{self, Interface};

const SOLICITATION: u8 = 133;
const ADVERTISEMENT: u8 = 134;
/// Option: link-layer address of the sender.
const SOURCE_ADDRESS: u8 = 1;
/// Option: a prefix.
const PREFIX: u8 = 3;
/// Flags: addresses come from DHCPv6 (managed), and so does other configuration.
const MANAGED: u8 = 0x80;
const OTHER: u8 = 0x40;
const ALL_NODES: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);
/// The lifetime of the prefix in seconds.
const VALID: u32 = 3600;

/// Returns `Some` if `message` is a router solicitation, with the link-layer address of the sender if it contains one.
pub fn read_solicitation(message: &[u8]) -> Option<Option<MacAddress>> {
    let (header, mut rest) = message.split_at_checked(8)?;
    if header[0] != SOLICITATION || header[1] != 0 {
        return None;
    }
    let mut sender = None;
    while !rest.is_empty() {
        // Lengths are in units of eight bytes and must not be zero (section 4.6).
        let length = usize::from(*rest.get(1)?) * 8;
        let (option, after) = rest.split_at_checked(length).filter(|_| length > 0)?;
        if let [SOURCE_ADDRESS, 1, address @ ..] = option
            && let Ok(address) = address.try_into()
        {
            sender = Some(MacAddress(address));
        }
        rest = after;
    }
    Some(sender)
}

/// The content of an advertisement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advertisement {
    /// The 64-bit prefix of the link, in which DHCPv6 gives addresses; `None` if there is nothing to configure.
    pub prefix: Option<Ipv6Addr>,
}

impl Advertisement {
    /// Returns the message: an advertisement with router lifetime 0, so machines do not use it as a router. The kernel computes the
    /// checksum. The source link-layer address is omitted, because that of a bridge changes with its members.
    pub fn write(&self) -> Vec<u8> {
        let flags = if self.prefix.is_some() { MANAGED | OTHER } else { 0 };
        // Type, code, checksum, hop limit, flags, router lifetime, reachable time, retransmission time.
        let mut bytes = vec![ADVERTISEMENT, 0, 0, 0, 64, flags, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        if let Some(prefix) = self.prefix {
            // The flags mark the prefix as on-link only: addresses come from DHCPv6, so that each machine has one.
            bytes.extend([PREFIX, 4, 64, 0x80]);
            bytes.extend(VALID.to_be_bytes());
            bytes.extend(VALID.to_be_bytes());
            bytes.extend([0; 4]);
            bytes.extend(prefix.octets());
        }
        bytes
    }
}

/// Answers router solicitations on an interface.
pub struct Server {
    interface: Interface,
    socket: Arc<UdpSocket>,
    advertisement: Vec<u8>,
    metrics: Metrics,
}

impl Server {
    /// Opens the socket.
    ///
    /// # Errors
    /// [`Error::NotPermitted`], [`Error::Socket`].
    pub fn open(interface: Interface, prefix: Option<Ipv6Addr>, metrics: Metrics) -> Result<Self, Error> {
        let socket = Arc::new(network::router_messages(&interface)?);
        let advertisement = Advertisement { prefix }.write();
        Ok(Self { interface, socket, advertisement, metrics })
    }

    /// Answers until `shutdown`.
    pub fn run(self, tasks: &TaskTracker, shutdown: &CancellationToken) {
        tasks.spawn(shutdown.clone().run_until_cancelled_owned(async move { self.serve().await }));
    }

    async fn serve(&self) {
        let mut buffer = [0; 1500];
        let to = SocketAddr::V6(SocketAddrV6::new(ALL_NODES, 0, 0, self.interface.index));
        loop {
            let (length, source) = network::receive("router advertisements", &self.socket, &mut buffer).await;
            if read_solicitation(&buffer[..length]).is_none() {
                continue;
            }
            // Sent to all nodes: a machine that has just started has no address that could be answered.
            let sent = self.socket.send_to(&self.advertisement, to).await;
            if sent.is_ok() {
                self.metrics.advertisement();
            }
            tracing::debug!(%source, interface = self.interface.name, ?sent, "router advertisement");
        }
    }
}
