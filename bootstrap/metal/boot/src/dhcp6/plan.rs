//! Decides about the answer to a message. Pure functions.
//!
//! An address consists of the network prefix and an identifier made of the MAC address, so each machine has exactly one address and no
//! leases must be stored.

use std::net::Ipv6Addr;

use agent_protocol::dhcp::MacAddress;

use super::packet::{Kind, Options, Packet, identifier, mac_of, option};
use crate::client::{Architecture, Program};
use crate::machine::Machine;
use crate::offer::Offer;

/// The lifetime of an address in seconds; the client renews it after half of this time.
const LEASE: u32 = 3600;
/// The enterprise number of PXE's vendor class.
const PXE: u32 = 343;
/// Status codes of RFC 8415.
const SUCCESS: u16 = 0;
const NOT_ON_LINK: u16 = 4;

/// The configuration of the server on one interface.
#[derive(Clone, Debug)]
pub struct Link {
    /// The name of the interface.
    pub interface: String,
    /// The MAC address of the server's interface, of which its DUID is made.
    pub mac: MacAddress,
    /// The prefix of 64 bits in which addresses are given; if `None`, the server gives no addresses, only boot options.
    pub prefix: Option<Ipv6Addr>,
    /// Whether machines without a BareMetalHost get no answer.
    pub known_only: bool,
    /// The boot files, with a URL over IPv6.
    pub offer: Offer,
}

/// Returns the machine of a message: by the client's DUID, otherwise by the link-local source address.
pub fn machine_of(request: &Packet, source: Ipv6Addr) -> Option<MacAddress> {
    request.options.get(option::CLIENT).and_then(mac_of).or_else(|| {
        let identifier = source.octets()[8..].try_into().ok()?;
        source.is_unicast_link_local().then(|| MacAddress::of_interface_identifier(identifier)).flatten()
    })
}

/// Returns the address of a machine in the network `prefix`.
pub fn address(prefix: Ipv6Addr, mac: MacAddress) -> Ipv6Addr {
    let mut bytes = prefix.octets();
    bytes[8..].copy_from_slice(&mac.interface_identifier());
    bytes.into()
}

/// Returns the answer to `request`, or `None` if it is not answered.
pub fn plan(request: &Packet, mac: MacAddress, machine: &Machine, link: &Link) -> Option<Packet> {
    let own = identifier(link.mac);
    let meant = request.options.get(option::SERVER);
    if meant.is_some_and(|server| server != own) || (link.known_only && !machine.known) {
        return None;
    }
    let rapid = request.options.get(option::RAPID_COMMIT).is_some();
    let kind = match request.kind {
        Kind::Solicit if rapid => Kind::Reply,
        Kind::Solicit => Kind::Advertise,
        Kind::Request | Kind::Renew | Kind::Rebind | Kind::Confirm | Kind::InformationRequest => Kind::Reply,
        // The address stays the machine's even if it releases or declines it.
        Kind::Release | Kind::Decline => Kind::Reply,
        Kind::Advertise | Kind::Reply => return None,
    };
    let mut options = Options::default();
    options.add(option::CLIENT, request.options.get(option::CLIENT).unwrap_or_default());
    options.add(option::SERVER, own);
    match (request.kind, link.prefix) {
        (Kind::InformationRequest, _) => {}
        (_, None) => return None,
        (Kind::Confirm, Some(prefix)) => {
            let is_own = addresses(request).all(|asked| asked == address(prefix, mac));
            options.add(option::STATUS, status(if is_own { SUCCESS } else { NOT_ON_LINK }));
        }
        (Kind::Release | Kind::Decline, Some(_)) => options.add(option::STATUS, status(SUCCESS)),
        (_, Some(prefix)) => {
            if rapid && request.kind == Kind::Solicit {
                options.add(option::RAPID_COMMIT, []);
            }
            for association in associations(request) {
                let given = association_of(association, address(prefix, mac));
                options.add(option::ASSOCIATION, given);
            }
        }
    }
    boot_options(&mut options, request, mac, machine, link);
    Some(Packet { kind, transaction: request.transaction, options })
}

fn boot_options(options: &mut Options, request: &Packet, mac: MacAddress, machine: &Machine, link: &Link) {
    let program = program(request);
    let Some(file) = link.offer.file(program, mac, &machine.boot) else { return };
    let url = if file.contains("://") { file } else { format!("tftp://[{}]/{file}", link.offer.server) };
    options.add(option::BOOT_FILE, url);
    if let Program::Firmware(Architecture::UefiHttp(_)) = program {
        // UEFI requires its own vendor class in the answer.
        let mut class = PXE.to_be_bytes().to_vec();
        class.extend([0, 10]);
        class.extend(b"HTTPClient");
        options.add(option::VENDOR_CLASS, class);
    }
}

/// Returns the program that asks: firmware sends its architecture, iPXE also its name.
fn program(request: &Packet) -> Program {
    let number = request.options.get(option::ARCHITECTURES).and_then(|list| list.first_chunk::<2>());
    let Some(number) = number else { return Program::System };
    let vendor = request.options.get(option::VENDOR_CLASS).unwrap_or_default();
    let architecture = match Architecture::from_number(u16::from_be_bytes(*number)) {
        // Some firmware sends the number of its PXE client when it boots over HTTP.
        Architecture::Uefi(processor) if vendor.windows(10).any(|part| part == b"HTTPClient") => {
            Architecture::UefiHttp(processor)
        }
        found => found,
    };
    let class = request.options.get(option::USER_CLASS).unwrap_or_default();
    if class.windows(4).any(|part| part == b"iPXE") {
        Program::Ipxe(architecture)
    } else {
        Program::Firmware(architecture)
    }
}

/// Returns the client's identity associations (IA_NA): each has an identifier of 4 bytes and two times.
fn associations(request: &Packet) -> impl Iterator<Item = &[u8]> {
    let all = request.options.0.iter().filter(|(code, _)| *code == option::ASSOCIATION);
    all.map(|(_, value)| value.as_slice()).filter(|value| value.len() >= 12)
}

/// Returns the addresses that the client claims to have.
pub(super) fn addresses(request: &Packet) -> impl Iterator<Item = Ipv6Addr> + '_ {
    associations(request).filter_map(|association| Options::read(&association[12..])).flat_map(|inner| {
        let of = |(code, value): (u16, Vec<u8>)| {
            let bytes = *value.first_chunk::<16>()?;
            (code == option::ADDRESS).then(|| Ipv6Addr::from(bytes))
        };
        inner.0.into_iter().filter_map(of).collect::<Vec<_>>()
    })
}

fn association_of(asked: &[u8], address: Ipv6Addr) -> Vec<u8> {
    let mut bytes = asked[..4].to_vec();
    bytes.extend((LEASE / 2).to_be_bytes());
    bytes.extend((LEASE / 8 * 7).to_be_bytes());
    let mut value = address.octets().to_vec();
    // The preferred and the valid lifetime.
    value.extend(LEASE.to_be_bytes());
    value.extend(LEASE.to_be_bytes());
    Options(vec![(option::ADDRESS, value)]).write(&mut bytes);
    bytes
}

fn status(code: u16) -> Vec<u8> {
    code.to_be_bytes().to_vec()
}
