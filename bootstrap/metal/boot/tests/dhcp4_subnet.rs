//! Tests of `dhcp4::subnet`.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

use std::net::Ipv4Addr;

use metal_boot::dhcp4::subnet::{Network, Range, Subnet};

fn network(text: &str) -> Network {
    let (address, prefix) = text.split_once('/').unwrap();
    Network { address: address.parse().unwrap(), prefix: prefix.parse().unwrap() }
}

#[test]
fn the_upper_half_leaves_out_the_server() {
    let range = |text: &str| text.parse::<Range>().unwrap();
    let cases = [
        ("10.0.0.1/24", vec![range("10.0.0.128-10.0.0.254")]),
        ("10.0.0.200/24", vec![range("10.0.0.128-10.0.0.199"), range("10.0.0.201-10.0.0.254")]),
        ("10.0.0.1/30", vec![range("10.0.0.2-10.0.0.2")]),
        ("10.0.0.2/30", vec![]),
        ("10.0.0.1/32", vec![]),
    ];
    for (text, expected) in cases {
        let pools = Subnet::upper_half(network(text));
        assert_eq!(pools, expected, "{text}");
        assert_eq!(Subnet::new(network(text), pools).problem(), None, "{text}");
    }
}

#[test]
fn what_does_not_fit_is_told() {
    let with = |pool: &str| Subnet::new(network("10.0.0.1/24"), vec![pool.parse().unwrap()]);
    assert_eq!(with("10.0.0.10-10.0.0.20").problem(), None);
    assert!(with("10.0.0.10-10.0.1.20").problem().is_some());
    assert!(with("10.0.0.0-10.0.0.20").problem().is_some());
    let far = Subnet { routers: vec![Ipv4Addr::new(10, 0, 1, 1)], ..with("10.0.0.10-10.0.0.20") };
    assert!(far.problem().is_some_and(|problem| problem.contains("10.0.1.1")));
    assert!("10.0.0.9-10.0.0.8".parse::<Range>().is_err());
}
