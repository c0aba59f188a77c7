//! Who speaks to the server, and where.

use std::net::SocketAddr;

/// The two ends of a connection.
#[derive(Clone, Debug)]
pub struct Peer {
    /// The client.
    pub address: SocketAddr,
    /// The address of this server that it came to.
    pub local: SocketAddr,
    /// SHA-256 of the certificate that it proved to have, in hexadecimal digits.
    pub certificate: Option<String>,
}
