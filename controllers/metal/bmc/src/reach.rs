//! Which addresses a controller may have. Whoever may create hosts names them, and must not reach with this server's rights what only this machine
//! reaches.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use net::is_own_address;

/// Resolves the host of a controller to the addresses at which it may be. They are those to which the connection is made, so a name that leads
/// elsewhere the next time does no harm. `here` has the addresses of this machine at which controllers may be.
///
/// # Errors
/// The name cannot be resolved, or leads only to addresses that are refused.
pub async fn resolve(host: &str, port: u16, here: &[SocketAddr]) -> io::Result<Vec<SocketAddr>> {
    let mut refused = None;
    let mut allowed = Vec::new();
    for address in tokio::net::lookup_host((host, port)).await? {
        match refusal(address, here, is_own_address) {
            None => allowed.push(address),
            Some(reason) => refused = Some(reason),
        }
    }
    match (allowed.is_empty(), refused) {
        (true, Some(reason)) => Err(io::Error::new(io::ErrorKind::PermissionDenied, reason)),
        (true, None) => Err(io::Error::new(io::ErrorKind::NotFound, "the name has no address")),
        _ => Ok(allowed),
    }
}

/// Returns why no controller may be at an address; `None` if one may.
pub fn refusal(address: SocketAddr, here: &[SocketAddr], is_own: impl Fn(IpAddr) -> bool) -> Option<String> {
    let ip = address.ip().to_canonical();
    if let Err(why) = check(ip) {
        return Some(why);
    }
    let canonical = SocketAddr::new(ip, address.port());
    (is_own(ip) && !here.contains(&canonical)).then(|| {
        format!(
            "{ip} is an address of this machine; if BMCs are emulated here (sushy-tools, VirtualBMC), start the server with \
             --bmc-on-this-machine {canonical}"
        )
    })
}

/// Fails if no BMC can be at an address, whatever is allowed.
///
/// # Errors
/// The address is one of loopback, of a link, or of several machines.
pub fn check(address: IpAddr) -> Result<(), String> {
    match kind(address.to_canonical()) {
        Some(kind) => Err(format!("{address} is {kind}, at which no BMC is")),
        None => Ok(()),
    }
}

/// Returns what an address is that no other machine in the network has; `None` if a machine can have it.
fn kind(ip: IpAddr) -> Option<&'static str> {
    match ip {
        IpAddr::V4(ip) => four(ip),
        IpAddr::V6(ip) => six(ip),
    }
}

fn four(ip: Ipv4Addr) -> Option<&'static str> {
    match ip.octets() {
        // All of 0.0.0.0/8 means this machine.
        [0 | 127, ..] => Some("a loopback address"),
        [169, 254, ..] => Some("a link-local address"),
        [224..=239, ..] => Some("a multicast address"),
        [255, 255, 255, 255] => Some("a broadcast address"),
        _ => None,
    }
}

fn six(ip: Ipv6Addr) -> Option<&'static str> {
    match ip {
        _ if ip.is_loopback() || ip.is_unspecified() => Some("a loopback address"),
        _ if ip.is_unicast_link_local() => Some("a link-local address"),
        _ if ip.is_multicast() => Some("a multicast address"),
        // These forms (RFC 4291, 6052) carry an address of version 4, which a translator of this machine may reach.
        _ => match ip.segments() {
            [0, 0, 0, 0, 0, 0, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
                let [[a, b], [c, d]] = [high, low].map(u16::to_be_bytes);
                four(Ipv4Addr::new(a, b, c, d))
            }
            _ => None,
        },
    }
}
