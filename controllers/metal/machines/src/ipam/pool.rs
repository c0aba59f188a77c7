//! The addresses of an IPPool: its ranges, and the next free address.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use schemas::addresses::{self, AddressSet, following};
use schemas::metal3_ipam::{IPPoolSpec, Pool};

/// An address with the settings of its network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Allocation {
    /// The address.
    pub address: IpAddr,
    /// Prefix length of the network.
    pub prefix: Option<i64>,
    /// Gateway of the network.
    pub gateway: Option<String>,
    /// Addresses of DNS servers.
    pub dns_servers: Vec<String>,
}

/// The ranges of a pool, in the order in which addresses are allocated from them.
#[derive(Debug)]
pub struct Ranges<'a> {
    spec: &'a IPPoolSpec,
    valid: Vec<Range<'a>>,
    /// What is wrong with the other ranges, each with its field.
    problems: Vec<String>,
}

/// The addresses from `first` to `last`, both included.
#[derive(Debug)]
struct Range<'a> {
    first: IpAddr,
    last: IpAddr,
    pool: &'a Pool,
}

impl<'a> Ranges<'a> {
    /// Returns the ranges of a pool. A range that cannot be used gives no address; [`Ranges::describe`] says why.
    pub fn of(spec: &'a IPPoolSpec) -> Self {
        let (mut valid, mut problems) = (Vec::new(), Vec::new());
        for (index, pool) in spec.pools.iter().enumerate() {
            match range(pool) {
                Ok(range) => valid.push(range),
                Err(problem) => problems.push(format!("spec.pools[{index}] cannot be used: {problem}")),
            }
        }
        Self { spec, valid, problems }
    }

    /// Returns the address with the settings of the first range that contains it; `None` if no range does.
    pub fn find(&self, address: IpAddr) -> Option<Allocation> {
        self.valid.iter().find(|range| range.contains(address)).map(|range| self.allocation(range, address))
    }

    /// Returns the allocation of free addresses, that is, of all except `taken`.
    pub fn free(&'a self, taken: AddressSet) -> Free<'a> {
        Free { ranges: self, taken, range: 0, next: None }
    }

    /// Lists the ranges with the number of their addresses, for messages.
    pub fn describe(&self) -> String {
        let ranges = self.valid.iter().map(|range| match range.size() {
            1 => format!("{} (1 address)", range.first),
            size => format!("{}-{} ({size} addresses)", range.first, range.last),
        });
        let all: Vec<String> = ranges.chain(self.problems.iter().cloned()).collect();
        if all.is_empty() { "spec.pools is empty".to_owned() } else { all.join(", ") }
    }

    fn allocation(&self, range: &Range<'_>, address: IpAddr) -> Allocation {
        let (spec, pool) = (self.spec, range.pool);
        let dns_servers = if pool.dns_servers.is_empty() { &spec.dns_servers } else { &pool.dns_servers };
        Allocation {
            address,
            prefix: pool.prefix.filter(|prefix| *prefix != 0).or(spec.prefix),
            gateway: pool.gateway.clone().or_else(|| spec.gateway.clone()),
            dns_servers: dns_servers.clone(),
        }
    }
}

/// The allocation of free addresses. It never goes back, so that many allocations cost little more than one.
#[derive(Debug)]
pub struct Free<'a> {
    ranges: &'a Ranges<'a>,
    taken: AddressSet,
    /// Index of the range that is searched.
    range: usize,
    /// The address at which the search continues; `None` at the beginning of a range.
    next: Option<IpAddr>,
}

impl Free<'_> {
    /// Takes the lowest free address of the first range that has one.
    pub fn take(&mut self) -> Option<Allocation> {
        while let Some(range) = self.ranges.valid.get(self.range) {
            let from = self.next.unwrap_or(range.first);
            let free = self.taken.first_absent(from).filter(|address| *address <= range.last);
            if let Some(address) = free {
                self.taken.insert(address);
                self.next = Some(address);
                return Some(self.ranges.allocation(range, address));
            }
            self.range += 1;
            self.next = None;
        }
        None
    }

    /// Takes this address if it is free and in a range.
    pub fn take_this(&mut self, address: IpAddr) -> Option<Allocation> {
        let allocation = self.ranges.find(address)?;
        self.taken.insert(address).then_some(allocation)
    }
}

impl Range<'_> {
    fn contains(&self, address: IpAddr) -> bool {
        address.is_ipv4() == self.first.is_ipv4() && self.first <= address && address <= self.last
    }

    fn size(&self) -> u128 {
        addresses::size(self.first, self.last)
    }
}

/// Returns the range of an entry of `spec.pools`: from `start`, or the address after the one in `subnet`, to the first of `end`, the end of
/// `subnet` and the last address of all.
fn range(pool: &Pool) -> Result<Range<'_>, String> {
    let subnet = pool.subnet.as_deref().map(subnet).transpose()?;
    let parse = |field: &str, text: &str| {
        text.parse::<IpAddr>().map_err(|_| format!("{field} {text:?} is no IP address"))
    };
    let first = match (&pool.start, &subnet) {
        (Some(start), _) => parse("start", start)?,
        (None, Some(subnet)) => {
            following(subnet.address).ok_or("subnet has no address after its first one")?
        }
        (None, None) => return Err("it needs start or subnet".to_owned()),
    };
    let mut last = if first.is_ipv4() {
        Ipv4Addr::BROADCAST.into()
    } else {
        IpAddr::from(Ipv6Addr::from_bits(u128::MAX))
    };
    if let Some(subnet) = subnet {
        if first.is_ipv4() != subnet.last.is_ipv4() || first < subnet.first || first > subnet.last {
            return Err(format!("{first} is not in subnet {}", pool.subnet.as_deref().unwrap_or_default()));
        }
        last = subnet.last;
    }
    if let Some(end) = &pool.end {
        let end = parse("end", end)?;
        if end.is_ipv4() != first.is_ipv4() || end < first {
            return Err(format!("end {end} is not an address after {first}"));
        }
        last = last.min(end);
    }
    Ok(Range { first, last, pool })
}

/// A network in CIDR notation.
struct Subnet {
    /// The address before the slash.
    address: IpAddr,
    first: IpAddr,
    last: IpAddr,
}

fn subnet(text: &str) -> Result<Subnet, String> {
    let parsed = addresses::parse_network(text)
        .and_then(|(address, prefix)| Some((address, addresses::network(address, prefix)?)));
    let (address, (first, last)) =
        parsed.ok_or_else(|| format!("subnet {text:?} is not of the form ADDRESS/LENGTH"))?;
    Ok(Subnet { address, first, last })
}
