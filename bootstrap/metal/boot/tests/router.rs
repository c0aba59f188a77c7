//! Tests of `router`.

use agent_protocol::dhcp::MacAddress;
use metal_boot::router::{Advertisement, read_solicitation};
use proptest::prelude::*;

#[test]
fn solicitations_are_read() {
    let mac = MacAddress([0x52, 0x54, 0, 1, 2, 3]);
    let cases: [(&[u8], Option<Option<MacAddress>>); 6] = [
        (&[133, 0, 1, 2, 0, 0, 0, 0], Some(None)),
        (&[133, 0, 1, 2, 0, 0, 0, 0, 1, 1, 0x52, 0x54, 0, 1, 2, 3], Some(Some(mac))),
        (&[133, 0, 1, 2, 0, 0, 0, 0, 1, 0], None),
        (&[133, 0, 1, 2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0, 0], None),
        (&[135, 0, 1, 2, 0, 0, 0, 0], None),
        (&[133, 0, 1], None),
    ];
    for (bytes, expected) in cases {
        assert_eq!(read_solicitation(bytes), expected, "{bytes:?}");
    }
}

#[test]
fn the_router_routes_nothing() {
    let plain = Advertisement { prefix: None }.write();
    assert_eq!(plain, [134, 0, 0, 0, 64, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    let with = Advertisement { prefix: Some("fd00:1::".parse().unwrap()) }.write();
    assert_eq!((with.len(), with[5], &with[6..8]), (48, 0xc0, &[0, 0][..]));
    assert_eq!(&with[16..20], [3, 4, 64, 0x80]);
}

proptest! {
    #[test]
    fn anything_is_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
        read_solicitation(&bytes);
    }
}
