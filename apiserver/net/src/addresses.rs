//! Which addresses are those of this machine.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

/// Whether a host is this machine: a name of loopback, or an address of loopback or of an interface.
pub(crate) fn is_own(host: &str) -> bool {
    let is_own = |address: IpAddr| address.is_unspecified() || is_own_address(address);
    is_loopback(host) || host.parse().is_ok_and(is_own)
}

/// Whether a host is a name or an address of loopback.
pub(crate) fn is_loopback(host: &str) -> bool {
    let is_loopback = |address: IpAddr| address.to_canonical().is_loopback();
    host == "localhost" || host.ends_with(".localhost") || host.parse().is_ok_and(is_loopback)
}

/// Whether an address is one of this machine's interfaces, loopback included: what goes there comes from that address. A datagram socket tells it,
/// and nothing is sent.
pub fn is_own_address(address: IpAddr) -> bool {
    let address = address.to_canonical();
    let any: IpAddr = match address {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let source = || {
        let socket = UdpSocket::bind(SocketAddr::new(any, 0))?;
        socket.connect(SocketAddr::new(address, 9))?;
        socket.local_addr()
    };
    source().is_ok_and(|source| source.ip() == address)
}

/// Returns a host as resolvers and certificates know it: the address of IPv6 that stands in brackets, as in a URL, without them.
pub fn without_brackets(host: &str) -> &str {
    host.trim_start_matches('[').trim_end_matches(']')
}
