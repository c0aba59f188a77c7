//! The range of addresses of a network. Everything here is pure.

use std::fmt;
use std::net::Ipv4Addr;
use std::str::FromStr;

use anyhow::{Context, Error, Result, bail, ensure};
use serde::{Deserialize, Serialize};
use system_containers::Init;

/// A range of addresses, for example `10.93.7.0/24`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Range {
    /// Its first address.
    pub address: Ipv4Addr,
    /// The number of bits that all addresses have in common.
    pub length: u8,
}

/// The order in which the addresses of a range are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// From the lowest one.
    Ascending,
    /// From the highest one.
    Descending,
}

impl Order {
    /// Returns the order for a container with this init. A balancer that is lost and made again finds its address free: nobody else takes the
    /// last ones.
    pub fn of(init: &Init) -> Self {
        match init {
            Init::Balancer => Self::Descending,
            Init::System | Init::Command(_) => Self::Ascending,
        }
    }
}

/// Where ranges are looked for: neither Pods nor Services of usual clusters have these addresses.
const CANDIDATES: Range = Range { address: Ipv4Addr::new(10, 93, 0, 0), length: 16 };
/// The length of a range that was not asked for.
const LENGTH: u8 = 24;
/// The lengths of ranges: from that of which the names of links have room for all numbers, to one with two containers.
const LENGTHS: std::ops::RangeInclusive<u8> = 16..=29;

impl Range {
    fn mask(self) -> u32 {
        u32::MAX.checked_shl(32 - u32::from(self.length)).unwrap_or(0)
    }

    /// Returns whether the ranges have an address in common.
    pub fn overlaps(self, other: Self) -> bool {
        let mask = self.mask() & other.mask();
        u32::from(self.address) & mask == u32::from(other.address) & mask
    }

    /// Returns whether it has this address.
    pub fn contains(self, address: Ipv4Addr) -> bool {
        self.overlaps(Self { address, length: 32 })
    }

    /// Returns the number of an address in it.
    pub fn number(self, address: Ipv4Addr) -> u32 {
        u32::from(address) & !self.mask()
    }

    /// Returns the address with this number.
    pub fn at(self, number: u32) -> Ipv4Addr {
        Ipv4Addr::from((u32::from(self.address) & self.mask()) | (number & !self.mask()))
    }

    /// Returns the address of the machine in it, which is the gateway of the containers.
    pub fn gateway(self) -> Ipv4Addr {
        self.at(1)
    }

    /// Returns the wanted address, or the first one in this order that nobody has.
    ///
    /// # Errors
    /// Somebody has the wanted one, or all are taken.
    pub fn free(self, wanted: Option<Ipv4Addr>, taken: &[Ipv4Addr], order: Order) -> Result<Ipv4Addr> {
        let last = !self.mask() - 1;
        if let Some(wanted) = wanted {
            let is_usable = self.contains(wanted) && (2..=last).contains(&self.number(wanted));
            ensure!(is_usable, "address: {wanted} is no address for a container in the network {self}");
            ensure!(!taken.contains(&wanted), "address: another container has {wanted}");
            return Ok(wanted);
        }
        let mut all = (2..=last).map(|number| self.at(number));
        let is_free = |address: &Ipv4Addr| !taken.contains(address);
        let found = match order {
            Order::Ascending => all.find(is_free),
            Order::Descending => all.rfind(is_free),
        };
        found.with_context(|| {
            format!("the network {self} has no free address: remove containers, or use a larger range")
        })
    }
}

/// Chooses a range that overlaps with none that is in use. Ranges of different data directories begin their search at different places.
///
/// # Errors
/// All are in use.
pub fn choose(wanted: Option<Range>, identity: &str, used: &[Range]) -> Result<Range> {
    // The default route is where everything else leads.
    let collides =
        |range: Range| used.iter().copied().find(|other| other.length > 0 && range.overlaps(*other));
    if let Some(range) = wanted {
        if let Some(other) = collides(range) {
            bail!("the range {range} collides with the route to {other} of this machine: use another one");
        }
        return Ok(range);
    }
    let first = u32::from_str_radix(identity, 16).unwrap_or_default();
    let mut candidates = (0..256_u32).map(|step| {
        let [_, _, _, number] = first.wrapping_add(step).to_be_bytes();
        let [a, b, _, _] = CANDIDATES.address.octets();
        Range { address: Ipv4Addr::new(a, b, number, 0), length: LENGTH }
    });
    candidates.find(|range| collides(*range).is_none()).with_context(|| {
        format!("all ranges of {CANDIDATES} collide with routes of this machine: name another range")
    })
}

impl fmt::Display for Range {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.address, self.length)
    }
}

impl From<Range> for String {
    fn from(range: Range) -> Self {
        range.to_string()
    }
}

impl TryFrom<String> for Range {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

impl FromStr for Range {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let range = || -> Option<Self> {
            let (address, length) = text.split_once('/')?;
            let range = Self { address: address.parse().ok()?, length: length.parse().ok()? };
            (LENGTHS.contains(&range.length) && range.number(range.address) == 0).then_some(range)
        };
        range().with_context(|| {
            let (shortest, longest) = LENGTHS.into_inner();
            format!("{text:?} is no range of addresses, for example 10.93.7.0/24, with a length of {shortest} to {longest}")
        })
    }
}
