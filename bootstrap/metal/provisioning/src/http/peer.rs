//! The two ends of a connection.

use std::net::SocketAddr;

/// The two ends of a connection.
#[derive(Clone, Debug)]
pub struct Peer {
    /// The client's address.
    pub address: SocketAddr,
    /// The server's address.
    pub local: SocketAddr,
    /// SHA-256 of the certificate that the client has proved to own, in hexadecimal digits.
    pub certificate: Option<String>,
}
