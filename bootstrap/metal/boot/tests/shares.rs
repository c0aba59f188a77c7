//! Tests of `shares`.

use std::net::IpAddr;

use metal_boot::shares::{Place, Shares};

#[test]
fn places_are_shared_out() {
    let shares = Shares::new((4, "all"), (2, "of_one"), (3, "of_strangers"));
    let client = |last: u8| IpAddr::from([10, 0, 0, last]);
    let full = |client, is_known| shares.take(client, is_known).err();
    let mut held: Vec<Place> = (0..2).flat_map(|_| shares.take(client(1), false)).collect();
    assert_eq!(held.len(), 2);
    assert_eq!(full("::ffff:10.0.0.1".parse().unwrap(), false), Some("of_one"));
    held.extend(shares.take(client(2), false));
    assert_eq!(held.len(), 3);
    assert_eq!(full(client(3), false), Some("of_strangers"));
    held.extend(shares.take(client(4), true));
    assert_eq!(held.len(), 4);
    assert_eq!(full(client(5), true), Some("all"));
    held.clear();
    assert_eq!(shares.clients(), 0);
    assert!(shares.take(client(1), false).is_ok());
}
