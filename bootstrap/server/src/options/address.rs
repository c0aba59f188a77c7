//! Addresses to listen on, as flags of Go programs have them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

/// An address to listen on, in the syntax of Go: `127.0.0.1:8443`, `[::1]:8443`, `localhost:8443`, or `:8443` for all addresses of the
/// host. `0` and the empty text disable the endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address(pub Vec<SocketAddr>);

impl Address {
    /// Returns the addresses to try in order; the server listens on the first one that works. Empty if the endpoint is disabled.
    pub fn candidates(&self) -> &[SocketAddr] {
        &self.0
    }
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let "" | "0" = text {
            return Ok(Self(Vec::new()));
        }
        let wrong = || {
            format!(
                "{text:?} is not an address to listen on; write 127.0.0.1:8443, or :8443 for all addresses"
            )
        };
        let (host, port) = text.rsplit_once(':').ok_or_else(wrong)?;
        let hosts: Vec<IpAddr> = match host {
            "" => vec![Ipv6Addr::UNSPECIFIED.into(), Ipv4Addr::UNSPECIFIED.into()],
            "localhost" => vec![Ipv4Addr::LOCALHOST.into()],
            _ => return text.parse().map(|address| Self(vec![address])).map_err(|_| wrong()),
        };
        let port = port.parse().map_err(|_| wrong())?;
        Ok(Self(hosts.into_iter().map(|host| SocketAddr::new(host, port)).collect()))
    }
}

/// Reads the address of the server: `127.0.0.1:6443`, `[::1]:6443`, `localhost:6443`, `:6443` for all addresses of the host, or `6443` for
/// this machine alone.
///
/// # Errors
/// The text is none of these.
pub fn parse_listen(text: &str) -> Result<SocketAddr, String> {
    let wrong = || {
        format!(
            "{text:?} is not an address to listen on; write 127.0.0.1:6443, localhost:6443 or 6443 for this machine alone, or :6443 for all addresses"
        )
    };
    let (host, port) = text.rsplit_once(':').unwrap_or(("localhost", text));
    let host: IpAddr = match host {
        "" => Ipv4Addr::UNSPECIFIED.into(),
        "localhost" => Ipv4Addr::LOCALHOST.into(),
        _ => return text.parse().map_err(|_| wrong()),
    };
    Ok(SocketAddr::new(host, port.parse().map_err(|_| wrong())?))
}
