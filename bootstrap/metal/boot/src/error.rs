//! The errors of the network boot services.

use std::net::{IpAddr, Ipv4Addr};

use crate::dhcp4::subnet::Network;

/// The reason why a service cannot start, or cannot do what it was asked for.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No interface has the name.
    #[error("there is no interface {name:?}; this machine has {known}")]
    UnknownInterface {
        /// The configured name.
        name: String,
        /// The names of the existing interfaces.
        known: String,
    },
    /// Another machine has the address that this server would take.
    #[error(
        "{address} is in use by another machine on {interface}: stop the server there, or remove the address (`ip address del`)"
    )]
    AddressInUse {
        /// The IPv4 address that another machine answers for.
        address: Ipv4Addr,
        /// The interface.
        interface: String,
    },
    /// The address belongs to the configuration of the interface, so that it would not move with the services.
    #[error(
        "{network} is configured on {interface} already, where it would stay when the services move: remove it from the configuration of \
         the interface (now: `ip address del {network} dev {interface}`), and it is added while the services run; or name another address"
    )]
    AddressConfigured {
        /// The address, with the network that the interface has it in.
        network: Network,
        /// The interface.
        interface: String,
    },
    /// The address cannot be added or removed.
    #[error("{address} on {interface}: {source}: run as root, or with the capability CAP_NET_ADMIN")]
    Address {
        /// The IPv4 address that the kernel refuses.
        address: Ipv4Addr,
        /// The interface.
        interface: String,
        /// The error of the kernel.
        source: std::io::Error,
    },
    /// The interface has no IPv4 address, so machines could not reach the server.
    #[error(
        "interface {name} has no IPv4 address: give it one in the network that machines start in (`ip address add 10.0.0.1/24 dev {name}`)"
    )]
    NoAddress {
        /// The interface.
        name: String,
    },
    /// The addresses to lease do not fit the network of the interface.
    #[error("interface {name}: {what}")]
    Pool {
        /// The interface.
        name: String,
        /// The problem, and how to fix it.
        what: String,
    },
    /// Another program has the port.
    #[error(
        "{service} on {place}: port {port} is in use by another program (`ss -lnp 'sport = :{port}'` shows it): stop it, or name another interface"
    )]
    PortInUse {
        /// The service, for example `DHCP` or `TFTP`.
        service: &'static str,
        /// The interface or address.
        place: String,
        /// The port.
        port: u16,
    },
    /// The process lacks the permission for the port or for a raw socket.
    #[error(
        "{service} on {place}: not permitted: run as root, or with the capabilities CAP_NET_BIND_SERVICE and CAP_NET_RAW"
    )]
    NotPermitted {
        /// The service, for example `DHCP` or `TFTP`.
        service: &'static str,
        /// The interface or address.
        place: String,
    },
    /// A socket fails for another reason.
    #[error("{service} on {place}: {source}")]
    Socket {
        /// The service, for example `DHCP` or `TFTP`.
        service: &'static str,
        /// The interface or address.
        place: String,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// Another DHCP server answers, and two servers that lease addresses would conflict.
    #[error(
        "another DHCP server answers on {interface}: {server}. Run beside it (--netboot-dhcp proxy), answer reserved machines only \
         (--netboot-dhcp reservations), or stop it; --netboot-beside-dhcp-server starts all the same"
    )]
    OtherServer {
        /// The interface.
        interface: String,
        /// The address of the other server.
        server: IpAddr,
    },
    /// A file cannot be read or written.
    #[error("{path}: {source}")]
    File {
        /// The path of the file.
        path: String,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// The directory of machines cannot be read or written.
    #[error("{what}: {source}")]
    Directory {
        /// The operation that failed.
        what: String,
        /// The cause.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl Error {
    /// Returns the error of a socket, with its own variant for a port in use and for a missing permission.
    pub(crate) fn socket(service: &'static str, place: &str, port: u16, source: std::io::Error) -> Self {
        let place = place.to_owned();
        match source.kind() {
            std::io::ErrorKind::AddrInUse => Self::PortInUse { service, place, port },
            std::io::ErrorKind::PermissionDenied => Self::NotPermitted { service, place },
            _ => Self::Socket { service, place, source },
        }
    }
}
