//! The exchange with a machine that gets its address from this server.

use std::net::Ipv4Addr;

use agent_protocol::dhcp::{Kind, Packet, options};
use chrono::{DateTime, Utc};

use super::answer::{Answer, Outcome, destination, echo, nothing_to_boot};
use super::leases::{Declined, Leases, after};
use super::link::{Known, Mode};
use super::subnet::Subnet;
use crate::client::Program;
use crate::limits;
use crate::machine::Lease;

/// A message of a machine that gets its address from this server.
pub(super) struct Exchange<'a> {
    pub(super) request: &'a Packet,
    pub(super) known: &'a Known<'a>,
    pub(super) program: Program,
    pub(super) subnet: &'a Subnet,
}

impl Exchange<'_> {
    /// Returns the address for this machine; `wish` counts only if nothing else decides. A reserved address that another machine still
    /// leases is not given before that lease ends.
    fn address(&self, wish: Option<Ipv4Addr>, leases: &Leases) -> Option<Ipv4Addr> {
        let Known { link, machine, reserved, now, .. } = self.known;
        let mac = self.request.mac;
        let is_its_own =
            |address: &Ipv4Addr| leases.holder(*address, *now).is_none_or(|holder| holder == mac);
        let reserved_here = machine.reserved.filter(|address| self.subnet.network.has_host(*address));
        match (reserved_here.filter(is_its_own), link.mode) {
            (Some(address), _) => Some(address),
            (None, Mode::Full) => {
                leases.choose((mac, machine.known), wish, self.subnet, link.server, *reserved, *now)
            }
            (None, _) => None,
        }
    }

    pub(super) fn discover(&self, leases: &mut Leases) -> Outcome {
        let (mac, now) = (self.request.mac, self.known.now);
        let wish = self.request.options.address(options::REQUESTED_ADDRESS);
        let Some(address) = self.address(wish, leases) else {
            // The addresses that are left, if there are any, are kept for machines with a BareMetalHost.
            let is_kept = self.known.link.mode == Mode::Full && !self.known.machine.known;
            let limit = is_kept.then_some("netboot_kept_addresses");
            return Outcome { limit, ..Outcome::warning(self.no_address()) };
        };
        let is_held = leases.offer(mac, address, now);
        let limit = (!is_held).then_some("netboot_offers");
        Outcome { limit, ..self.answer(Kind::Offer, Some(address), None) }
    }

    fn no_address(&self) -> String {
        let (mac, interface) = (self.request.mac, &self.known.link.interface);
        match self.known.machine.reserved {
            Some(address) if !self.subnet.network.has_host(address) => format!(
                "machine {mac} has {address} reserved, which is not in the network {}/{} of {interface}",
                self.subnet.network.first(),
                self.subnet.network.prefix
            ),
            Some(address) if self.known.link.mode != Mode::Full => {
                format!(
                    "machine {mac} has {address} reserved, which another machine uses until its lease ends"
                )
            }
            _ => format!("no free address for machine {mac} on {interface}: make the pool larger"),
        }
    }

    pub(super) fn request(&self, leases: &mut Leases) -> Outcome {
        let Known { link, now, .. } = self.known;
        let (request, mac) = (self.request, self.request.mac);
        let server = request.options.address(options::SERVER_IDENTIFIER);
        if server.is_some_and(|server| server != link.server) {
            // The client accepts the offer of another server.
            return Outcome::default();
        }
        let requested = request.options.address(options::REQUESTED_ADDRESS);
        let wanted = requested.or(Some(request.client).filter(|address| !address.is_unspecified()));
        let Some(wanted) = wanted else { return Outcome::default() };
        if self.address(Some(wanted), leases) != Some(wanted) {
            return self.refuse(wanted);
        }
        leases.hold(mac, wanted, *now);
        let expires = after(*now, self.lease_time());
        let lease = leases
            .of(mac)
            .filter(|lease| lease.address == wanted && lease.expires >= expires && self.describes(lease));
        // When a machine starts, several programs request the same address within seconds. The lease is written with a quarter of its
        // time to spare, so that only the first request causes a write.
        let written = match lease {
            Some(_) => None,
            None => Some(self.lease(wanted, after(expires, self.lease_time() / 4))),
        };
        self.answer(Kind::Acknowledge, Some(wanted), written)
    }

    /// Returns the lease time: the time that the client requests, at least [`limits::LEASE_SHORTEST`] and at most that of the subnet.
    fn lease_time(&self) -> std::time::Duration {
        let asked = self.request.options.get(options::LEASE_TIME).and_then(|value| value.try_into().ok());
        match asked.map(u32::from_be_bytes) {
            Some(seconds) => std::time::Duration::from_secs(seconds.into())
                .max(limits::LEASE_SHORTEST)
                .min(self.subnet.lease),
            None => self.subnet.lease,
        }
    }

    /// Returns whether a stored lease still matches the request. An architecture that the installed system does not send stays as
    /// stored.
    fn describes(&self, lease: &Lease) -> bool {
        let now = self.lease(lease.address, lease.expires);
        lease.host_name == now.host_name
            && lease.interface == now.interface
            && lease.relay == now.relay
            && (now.architecture.is_none() || lease.architecture == now.architecture)
    }

    fn lease(&self, address: Ipv4Addr, expires: DateTime<Utc>) -> Lease {
        let class = self.request.options.get(options::VENDOR_CLASS);
        Lease {
            mac: self.request.mac,
            address,
            expires,
            host_name: self.known.machine.host_name.clone(),
            interface: self.known.link.interface.clone(),
            relay: Some(self.request.relay).filter(|relay| !relay.is_unspecified()),
            architecture: self.program.architecture().map(|architecture| architecture.name()),
            vendor_class: class.map(|class| String::from_utf8_lossy(class).into_owned()),
        }
    }

    fn refuse(&self, wanted: Ipv4Addr) -> Outcome {
        let mut packet = self.request.answer(Kind::Refuse);
        // The broadcast flag makes a relay broadcast the answer, since the client has no valid address in this network.
        packet.broadcast = true;
        packet.options.set(options::SERVER_IDENTIFIER, self.known.link.server.octets());
        packet.options.set(options::MESSAGE, format!("{wanted} is not yours here"));
        echo(self.request, &mut packet);
        self.send(packet, None)
    }

    pub(super) fn decline(&self, leases: &mut Leases) -> Outcome {
        let Some(address) = self.request.options.address(options::REQUESTED_ADDRESS) else {
            return Outcome::default();
        };
        if !self.is_for_us() || self.address(Some(address), leases) != Some(address) {
            return Outcome::default();
        }
        let Declined { lease, is_blocked } = leases.decline(self.request.mac, address, self.known.now);
        let (mac, minutes, most) = (self.request.mac, limits::DECLINED.as_secs() / 60, limits::DECLINES);
        let effect = if is_blocked {
            format!("it is not leased for {minutes} minutes")
        } else {
            format!(
                "it may be leased again, because {most} addresses are blocked already: find the machine that declines so many"
            )
        };
        let warning = format!("machine {mac} found that {address} is in use by somebody else; {effect}");
        let limit = (!is_blocked).then_some("netboot_declines");
        Outcome { lease, limit, ..Outcome::warning(warning) }
    }

    pub(super) fn release(&self, leases: &mut Leases) -> Outcome {
        if !self.is_for_us() {
            return Outcome::default();
        }
        let lease = leases.release(self.request.mac, self.request.client, self.known.now);
        Outcome { lease, ..Outcome::default() }
    }

    fn is_for_us(&self) -> bool {
        let server = self.request.options.address(options::SERVER_IDENTIFIER);
        server.is_none_or(|server| server == self.known.link.server)
    }

    pub(super) fn inform(&self) -> Outcome {
        self.answer(Kind::Acknowledge, None, None)
    }

    /// Returns the answer with all options for the machine; without an address it has no lease time.
    fn answer(&self, kind: Kind, address: Option<Ipv4Addr>, lease: Option<Lease>) -> Outcome {
        let Self { request, known, subnet, .. } = self;
        let mut packet = request.answer(kind);
        packet.client = if kind == Kind::Acknowledge { request.client } else { packet.client };
        let told = &mut packet.options;
        told.set(options::SERVER_IDENTIFIER, known.link.server.octets());
        if let Some(address) = address {
            packet.yours = address;
            let seconds = u32::try_from(self.lease_time().as_secs()).unwrap_or(u32::MAX);
            told.set_number(options::LEASE_TIME, seconds);
            told.set_number(options::RENEWAL_TIME, seconds / 2);
            told.set_number(options::REBINDING_TIME, seconds / 8 * 7);
        }
        told.set(options::SUBNET_MASK, subnet.network.mask().octets());
        told.set(options::BROADCAST_ADDRESS, subnet.network.broadcast().octets());
        told.set_addresses(options::ROUTERS, &subnet.routers);
        told.set_addresses(options::NAME_SERVERS, &subnet.name_servers);
        told.set_addresses(options::TIME_SERVERS, &subnet.time_servers);
        if let Some(name) = &known.machine.host_name {
            told.set(options::HOST_NAME, name.as_str());
        }
        if let Some(domain) = &subnet.domain {
            told.set(options::DOMAIN_NAME, domain.as_str());
        }
        let has_file = known.link.offer.put(&mut packet, request, self.program, &known.machine.boot, false);
        echo(request, &mut packet);
        let missing = !has_file && kind == Kind::Offer;
        let warning = missing.then(|| nothing_to_boot(request.mac, self.program)).flatten();
        Outcome { warning, ..self.send(packet, lease) }
    }

    fn send(&self, packet: Packet, lease: Option<Lease>) -> Outcome {
        let to = destination(self.request, &packet);
        let answer = Answer { packet, to, from: self.known.port, largest: self.request.largest_answer() };
        Outcome { lease, answer: Some(answer), ..Outcome::default() }
    }
}
