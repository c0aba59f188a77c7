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
pub(crate) async fn resolve(host: &str, port: u16, here: &[SocketAddr]) -> io::Result<Vec<SocketAddr>> {
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
fn refusal(address: SocketAddr, here: &[SocketAddr], is_own: impl Fn(IpAddr) -> bool) -> Option<String> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_controllers_may_be() {
        let here = ["192.0.2.1:8000".parse().unwrap()];
        let is_own = |ip: IpAddr| ["192.0.2.1", "2001:db8::1"].contains(&ip.to_string().as_str());
        for (address, expected) in [
            ("192.0.2.7:443", None),
            ("10.0.0.1:623", None),
            ("[2001:db8::7]:443", None),
            ("192.0.2.1:8000", None),
            ("[::ffff:192.0.2.1]:8000", None),
            ("192.0.2.1:6443", Some("--bmc-on-this-machine 192.0.2.1:6443")),
            ("[2001:db8::1]:8000", Some("--bmc-on-this-machine [2001:db8::1]:8000")),
            ("127.0.0.1:443", Some("127.0.0.1 is a loopback address")),
            ("127.8.9.1:443", Some("loopback")),
            ("0.0.0.0:443", Some("loopback")),
            ("0.1.2.3:443", Some("loopback")),
            ("169.254.169.254:80", Some("link-local")),
            ("224.0.0.1:80", Some("multicast")),
            ("255.255.255.255:623", Some("broadcast")),
            ("[::1]:443", Some("loopback")),
            ("[::]:443", Some("loopback")),
            ("[::ffff:127.0.0.1]:443", Some("loopback")),
            ("[::127.0.0.1]:443", Some("loopback")),
            ("[64:ff9b::a9fe:a9fe]:80", Some("link-local")),
            ("[fe80::1]:443", Some("link-local")),
            ("[ff02::1]:443", Some("multicast")),
        ] {
            let found = refusal(address.parse().unwrap(), &here, is_own);
            match expected {
                None => assert_eq!(found, None, "{address}"),
                Some(text) => {
                    assert!(found.as_ref().is_some_and(|found| found.contains(text)), "{address}: {found:?}")
                }
            }
        }
    }

    #[tokio::test]
    async fn names_are_judged_by_what_they_lead_to() {
        for host in ["localhost", "127.1", "0x7f000001", "2130706433"] {
            let error = resolve(host, 443, &[]).await.unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::PermissionDenied, "{host}: {error}");
        }
        assert_eq!(resolve("192.0.2.7", 443, &[]).await.unwrap(), ["192.0.2.7:443".parse().unwrap()]);
    }
}
