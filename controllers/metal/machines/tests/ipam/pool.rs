//! Tests of `ipam::pool`.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr};

use metal_machines::ipam::pool::Ranges;
use schemas::metal3_ipam::{IPPoolSpec, Pool};

fn pool(start: &str, end: &str, subnet: &str) -> Pool {
    let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    Pool { start: text(start), end: text(end), subnet: text(subnet), ..Pool::default() }
}

fn spec(pools: Vec<Pool>) -> IPPoolSpec {
    IPPoolSpec { pools, ..IPPoolSpec::default() }
}

fn all(spec: &IPPoolSpec, taken: &[&str], count: usize) -> Vec<String> {
    let ranges = Ranges::of(spec);
    let mut free = ranges.free(taken.iter().map(|text| text.parse().unwrap()).collect());
    std::iter::from_fn(|| free.take()).take(count).map(|given| given.address.to_string()).collect()
}

#[test]
fn addresses_are_allocated_upward_range_by_range() {
    // Start, end, subnet, what is taken, what is given.
    type Case = (&'static str, &'static str, &'static str, &'static [&'static str], &'static [&'static str]);
    let cases: &[Case] = &[
        ("10.0.0.1", "10.0.0.3", "", &[], &["10.0.0.1", "10.0.0.2", "10.0.0.3"]),
        ("10.0.0.1", "10.0.0.3", "", &["10.0.0.1", "10.0.0.2"], &["10.0.0.3"]),
        ("10.0.0.1", "10.0.0.1", "", &["10.0.0.1"], &[]),
        ("", "", "10.0.0.0/30", &[], &["10.0.0.1", "10.0.0.2", "10.0.0.3"]),
        ("", "", "10.0.0.5/29", &[], &["10.0.0.6", "10.0.0.7"]),
        ("", "10.0.0.6", "10.0.0.5/29", &[], &["10.0.0.6"]),
        ("10.0.0.6", "", "10.0.0.0/29", &[], &["10.0.0.6", "10.0.0.7"]),
        ("10.0.0.6", "10.0.0.9", "10.0.0.0/29", &[], &["10.0.0.6", "10.0.0.7"]),
        ("255.255.255.254", "", "", &[], &["255.255.255.254", "255.255.255.255"]),
        ("", "", "0.0.0.0/0", &["0.0.0.1"], &["0.0.0.2", "0.0.0.3", "0.0.0.4", "0.0.0.5"]),
        ("fd00::ffff", "fd00::1:1", "", &[], &["fd00::ffff", "fd00::1:0", "fd00::1:1"]),
        ("", "", "fd00::/127", &[], &["fd00::1"]),
        ("", "", "::/0", &["::1"], &["::2", "::3", "::4", "::5"]),
        (
            "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
            "",
            "",
            &[],
            &["ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"],
        ),
        // These ranges cannot be used.
        ("", "10.0.0.3", "", &[], &[]),
        ("10.0.0.3", "10.0.0.1", "", &[], &[]),
        ("10.0.1.1", "", "10.0.0.0/24", &[], &[]),
        ("10.0.0.1", "fd00::1", "", &[], &[]),
        ("fd00::1", "", "10.0.0.0/24", &[], &[]),
        ("nowhere", "", "", &[], &[]),
        ("", "", "10.0.0.0/33", &[], &[]),
        ("", "", "255.255.255.255/32", &[], &[]),
    ];
    for (start, end, subnet, taken, expected) in cases {
        assert_eq!(all(&spec(vec![pool(start, end, subnet)]), taken, 4), *expected, "{start} {end} {subnet}");
    }
    let two = spec(vec![pool("10.0.0.9", "10.0.0.9", ""), pool("10.0.0.8", "10.0.0.10", "")]);
    assert_eq!(
        all(&two, &[], 9),
        ["10.0.0.9", "10.0.0.8", "10.0.0.10"],
        "an address of two ranges is given once"
    );
}

#[test]
fn a_fixed_address_is_free_or_not() {
    let spec = spec(vec![pool("10.0.0.1", "10.0.0.3", "")]);
    let ranges = Ranges::of(&spec);
    let mut free = ranges.free(["10.0.0.1".parse().unwrap()].into_iter().collect());
    let mut take = |text: &str| free.take_this(text.parse().unwrap()).is_some();
    assert!(
        take("10.0.0.2")
            && !take("10.0.0.2")
            && !take("10.0.0.1")
            && !take("10.0.0.4")
            && !take("::ffff:a00:3")
    );
    assert_eq!(free.take().unwrap().address.to_string(), "10.0.0.3");
    assert_eq!(free.take(), None);
}

#[test]
fn settings_of_a_range_replace_those_of_the_pool() {
    let own = Pool {
        prefix: Some(25),
        gateway: Some("10.0.0.126".into()),
        dns_servers: vec!["10.0.0.2".into()],
        ..pool("10.0.0.1", "10.0.0.1", "")
    };
    let spec = IPPoolSpec {
        prefix: Some(24),
        gateway: Some("10.0.0.254".into()),
        dns_servers: vec!["9.9.9.9".into()],
        ..spec(vec![own, pool("10.0.0.7", "", "")])
    };
    let settings = |text: &str| {
        let found = Ranges::of(&spec).find(text.parse().unwrap()).unwrap();
        (found.prefix, found.gateway.unwrap(), found.dns_servers.concat())
    };
    assert_eq!(settings("10.0.0.1"), (Some(25), "10.0.0.126".into(), "10.0.0.2".into()));
    assert_eq!(settings("10.0.0.7"), (Some(24), "10.0.0.254".into(), "9.9.9.9".into()));
}

#[test]
fn messages_list_the_ranges() {
    let spec = spec(vec![
        pool("10.0.0.1", "10.0.0.3", ""),
        pool("10.0.0.9", "10.0.0.9", ""),
        pool("", "", "fd00::/x"),
    ]);
    let expected = "10.0.0.1-10.0.0.3 (3 addresses), 10.0.0.9 (1 address), \
                    spec.pools[2] cannot be used: subnet \"fd00::/x\" is not of the form ADDRESS/LENGTH";
    assert_eq!(Ranges::of(&spec).describe(), expected);
    assert_eq!(Ranges::of(&IPPoolSpec::default()).describe(), "spec.pools is empty");
}

#[test]
fn a_large_pool_is_searched_once() {
    let spec = spec(vec![pool("", "", "10.0.0.0/8")]);
    let ranges = Ranges::of(&spec);
    let mut free =
        ranges.free((1..100_000).map(|low| Ipv4Addr::from_bits((10 << 24) + low).into()).collect());
    let given: BTreeSet<IpAddr> = (0..100_000).map(|_| free.take().unwrap().address).collect();
    assert_eq!(given.len(), 100_000);
    assert_eq!(given.last().unwrap().to_string(), "10.3.13.63");
}
