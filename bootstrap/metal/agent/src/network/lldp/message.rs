//! Parses LLDP messages: fields of a type (7 bits), a length (9 bits) and a value.

use std::net::{Ipv4Addr, Ipv6Addr};

const END: u8 = 0;
const CHASSIS: u8 = 1;
const PORT: u8 = 2;
const TIME_TO_LIVE: u8 = 3;
const SYSTEM_NAME: u8 = 5;
const OF_ORGANISATION: u8 = 127;
/// The organisation of the VLAN fields (IEEE 802.1), and its field types.
const IEEE_802_1: [u8; 3] = [0x00, 0x80, 0xc2];
const PORT_VLAN: u8 = 1;
const VLAN_NAME: u8 = 3;
/// The highest VLAN identifier; the lowest is 1.
const VLAN_MAX: u16 = 4094;
/// The limits for VLANs and characters that are kept of a switch's message.
const VLANS_MAX: usize = 256;
const TEXT_MAX: usize = 255;

/// The switch at the other end of a cable.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Neighbour {
    /// The identifier of the switch, usually a MAC address.
    pub switch_id: String,
    /// The identifier of the switch's port.
    pub port_id: String,
    /// The name of the switch.
    pub system_name: Option<String>,
    /// The VLAN of untagged packets.
    pub untagged: Option<u16>,
    /// The VLANs of the port, with their names.
    pub vlans: Vec<(u16, String)>,
    /// The switch announces that its information is no longer valid (time to live 0).
    pub leaves: bool,
}

impl Neighbour {
    /// Parses the payload of an Ethernet frame; `None` if switch or port are missing, or the message is truncated.
    pub fn read(message: &[u8]) -> Option<Self> {
        let (mut chassis, mut port, mut found) = (None, None, Self::default());
        let mut rest = message;
        // Padding may follow the end field. Without an end field the message ends with the frame.
        while let Some((header, behind)) = rest.split_first_chunk::<2>() {
            let (kind, length) = (header[0] >> 1, usize::from(header[0] & 1) << 8 | usize::from(header[1]));
            let (value, behind) = behind.split_at_checked(length)?;
            rest = behind;
            match kind {
                END => break,
                CHASSIS => chassis = identity(value, 4, 5),
                PORT => port = identity(value, 3, 4),
                TIME_TO_LIVE => found.leaves = value == [0, 0],
                SYSTEM_NAME => found.system_name = text(value),
                OF_ORGANISATION => found.organisation(value),
                _ => {}
            }
        }
        Some(Self { switch_id: chassis?, port_id: port?, ..found })
    }

    fn organisation(&mut self, value: &[u8]) {
        let Some((organisation, [kind, high, low, name @ ..])) = value.split_first_chunk::<3>() else {
            return;
        };
        let vlan = u16::from_be_bytes([*high, *low]);
        if *organisation != IEEE_802_1 || !(1..=VLAN_MAX).contains(&vlan) {
            return;
        }
        match *kind {
            PORT_VLAN => self.untagged = Some(vlan),
            VLAN_NAME
                if self.vlans.len() < VLANS_MAX && self.vlans.iter().all(|(known, _)| *known != vlan) =>
            {
                let name =
                    name.split_first().and_then(|(length, name)| text(name.get(..usize::from(*length))?));
                self.vlans.push((vlan, name.unwrap_or_default()));
            }
            _ => {}
        }
    }
}

/// Returns an identifier: after its subtype comes a MAC address (subtype `mac`), a network address (subtype `network`), or a text.
fn identity(value: &[u8], mac: u8, network: u8) -> Option<String> {
    let (kind, value) = value.split_first()?;
    let plain = || text(value);
    let digits = || value.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(":");
    match (*kind, value) {
        (kind, value) if kind == mac && !value.is_empty() => Some(digits()),
        // IANA's number of the address family precedes the address.
        (kind, [1, address @ ..]) if kind == network => {
            Some(Ipv4Addr::from(<[u8; 4]>::try_from(address).ok()?).to_string())
        }
        (kind, [2, address @ ..]) if kind == network => {
            Some(Ipv6Addr::from(<[u8; 16]>::try_from(address).ok()?).to_string())
        }
        _ => plain(),
    }
}

/// Returns a text of a switch without control characters, which a terminal would act on.
fn text(value: &[u8]) -> Option<String> {
    let text: String =
        String::from_utf8_lossy(value).chars().filter(|c| !c.is_control()).take(TEXT_MAX).collect();
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

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
}
