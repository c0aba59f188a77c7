//! Packets of IPv4, as they pass the device of a Pod: read, translated, and made. Everything here is pure.

mod checksum;
mod make;
#[cfg(test)]
mod tests;

use std::net::{Ipv4Addr, SocketAddrV4};
use std::ops::Range;

pub(crate) use make::{Reason, reset, udp, unreachable};

/// The number of the protocol TCP.
const TCP: u8 = 6;
/// The number of the protocol UDP.
const UDP: u8 = 17;
/// The length of a header of IPv4 without options.
const IP_HEADER: usize = 20;
/// The smallest length of a header of TCP.
const TCP_HEADER: usize = 20;
/// The length of a header of UDP.
const UDP_HEADER: usize = 8;

/// What a packet carries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    Tcp(Segment),
    /// A datagram, and where its data is in the packet.
    Udp(Range<usize>),
}

/// The part of a TCP header that matters to the gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    pub(crate) syn: bool,
    pub(crate) ack: bool,
    pub(crate) rst: bool,
    pub(crate) sequence: u32,
    pub(crate) acknowledged: u32,
}

/// A packet that was understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Packet {
    pub(crate) from: SocketAddrV4,
    pub(crate) to: SocketAddrV4,
    /// Where the header of TCP or UDP begins.
    header: usize,
    pub(crate) content: Content,
}

impl Segment {
    /// Returns whether it begins a connection.
    pub(crate) fn is_first(&self) -> bool {
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

/// Reads a packet of TCP or UDP. `None` for anything else: other versions and protocols, fragments, and what is damaged.
pub(crate) fn read(bytes: &[u8]) -> Option<Packet> {
    let first = *bytes.first()?;
    let header = usize::from(first & 0x0f) * 4;
    let length = usize::from(word(bytes, 2)?);
    // Don't-fragment may be set; all other bits of this word belong to fragments.
    let is_whole = word(bytes, 6)? & 0xbfff == 0;
    if first >> 4 != 4 || header < IP_HEADER || length > bytes.len() || length < header || !is_whole {
        return None;
    }
    let bytes = &bytes[..length];
    let address = |at: usize| Some(Ipv4Addr::from(long(bytes, at)?));
    let from = SocketAddrV4::new(address(12)?, word(bytes, header)?);
    let to = SocketAddrV4::new(address(16)?, word(bytes, header + 2)?);
    let content = match bytes[9] {
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

/// Gives a TCP packet, of which `packet` was read, other addresses.
pub(crate) fn translate(bytes: &mut [u8], packet: &Packet, from: SocketAddrV4, to: SocketAddrV4) {
    let header = packet.header;
    let of_tcp = header + 16;
    for (at, address) in [(12, from.ip()), (16, to.ip())] {
        let [a, b, c, d] = address.octets();
        for (at, new) in [(at, [a, b]), (at + 2, [c, d])] {
            let old = [bytes[at], bytes[at + 1]];
            bytes[at..at + 2].copy_from_slice(&new);
            // The addresses count in both checksums, the ports only in that of TCP.
            checksum::adjust(bytes, 10, old, new);
            checksum::adjust(bytes, of_tcp, old, new);
        }
    }
    for (at, port) in [(header, from.port()), (header + 2, to.port())] {
        let (old, new) = ([bytes[at], bytes[at + 1]], port.to_be_bytes());
        bytes[at..at + 2].copy_from_slice(&new);
        checksum::adjust(bytes, of_tcp, old, new);
    }
}
