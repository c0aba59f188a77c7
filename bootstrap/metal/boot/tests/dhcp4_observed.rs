//! Tests of `dhcp4::observed`.

use std::net::Ipv4Addr;

use crate::metal_boot::discover::discover;
use agent_protocol::dhcp::{Kind, MacAddress, Packet, options};
use chrono::DateTime;
use metal_boot::dhcp4::observed::Observed;
use metal_boot::limits;

fn request(machine: u32, last: u8) -> Packet {
    let [a, b, c, d] = machine.to_be_bytes();
    let mut packet = Packet { kind: Kind::Request, ..discover(MacAddress([2, 0, a, b, c, d])) };
    packet.options.set(options::REQUESTED_ADDRESS, [10, 0, 0, last]);
    packet
}

#[test]
fn an_address_is_its_last_machines() {
    let (mut observed, now) = (Observed::default(), DateTime::UNIX_EPOCH);
    let (first, second) = (request(1, 9), request(2, 9));
    observed.note(&discover(first.mac), true, now);
    assert_eq!(observed.holder([10, 0, 0, 9].into(), now), None, "nothing is taken yet");
    observed.note(&first, true, now);
    assert_eq!(observed.holder([10, 0, 0, 9].into(), now), Some(first.mac));
    observed.note(&second, true, now);
    assert_eq!(observed.holder([10, 0, 0, 9].into(), now), Some(second.mac));
    observed.note(&request(2, 10), true, now);
    assert_eq!(observed.holder([10, 0, 0, 9].into(), now), None, "it has another one");
    let later = now + limits::duration(limits::OBSERVED_TIME);
    assert_eq!(observed.holder([10, 0, 0, 10].into(), later), None);
}

#[test]
fn who_makes_up_machines_leaves_room_for_those_that_are_known() {
    let (mut observed, now) = (Observed::default(), DateTime::UNIX_EPOCH);
    let wide = |machine: u32| {
        let mut packet = request(machine, 0);
        let [_, b, c, d] = machine.to_be_bytes();
        packet.options.set(options::REQUESTED_ADDRESS, [10, b, c, d]);
        packet
    };
    let most = u32::try_from(limits::OBSERVED).unwrap();
    let noted = (1..=most).filter(|machine| observed.note(&wide(*machine), false, now)).count();
    assert_eq!((noted, observed.len()), (limits::OBSERVED / 2, limits::OBSERVED / 2));
    observed.note(&wide(most + 1), true, now);
    assert!(observed.holder(Ipv4Addr::from_bits(0x0a00_0000 + most + 1), now).is_some());
}
