//! The addresses of Pods and Services. They come from the range for measurements of network devices (RFC 2544), which no real network
//! uses, so that they hide neither a BMC nor an address of a cloud.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddrV4};

/// The address of the API server inside of a Pod.
pub const API: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(198, 19, 0, 1), 443);

/// The address of the gateway, at which it answers questions about names.
pub const GATEWAY: Ipv4Addr = Ipv4Addr::new(198, 19, 0, 2);

/// The address of the gateway in IPv6, from a unique local range (RFC 4193).
pub(crate) const GATEWAY6: Ipv6Addr = six(GATEWAY);

/// Returns the address in IPv6 of whoever has this one in IPv4.
pub const fn six(address: Ipv4Addr) -> Ipv6Addr {
    let [a, b, c, d] = address.octets();
    let [first, second, third, fourth] = SIX;
    Ipv6Addr::new(first, second, third, fourth, 0, 0, u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]))
}

/// The first half of all addresses in IPv6.
const SIX: [u16; 4] = [0xfd5f, 0x1a7e, 0x9c03, 0];

/// The first address of a Service.
pub const FIRST_SERVICE: Ipv4Addr = Ipv4Addr::new(198, 19, 1, 0);

/// The first and the last address of a Pod.
pub const PODS: (Ipv4Addr, Ipv4Addr) = (Ipv4Addr::new(198, 18, 0, 1), Ipv4Addr::new(198, 18, 255, 254));

/// What lies behind an address that a Pod names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A Pod of this machine.
    Pod,
    /// A Service, the API server, or the gateway.
    Service,
    /// Another machine, or an address of this one that others can reach, too.
    Outside,
    /// This machine's loopback, or no address of a single machine.
    Forbidden,
}

/// Returns what lies behind an address.
pub fn place(address: IpAddr) -> Place {
    let address = match address.to_canonical() {
        IpAddr::V4(address) => address,
        IpAddr::V6(address) => {
            // Pods reach each other over IPv4 only, and an address of a link means nothing on another one.
            let is_own = address.segments()[..4] == SIX;
            let is_of_link = address.segments()[0] & 0xffc0 == 0xfe80;
            let is_forbidden = address.is_loopback()
                || address.is_unspecified()
                || address.is_multicast()
                || is_own
                || is_of_link;
            return if is_forbidden { Place::Forbidden } else { Place::Outside };
        }
    };
    match address.octets() {
        [198, 18, ..] => Place::Pod,
        [198, 19, ..] => Place::Service,
        // All of 0.0.0.0/8 means this machine.
        [0 | 127, ..] | [224..=255, ..] => Place::Forbidden,
        _ => Place::Outside,
    }
}

/// The addresses of the Pods that are there.
#[derive(Debug, Default)]
pub struct Addresses {
    taken: BTreeSet<Ipv4Addr>,
    last: Option<Ipv4Addr>,
}

impl Addresses {
    /// Takes an address: the wanted one if it is free, else the one that was free for the longest time. `None` if there is none.
    pub fn take(&mut self, wanted: Option<Ipv4Addr>) -> Option<Ipv4Addr> {
        let is_free = |address: &Ipv4Addr| !self.taken.contains(address);
        let in_range = |address: &Ipv4Addr| (PODS.0..=PODS.1).contains(address);
        let found = wanted.filter(|wanted| in_range(wanted) && is_free(wanted)).or_else(|| {
            let after = self.last.map_or(u32::from(PODS.0), |last| u32::from(last) + 1);
            let mut all = (after..=PODS.1.into()).chain(PODS.0.into()..after).map(Ipv4Addr::from);
            let found = all.find(is_free)?;
            self.last = Some(found);
            Some(found)
        })?;
        self.taken.insert(found);
        Some(found)
    }

    /// Returns an address, which others can have then.
    pub fn give_back(&mut self, address: Ipv4Addr) {
        self.taken.remove(&address);
    }
}
