//! Which machine has which address. One machine has one address, by the address of its interface: firmware, iPXE, the agent and the
//! installed system call themselves by different names (option 61).

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use chrono::{DateTime, Duration, Utc};
use dhcp::MacAddress;

use super::subnet::Subnet;
use crate::limits;
use crate::machine::Lease;

/// All leases and offers of a process. Expired ones are kept: a machine that comes back gets its address again, unless another one
/// needed it.
#[derive(Default)]
pub struct Leases {
    by_machine: BTreeMap<MacAddress, Lease>,
    by_address: BTreeMap<Ipv4Addr, MacAddress>,
    offers: BTreeMap<MacAddress, (Ipv4Addr, DateTime<Utc>)>,
    offered: BTreeMap<Ipv4Addr, MacAddress>,
    declined: BTreeMap<Ipv4Addr, DateTime<Utc>>,
}

/// Who addresses are kept for.
pub type Reserved<'a> = &'a dyn Fn(Ipv4Addr) -> Option<MacAddress>;

impl Leases {
    /// The lease of a machine, expired or not.
    pub fn of(&self, mac: MacAddress) -> Option<&Lease> {
        self.by_machine.get(&mac)
    }

    /// Who has `address` now.
    pub fn holder(&self, address: Ipv4Addr, now: DateTime<Utc>) -> Option<MacAddress> {
        let mac = *self.by_address.get(&address)?;
        self.by_machine.get(&mac).filter(|lease| lease.expires > now).map(|lease| lease.mac)
    }

    /// Notes a lease. Another machine that had the address, which is returned, has none after that.
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

    /// The machine has given its address back; `None` when it has no lease of it.
    pub fn release(&mut self, mac: MacAddress, address: Ipv4Addr, now: DateTime<Utc>) -> Option<Lease> {
        let lease = self.by_machine.get_mut(&mac).filter(|lease| lease.address == address)?;
        lease.expires = now;
        Some(lease.clone())
    }

    /// The machine found that somebody else uses `address`; its lease, which has ended.
    pub fn decline(&mut self, mac: MacAddress, address: Ipv4Addr, now: DateTime<Utc>) -> Option<Lease> {
        self.declined.retain(|_, until| *until > now);
        if self.declined.len() < limits::DECLINES {
            self.declined.insert(address, after(now, limits::DECLINED));
        }
        self.forget_offer(mac);
        if self.by_address.get(&address) != Some(&mac) {
            return None;
        }
        self.by_address.remove(&address);
        let lease = self.by_machine.remove(&mac)?;
        Some(Lease { expires: now, ..lease })
    }

    /// Keeps `address` for the machine until it asks for it; not when addresses are kept for too many already.
    pub fn offer(&mut self, mac: MacAddress, address: Ipv4Addr, now: DateTime<Utc>) {
        self.forget_offer(mac);
        if self.offers.len() >= limits::OFFERS {
            self.offers.retain(|_, (_, until)| *until > now);
            let offers = &self.offers;
            self.offered.retain(|_, mac| offers.contains_key(mac));
        }
        if self.offers.len() < limits::OFFERS {
            self.hold(mac, address, now);
        }
    }

    /// Keeps `address` for the machine while its lease is written down.
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

    /// Whether the machine could have `address`: nobody else has it, was offered it or has it reserved.
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

    /// The address for a machine without a reservation: the one that it had, the one that it wishes for, or a free one; one that nobody
    /// had before one that somebody may come back for. Some of the pools' addresses are kept for machines that somebody described.
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

/// Whether an address is kept for machines that somebody described.
fn is_kept(address: Ipv4Addr) -> bool {
    u64::from(address.to_bits()) % limits::KEPT_ADDRESSES == limits::KEPT_ADDRESSES - 1
}

/// The addresses of a subnet's pools, from a place on that depends on the machine: after leases were lost, most machines still get the
/// address that they had.
fn addresses(mac: MacAddress, subnet: &Subnet) -> impl Iterator<Item = Ipv4Addr> + '_ {
    let total: u64 = subnet.pools.iter().map(|pool| pool.size()).sum();
    // FNV-1a.
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

/// `now` and `duration` later.
pub fn after(now: DateTime<Utc>, duration: std::time::Duration) -> DateTime<Utc> {
    Duration::from_std(duration).ok().and_then(|duration| now.checked_add_signed(duration)).unwrap_or(now)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::subnet::Network;
    use super::*;

    fn lease(mac: MacAddress, address: Ipv4Addr, expires: DateTime<Utc>) -> Lease {
        Lease {
            mac,
            address,
            expires,
            host_name: None,
            interface: "eth0".into(),
            relay: None,
            architecture: None,
            vendor_class: None,
        }
    }

    #[derive(Clone, Debug)]
    enum Step {
        Take(u8, Option<u8>),
        Release(u8),
        Decline(u8),
        Wait(u16),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            4 => (0..12u8, proptest::option::of(0..16u8)).prop_map(|(mac, wish)| Step::Take(mac, wish)),
            1 => (0..12u8).prop_map(Step::Release),
            1 => (0..12u8).prop_map(Step::Decline),
            2 => (0..200u16).prop_map(Step::Wait),
        ]
    }

    proptest! {
        /// Whatever machines do, no two have one address, a machine keeps its own as long as nobody else needs it, and nobody gets
        /// what is not to be leased.
        #[test]
        fn an_address_is_one_machines(steps in proptest::collection::vec(step(), 1..200)) {
            let server = Ipv4Addr::new(10, 0, 0, 1);
            let pool = "10.0.0.4-10.0.0.11".parse().unwrap();
            let subnet = Subnet::new(Network { address: server, prefix: 28 }, vec![pool]);
            let kept = Ipv4Addr::new(10, 0, 0, 5);
            let reserved = |address: Ipv4Addr| (address == kept).then_some(MacAddress([9; 6]));
            let mut now = DateTime::<Utc>::UNIX_EPOCH;
            let mut leases = Leases::default();
            let mut held: BTreeMap<MacAddress, (Ipv4Addr, DateTime<Utc>)> = BTreeMap::new();
            for step in steps {
                match step {
                    Step::Take(machine, wish) => {
                        let mac = MacAddress([machine; 6]);
                        let wish = wish.map(|last| Ipv4Addr::new(10, 0, 0, last));
                        let Some(address) = leases.choose((mac, machine % 2 == 0), wish, &subnet, server, &reserved, now) else {
                            continue;
                        };
                        prop_assert!(subnet.leases(address));
                        prop_assert!(address != kept || machine == 9);
                        if let Some((before, until)) = held.get(&mac) && *until > now {
                            prop_assert_eq!(address, *before, "a machine keeps its address");
                        }
                        let expires = after(now, std::time::Duration::from_secs(100));
                        leases.set(lease(mac, address, expires));
                        held.insert(mac, (address, expires));
                        let same = held.values().filter(|(other, until)| *other == address && *until > now);
                        prop_assert_eq!(same.count(), 1, "{} has two machines", address);
                    }
                    Step::Release(machine) => {
                        let mac = MacAddress([machine; 6]);
                        if let Some((address, _)) = held.remove(&mac) {
                            leases.release(mac, address, now);
                        }
                    }
                    Step::Decline(machine) => {
                        let mac = MacAddress([machine; 6]);
                        if let Some((address, until)) = held.remove(&mac) && until > now {
                            leases.decline(mac, address, now);
                            prop_assert!(!leases.is_free_for(mac, address, &reserved, now));
                        }
                    }
                    Step::Wait(seconds) => now += Duration::seconds(seconds.into()),
                }
            }
        }
    }
}
