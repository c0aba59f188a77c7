//! Connection errors in the words of Go's standard library.

use std::io;

use machinery::clock::{Clock, rfc3339};
use rustls::CertificateError;

/// Describes why `host:port` could not be reached.
pub(crate) fn dial(error: &io::Error, host: &str, port: u16) -> String {
    let address = if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") };
    match error.kind() {
        io::ErrorKind::NotFound => format!("dial tcp: lookup {host}: no such host"),
        _ if error.to_string().contains("failed to lookup address") => {
            format!("dial tcp: lookup {host}: no such host")
        }
        io::ErrorKind::ConnectionRefused => format!("dial tcp {address}: connect: connection refused"),
        io::ErrorKind::NetworkUnreachable => format!("dial tcp {address}: connect: network is unreachable"),
        io::ErrorKind::HostUnreachable => format!("dial tcp {address}: connect: no route to host"),
        io::ErrorKind::TimedOut => format!("dial tcp {address}: i/o timeout"),
        _ => format!("dial tcp {address}: {error}"),
    }
}

/// Describes why the TLS handshake failed.
pub(crate) fn handshake(error: &io::Error, clock: &Clock) -> String {
    match error.get_ref().and_then(|source| source.downcast_ref::<rustls::Error>()) {
        Some(rustls::Error::InvalidCertificate(problem)) => {
            format!("tls: failed to verify certificate: x509: {}", certificate(problem, clock))
        }
        Some(rustls::Error::InvalidMessage(_)) => {
            "tls: first record does not look like a TLS handshake".to_owned()
        }
        Some(rustls::Error::AlertReceived(alert)) => format!("remote error: tls: {alert:?}"),
        Some(other) => format!("tls: {other}"),
        None => io(error),
    }
}

fn certificate(problem: &CertificateError, clock: &Clock) -> String {
    match problem {
        CertificateError::UnknownIssuer => "certificate signed by unknown authority".to_owned(),
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => format!(
            "certificate has expired or is not yet valid: current time {} is after the certificate's end",
            rfc3339(clock.now())
        ),
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => format!(
            "certificate has expired or is not yet valid: current time {} is before the certificate's start",
            rfc3339(clock.now())
        ),
        CertificateError::NotValidForNameContext { expected, presented } => {
            name(&expected.to_str(), presented)
        }
        other => other.to_string(),
    }
}

/// Describes a name mismatch. `presented` has the certificate's names in webpki's format: `DnsName("a")`,
/// `IpAddress(127.0.0.1)`.
fn name(expected: &str, presented: &[String]) -> String {
    let between = |start: &'static str, end: &'static str| -> Vec<&str> {
        presented.iter().filter_map(|text| text.strip_prefix(start)?.strip_suffix(end)).collect()
    };
    let (names, addresses) = (between("DnsName(\"", "\")"), between("IpAddress(", ")"));
    let valid = if expected.parse::<std::net::IpAddr>().is_ok() {
        if addresses.is_empty() {
            return format!(
                "cannot validate certificate for {expected} because it doesn't contain any IP SANs"
            );
        }
        addresses
    } else {
        names
    };
    if valid.is_empty() {
        return format!("certificate is not valid for any names, but wanted to match {expected}");
    }
    format!("certificate is valid for {}, not {expected}", valid.join(", "))
}

/// Describes why a connection broke.
pub(crate) fn io(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => "EOF".to_owned(),
        io::ErrorKind::ConnectionReset => "read: connection reset by peer".to_owned(),
        io::ErrorKind::BrokenPipe => "write: broken pipe".to_owned(),
        _ => error.to_string(),
    }
}
