//! Why a workload cluster cannot be reached, in words for a person. Pure.
//!
//! The words stand in a condition, so they are the same at each attempt as long as the cause is.

use std::error::Error as StdError;
use std::io;

use chrono::DateTime;
use machinery::clock::rfc3339;
use rustls::{AlertDescription, CertificateError};
use rustls_pki_types::UnixTime;

use crate::error::Error;

/// The characters of somebody else's text that are quoted.
pub const QUOTED_CHARS: usize = 200;
/// The text with which the standard library begins the error of a name that cannot be resolved; it has no kind of its own.
const LOOKUP_FAILED: &str = "failed to lookup address information";

/// Returns why a request to the API server at `address` (host and port) failed.
pub fn of(error: &Error, address: &str) -> String {
    if let Some(status) = error.status() {
        return match status.code {
            401 => format!("{address} refuses the credentials of the kubeconfig (401 Unauthorized)"),
            code => format!("{address} answers {code}: {}", quoted(&status.message)),
        };
    }
    let Error::Api { source, .. } = error else { return quoted(&error.to_string()) };
    let mut last: &(dyn StdError + 'static) = source.as_ref();
    loop {
        if let Some(cause) = known(last, address) {
            return cause;
        }
        match inner(last) {
            Some(next) => last = next,
            None => return format!("{address}: {}", quoted(&last.to_string())),
        }
    }
}

/// Returns the error within another one. An `io::Error` does not count the error that it holds as its source.
fn inner<'a>(error: &'a (dyn StdError + 'static)) -> Option<&'a (dyn StdError + 'static)> {
    let held = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
    held.map(|held| held as &(dyn StdError + 'static)).or_else(|| error.source())
}

fn known(error: &(dyn StdError + 'static), address: &str) -> Option<String> {
    if error.is::<tower::timeout::error::Elapsed>() {
        return Some(format!("{address} does not answer: no connection in time"));
    }
    if let Some(error) = error.downcast_ref::<rustls::Error>() {
        return Some(of_tls(error, address));
    }
    let error = error.downcast_ref::<io::Error>()?;
    let text = error.to_string();
    Some(match error.kind() {
        io::ErrorKind::ConnectionRefused => format!("connection refused: nothing listens at {address}"),
        io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => {
            format!("there is no route to {address}")
        }
        io::ErrorKind::TimedOut => format!("{address} does not answer: {}", quoted(&text)),
        io::ErrorKind::ConnectionReset | io::ErrorKind::UnexpectedEof | io::ErrorKind::BrokenPipe => {
            format!("{address} closes the connection before it answers")
        }
        _ if text.starts_with(LOOKUP_FAILED) => {
            let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
            format!("the name {host} cannot be resolved")
        }
        _ => return None,
    })
}

fn of_tls(error: &rustls::Error, address: &str) -> String {
    let certificate = format!("the certificate of {address}");
    match error {
        rustls::Error::InvalidCertificate(problem) => match problem {
            CertificateError::Expired => format!("{certificate} has expired"),
            CertificateError::ExpiredContext { not_after, .. } => {
                format!("{certificate} has expired at {}", time(*not_after))
            }
            CertificateError::NotValidYet => format!("{certificate} is not valid yet"),
            CertificateError::NotValidYetContext { not_before, .. } => {
                format!(
                    "{certificate} is not valid before {}; is the clock of this machine right?",
                    time(*not_before)
                )
            }
            CertificateError::UnknownIssuer | CertificateError::BadSignature => {
                format!("{certificate} is not signed by the authority in the kubeconfig")
            }
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                format!("{certificate} is not for this name")
            }
            other => format!("{certificate} is refused: {}", quoted(&other.to_string())),
        },
        rustls::Error::AlertReceived(alert) => match alert {
            AlertDescription::CertificateExpired => {
                format!("{address} refuses the client certificate of the kubeconfig: it has expired")
            }
            AlertDescription::UnknownCA
            | AlertDescription::BadCertificate
            | AlertDescription::CertificateUnknown => {
                format!("{address} refuses the client certificate of the kubeconfig ({alert:?})")
            }
            other => format!("{address} refuses the TLS connection ({other:?})"),
        },
        other => format!("no TLS connection to {address}: {}", quoted(&other.to_string())),
    }
}

/// Returns a time of a certificate as a text.
pub fn time(time: UnixTime) -> String {
    rfc3339(
        i64::try_from(time.as_secs())
            .ok()
            .and_then(|seconds| DateTime::from_timestamp(seconds, 0))
            .unwrap_or_default(),
    )
}

/// Returns the beginning of a text of somebody else, on one line.
fn quoted(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut characters = line.chars();
    let quoted: String = characters.by_ref().take(QUOTED_CHARS).collect();
    if characters.next().is_some() { format!("{quoted}…") } else { quoted }
}
