//! Tests of `pod_network::packet`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use pod_network::packet::{
    Content, Packet, Reason, Segment, checksum, read, reset, translate, udp, unreachable,
};
use proptest::prelude::*;

/// The lengths of the headers, and the number of TCP.
const IP_HEADER: usize = 20;
const IP6_HEADER: usize = 40;
const TCP: u8 = 6;

const POD: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 1);
const SERVER: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 7);

fn at(address: impl Into<IpAddr>, port: u16) -> SocketAddr {
    SocketAddr::new(address.into(), port)
}

/// Returns whether the checksum of the IP header, and that of what it carries, are right.
fn is_intact(bytes: &[u8]) -> bool {
    let is_right = |sum: u32| checksum::finish(sum) == [0, 0];
    if bytes[0] >> 4 == 6 {
        let content = &bytes[IP6_HEADER..];
        let length = u32::try_from(content.len()).unwrap();
        return is_right(checksum::sum(
            checksum::sum(0, &bytes[8..40]) + u32::from(bytes[6]) + length,
            content,
        ));
    }
    let header = usize::from(bytes[0] & 0x0f) * 4;
    let content = &bytes[header..];
    let pseudo = match bytes[9] {
        1 => 0,
        protocol => {
            let length = u32::try_from(content.len()).unwrap();
            checksum::sum(0, &bytes[12..20]) + u32::from(protocol) + length
        }
    };
    is_right(checksum::sum(0, &bytes[..header])) && is_right(checksum::sum(pseudo, content))
}

/// A packet that begins a connection, made of a reset, which has all its fields.
fn syn(from: SocketAddr, to: SocketAddr, sequence: u32) -> Vec<u8> {
    let asked = Packet {
        from: to,
        to: from,
        header: 0,
        content: Content::Tcp(Segment {
            syn: false,
            ack: true,
            rst: false,
            sequence: 0,
            acknowledged: sequence,
        }),
    };
    let mut bytes = reset(&asked).unwrap();
    let header = if from.is_ipv4() { IP_HEADER } else { IP6_HEADER };
    let (old, new) = ([bytes[header + 12], bytes[header + 13]], [5 << 4, 0b10]);
    bytes[header + 13] = 0b10;
    checksum::adjust(&mut bytes, header + 16, old, new);
    bytes
}

/// Checks that a packet from the first address to the second is intact after it was translated to the other two.
fn is_translated([a, b, c, d]: [SocketAddr; 4], sequence: u32) -> Result<(), TestCaseError> {
    let mut bytes = syn(a, b, sequence);
    let packet = read(&bytes).unwrap();
    translate(&mut bytes, &packet, c, d);
    prop_assert!(is_intact(&bytes));
    let translated = read(&bytes).unwrap();
    prop_assert_eq!((translated.from, translated.to), (c, d));
    prop_assert_eq!(translated.content, packet.content);
    Ok(())
}

#[test]
fn datagrams() {
    let (from, to) = (at(POD, 4000), at(SERVER, 53));
    let bytes = udp(from, to, b"question").unwrap();
    let packet = read(&bytes).unwrap();
    assert!(is_intact(&bytes));
    assert_eq!((packet.from, packet.to), (from, to));
    let Content::Udp(data) = packet.content else { panic!("{packet:?}") };
    assert_eq!(&bytes[data], b"question");
    assert!(udp(from, to, &vec![0; 65_536]).is_none());
}

#[test]
fn a_connection_is_refused() {
    let bytes = syn(at(POD, 4000), at(SERVER, 443), u32::MAX);
    assert!(is_intact(&bytes));
    let packet = read(&bytes).unwrap();
    let Content::Tcp(segment) = packet.content else { panic!("{packet:?}") };
    assert!(segment.is_first());
    let answer = reset(&packet).unwrap();
    assert!(is_intact(&answer));
    let packet = read(&answer).unwrap();
    assert_eq!((packet.from, packet.to), (at(SERVER, 443), at(POD, 4000)));
    let expected = Segment { syn: false, ack: true, rst: true, sequence: 0, acknowledged: 0 };
    assert_eq!(packet.content, Content::Tcp(expected));
    assert_eq!(reset(&packet), None, "an end is not answered");
}

#[test]
fn a_host_is_unreachable() {
    let bytes = udp(at(POD, 4000), at(SERVER, 53), b"question").unwrap();
    let packet = read(&bytes).unwrap();
    let answer = unreachable(&packet, &bytes, Reason::Port).unwrap();
    assert!(is_intact(&answer));
    assert_eq!(answer[20..22], [3, 3]);
    assert_eq!(answer[28..], bytes[..28]);
}

#[test]
fn version_six_has_the_same() {
    let (pod, server) =
        (at(pod_network::addresses::six(POD), 4000), at(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1), 443));
    let bytes = udp(pod, server, b"question").unwrap();
    let packet = read(&bytes).unwrap();
    assert!(is_intact(&bytes));
    assert_eq!((packet.from, packet.to, packet.content.clone()), (pod, server, Content::Udp(48..56)));
    let answer = unreachable(&packet, &bytes, Reason::Host).unwrap();
    assert!(is_intact(&answer));
    assert_eq!((&answer[40..42], &answer[48..]), (&[1, 3][..], &bytes[..48]));
    let bytes = syn(pod, server, 7);
    assert!(is_intact(&bytes));
    let answer = reset(&read(&bytes).unwrap()).unwrap();
    assert!(is_intact(&answer));
    assert_eq!(read(&answer).unwrap().from, server);
    let mut mixed = bytes.clone();
    translate(&mut mixed, &read(&bytes).unwrap(), pod, at(SERVER, 443));
    assert_eq!(mixed, bytes, "a packet keeps its version");
    for (place, value, what) in
        [(4, 0xff, "longer than what came"), (6, 44, "a fragment"), (6, 0, "options"), (5, 3, "too short")]
    {
        let mut bytes = bytes.clone();
        bytes[place] = value;
        assert_eq!(read(&bytes), None, "{what}");
    }
}

#[test]
fn what_is_not_understood_is_left_out() {
    let good = udp(at(POD, 4000), at(SERVER, 53), b"question").unwrap();
    let with = |at: usize, value: u8| {
        let mut bytes = good.clone();
        bytes[at] = value;
        read(&bytes)
    };
    assert!(with(6, 0x40).is_some(), "may not be fragmented");
    for (at, value, what) in [
        (0, 0x75, "version 7"),
        (0, 0x44, "a short header"),
        (0, 0x4f, "a header that is longer than the packet"),
        (2, 0xff, "a packet that is longer than what came"),
        (3, 19, "a packet that is shorter than its header"),
        (6, 0x20, "more fragments follow"),
        (7, 1, "a later fragment"),
        (9, 47, "another protocol"),
        (9, TCP, "a TCP header that is too short"),
        (25, 7, "a datagram that is shorter than its header"),
        (25, 200, "a datagram that is longer than the packet"),
    ] {
        assert_eq!(with(at, value), None, "{what}");
    }
}

proptest! {
    #[test]
    fn any_bytes_are_read(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
        read(&bytes);
        let mut bytes = bytes;
        if let Some(first) = bytes.first_mut() {
            *first = 0x45;
            read(&bytes);
        }
        if let Some(first) = bytes.first_mut() {
            *first = 0x60;
            read(&bytes);
        }
    }

    #[test]
    fn a_translated_packet_is_intact(ports in any::<[u16; 4]>(), hosts in any::<[u32; 4]>(), sequence: u32) {
        is_translated([0, 1, 2, 3].map(|one| at(Ipv4Addr::from(hosts[one]), ports[one])), sequence)?;
    }

    #[test]
    fn a_translated_packet_of_version_six_is_intact(ports in any::<[u16; 4]>(), hosts in any::<[u128; 4]>(), sequence: u32) {
        is_translated([0, 1, 2, 3].map(|one| at(Ipv6Addr::from(hosts[one]), ports[one])), sequence)?;
    }
}
