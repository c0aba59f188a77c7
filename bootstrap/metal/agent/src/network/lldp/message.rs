//! Parses LLDP messages: fields of a type (7 bits), a length (9 bits) and a value.

use std::net::{Ipv4Addr, Ipv6Addr};

/// The type of the end of the message.
pub const END: u8 = 0;
/// The type of the identifier of the switch.
pub const CHASSIS: u8 = 1;
/// The type of the identifier of its port.
pub const PORT: u8 = 2;
/// The type of the time for which the message holds.
pub const TIME_TO_LIVE: u8 = 3;
/// The type of the name of the switch.
pub const SYSTEM_NAME: u8 = 5;
/// The type of a field that an organisation defines.
pub const OF_ORGANISATION: u8 = 127;
/// The organisation of the VLAN fields (IEEE 802.1).
pub const IEEE_802_1: [u8; 3] = [0x00, 0x80, 0xc2];
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
