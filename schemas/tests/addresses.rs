//! Tests of sets of addresses.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr};

use schemas::addresses::{AddressSet, parse_range};

fn address(low: u32) -> IpAddr {
    Ipv4Addr::from_bits(low).into()
}

fn parsed(text: &str) -> IpAddr {
    text.parse().unwrap()
}

/// A small generator of numbers: the same seed gives the same numbers.
struct Numbers(u32);

impl Numbers {
    fn below(&mut self, limit: u32) -> u32 {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (self.0 >> 16) % limit
    }
}

/// Compares with a set of single addresses after random changes of single addresses and of ranges.
#[test]
fn runs_are_a_set() {
    const WIDTH: u32 = 10;
    for seed in 0..5_000_u32 {
        let (mut set, mut model, mut numbers) = (AddressSet::default(), BTreeSet::new(), Numbers(seed));
        for _ in 0..12 {
            let (a, b) = (numbers.below(WIDTH), numbers.below(WIDTH));
            let (first, last) = (a.min(b), a.max(b));
            match numbers.below(4) {
                0 => assert_eq!(set.insert(address(a)), model.insert(a)),
                1 => {
                    set.remove(address(a));
                    model.remove(&a);
                }
                2 => {
                    set.insert_range(address(first), address(last));
                    model.extend(first..=last);
                }
                _ => {
                    set.remove_range(address(first), address(last));
                    model.retain(|low| *low < first || *low > last);
                }
            }
            for low in 0..WIDTH {
                assert_eq!(
                    set.contains(address(low)),
                    model.contains(&low),
                    "seed {seed}: {set:?} {model:?}"
                );
                let absent = (low..).find(|low| !model.contains(low)).map(address);
                assert_eq!(set.first_absent(address(low)), absent, "seed {seed}: {set:?}");
                let next = model.range(low..).next().copied().map(address);
                assert_eq!(set.run_from(address(low)).map(|(first, _)| first), next, "seed {seed}: {set:?}");
            }
            assert_eq!(set.count(), model.len() as u128, "seed {seed}: {set:?}");
            let expected: AddressSet = model.iter().copied().map(address).collect();
            assert_eq!(set, expected, "seed {seed}: no two runs touch");
        }
        let other: AddressSet = (2..4).map(address).collect();
        let mut both = other.clone();
        both.extend(&set);
        assert_eq!(both, model.iter().copied().chain(2..4).map(address).collect(), "seed {seed}");
        let mut less = set;
        less.subtract(&other);
        assert_eq!(
            less,
            model.iter().copied().filter(|low| !(2..4).contains(low)).map(address).collect(),
            "seed {seed}"
        );
    }
}

#[test]
fn the_ends_of_the_families_are_apart() {
    let mut ends: AddressSet = [parsed("255.255.255.255"), parsed("::")].into_iter().collect();
    assert_eq!(ends.runs().count(), 2);
    assert_eq!(ends.first_absent(parsed("255.255.255.255")), None);
    ends.insert_range(parsed("0.0.0.0"), parsed("255.255.255.255"));
    ends.insert_range(parsed("::"), parsed("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"));
    assert_eq!((ends.runs().count(), ends.count()), (2, u128::MAX));
    assert_eq!(ends.first_absent(parsed("::1")), None);
    ends.remove(parsed("255.255.255.255"));
    ends.remove(parsed("::"));
    assert_eq!(ends.first_absent(parsed("0.0.0.0")), Some(parsed("255.255.255.255")));
    ends.remove_range(parsed("0.0.0.0"), parsed("255.255.255.255"));
    ends.remove_range(parsed("::"), parsed("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"));
    assert!(ends.is_empty());
    ends.insert_range(parsed("10.0.0.2"), parsed("10.0.0.1"));
    ends.insert_range(parsed("10.0.0.2"), parsed("fd00::"));
    assert!(ends.is_empty(), "neither a reversed range nor one of two families has an address");
}

#[test]
fn the_forms_in_which_pools_write_addresses() {
    let cases = [
        ("10.0.0.1", Some("10.0.0.1 10.0.0.1")),
        ("10.0.0.1-10.0.0.9", Some("10.0.0.1 10.0.0.9")),
        ("10.0.0.1-10.0.0.1", Some("10.0.0.1 10.0.0.1")),
        ("10.0.0.77/24", Some("10.0.0.0 10.0.0.255")),
        ("10.0.0.1/32", Some("10.0.0.1 10.0.0.1")),
        ("0.0.0.0/0", Some("0.0.0.0 255.255.255.255")),
        ("fd00::1:5/112", Some("fd00::1:0 fd00::1:ffff")),
        ("::/0", Some(":: ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff")),
        ("fd00::1-fd00::2", Some("fd00::1 fd00::2")),
        ("::ffff:10.0.0.1", Some("::ffff:10.0.0.1 ::ffff:10.0.0.1")),
        ("", None),
        ("10.0.0", None),
        ("010.0.0.1", None),
        (" 10.0.0.1", None),
        ("10.0.0.9-10.0.0.1", None),
        ("10.0.0.1-fd00::1", None),
        ("10.0.0.1-", None),
        ("-", None),
        ("10.0.0.1-10.0.0.2-10.0.0.3", None),
        ("10.0.0.0/33", None),
        ("10.0.0.0/+8", None),
        ("10.0.0.0/08", None),
        ("10.0.0.0/", None),
        ("10.0.0.0/24/24", None),
        ("fd00::/129", None),
        ("fe80::1%eth0", None),
    ];
    for (text, expected) in cases {
        let found = parse_range(text).ok().map(|(first, last)| format!("{first} {last}"));
        assert_eq!(found.as_deref(), expected, "{text}");
    }
}
