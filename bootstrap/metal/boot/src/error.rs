//! Why a service cannot start, or cannot do what it was asked for.

use std::net::IpAddr;

/// Why a service cannot start, or cannot do what it was asked for.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No interface has the name.
    #[error("there is no interface {name:?}; this machine has {known}")]
    UnknownInterface {
        /// The name that was given.
        name: String,
        /// The names that there are.
        known: String,
    },
    /// Machines could not reach the server.
    #[error(
        "interface {name} has no IPv4 address: give it one in the network that machines start in (`ip address add 10.0.0.1/24 dev {name}`)"
    )]
    NoAddress {
        /// The interface.
        name: String,
    },
    /// The addresses to lease do not fit the interface.
    #[error("interface {name}: {what}")]
    Pool {
        /// The interface.
        name: String,
        /// What is wrong, and what would be right.
        what: String,
    },
    /// Another program has the port.
    #[error(
        "{service} on {place}: port {port} is in use by another program (`ss -lnp 'sport = :{port}'` shows it): stop it, or name another interface"
    )]
    PortInUse {
        /// `DHCP`, `TFTP` …
        service: &'static str,
        /// The interface or address.
        place: String,
        /// The port.
        port: u16,
    },
    /// The process may not have the port or a raw socket.
    #[error(
        "{service} on {place}: not permitted: run as root, or with the capabilities CAP_NET_BIND_SERVICE and CAP_NET_RAW"
    )]
    NotPermitted {
        /// `DHCP`, `TFTP` …
        service: &'static str,
        /// The interface or address.
        place: String,
    },
    /// A socket fails in another way.
    #[error("{service} on {place}: {source}")]
    Socket {
        /// `DHCP`, `TFTP` …
        service: &'static str,
        /// The interface or address.
        place: String,
        /// What the system says.
        source: std::io::Error,
    },
    /// Two full servers give machines addresses that clash.
    #[error(
        "another DHCP server answers on {interface}: {server}. Run beside it (--netboot-dhcp proxy), answer reserved machines only \
         (--netboot-dhcp reservations), or stop it; --netboot-beside-dhcp-server starts all the same"
    )]
    OtherServer {
        /// The interface.
        interface: String,
        /// The other server.
        server: IpAddr,
    },
    /// A file that is to be served cannot be read.
    #[error("{path}: {source}")]
    File {
        /// Where it is.
        path: String,
        /// What the system says.
        source: std::io::Error,
    },
    /// What is known of machines cannot be read or written.
    #[error("{what}: {source}")]
    Directory {
        /// The attempt.
        what: String,
        /// Why it failed.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl Error {
    /// An error of a socket in the words that help.
    pub(crate) fn socket(service: &'static str, place: &str, port: u16, source: std::io::Error) -> Self {
        let place = place.to_owned();
        match source.kind() {
            std::io::ErrorKind::AddrInUse => Self::PortInUse { service, place, port },
            std::io::ErrorKind::PermissionDenied => Self::NotPermitted { service, place },
            _ => Self::Socket { service, place, source },
        }
    }
}
