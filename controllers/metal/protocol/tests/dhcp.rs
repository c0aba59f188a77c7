//! Messages of DHCP as they are on the wire.

use std::net::Ipv4Addr;

use agent_protocol::dhcp::{Kind, MacAddress, Malformed, Options, Packet, options};
use proptest::prelude::*;

/// The length of the fixed part before the options, with the cookie.
const HEADER: usize = 240;
/// Positions of the fields `sname` and `file`.
const SERVER_NAME: usize = 44;
const FILE: usize = 108;

#[test]
fn mac_addresses_are_read_and_written() {
    for text in ["52:54:00:AB:cd:ef", "52-54-00-ab-cd-ef"] {
        let address: MacAddress = text.parse().unwrap();
        assert_eq!(address.to_string(), "52:54:00:ab:cd:ef");
        assert_eq!(address.dashed(), "52-54-00-ab-cd-ef");
        assert_eq!(MacAddress::of_interface_identifier(address.interface_identifier()), Some(address));
    }
    for text in ["", "52:54:00:ab:cd", "52:54:00:ab:cd:ef:01", "5:54:00:ab:cd:ef", "+2:54:00:ab:cd:ef"] {
        assert!(text.parse::<MacAddress>().is_err(), "{text}");
    }
}
fn request() -> Packet {
    let mut options = Options::default();
    options.set(options::VENDOR_CLASS, "PXEClient:Arch:00007:UNDI:003016");
    options.set(options::CLIENT_IDENTIFIER, vec![7; 300]);
    Packet {
        reply: false,
        kind: Kind::Discover,
        hops: 1,
        transaction: 0x1234_5678,
        seconds: 4,
        broadcast: true,
        client: Ipv4Addr::UNSPECIFIED,
        yours: Ipv4Addr::UNSPECIFIED,
        next_server: Ipv4Addr::UNSPECIFIED,
        relay: Ipv4Addr::new(10, 1, 2, 3),
        mac: MacAddress([0x52, 0x54, 0, 1, 2, 3]),
        server_name: String::new(),
        file: "boot".into(),
        options,
    }
}

#[test]
fn what_is_written_is_read() {
    let packet = request();
    assert_eq!(Packet::read(&packet.write(1472)), Ok(packet));
}

#[test]
fn options_that_do_not_fit_are_left_out() {
    let bytes = request().write(320);
    assert!(bytes.len() <= 320);
    let read = Packet::read(&bytes).unwrap();
    assert!(read.options.get(options::VENDOR_CLASS).is_some());
    assert!(read.options.get(options::CLIENT_IDENTIFIER).is_none());
}

#[test]
fn options_go_on_in_the_fields() {
    let mut packet = request();
    packet.options = Options::default();
    packet.options.set(options::OVERLOAD, [3]);
    let mut bytes = packet.write(576);
    bytes[FILE..FILE + 5].copy_from_slice(&[options::HOST_NAME, 2, b'a', b'b', 255]);
    bytes[SERVER_NAME..SERVER_NAME + 4].copy_from_slice(&[options::HOST_NAME, 1, b'c', 255]);
    let read = Packet::read(&bytes).unwrap();
    assert_eq!(read.options.get(options::HOST_NAME), Some(b"abc".as_slice()));
    assert_eq!(read.file, "");
}

#[test]
fn others_are_refused() {
    let good = request().write(576);
    let changed = |at: usize, value: u8| {
        let mut bytes = good.clone();
        bytes[at] = value;
        bytes
    };
    let cases = [
        (good[..239].to_vec(), Malformed::Short(239)),
        (changed(0, 3), Malformed::Operation(3)),
        (changed(1, 32), Malformed::Hardware(32, 6)),
        (changed(236, 0), Malformed::Cookie),
        (changed(242, 9), Malformed::Kind),
        (good[..240].to_vec(), Malformed::Kind),
    ];
    for (bytes, expected) in cases {
        assert_eq!(Packet::read(&bytes), Err(expected));
    }
}

proptest! {
    #[test]
    fn anything_is_read_or_refused(tail in proptest::collection::vec(any::<u8>(), 0..600)) {
        let mut bytes = request().write(576)[..HEADER].to_vec();
        bytes.extend([options::MESSAGE_TYPE, 1, 1]);
        bytes.extend(tail);
        if let Ok(packet) = Packet::read(&bytes) {
            prop_assert_eq!(Packet::read(&packet.write(usize::MAX)), Ok(packet));
        }
    }
}
