//! `NO_PROXY`: the hosts that are reached without a proxy, by the rules of Go's `golang.org/x/net/http/httpproxy`.

use std::net::IpAddr;

/// The hosts that are reached without a proxy.
#[derive(Debug, Clone, Default)]
pub(crate) struct Bypass(Vec<Entry>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Entry {
    /// `*`
    All,
    /// `10.0.0.0/8`
    Network(IpAddr, u8),
    /// `10.1.2.3`, `10.1.2.3:80`
    Address(IpAddr, Option<String>),
    /// `example.com`, `.example.com`, `*.example.com`, each also with a port. The suffix begins with a dot.
    Names { suffix: String, has_itself: bool, port: Option<String> },
}

impl Bypass {
    /// Reads the value of `NO_PROXY`. Entries that mean nothing are ignored.
    pub(crate) fn parse(text: &str) -> Self {
        Self(text.split(',').filter_map(|entry| Entry::parse(&entry.trim().to_lowercase())).collect())
    }

    /// Whether a host is reached without a proxy. `host` is lower case and has no brackets.
    pub(crate) fn covers(&self, host: &str, port: u16) -> bool {
        let address = host.parse::<IpAddr>().ok().map(|address| address.to_canonical());
        self.0.iter().any(|entry| entry.covers(host, address, &port.to_string()))
    }
}

impl Entry {
    fn parse(text: &str) -> Option<Self> {
        if text == "*" {
            return Some(Self::All);
        }
        if let Some((address, length)) = network(text) {
            return Some(Self::Network(address, length));
        }
        let (host, port) = split(text);
        if let Ok(address) = host.parse::<IpAddr>() {
            return Some(Self::Address(address.to_canonical(), port));
        }
        let name = host.strip_prefix('*').filter(|rest| rest.starts_with('.')).unwrap_or(host);
        match name.strip_prefix('.') {
            _ if name.is_empty() => None,
            Some(_) => Some(Self::Names { suffix: name.to_owned(), has_itself: false, port }),
            None => Some(Self::Names { suffix: format!(".{name}"), has_itself: true, port }),
        }
    }

    fn covers(&self, host: &str, address: Option<IpAddr>, port: &str) -> bool {
        let is_port = |wanted: &Option<String>| wanted.as_deref().is_none_or(|wanted| wanted == port);
        match (self, address) {
            (Self::All, _) => true,
            (Self::Network(network, length), Some(address)) => is_within(address, *network, *length),
            (Self::Address(wanted, port), Some(address)) => *wanted == address && is_port(port),
            (Self::Names { suffix, has_itself, port }, None) => {
                let is_named = host.ends_with(suffix.as_str()) || (*has_itself && host == &suffix[1..]);
                is_named && is_port(port)
            }
            _ => false,
        }
    }
}

fn network(text: &str) -> Option<(IpAddr, u8)> {
    let (address, length) = text.split_once('/')?;
    let (address, length) = (address.parse::<IpAddr>().ok()?, length.parse::<u8>().ok()?);
    let most = if address.is_ipv4() { 32 } else { 128 };
    (length <= most).then_some((address, length))
}

/// The host and the port of an entry. An IPv6 address has brackets if a port follows.
fn split(text: &str) -> (&str, Option<String>) {
    if let Some((host, rest)) = text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        return (host, rest.strip_prefix(':').filter(|port| !port.is_empty()).map(str::to_owned));
    }
    match text.split_once(':') {
        Some((host, port)) if !port.contains(':') => {
            (host, Some(port.to_owned()).filter(|port| !port.is_empty()))
        }
        _ => (text, None),
    }
}

fn is_within(address: IpAddr, network: IpAddr, length: u8) -> bool {
    match (address, network) {
        (IpAddr::V4(address), IpAddr::V4(network)) => {
            let mask = u32::MAX.checked_shl(32 - u32::from(length)).unwrap_or_default();
            address.to_bits() & mask == network.to_bits() & mask
        }
        (IpAddr::V6(address), IpAddr::V6(network)) => {
            let mask = u128::MAX.checked_shl(128 - u32::from(length)).unwrap_or_default();
            address.to_bits() & mask == network.to_bits() & mask
        }
        _ => false,
    }
}
