//! The addresses that machines take from another DHCP server, as seen in their broadcast messages. Pure.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use agent_protocol::dhcp::{Kind, MacAddress, Packet, options};
use chrono::{DateTime, Utc};

use crate::limits;

/// The addresses that machines were seen to take. Such an entry is as trustworthy as a lease of this server: both rely on the MAC
/// address in a message.
#[derive(Default)]
pub struct Observed {
    by_address: BTreeMap<Ipv4Addr, (MacAddress, DateTime<Utc>)>,
    by_machine: BTreeMap<MacAddress, Ipv4Addr>,
}

impl Observed {
    /// Records the address that a `Request` names. Machines without a BareMetalHost may fill only half of the room. Returns `false` if
    /// there is no room.
    pub fn note(&mut self, request: &Packet, is_known: bool, now: DateTime<Utc>) -> bool {
        let asked = request.options.address(options::REQUESTED_ADDRESS);
        let address = asked.or(Some(request.client)).filter(|address| !address.is_unspecified());
        let (Some(address), Kind::Request, false) = (address, request.kind, request.reply) else {
            return true;
        };
        let room = if is_known { limits::OBSERVED } else { limits::OBSERVED / 2 };
        if self.by_address.len() >= room && !self.by_machine.contains_key(&request.mac) {
            self.by_address.retain(|_, (_, until)| *until > now);
            let by_address = &self.by_address;
            self.by_machine.retain(|_, address| by_address.contains_key(address));
            if self.by_address.len() >= room {
                return false;
            }
        }
        if let Some(before) = self.by_machine.insert(request.mac, address) {
            self.by_address.remove(&before);
        }
        let until = now + limits::duration(limits::OBSERVED_TIME);
        if let Some((other, _)) = self.by_address.insert(address, (request.mac, until))
            && other != request.mac
        {
            self.by_machine.remove(&other);
        }
        true
    }

    /// Returns the machine that was last seen to take `address`, until the entry expires.
    pub fn holder(&self, address: Ipv4Addr, now: DateTime<Utc>) -> Option<MacAddress> {
        self.by_address.get(&address).filter(|(_, until)| *until > now).map(|(mac, _)| *mac)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::discover;
    use super::*;

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
        assert_eq!((noted, observed.by_address.len()), (limits::OBSERVED / 2, limits::OBSERVED / 2));
        observed.note(&wide(most + 1), true, now);
        assert!(observed.holder(Ipv4Addr::from_bits(0x0a00_0000 + most + 1), now).is_some());
    }
}
