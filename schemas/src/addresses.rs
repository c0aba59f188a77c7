//! Sets of IP addresses, and the forms in which pools write them.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A set of addresses as runs: the first address of each run with its last one. Its cost depends on the number of runs, never on
/// the number of addresses.
///
/// Invariant: no two runs overlap or touch, and a run has addresses of one family.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AddressSet(BTreeMap<IpAddr, IpAddr>);

impl AddressSet {
    /// Returns whether the set has no address.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the lowest address; those of IPv4 are lower than those of IPv6.
    pub fn first(&self) -> Option<IpAddr> {
        self.0.keys().next().copied()
    }

    /// Returns the runs in order, each as its first and its last address.
    pub fn runs(&self) -> impl Iterator<Item = (IpAddr, IpAddr)> {
        self.0.iter().map(|(first, last)| (*first, *last))
    }

    /// Returns the first run that has an address from `address` on, without what is before `address`.
    pub fn run_from(&self, address: IpAddr) -> Option<(IpAddr, IpAddr)> {
        let here = self.end_of_run(address).map(|last| (address, last));
        here.or_else(|| self.0.range(address..).next().map(|(first, last)| (*first, *last)))
    }

    /// Returns the number of addresses, at most `u128::MAX`.
    pub fn count(&self) -> u128 {
        self.runs().fold(0, |sum: u128, (first, last)| sum.saturating_add(size(first, last)))
    }

    /// Returns the last address of the run that contains `address`.
    fn end_of_run(&self, address: IpAddr) -> Option<IpAddr> {
        let (_, last) = self.0.range(..=address).next_back()?;
        (*last >= address).then_some(*last)
    }

    /// Returns whether the set contains `address`.
    pub fn contains(&self, address: IpAddr) -> bool {
        self.end_of_run(address).is_some()
    }

    /// Returns the first address of its family from `address` on that is not in the set.
    pub fn first_absent(&self, address: IpAddr) -> Option<IpAddr> {
        match self.end_of_run(address) {
            Some(last) => following(last),
            None => Some(address),
        }
    }

    /// Adds `address`. Returns whether it was absent.
    pub fn insert(&mut self, address: IpAddr) -> bool {
        if self.contains(address) {
            return false;
        }
        self.insert_range(address, address);
        true
    }

    /// Adds the addresses from `first` to `last`, both included. A range that is reversed or of two families has no address.
    pub fn insert_range(&mut self, first: IpAddr, last: IpAddr) {
        if !is_range(first, last) {
            return;
        }
        let (mut start, mut end) = (first, last);
        let touching = preceding(first).unwrap_or(first);
        if let Some((before, until)) = self.0.range(..=first).next_back().map(|(first, last)| (*first, *last))
            && until >= touching
        {
            start = before;
            end = end.max(until);
        }
        let beyond = following(end).unwrap_or(end);
        while let Some((next, until)) =
            self.0.range(start..=beyond).next().map(|(first, last)| (*first, *last))
        {
            end = end.max(until);
            self.0.remove(&next);
        }
        self.0.insert(start, end);
    }

    /// Removes `address`.
    pub fn remove(&mut self, address: IpAddr) {
        self.remove_range(address, address);
    }

    /// Removes the addresses from `first` to `last`, both included.
    pub fn remove_range(&mut self, first: IpAddr, last: IpAddr) {
        if !is_range(first, last) {
            return;
        }
        if let Some((start, end)) = self.0.range(..=first).next_back().map(|(first, last)| (*first, *last))
            && end >= first
        {
            self.0.remove(&start);
            self.put(Some(start), preceding(first));
            self.put(following(last), Some(end));
        }
        while let Some((start, end)) = self.0.range(first..=last).next().map(|(first, last)| (*first, *last))
        {
            self.0.remove(&start);
            self.put(following(last), Some(end));
        }
    }

    /// Adds the run from `first` to `last`, which touches no other, unless it has no address.
    fn put(&mut self, first: Option<IpAddr>, last: Option<IpAddr>) {
        if let (Some(first), Some(last)) = (first, last)
            && is_range(first, last)
        {
            self.0.insert(first, last);
        }
    }

    /// Adds all addresses of `other`.
    pub fn extend(&mut self, other: &Self) {
        other.runs().for_each(|(first, last)| self.insert_range(first, last));
    }

    /// Removes all addresses of `other`.
    pub fn subtract(&mut self, other: &Self) {
        other.runs().for_each(|(first, last)| self.remove_range(first, last));
    }
}

impl FromIterator<IpAddr> for AddressSet {
    fn from_iter<I: IntoIterator<Item = IpAddr>>(addresses: I) -> Self {
        let mut set = Self::default();
        for address in addresses {
            set.insert(address);
        }
        set
    }
}

/// Parses a single address, a range such as `10.0.0.1-10.0.0.9`, or a network such as `10.0.0.0/24`, and returns its first and last
/// address. The bits of a network's address after its prefix have no meaning.
///
/// # Errors
/// Says what is wrong with the text.
pub fn parse_range(text: &str) -> Result<(IpAddr, IpAddr), &'static str> {
    if let Some((first, last)) = text.split_once('-') {
        let (Ok(first), Ok(last)) = (first.parse::<IpAddr>(), last.parse::<IpAddr>()) else {
            return Err("must have an IP address on each side of the dash");
        };
        if first.is_ipv4() != last.is_ipv4() {
            return Err("must not reach from IPv4 to IPv6");
        }
        if first > last {
            return Err("is reversed: the first address must not be after the last one");
        }
        return Ok((first, last));
    }
    if text.contains('/') {
        let (address, prefix) =
            parse_network(text).ok_or("must be a network in CIDR notation, such as 192.0.2.0/24")?;
        return network(address, prefix).ok_or("has a prefix that is too long for its address");
    }
    let address = text.parse().map_err(
        |_| "must be an IP address, a range such as 192.0.2.10-192.0.2.20, or a network such as 192.0.2.0/24",
    )?;
    Ok((address, address))
}

/// Parses a network in CIDR notation, and returns its address as it is written and the length of its prefix.
pub fn parse_network(text: &str) -> Option<(IpAddr, u32)> {
    let (address, prefix) = text.split_once('/')?;
    let address: IpAddr = address.parse().ok()?;
    let is_number =
        prefix.bytes().all(|byte| byte.is_ascii_digit()) && (prefix == "0" || !prefix.starts_with('0'));
    let prefix = prefix.parse().ok().filter(|prefix| is_number && *prefix <= width(address))?;
    Some((address, prefix))
}

/// Returns the first and the last address of the network that contains `address`; `None` if the prefix is too long.
pub fn network(address: IpAddr, prefix: u32) -> Option<(IpAddr, IpAddr)> {
    let host_bits = width(address).checked_sub(prefix)?;
    let hosts = u128::MAX.checked_shr(128 - host_bits).unwrap_or(0);
    let first = bits(address) & !hosts;
    Some((of_bits(first, address), of_bits(first | hosts, address)))
}

/// Returns the number of bits of the addresses of a family.
pub fn width(address: IpAddr) -> u32 {
    if address.is_ipv4() { 32 } else { 128 }
}

/// Returns the next address; `None` after the last one of its family.
pub fn following(address: IpAddr) -> Option<IpAddr> {
    match address {
        IpAddr::V4(address) => address.to_bits().checked_add(1).map(|bits| Ipv4Addr::from_bits(bits).into()),
        IpAddr::V6(address) => address.to_bits().checked_add(1).map(|bits| Ipv6Addr::from_bits(bits).into()),
    }
}

/// Returns the address before `address`; `None` before the first one of its family.
pub fn preceding(address: IpAddr) -> Option<IpAddr> {
    match address {
        IpAddr::V4(address) => address.to_bits().checked_sub(1).map(|bits| Ipv4Addr::from_bits(bits).into()),
        IpAddr::V6(address) => address.to_bits().checked_sub(1).map(|bits| Ipv6Addr::from_bits(bits).into()),
    }
}

/// Returns the number of addresses from `first` to `last`, at most `u128::MAX`; 0 if they are no range.
pub fn size(first: IpAddr, last: IpAddr) -> u128 {
    if is_range(first, last) { (bits(last) - bits(first)).saturating_add(1) } else { 0 }
}

fn is_range(first: IpAddr, last: IpAddr) -> bool {
    first.is_ipv4() == last.is_ipv4() && first <= last
}

fn bits(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => address.to_bits().into(),
        IpAddr::V6(address) => address.to_bits(),
    }
}

/// Returns the address with these bits, of the family of `like`.
fn of_bits(bits: u128, like: IpAddr) -> IpAddr {
    match like {
        IpAddr::V4(_) => Ipv4Addr::from_bits(u32::try_from(bits).unwrap_or(u32::MAX)).into(),
        IpAddr::V6(_) => Ipv6Addr::from_bits(bits).into(),
    }
}
