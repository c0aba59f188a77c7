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

    /// Returns the number of known addresses.
    pub fn len(&self) -> usize {
        self.by_address.len()
    }

    /// Returns whether no address is known.
    pub fn is_empty(&self) -> bool {
        self.by_address.is_empty()
    }

    /// Returns the machine that was last seen to take `address`, until the entry expires.
    pub fn holder(&self, address: Ipv4Addr, now: DateTime<Utc>) -> Option<MacAddress> {
        self.by_address.get(&address).filter(|(_, until)| *until > now).map(|(mac, _)| *mac)
    }
}
