//! The networks in which addresses are leased.

use std::fmt;
use std::net::Ipv4Addr;
use std::str::FromStr;
use std::time::Duration;

use crate::limits;

/// An address with the length of its network's prefix, for example `10.0.0.1/24`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    /// Any address in the network.
    pub address: Ipv4Addr,
    /// Length of the prefix, at most 32.
    pub prefix: u8,
}

impl Network {
    /// Returns the network mask, for example `255.255.255.0`.
    pub fn mask(self) -> Ipv4Addr {
        Ipv4Addr::from_bits(u32::MAX.checked_shl(32 - u32::from(self.prefix.min(32))).unwrap_or(0))
    }

    /// Returns the lowest address.
    pub fn first(self) -> Ipv4Addr {
        Ipv4Addr::from_bits(self.address.to_bits() & self.mask().to_bits())
    }

    /// Returns the highest address, which is the broadcast address.
    pub fn broadcast(self) -> Ipv4Addr {
        Ipv4Addr::from_bits(self.address.to_bits() | !self.mask().to_bits())
    }

    /// Returns whether `address` is in the network.
    pub fn contains(self, address: Ipv4Addr) -> bool {
        self.first() <= address && address <= self.broadcast()
    }

    /// Returns whether a machine can have `address`: neither the lowest nor the highest one, unless the prefix is 31 or 32 (RFC 3021).
    pub fn has_host(self, address: Ipv4Addr) -> bool {
        self.contains(address)
            && (self.prefix >= 31 || (address != self.first() && address != self.broadcast()))
    }
}

impl fmt::Display for Network {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.address, self.prefix)
    }
}

impl FromStr for Network {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once('/').and_then(|(address, bits)| {
            let prefix = bits.parse().ok().filter(|prefix| *prefix <= 30)?;
            Some(Self { address: address.parse().ok()?, prefix })
        });
        parts.ok_or_else(|| {
            format!("{text:?} is no address with the bits of its network: write it as 10.0.0.1/24")
        })
    }
}

/// A range of addresses, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The first address.
    pub first: Ipv4Addr,
    /// The last address.
    pub last: Ipv4Addr,
}

impl Range {
    /// Returns whether `address` is in the range.
    pub fn contains(self, address: Ipv4Addr) -> bool {
        self.first <= address && address <= self.last
    }

    /// Returns the number of addresses.
    pub fn size(self) -> u64 {
        (u64::from(self.last.to_bits()) + 1).saturating_sub(u64::from(self.first.to_bits()))
    }
}

impl fmt::Display for Range {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}-{}", self.first, self.last)
    }
}

impl FromStr for Range {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is not a range of addresses: write it as 10.0.0.100-10.0.0.199");
        let (first, last) = text.split_once('-').ok_or_else(wrong)?;
        let first: Ipv4Addr = first.trim().parse().map_err(|_| wrong())?;
        let last: Ipv4Addr = last.trim().parse().map_err(|_| wrong())?;
        if first > last {
            Err(format!("{text:?}: the first address is above the last"))
        } else {
            Ok(Self { first, last })
        }
    }
}

/// A network, and the options for machines in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subnet {
    /// The network.
    pub network: Network,
    /// The addresses for machines without a reservation. If empty, only reserved addresses are leased.
    pub pools: Vec<Range>,
    /// The default routers.
    pub routers: Vec<Ipv4Addr>,
    /// DNS servers.
    pub name_servers: Vec<Ipv4Addr>,
    /// NTP servers.
    pub time_servers: Vec<Ipv4Addr>,
    /// The domain in which names are looked up.
    pub domain: Option<String>,
    /// The lease time.
    pub lease: Duration,
}

impl Subnet {
    /// Returns a network in which `pools` are leased, without further options.
    pub fn new(network: Network, pools: Vec<Range>) -> Self {
        Self {
            network,
            pools,
            routers: Vec::new(),
            name_servers: Vec::new(),
            time_servers: Vec::new(),
            domain: None,
            lease: limits::LEASE,
        }
    }

    /// Returns the upper half of `network` without the broadcast address and the server's own address: the default pools.
    pub fn upper_half(network: Network) -> Vec<Range> {
        let (first, last) = (network.first().to_bits(), network.broadcast().to_bits());
        let middle = first + (last - first) / 2 + 1;
        let own = network.address.to_bits();
        let last = last.saturating_sub(1);
        let parts = if (middle..=last).contains(&own) {
            vec![(middle, own.saturating_sub(1)), (own.saturating_add(1), last)]
        } else {
            vec![(middle, last)]
        };
        let ranges = parts.into_iter().filter(|(first, last)| first <= last);
        ranges.map(|(first, last)| Range { first: first.into(), last: last.into() }).collect()
    }

    /// Returns a message if the configuration is invalid, or `None`.
    pub fn problem(&self) -> Option<String> {
        let network = self.network;
        let outside = |range: &&Range| !network.has_host(range.first) || !network.has_host(range.last);
        if let Some(range) = self.pools.iter().find(outside) {
            let (first, last) = (range.first, range.last);
            return Some(format!(
                "the addresses {first}-{last} are not all addresses of machines in {}/{}",
                network.first(),
                network.prefix
            ));
        }
        if let Some(router) = self.routers.iter().find(|router| !network.has_host(**router)) {
            return Some(format!("the router {router} is not in {}/{}", network.first(), network.prefix));
        }
        let shortest = limits::LEASE_SHORTEST;
        (self.lease < shortest).then(|| format!("a lease of {:?} is shorter than {shortest:?}", self.lease))
    }

    /// Returns whether `address` is in one of the pools.
    pub fn leases(&self, address: Ipv4Addr) -> bool {
        self.pools.iter().any(|pool| pool.contains(address))
    }
}
