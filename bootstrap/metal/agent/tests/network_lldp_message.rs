//! Tests of `network::lldp::message`.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

use agent::testing::lldp::{
    CHASSIS, END, IEEE_802_1, Neighbour, OF_ORGANISATION, PORT, SYSTEM_NAME, TIME_TO_LIVE,
};
use proptest::collection::vec;
use proptest::prelude::*;

fn field(kind: u8, value: &[u8]) -> Vec<u8> {
    [&[kind << 1 | u8::try_from(value.len() >> 8).unwrap(), value.len() as u8], value].concat()
}

#[test]
fn a_switch_says_who_it_is() {
    let message = [
        field(CHASSIS, &[4, 0, 0x1c, 0x73, 1, 2, 0xff]),
        field(PORT, b"\x05Ethernet1/7"),
        field(3, &[0, 120]),
        field(SYSTEM_NAME, b"leaf-3\x1b[31m"),
        field(OF_ORGANISATION, &[0, 0x80, 0xc2, 1, 0, 10]),
        field(OF_ORGANISATION, b"\x00\x80\xc2\x03\x00\x0a\x04prov"),
        field(OF_ORGANISATION, b"\x00\x80\xc2\x03\x00\x14\x07storage"),
        // A repeated VLAN, a name that is too short for its length, another organisation, and an invalid VLAN.
        field(OF_ORGANISATION, b"\x00\x80\xc2\x03\x00\x14\x05again"),
        field(OF_ORGANISATION, b"\x00\x80\xc2\x03\x00\x15\xff"),
        field(OF_ORGANISATION, b"\x00\x12\x0f\x03\x00\x16\x01a"),
        field(OF_ORGANISATION, &[0, 0x80, 0xc2, 1, 0, 0]),
        field(END, &[]),
        vec![0xff; 9],
    ]
    .concat();
    let expected = Neighbour {
        switch_id: "00:1c:73:01:02:ff".into(),
        port_id: "Ethernet1/7".into(),
        system_name: Some("leaf-3[31m".into()),
        untagged: Some(10),
        vlans: vec![(10, "prov".into()), (20, "storage".into()), (21, String::new())],
        leaves: false,
    };
    assert_eq!(Neighbour::read(&message), Some(expected));
}

#[test]
fn identities_of_every_kind() {
    type Case<'a> = (&'a [u8], &'a [u8], Option<(&'a str, &'a str)>);
    let cases: [Case<'_>; 6] = [
        (b"\x07leaf", &[3, 1, 2, 3, 4, 5, 6], Some(("leaf", "01:02:03:04:05:06"))),
        (&[5, 1, 10, 0, 0, 1], b"\x0142", Some(("10.0.0.1", "42"))),
        (b"\x05\x02\xfd\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01", b"\x07p", Some(("fd00::1", "p"))),
        (&[5, 1, 10, 0], b"\x07p", None),
        (&[4], b"\x07p", None),
        (b"\x07leaf", b"", None),
    ];
    for (chassis, port, expected) in cases {
        let message = [field(CHASSIS, chassis), field(PORT, port)].concat();
        let read = Neighbour::read(&message).map(|found| (found.switch_id, found.port_id));
        assert_eq!(read, expected.map(|(switch, port)| (switch.to_owned(), port.to_owned())));
    }
}

#[test]
fn what_is_cut_off_is_nobody() {
    let message =
        [field(CHASSIS, b"\x07leaf"), field(PORT, b"\x07p"), field(SYSTEM_NAME, b"leaf-3")].concat();
    for length in 0..message.len() {
        // If the message is cut between two fields, the remaining fields are valid.
        let is_whole = length == message.len() - 8;
        assert_eq!(
            Neighbour::read(&message[..length]).is_some(),
            is_whole || length == message.len() - 7,
            "{length}"
        );
    }
}

#[test]
fn a_goodbye() {
    let message = |seconds| {
        [field(CHASSIS, b"\x07leaf"), field(PORT, b"\x07p"), field(TIME_TO_LIVE, &[0, seconds])].concat()
    };
    let leaves = |seconds| Neighbour::read(&message(seconds)).unwrap().leaves;
    assert_eq!((leaves(0), leaves(120)), (true, false));
}

proptest! {
    #[test]
    fn no_message_panics(
        fields in vec((prop_oneof![0u8..9, Just(OF_ORGANISATION)], any::<bool>(), vec(any::<u8>(), 0..40)), 0..12),
        noise in vec(any::<u8>(), 0..40), cut in 0usize..600,
    ) {
        let mut message = Vec::new();
        for (kind, of_vlans, value) in fields {
            let start: &[u8] = if of_vlans { &IEEE_802_1 } else { &[] };
            message.extend(field(kind, &[start, &value].concat()));
        }
        message.extend(noise);
        let cut = cut.min(message.len());
        let _ = Neighbour::read(&message[..cut]);
    }
}
