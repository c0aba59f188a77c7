//! Decides about the answer to a message. Pure functions.

use std::net::Ipv4Addr;

use agent_protocol::dhcp::{Kind, Packet, options};

use super::answer::{Answer, Outcome, destination, echo, nothing_to_boot};
use super::exchange::Exchange;
use super::leases::Leases;
use super::link::{Known, Link, Mode, PXE_PORT};
use super::subnet::Subnet;
use crate::client::Program;
use crate::machine::Boot;

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
