//! Packets of IPv4 and IPv6, as they pass the device of a Pod: read, translated, and made. Everything here is pure.

pub mod checksum;
mod make;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::ops::Range;

pub use make::{Reason, reset, udp, unreachable};

/// The number of the protocol TCP.
const TCP: u8 = 6;
/// The number of the protocol UDP.
const UDP: u8 = 17;
/// The length of a header of IPv4 without options.
const IP_HEADER: usize = 20;
/// The length of a header of IPv6.
const IP6_HEADER: usize = 40;
/// The smallest length of a header of TCP.
const TCP_HEADER: usize = 20;
/// The length of a header of UDP.
const UDP_HEADER: usize = 8;

/// What a packet carries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// A segment of TCP.
    Tcp(Segment),
    /// A datagram, and where its data is in the packet.
    Udp(Range<usize>),
}

/// The part of a TCP header that matters to the gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Whether it begins a connection.
    pub syn: bool,
    /// Whether it acknowledges what came.
    pub ack: bool,
    /// Whether it ends the connection at once.
    pub rst: bool,
    /// The number of its first byte.
    pub sequence: u32,
    /// The number of the byte that is expected next.
    pub acknowledged: u32,
}

/// A packet that was understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Who sent it.
    pub from: SocketAddr,
    /// Whom it is for.
    pub to: SocketAddr,
    /// Where the header of TCP or UDP begins.
    pub header: usize,
    /// What it carries.
    pub content: Content,
}

impl Segment {
    /// Returns whether it begins a connection.
    pub fn is_first(&self) -> bool {
        self.syn && !self.ack && !self.rst
    }
}

/// Returns the 16 bits at this place.
pub(crate) fn word(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes([*bytes.get(at)?, *bytes.get(at + 1)?]))
}

fn long(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from(word(bytes, at)?) << 16 | u32::from(word(bytes, at + 2)?))
}

/// The header of IP.
struct Head {
    from: IpAddr,
    to: IpAddr,
    protocol: u8,
    /// Where the header of TCP or UDP begins.
    header: usize,
    /// The length of the whole packet.
    length: usize,
}

/// Reads a header of IPv4; `None` for a fragment.
fn head(bytes: &[u8]) -> Option<Head> {
    let header = usize::from(bytes.first()? & 0x0f) * 4;
    let length = usize::from(word(bytes, 2)?);
    // Don't-fragment may be set; all other bits of this word belong to fragments.
    let is_whole = word(bytes, 6)? & 0xbfff == 0;
    let address = |at: usize| Some(IpAddr::V4(Ipv4Addr::from(long(bytes, at)?)));
    let head = Head { from: address(12)?, to: address(16)?, protocol: bytes[9], header, length };
    (header >= IP_HEADER && is_whole).then_some(head)
}

/// Reads a header of IPv6. One that others follow before the data, as that of a fragment, has no protocol that is known here.
fn head6(bytes: &[u8]) -> Option<Head> {
    let length = usize::from(word(bytes, 4)?) + IP6_HEADER;
    let address = |at: usize| {
        let octets: [u8; 16] = bytes.get(at..at + 16)?.try_into().ok()?;
        Some(IpAddr::V6(Ipv6Addr::from(octets)))
    };
    Some(Head { from: address(8)?, to: address(24)?, protocol: bytes[6], header: IP6_HEADER, length })
}

/// Reads a packet of TCP or UDP. `None` for anything else: other versions and protocols, fragments, and what is damaged.
pub fn read(bytes: &[u8]) -> Option<Packet> {
    let Head { from, to, protocol, header, length } = match bytes.first()? >> 4 {
        4 => head(bytes)?,
        6 => head6(bytes)?,
        _ => return None,
    };
    if length > bytes.len() || length < header {
        return None;
    }
    let bytes = &bytes[..length];
    let from = SocketAddr::new(from, word(bytes, header)?);
    let to = SocketAddr::new(to, word(bytes, header + 2)?);
    let content = match protocol {
        TCP => {
            let flags = *bytes.get(header + 13)?;
            let own = usize::from(bytes[header + 12] >> 4) * 4;
            if own < TCP_HEADER || header + own > length {
                return None;
            }
            let is_set = |bit: u8| flags & (1 << bit) != 0;
            Content::Tcp(Segment {
                syn: is_set(1),
                rst: is_set(2),
                ack: is_set(4),
                sequence: long(bytes, header + 4)?,
                acknowledged: long(bytes, header + 8)?,
            })
        }
        UDP => {
            let own = usize::from(word(bytes, header + 4)?);
            if own < UDP_HEADER || header + own > length {
                return None;
            }
            Content::Udp(header + UDP_HEADER..header + own)
        }
        _ => return None,
    };
    Some(Packet { from, to, header, content })
}

/// Gives a TCP packet, of which `packet` was read, other addresses of the same version of IP.
pub fn translate(bytes: &mut [u8], packet: &Packet, from: SocketAddr, to: SocketAddr) {
    let header = packet.header;
    let of_tcp = header + 16;
    let is_four = packet.to.is_ipv4();
    if from.is_ipv4() != is_four || to.is_ipv4() != is_four {
        return;
    }
    let (first, second) = if is_four { (12, 16) } else { (8, 24) };
    for (start, address) in [(first, from.ip()), (second, to.ip())] {
        for (index, pair) in octets(address).chunks_exact(2).enumerate() {
            let at = start + 2 * index;
            let (old, new) = ([bytes[at], bytes[at + 1]], [pair[0], pair[1]]);
            bytes[at..at + 2].copy_from_slice(&new);
            // The addresses count in both checksums, the ports only in that of TCP. A header of IPv6 has none.
            if is_four {
                checksum::adjust(bytes, 10, old, new);
            }
            checksum::adjust(bytes, of_tcp, old, new);
        }
    }
    for (at, port) in [(header, from.port()), (header + 2, to.port())] {
        let (old, new) = ([bytes[at], bytes[at + 1]], port.to_be_bytes());
        bytes[at..at + 2].copy_from_slice(&new);
        checksum::adjust(bytes, of_tcp, old, new);
    }
}

/// Returns the bytes of an address.
fn octets(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    }
}
