//! Leases and offers. A machine is identified by the MAC address of its interface and has one address: firmware, iPXE, the agent and
//! the installed system send different client identifiers (option 61).

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use agent_protocol::dhcp::MacAddress;
use chrono::{DateTime, Duration, Utc};

use super::subnet::Subnet;
use crate::limits;
use crate::machine::Lease;

/// All leases and offers of a process. Expired leases are kept, so that a machine that returns gets its address again, unless another
/// machine needed it.
#[derive(Default)]
pub struct Leases {
    by_machine: BTreeMap<MacAddress, Lease>,
    by_address: BTreeMap<Ipv4Addr, MacAddress>,
    offers: BTreeMap<MacAddress, (Ipv4Addr, DateTime<Utc>)>,
    offered: BTreeMap<Ipv4Addr, MacAddress>,
    declined: BTreeMap<Ipv4Addr, DateTime<Utc>>,
}

/// The result of [`Leases::decline`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declined {
    /// The machine's lease of the address, which has ended; `None` if it had none.
    pub lease: Option<Lease>,
    /// Whether the address is blocked; not if [`limits::DECLINES`] are blocked already.
    pub is_blocked: bool,
}

/// Returns the machine that an address is reserved for.
pub type Reserved<'a> = &'a dyn Fn(Ipv4Addr) -> Option<MacAddress>;

impl Leases {
    /// Returns the lease of a machine, even if it has expired.
    pub fn of(&self, mac: MacAddress) -> Option<&Lease> {
        self.by_machine.get(&mac)
    }

    /// Returns the machine that holds a current lease of `address`.
    pub fn holder(&self, address: Ipv4Addr, now: DateTime<Utc>) -> Option<MacAddress> {
        let mac = *self.by_address.get(&address)?;
        self.by_machine.get(&mac).filter(|lease| lease.expires > now).map(|lease| lease.mac)
    }

    /// Stores a lease. If another machine had a lease of the address, that lease is removed and the machine is returned.
    pub fn set(&mut self, lease: Lease) -> Option<MacAddress> {
        if let Some((offered, _)) = self.offers.remove(&lease.mac) {
            self.offered.remove(&offered);
        }
        let before = self.by_address.insert(lease.address, lease.mac).filter(|before| *before != lease.mac);
        if let Some(before) = before {
            self.by_machine.remove(&before);
        }
        let (mac, address) = (lease.mac, lease.address);
        if let Some(old) = self.by_machine.insert(mac, lease)
            && old.address != address
        {
            self.by_address.remove(&old.address);
        }
        before
    }

    /// Ends the lease of a machine that gives its address back, and returns it; `None` if the machine has no lease of this address.
    pub fn release(&mut self, mac: MacAddress, address: Ipv4Addr, now: DateTime<Utc>) -> Option<Lease> {
        let lease = self.by_machine.get_mut(&mac).filter(|lease| lease.address == address)?;
        lease.expires = now;
        Some(lease.clone())
    }

    /// Blocks `address` for a while, because the machine found it in use by another one, and ends the machine's lease of it.
    pub fn decline(&mut self, mac: MacAddress, address: Ipv4Addr, now: DateTime<Utc>) -> Declined {
        self.declined.retain(|_, until| *until > now);
        let is_blocked = self.declined.len() < limits::DECLINES || self.declined.contains_key(&address);
        if is_blocked {
            self.declined.insert(address, after(now, limits::DECLINED));
        }
        self.forget_offer(mac);
        let mut lease = None;
        if self.by_address.get(&address) == Some(&mac) {
            self.by_address.remove(&address);
            lease = self.by_machine.remove(&mac).map(|lease| Lease { expires: now, ..lease });
        }
        Declined { lease, is_blocked }
    }

    /// Reserves `address` for the machine for a short time, until it requests it. Returns `false`, and reserves nothing, if
    /// [`limits::OFFERS`] are open already.
    pub fn offer(&mut self, mac: MacAddress, address: Ipv4Addr, now: DateTime<Utc>) -> bool {
        self.forget_offer(mac);
        if self.offers.len() >= limits::OFFERS {
            self.offers.retain(|_, (_, until)| *until > now);
            let offers = &self.offers;
            self.offered.retain(|_, mac| offers.contains_key(mac));
        }
        let has_room = self.offers.len() < limits::OFFERS;
        if has_room {
            self.hold(mac, address, now);
        }
        has_room
    }

    /// Reserves `address` for the machine while its lease is being written to the disk.
    pub fn hold(&mut self, mac: MacAddress, address: Ipv4Addr, now: DateTime<Utc>) {
        self.forget_offer(mac);
        self.offers.insert(mac, (address, after(now, limits::OFFER)));
        self.offered.insert(address, mac);
    }

    fn forget_offer(&mut self, mac: MacAddress) {
        if let Some((address, _)) = self.offers.remove(&mac) {
            self.offered.remove(&address);
        }
    }

    /// Returns whether the machine may have `address`: no other machine has a lease, an offer or a reservation of it.
    pub fn is_free_for(
        &self,
        mac: MacAddress,
        address: Ipv4Addr,
        reserved: Reserved<'_>,
        now: DateTime<Utc>,
    ) -> bool {
        let offered = self
            .offered
            .get(&address)
            .filter(|other| **other != mac && self.offers.get(other).is_some_and(|(_, until)| *until > now));
        offered.is_none()
            && self.declined.get(&address).is_none_or(|until| *until <= now)
            && self.holder(address, now).is_none_or(|holder| holder == mac)
            && reserved(address).is_none_or(|holder| holder == mac)
    }

    /// Chooses the address for a machine without a reservation: the one that it had, the one that it was offered, the one that it
    /// requests, or a free one. Addresses without any lease are preferred to those whose lease has expired. Some addresses of the pools
    /// are kept for machines with a BareMetalHost.
    pub fn choose(
        &self,
        (mac, is_known): (MacAddress, bool),
        wish: Option<Ipv4Addr>,
        subnet: &Subnet,
        server: Ipv4Addr,
        reserved: Reserved<'_>,
        now: DateTime<Utc>,
    ) -> Option<Ipv4Addr> {
        let fits = |address: &Ipv4Addr| {
            subnet.leases(*address)
                && *address != server
                && !subnet.routers.contains(address)
                && self.is_free_for(mac, *address, reserved, now)
        };
        let had = self.by_machine.get(&mac).map(|lease| lease.address);
        let offered = self.offers.get(&mac).map(|(address, _)| *address);
        if let Some(address) = [had, offered].into_iter().flatten().find(fits) {
            return Some(address);
        }
        let may_have = |address: &Ipv4Addr| is_known || !is_kept(*address);
        let fits = |address: &Ipv4Addr| may_have(address) && fits(address);
        wish.into_iter().find(fits).or_else(|| {
            let free = |address: &Ipv4Addr| !self.by_address.contains_key(address) && fits(address);
            addresses(mac, subnet).find(free).or_else(|| {
                let expired = self.by_machine.values().filter(|lease| fits(&lease.address));
                expired.min_by_key(|lease| lease.expires).map(|lease| lease.address)
            })
        })
    }
}

/// Returns whether an address is kept for machines with a BareMetalHost.
fn is_kept(address: Ipv4Addr) -> bool {
    u64::from(address.to_bits()) % limits::KEPT_ADDRESSES == limits::KEPT_ADDRESSES - 1
}

/// Iterates over the addresses of a subnet's pools, from a start that depends on the machine: if the leases are lost, most machines
/// still get the same address.
fn addresses(mac: MacAddress, subnet: &Subnet) -> impl Iterator<Item = Ipv4Addr> + '_ {
    let total: u64 = subnet.pools.iter().map(|pool| pool.size()).sum();
    // FNV-1a hash.
    let hash = mac.0.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let start = hash.checked_rem(total).unwrap_or(0);
    (start..total).chain(0..start).filter_map(|mut place| {
        for pool in &subnet.pools {
            if place < pool.size() {
                let offset = u32::try_from(place).ok()?;
                return Some(Ipv4Addr::from_bits(pool.first.to_bits() + offset));
            }
            place -= pool.size();
        }
        None
    })
}

/// Returns `now` plus `duration`, or `now` if that overflows.
pub fn after(now: DateTime<Utc>, duration: std::time::Duration) -> DateTime<Utc> {
    Duration::from_std(duration).ok().and_then(|duration| now.checked_add_signed(duration)).unwrap_or(now)
}
