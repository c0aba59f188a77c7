//! Tests of `network::lease`.

use std::net::Ipv4Addr;

use agent::testing::lease::{Request, read};
use agent_protocol::dhcp::{Kind, Packet, options};
use proptest::prelude::*;

const MAC: [u8; 6] = [0x52, 0x54, 0, 1, 2, 3];

fn answer(options: &[u8]) -> Vec<u8> {
    let mut bytes = Request { transaction: 7, mac: MAC, seconds: 0, offer: None, keep: None }.bytes();
    bytes.truncate(240);
    bytes[0] = 2;
    bytes[16..20].copy_from_slice(&[10, 77, 0, 80]);
    bytes.extend(options);
    bytes
}

#[test]
fn an_acknowledgement() {
    let message = answer(&[
        53, 1, 5, 54, 4, 10, 77, 0, 1, 1, 4, 255, 255, 254, 0, 3, 4, 10, 77, 0, 1, 0, 6, 8, 1, 1, 1, 1, 8, 8,
        8, 8, 51, 4, 0, 0, 14, 16, 26, 2, 5, 220, 15, 4, b'l', b'a', b'b', 0, 121, 14, 24, 10, 9, 8, 10, 77,
        0, 9, 0, 10, 77, 0, 2, 0, 255,
    ]);
    let read = read(&message, 7, MAC).unwrap();
    assert_eq!((read.kind, read.server), (Kind::Acknowledge, Ipv4Addr::new(10, 77, 0, 1)));
    let lease = read.lease;
    assert_eq!((lease.address, lease.prefix), (Ipv4Addr::new(10, 77, 0, 80), 23));
    assert_eq!(lease.name_servers.len(), 2);
    assert_eq!((lease.seconds, lease.mtu, lease.domain.as_deref()), (3600, Some(1500), Some("lab")));
    assert_eq!(lease.routes[0], (Ipv4Addr::new(10, 9, 8, 0), 24, Ipv4Addr::new(10, 77, 0, 9)));
    assert_eq!(lease.routes[1], (Ipv4Addr::UNSPECIFIED, 0, Ipv4Addr::new(10, 77, 0, 2)));
}

#[test]
fn what_is_not_for_this_client_is_passed_over() {
    let offer = answer(&[53, 1, 2, 54, 4, 10, 77, 0, 1, 255]);
    assert!(read(&offer, 7, MAC).is_some());
    assert!(read(&offer, 8, MAC).is_none());
    assert!(read(&offer, 7, [1; 6]).is_none());
    let without_server = answer(&[53, 1, 2, 255]);
    assert!(read(&without_server, 7, MAC).is_none());
    let mut proxy = offer;
    proxy[16..20].fill(0);
    assert!(read(&proxy, 7, MAC).is_none());
}

#[test]
fn a_request_names_the_offer_and_is_long_enough() {
    let bytes = Request {
        transaction: 7,
        mac: MAC,
        seconds: 3,
        offer: Some((Ipv4Addr::new(10, 77, 0, 80), Ipv4Addr::new(10, 77, 0, 1))),
        keep: None,
    }
    .bytes();
    assert_eq!(bytes.len(), 300);
    let packet = Packet::read(&bytes).unwrap();
    assert_eq!((packet.kind, packet.broadcast), (Kind::Request, true));
    assert_eq!(packet.options.get(options::REQUESTED_ADDRESS), Some([10, 77, 0, 80].as_slice()));
    assert_eq!(packet.options.get(options::SERVER_IDENTIFIER), Some([10, 77, 0, 1].as_slice()));
}

proptest! {
    #[test]
    fn no_message_ends_the_agent(options in proptest::collection::vec(any::<u8>(), 0..300), cut in 0usize..400) {
        let mut message = answer(&options);
        message.truncate(cut);
        let _ = read(&message, 7, MAC);
    }
}
