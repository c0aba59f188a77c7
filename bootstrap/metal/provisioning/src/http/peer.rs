//! The two ends of a connection.

use std::net::SocketAddr;

use axum::extract::FromRequestParts;
use chrono::{DateTime, Utc};
use http::StatusCode;
use http::request::Parts;

use crate::fingerprint::fingerprint;

/// The two ends of a connection.
#[derive(Clone, Debug)]
pub struct Peer {
    /// The client's address.
    pub address: SocketAddr,
    /// The server's address.
    pub local: SocketAddr,
    /// The certificate that the client has proved to own.
    pub certificate: Option<Certificate>,
}

impl<S: Send + Sync> FromRequestParts<S> for Peer {
    type Rejection = StatusCode;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, StatusCode> {
        if let Some(known) = parts.extensions.get::<Self>() {
            return Ok(known.clone());
        }
        // Each request of a connection has it.
        let ends = parts.extensions.get::<net::server::Peer>().ok_or(StatusCode::INTERNAL_SERVER_ERROR)?;
        let certificate = ends.certificates.first().and_then(|certificate| Certificate::read(certificate));
        let peer = Self { address: ends.address, local: ends.local, certificate };
        // The certificate is read once for a request, although several ask for it.
        parts.extensions.insert(peer.clone());
        Ok(peer)
    }
}

/// A client's certificate. Agents have self-signed ones, which nobody verifies in the handshake but for the key.
#[derive(Clone, Debug)]
pub struct Certificate {
    /// SHA-256 of the certificate, in hexadecimal digits.
    pub sha256: String,
    not_before: DateTime<Utc>,
    not_after: DateTime<Utc>,
}

impl Certificate {
    /// Reads a certificate, DER. `None` if it cannot be parsed.
    pub fn read(der: &[u8]) -> Option<Self> {
        let facts = pki::inspect_der(der).ok()?;
        Some(Self { sha256: fingerprint(der), not_before: facts.not_before, not_after: facts.not_after })
    }

    /// Returns whether it is valid at this time: a connection and a session last longer than a certificate can.
    pub fn is_valid(&self, now: DateTime<Utc>) -> bool {
        self.not_before <= now && now <= self.not_after
    }
}
