//! Decides about the answer to a message. Pure functions.

use std::net::{Ipv4Addr, SocketAddrV4};

use chrono::{DateTime, Utc};
use dhcp::{Kind, MacAddress, Packet, options};

use super::leases::{Leases, Reserved, after};
use super::subnet::Subnet;
use crate::client::{Architecture, Program};
use crate::limits;
use crate::machine::{Boot, Lease, Machine};
use crate::offer::Offer;

/// The UDP port of servers and relays.
pub const SERVER_PORT: u16 = 67;
/// The UDP port of clients.
pub const CLIENT_PORT: u16 = 68;
/// The UDP port of PXE boot servers.
pub const PXE_PORT: u16 = 4011;

/// The machines that the server leases addresses to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// All machines.
    Full,
    /// No machine: another server leases addresses. This server only names the boot file to clients that boot over the network.
    Proxy,
    /// Machines with a reserved address; other machines get no answer.
    Reservations,
}

/// The configuration of the server on one interface.
#[derive(Clone, Debug)]
pub struct Link {
    /// The name of the interface.
    pub interface: String,
    /// Which machines get addresses.
    pub mode: Mode,
    /// The server's address on the interface, which clients use as the server identifier.
    pub server: Ipv4Addr,
    /// The networks of the machines: that of the interface, and those behind relays.
    pub subnets: Vec<Subnet>,
    /// The boot files.
    pub offer: Offer,
}

/// The input of a decision about a message.
pub struct Known<'a> {
    /// The interface that the message arrived on.
    pub link: &'a Link,
    /// The UDP port that the message arrived on.
    pub port: u16,
    /// The sender of the message.
    pub source: SocketAddrV4,
    /// The machine with the MAC address of the message.
    pub machine: &'a Machine,
    /// Returns the machine that an address is reserved for.
    pub reserved: Reserved<'a>,
    /// The current time.
    pub now: DateTime<Utc>,
}

/// An answer with its source and destination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The message.
    pub packet: Packet,
    /// Its destination.
    pub to: SocketAddrV4,
    /// Its source port.
    pub from: u16,
    /// The largest message that the client accepts, in bytes.
    pub largest: usize,
}

/// The result of a decision about a message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// The lease to write to the journal before the answer is sent; afterwards it is stored in [`Leases`].
    pub lease: Option<Lease>,
    /// The answer, if there is one.
    pub answer: Option<Answer>,
    /// A warning for the operator's log.
    pub warning: Option<String>,
}

impl Outcome {
    fn warning(text: String) -> Self {
        Self { warning: Some(text), ..Self::default() }
    }
}

/// Decides about `request`. Offers are stored in `leases`.
pub fn plan(request: &Packet, known: &Known<'_>, leases: &mut Leases) -> Outcome {
    if request.reply {
        return Outcome::default();
    }
    let program = Program::of(request);
    if known.port == PXE_PORT || known.link.mode == Mode::Proxy {
        return proxy(request, known, program);
    }
    if known.link.mode == Mode::Reservations && known.machine.reserved.is_none() {
        return Outcome::default();
    }
    let Some(subnet) = subnet_of(request, known.link) else {
        return Outcome::warning(format!(
            "no network of {} is configured for machine {} behind relay {}",
            known.link.interface, request.mac, request.relay
        ));
    };
    let exchange = Exchange { request, known, program, subnet };
    match request.kind {
        Kind::Discover => exchange.discover(leases),
        Kind::Request => exchange.request(leases),
        Kind::Decline => exchange.decline(leases),
        Kind::Release => exchange.release(leases),
        Kind::Inform => exchange.inform(),
        Kind::Offer | Kind::Acknowledge | Kind::Refuse => Outcome::default(),
    }
}

/// Answers as a proxy: without an address, only with the boot file, and only to clients that boot. Unknown machines that must not start
/// the agent are left to other servers.
fn proxy(request: &Packet, known: &Known<'_>, program: Program) -> Outcome {
    let link = known.link;
    if !program.boots() || (!known.machine.known && known.machine.boot == Boot::Disk) {
        return Outcome::default();
    }
    let kind = match request.kind {
        Kind::Discover if known.port != PXE_PORT => Kind::Offer,
        Kind::Request if known.port == PXE_PORT => Kind::Acknowledge,
        Kind::Inform => Kind::Acknowledge,
        _ => return Outcome::default(),
    };
    let mut packet = request.answer(kind);
    packet.client = request.client;
    packet.options.set(options::SERVER_IDENTIFIER, link.server.octets());
    let proxy = link.mode == Mode::Proxy;
    if !link.offer.put(&mut packet, request, program, &known.machine.boot, proxy) {
        return Outcome { warning: nothing_to_boot(request.mac, program), ..Outcome::default() };
    }
    echo(request, &mut packet);
    // A client that asks on the PXE port has an address, and expects the answer at its source port.
    let to = if known.port == PXE_PORT { known.source } else { destination(request, &packet) };
    let answer = Answer { packet, to, from: known.port, largest: request.largest_answer() };
    Outcome { answer: Some(answer), ..Outcome::default() }
}

/// Returns the warning for a machine that asks for a boot file that does not exist.
fn nothing_to_boot(mac: MacAddress, program: Program) -> Option<String> {
    let needed = match program.architecture()? {
        Architecture::Bios => "BIOS needs iPXE: add the folder with undionly.kpxe".to_owned(),
        Architecture::RaspberryPi => "add the folder with the boot loader of Raspberry Pis".to_owned(),
        Architecture::Other(number) => format!("firmware of kind {number} (option 93) is not supported"),
        Architecture::Uefi(processor) | Architecture::UefiHttp(processor) => {
            format!("there is no image for {}: add a kernel", processor.name())
        }
    };
    Some(format!("machine {mac} asks for a boot file, but there is none for it: {needed}"))
}

/// Returns the client's network: the one that the relay names, that of the client's address, or that of the interface.
fn subnet_of<'a>(request: &Packet, link: &'a Link) -> Option<&'a Subnet> {
    let containing = |address: Ipv4Addr| link.subnets.iter().find(|subnet| subnet.network.contains(address));
    if !request.relay.is_unspecified() {
        let named = request.options.get(options::RELAY_INFORMATION).and_then(|information| {
            let mut inner = options::Options::default();
            inner.read(information);
            inner.address(options::RELAY_LINK_SELECTION)
        });
        return containing(named.unwrap_or(request.relay));
    }
    let has = (!request.client.is_unspecified()).then(|| containing(request.client)).flatten();
    has.or_else(|| containing(link.server))
}

/// Returns the destination of an answer (RFC 2131, section 4.1): the relay, the address of the client, or broadcast, since a client
/// without an address does not answer ARP.
fn destination(request: &Packet, answer: &Packet) -> SocketAddrV4 {
    if !request.relay.is_unspecified() {
        SocketAddrV4::new(request.relay, SERVER_PORT)
    } else if !request.client.is_unspecified() && answer.kind != Kind::Refuse {
        SocketAddrV4::new(request.client, CLIENT_PORT)
    } else {
        SocketAddrV4::new(Ipv4Addr::BROADCAST, CLIENT_PORT)
    }
}

/// Copies the options that an answer must repeat: the client identifier (RFC 6842) and, as the last option, the relay information (RFC
/// 3046).
fn echo(request: &Packet, answer: &mut Packet) {
    for code in [options::CLIENT_IDENTIFIER, options::RELAY_INFORMATION] {
        if let Some(value) = request.options.get(code) {
            answer.options.set(code, value);
        }
    }
}

/// A message of a machine that gets its address from this server.
struct Exchange<'a> {
    request: &'a Packet,
    known: &'a Known<'a>,
    program: Program,
    subnet: &'a Subnet,
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

    fn discover(&self, leases: &mut Leases) -> Outcome {
        let (mac, now) = (self.request.mac, self.known.now);
        let wish = self.request.options.address(options::REQUESTED_ADDRESS);
        let Some(address) = self.address(wish, leases) else {
            return Outcome::warning(self.no_address());
        };
        leases.offer(mac, address, now);
        self.answered(Kind::Offer, Some(address), None)
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

    fn request(&self, leases: &mut Leases) -> Outcome {
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
            return self.refused(wanted);
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
        self.answered(Kind::Acknowledge, Some(wanted), written)
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

    fn refused(&self, wanted: Ipv4Addr) -> Outcome {
        let mut packet = self.request.answer(Kind::Refuse);
        // The broadcast flag makes a relay broadcast the answer, since the client has no valid address in this network.
        packet.broadcast = true;
        packet.options.set(options::SERVER_IDENTIFIER, self.known.link.server.octets());
        packet.options.set(options::MESSAGE, format!("{wanted} is not yours here"));
        echo(self.request, &mut packet);
        self.sent(packet, None)
    }

    fn decline(&self, leases: &mut Leases) -> Outcome {
        let Some(address) = self.request.options.address(options::REQUESTED_ADDRESS) else {
            return Outcome::default();
        };
        if !self.is_for_us() || self.address(Some(address), leases) != Some(address) {
            return Outcome::default();
        }
        let lease = leases.decline(self.request.mac, address, self.known.now);
        let (mac, minutes) = (self.request.mac, limits::DECLINED.as_secs() / 60);
        let warning = format!(
            "machine {mac} found that {address} is in use by somebody else; it is not leased for {minutes} minutes"
        );
        Outcome { lease, ..Outcome::warning(warning) }
    }

    fn release(&self, leases: &mut Leases) -> Outcome {
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

    fn inform(&self) -> Outcome {
        self.answered(Kind::Acknowledge, None, None)
    }

    /// Returns the answer with all options for the machine; without an address it has no lease time.
    fn answered(&self, kind: Kind, address: Option<Ipv4Addr>, lease: Option<Lease>) -> Outcome {
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
        Outcome { warning, ..self.sent(packet, lease) }
    }

    fn sent(&self, packet: Packet, lease: Option<Lease>) -> Outcome {
        let to = destination(self.request, &packet);
        let answer = Answer { packet, to, from: self.known.port, largest: self.request.largest_answer() };
        Outcome { lease, answer: Some(answer), warning: None }
    }
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
