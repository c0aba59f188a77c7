//! Interfaces of this machine, and sockets that are bound to one of them.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::time::Duration;

use agent_protocol::dhcp::MacAddress;
use nix::ifaddrs::getifaddrs;
use nix::sys::socket::{setsockopt, sockopt};
use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::{TcpListener, UdpSocket};

use crate::dhcp4::subnet::Network;
use crate::error::Error;

/// An interface of this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// The name of the interface.
    pub name: String,
    /// The interface index.
    pub index: u32,
    /// The hardware address; zeros if the interface has none.
    pub mac: MacAddress,
    /// The IPv4 addresses with their networks, at least one.
    pub networks: Vec<Network>,
    /// The IPv6 addresses; link-local ones begin with `fe80`.
    pub addresses_v6: Vec<Ipv6Addr>,
}

impl Interface {
    /// Looks up the interface `name`.
    ///
    /// # Errors
    /// [`Error::UnknownInterface`], [`Error::NoAddress`], [`Error::Socket`].
    pub fn find(name: &str) -> Result<Self, Error> {
        let failed = |source: nix::Error| Error::socket("interfaces", name, 0, source.into());
        let mut found = Self {
            name: name.to_owned(),
            index: 0,
            mac: MacAddress::default(),
            networks: vec![],
            addresses_v6: vec![],
        };
        let mut known = Vec::new();
        for entry in getifaddrs().map_err(failed)? {
            if !known.contains(&entry.interface_name) {
                known.push(entry.interface_name.clone());
            }
            if entry.interface_name != name {
                continue;
            }
            let Some(address) = entry.address else { continue };
            if let Some(link) = address.as_link_addr() {
                found.index = u32::try_from(link.ifindex()).unwrap_or(0);
                found.mac = MacAddress(link.addr().unwrap_or_default());
            } else if let Some(v4) = address.as_sockaddr_in() {
                let mask =
                    entry.netmask.as_ref().and_then(|mask| mask.as_sockaddr_in().map(|mask| mask.ip()));
                let prefix = mask.map_or(32, |mask| mask.to_bits().leading_ones());
                found.networks.push(Network { address: v4.ip(), prefix: u8::try_from(prefix).unwrap_or(32) });
            } else if let Some(v6) = address.as_sockaddr_in6() {
                found.addresses_v6.push(v6.ip());
            }
        }
        if !known.iter().any(|known| known == name) {
            return Err(Error::UnknownInterface { name: name.to_owned(), known: known.join(", ") });
        }
        if found.networks.is_empty() {
            return Err(Error::NoAddress { name: name.to_owned() });
        }
        Ok(found)
    }

    /// Returns the name of the interface that has an IPv4 address in `network`.
    ///
    /// # Errors
    /// [`Error::UnknownInterface`] if there is none, [`Error::Socket`].
    pub fn in_network(network: Network) -> Result<String, Error> {
        let name = network.to_string();
        let failed = |source: nix::Error| Error::socket("interfaces", &name, 0, source.into());
        let mut known = Vec::new();
        for entry in getifaddrs().map_err(failed)? {
            let Some(address) = entry.address.as_ref().and_then(|any| any.as_sockaddr_in()) else { continue };
            if network.contains(address.ip()) {
                return Ok(entry.interface_name);
            }
            known.push(format!("{} ({})", entry.interface_name, address.ip()));
        }
        Err(Error::UnknownInterface { name, known: known.join(", ") })
    }

    /// Returns the interface with `address` as its only IPv4 address, if there is one.
    ///
    /// # Errors
    /// [`Error::NoAddress`] if the interface does not have the address.
    pub fn only(mut self, address: Option<Ipv4Addr>) -> Result<Self, Error> {
        if let Some(address) = address {
            self.networks.retain(|network| network.address == address);
        }
        if self.networks.is_empty() { Err(Error::NoAddress { name: self.name }) } else { Ok(self) }
    }

    /// Returns the IPv4 address at which machines reach this server.
    pub fn address(&self) -> Ipv4Addr {
        self.networks.first().map_or(Ipv4Addr::UNSPECIFIED, |network| network.address)
    }
}

/// Opens a UDP socket for IPv4 that sends and receives only through the interface. The port is not shared with another program.
pub(crate) fn datagrams_v4(service: &'static str, interface: &str, port: u16) -> Result<UdpSocket, Error> {
    let open = || {
        let socket = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP))?;
        // The device must be bound before the port, because the kernel compares devices when it looks for another owner of the port.
        socket.bind_device(Some(interface.as_bytes()))?;
        socket.set_broadcast(true)?;
        enlarge(&socket)?;
        socket.set_nonblocking(true)?;
        socket.bind(&SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, port).into())?;
        UdpSocket::from_std(socket.into())
    };
    open().map_err(|source| Error::socket(service, interface, port, source))
}

/// Enlarges the receive buffer for five hundred machines that are switched on at once; the kernel's default limit holds 250 messages.
/// Going beyond the limit needs CAP_NET_ADMIN.
fn enlarge(socket: &Socket) -> std::io::Result<()> {
    const ROOM: usize = 4 << 20;
    setsockopt(socket, sockopt::RcvBufForce, &ROOM).or_else(|_| socket.set_recv_buffer_size(ROOM))
}

/// Returns the next datagram. Errors caused by earlier answers (the receiver's port is closed) pass. If errors persist because the
/// interface is gone, the pauses between attempts grow, and one warning is logged.
pub(crate) async fn receive(
    service: &'static str,
    socket: &UdpSocket,
    buffer: &mut [u8],
) -> (usize, SocketAddr) {
    let mut pauses = Pauses::default();
    loop {
        match socket.recv_from(buffer).await {
            Ok(received) => return received,
            Err(error) => tokio::time::sleep(pauses.after(service, &error)).await,
        }
    }
}

/// The pause before the next attempt on a socket that fails.
pub struct Pauses(Duration);

impl Default for Pauses {
    fn default() -> Self {
        Self(Duration::from_millis(1))
    }
}

impl Pauses {
    const LONGEST: Duration = Duration::from_secs(1);

    /// Returns the pause after this error, which is logged once it lasts.
    pub fn after(&mut self, service: &'static str, error: &std::io::Error) -> Duration {
        let pause = self.0;
        self.0 = Self::LONGEST.min(pause * 2);
        tracing::debug!(service, %error, "nothing can be received");
        if self.0 == Self::LONGEST && pause < Self::LONGEST {
            tracing::warn!(service, %error, "nothing can be received: is the interface still there?");
        }
        pause
    }
}

/// Opens a UDP socket like [`datagrams_v4`], for IPv6 only, that joins `groups`.
pub(crate) fn datagrams_v6(
    service: &'static str,
    interface: &Interface,
    port: u16,
    groups: &[Ipv6Addr],
) -> Result<UdpSocket, Error> {
    let open = || {
        let socket = Socket::new(Domain::IPV6, Type::DGRAM, Some(Protocol::UDP))?;
        socket.bind_device(Some(interface.name.as_bytes()))?;
        socket.set_only_v6(true)?;
        socket.set_nonblocking(true)?;
        socket.bind(&SocketAddrV6::new(Ipv6Addr::UNSPECIFIED, port, 0, 0).into())?;
        for group in groups {
            socket.join_multicast_v6(group, interface.index)?;
        }
        UdpSocket::from_std(socket.into())
    };
    open().map_err(|source| Error::socket(service, &interface.name, port, source))
}

/// Opens a raw ICMPv6 socket for messages to all routers on the interface's link. The kernel computes and verifies checksums.
pub(crate) fn router_messages(interface: &Interface) -> Result<UdpSocket, Error> {
    const ALL_ROUTERS: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 2);
    let open = || {
        let socket = Socket::new(Domain::IPV6, Type::RAW, Some(Protocol::ICMPV6))?;
        socket.bind_device(Some(interface.name.as_bytes()))?;
        // Hosts ignore advertisements with another hop limit, which may have passed a router (RFC 4861, section 6.1.2).
        socket.set_unicast_hops_v6(255)?;
        socket.set_multicast_hops_v6(255)?;
        socket.set_multicast_loop_v6(false)?;
        socket.set_multicast_if_v6(interface.index)?;
        socket.join_multicast_v6(&ALL_ROUTERS, interface.index)?;
        socket.set_nonblocking(true)?;
        UdpSocket::from_std(socket.into())
    };
    open().map_err(|source| Error::socket("router advertisements", &interface.name, 0, source))
}

/// Opens a TCP listener on `address`.
pub fn connections(service: &'static str, address: SocketAddr) -> Result<TcpListener, Error> {
    let open = || {
        let domain = if address.is_ipv4() { Domain::IPV4 } else { Domain::IPV6 };
        let socket = Socket::new(domain, Type::STREAM, Some(Protocol::TCP))?;
        // Connections of a previous server process may still occupy the port.
        socket.set_reuse_address(true)?;
        socket.set_nonblocking(true)?;
        socket.bind(&address.into())?;
        socket.listen(1024)?;
        TcpListener::from_std(socket.into())
    };
    open().map_err(|source| Error::socket(service, &address.ip().to_string(), address.port(), source))
}

/// Opens a blocking UDP socket for one transfer between `local` and `peer`, on a free port.
pub(crate) fn transfer(local: SocketAddr, peer: SocketAddr) -> std::io::Result<std::net::UdpSocket> {
    let socket = Socket::new(Domain::for_address(peer), Type::DGRAM, Some(Protocol::UDP))?;
    socket.bind(&local.into())?;
    socket.connect(&peer.into())?;
    Ok(socket.into())
}
