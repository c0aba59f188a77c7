//! Tests of `pod_network::addresses`.

use std::net::{IpAddr, Ipv4Addr};

use pod_network::FIRST_SERVICE;
use pod_network::addresses::{Addresses, PODS, Place, place, six};

#[test]
fn places() {
    for (address, expected) in [
        ("198.18.0.1", Place::Pod),
        ("198.19.0.1", Place::Service),
        ("10.0.0.1", Place::Outside),
        ("169.254.169.254", Place::Outside),
        ("198.20.0.1", Place::Outside),
        ("2001:db8::1", Place::Outside),
        ("127.0.0.1", Place::Forbidden),
        ("127.8.0.1", Place::Forbidden),
        ("0.0.0.0", Place::Forbidden),
        ("0.1.2.3", Place::Forbidden),
        ("224.0.0.1", Place::Forbidden),
        ("255.255.255.255", Place::Forbidden),
        ("::1", Place::Forbidden),
        ("::", Place::Forbidden),
        ("fe80::1", Place::Forbidden),
        ("ff02::1", Place::Forbidden),
        ("fd00::1", Place::Outside),
        ("::ffff:127.0.0.1", Place::Forbidden),
        ("::ffff:198.18.0.1", Place::Pod),
    ] {
        assert_eq!(place(address.parse().unwrap()), expected, "{address}");
    }
    assert_eq!(place(IpAddr::V4(FIRST_SERVICE)), Place::Service);
    assert_eq!(place(IpAddr::V6(six(PODS.0))), Place::Forbidden);
}

#[test]
fn an_address_belongs_to_one_pod() {
    let mut addresses = Addresses::default();
    let [first, second] = [1, 2].map(|last| Some(Ipv4Addr::new(198, 18, 0, last)));
    assert_eq!(addresses.take(None), first);
    assert_eq!(addresses.take(first), second, "the wanted one is taken");
    assert_eq!(addresses.take(Some(Ipv4Addr::LOCALHOST)), Some(Ipv4Addr::new(198, 18, 0, 3)));
    addresses.give_back(Ipv4Addr::new(198, 18, 0, 1));
    assert_eq!(addresses.take(None), Some(Ipv4Addr::new(198, 18, 0, 4)), "an address rests");
    assert_eq!(addresses.take(first), first);
    let all = (0..).map_while(|_| addresses.take(None)).count();
    assert_eq!(all, 65_534 - 4);
}
