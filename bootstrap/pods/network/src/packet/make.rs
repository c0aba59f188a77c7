//! Packets that the gateway makes: datagrams, and refusals.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::{Content, IP_HEADER, Packet, TCP, TCP_HEADER, UDP, UDP_HEADER, checksum, octets};
use crate::addresses::{GATEWAY, GATEWAY6};

/// The number of the protocol ICMP.
const ICMP: u8 = 1;
/// The number of the protocol ICMPv6.
const ICMP6: u8 = 58;
/// The life of a packet, in routers that it may pass.
const TIME_TO_LIVE: u8 = 64;
/// How much of the packet that is refused is in the refusal, beside its IP header.
const QUOTED: usize = 8;

/// Why a packet cannot be delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The host cannot be reached.
    Host,
    /// Nothing listens there.
    Port,
    /// It is forbidden to talk to this address.
    Forbidden,
}

/// Returns the packet with a datagram; `None` if it is too long for one.
pub fn udp(from: SocketAddr, to: SocketAddr, data: &[u8]) -> Option<Vec<u8>> {
    let length = u16::try_from(UDP_HEADER + data.len()).ok()?;
    let mut datagram = Vec::with_capacity(usize::from(length));
    for word in [from.port(), to.port(), length, 0] {
        datagram.extend_from_slice(&word.to_be_bytes());
    }
    datagram.extend_from_slice(data);
    let mut own = checksum::finish(checksum::sum(pseudo(from.ip(), to.ip(), UDP, length), &datagram));
    if own == [0, 0] {
        // Zero would mean that there is no checksum.
        own = [0xff, 0xff];
    }
    datagram[6..8].copy_from_slice(&own);
    packet(from.ip(), to.ip(), UDP, &datagram)
}

/// Returns the packet that ends a connection at once, as the answer to a packet of it; `None` if that one was such an end itself.
pub fn reset(of: &Packet) -> Option<Vec<u8>> {
    let Content::Tcp(segment) = &of.content else { return None };
    if segment.rst {
        return None;
    }
    let (sequence, acknowledged, flags) = if segment.ack {
        (segment.acknowledged, 0, 0b00_0100)
    } else {
        (0, segment.sequence.wrapping_add(u32::from(segment.syn)), 0b01_0100)
    };
    let mut header = Vec::with_capacity(TCP_HEADER);
    header.extend_from_slice(&of.to.port().to_be_bytes());
    header.extend_from_slice(&of.from.port().to_be_bytes());
    header.extend_from_slice(&sequence.to_be_bytes());
    header.extend_from_slice(&acknowledged.to_be_bytes());
    // The length of the header in words of four bytes, the flags, no window, the checksum, and nothing urgent.
    header.extend_from_slice(&[5 << 4, flags, 0, 0, 0, 0, 0, 0]);
    let own = checksum::finish(checksum::sum(pseudo(of.to.ip(), of.from.ip(), TCP, 20), &header));
    header[16..18].copy_from_slice(&own);
    packet(of.to.ip(), of.from.ip(), TCP, &header)
}

/// Returns the gateway's answer to a packet that cannot be delivered. `bytes` is that packet.
pub fn unreachable(of: &Packet, bytes: &[u8], reason: Reason) -> Option<Vec<u8>> {
    let is_four = of.from.is_ipv4();
    let (kind, code) = match (is_four, reason) {
        (true, Reason::Host) => (3, 1),
        (true, Reason::Port) => (3, 3),
        (true, Reason::Forbidden) => (3, 13),
        (false, Reason::Host) => (1, 3),
        (false, Reason::Port) => (1, 4),
        (false, Reason::Forbidden) => (1, 1),
    };
    let mut message = vec![kind, code, 0, 0, 0, 0, 0, 0];
    message.extend_from_slice(bytes.get(..of.header + QUOTED)?);
    let (gateway, protocol, start) = if is_four {
        (IpAddr::V4(GATEWAY), ICMP, 0)
    } else {
        let gateway = IpAddr::V6(GATEWAY6);
        (gateway, ICMP6, pseudo(gateway, of.from.ip(), ICMP6, u16::try_from(message.len()).ok()?))
    };
    let own = checksum::finish(checksum::sum(start, &message));
    message[2..4].copy_from_slice(&own);
    packet(gateway, of.from.ip(), protocol, &message)
}

/// Returns the sum of what checksums of TCP and UDP count besides their own bytes.
fn pseudo(from: IpAddr, to: IpAddr, protocol: u8, length: u16) -> u32 {
    let addresses = checksum::sum(checksum::sum(0, &octets(from)), &octets(to));
    addresses + u32::from(protocol) + u32::from(length)
}

fn packet(from: IpAddr, to: IpAddr, protocol: u8, content: &[u8]) -> Option<Vec<u8>> {
    match (from, to) {
        (IpAddr::V4(from), IpAddr::V4(to)) => packet4(from, to, protocol, content),
        (IpAddr::V6(from), IpAddr::V6(to)) => packet6(from, to, protocol, content),
        _ => None,
    }
}

fn packet4(from: Ipv4Addr, to: Ipv4Addr, protocol: u8, content: &[u8]) -> Option<Vec<u8>> {
    let length = u16::try_from(IP_HEADER + content.len()).ok()?;
    let mut bytes = vec![0x45, 0];
    bytes.extend_from_slice(&length.to_be_bytes());
    bytes.extend_from_slice(&[0, 0, 0, 0, TIME_TO_LIVE, protocol, 0, 0]);
    bytes.extend_from_slice(&from.octets());
    bytes.extend_from_slice(&to.octets());
    let own = checksum::finish(checksum::sum(0, &bytes));
    bytes[10..12].copy_from_slice(&own);
    bytes.extend_from_slice(content);
    Some(bytes)
}

fn packet6(from: Ipv6Addr, to: Ipv6Addr, protocol: u8, content: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = vec![0x60, 0, 0, 0];
    bytes.extend_from_slice(&u16::try_from(content.len()).ok()?.to_be_bytes());
    bytes.extend_from_slice(&[protocol, TIME_TO_LIVE]);
    bytes.extend_from_slice(&from.octets());
    bytes.extend_from_slice(&to.octets());
    bytes.extend_from_slice(content);
    Some(bytes)
}
