//! Tests of `dhcp4::leases`.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use agent_protocol::dhcp::MacAddress;
use chrono::{DateTime, Duration, Utc};
use metal_boot::dhcp4::leases::{Declined, Leases, after};
use metal_boot::dhcp4::subnet::{Network, Subnet};
use metal_boot::limits;
use metal_boot::machine::Lease;
use proptest::prelude::*;

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

#[test]
fn offers_and_blocked_addresses_are_so_many() {
    let now = DateTime::<Utc>::UNIX_EPOCH;
    let mut leases = Leases::default();
    let machine = |number: usize| MacAddress([2, 0, 0, 0, (number >> 8) as u8, number as u8]);
    let address = |number: usize| Ipv4Addr::from_bits(0x0a00_0000 + number as u32);
    for number in 0..=limits::OFFERS {
        let is_held = leases.offer(machine(number), address(number), now);
        assert_eq!(is_held, number < limits::OFFERS, "{number}");
    }
    for number in 0..=limits::DECLINES {
        let declined = leases.decline(machine(number), address(number), now);
        assert_eq!(declined, Declined { lease: None, is_blocked: number < limits::DECLINES }, "{number}");
    }
    assert!(leases.decline(machine(0), address(0), now).is_blocked, "it is blocked already");
    assert!(
        leases.decline(machine(1), address(9999), after(now, limits::DECLINED)).is_blocked,
        "there is room again"
    );
}

proptest! {
    /// For any sequence of messages: no two machines have the same address, a machine keeps its address as long as no other machine
    /// needs it, and no address outside the pools is leased.
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
