//! Tests of `dhcp6::packet`.

use agent_protocol::dhcp::MacAddress;
use metal_boot::dhcp6::packet::{Packet, identifier, mac_of};
use proptest::prelude::*;

#[test]
fn names_hold_addresses() {
    let mac = MacAddress([0x52, 0x54, 0, 1, 2, 3]);
    assert_eq!(mac_of(&identifier(mac)), Some(mac));
    assert_eq!(mac_of(&[0, 1, 0, 1, 9, 9, 9, 9, 0x52, 0x54, 0, 1, 2, 3]), Some(mac));
    assert_eq!(mac_of(&[0, 4, 0, 1, 0x52, 0x54, 0, 1, 2, 3]), None);
    assert_eq!(mac_of(&[0, 3, 0, 1, 0x52]), None);
}

proptest! {
    #[test]
    fn anything_is_read_or_refused(kind in 0..16u8, rest in proptest::collection::vec(any::<u8>(), 0..200)) {
        let mut bytes = vec![kind, 1, 2, 3];
        bytes.extend(rest);
        if let Some(packet) = Packet::read(&bytes) {
            prop_assert_eq!(packet.write(), bytes);
        }
    }
}
