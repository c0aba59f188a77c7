//! Fixed addresses from the kernel command line.

use std::net::Ipv4Addr;

use super::lease::Lease;
use super::read_mac;

/// The fixed address of an interface.
#[derive(Clone, Debug, PartialEq)]
pub struct Fixed {
    /// The MAC address of the interface.
    pub mac: [u8; 6],
    /// The address with its parameters.
    pub lease: Lease,
}

impl Fixed {
    /// Parses `MAC,ADDRESS/BITS,ROUTER,NAMESERVER…`; the router may be empty.
    pub fn read(text: &str) -> Option<Self> {
        let mut parts = text.split(',');
        let mac = read_mac(parts.next()?)?;
        let (address, bits) = parts.next()?.split_once('/')?;
        let router = match parts.next()? {
            "" => None,
            router => Some(router.parse().ok()?),
        };
        let name_servers: Option<Vec<Ipv4Addr>> = parts.map(|server| server.parse().ok()).collect();
        let lease = Lease {
            address: address.parse().ok()?,
            prefix: bits.parse().ok().filter(|bits| *bits <= 32)?,
            router,
            routes: Vec::new(),
            name_servers: name_servers?,
            domain: None,
            mtu: None,
            seconds: u32::MAX,
        };
        Some(Self { mac, lease })
    }
}
