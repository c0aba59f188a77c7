//! Tests of the pools of the in-cluster IPAM provider.

use schemas::admission::{Fact, Facts, Features, admit, check, check_deletion};
use schemas::in_cluster_pool::{MAX_PROBLEMS, allocatable, taken_out};
use schemas::ipam::InClusterIPPoolSpec;
use serde_json::{Value, json};

use super::{creations, updates};

const GROUP: &str = "ipam.cluster.x-k8s.io";

fn spec(spec: Value) -> Value {
    json!({ "spec": spec })
}

#[test]
fn pools() {
    let good = spec(json!({ "addresses": ["10.0.0.10-10.0.0.20"], "prefix": 24, "gateway": "10.0.0.1" }));
    let addresses = |addresses: &[&str]| spec(json!({ "addresses": addresses }));
    let excluded = |excluded: &[&str]| spec(json!({ "excludedAddresses": excluded }));
    let cases = &[
        ("good", json!({}), &[][..]),
        ("all forms", addresses(&["10.0.0.10", "10.0.0.20-10.0.0.30", "10.0.0.64/26"]), &[]),
        ("overlapping", addresses(&["10.0.0.10-10.0.0.20", "10.0.0.15-10.0.0.30"]), &[]),
        ("excluded from elsewhere", excluded(&["192.0.2.1"]), &[]),
        ("no spec", json!({ "spec": null }), &["spec.addresses: Required", "spec.prefix: Invalid"]),
        ("no addresses", addresses(&[]), &["spec.addresses: Required"]),
        ("no prefix", spec(json!({ "prefix": 0 })), &["spec.prefix: Invalid"]),
        ("negative prefix", spec(json!({ "prefix": -1 })), &["spec.prefix: Invalid"]),
        ("prefix of IPv6", spec(json!({ "prefix": 33 })), &["spec.prefix: Invalid"]),
        ("prefix too long", spec(json!({ "prefix": 129 })), &["spec.prefix: Invalid"]),
        ("huge prefix", spec(json!({ "prefix": i64::MAX })), &["spec.prefix: Invalid"]),
        ("nonsense", addresses(&["10.0.0.1", "nowhere"]), &["spec.addresses[1]: Invalid"]),
        ("reversed", addresses(&["10.0.0.9-10.0.0.1"]), &["spec.addresses[0]: Invalid"]),
        ("two families", addresses(&["10.0.0.1", "fd00::1"]), &["spec.addresses[1]: Invalid"]),
        ("range over families", addresses(&["10.0.0.1-fd00::1"]), &["spec.addresses[0]: Invalid"]),
        ("other network", addresses(&["10.0.0.1", "10.0.1.1"]), &["spec.addresses[1]: Invalid"]),
        ("beyond the network", addresses(&["10.0.0.1-10.0.1.1"]), &["spec.addresses[0]: Invalid"]),
        // The network is that of the lowest address, whatever its place in the list.
        ("lowest last", addresses(&["10.0.1.1", "10.0.0.1"]), &["spec.addresses[0]: Invalid"]),
        ("gateway", spec(json!({ "gateway": "router" })), &["spec.gateway: Invalid"]),
        ("empty gateway", spec(json!({ "gateway": "" })), &[]),
        ("gateway of IPv6", spec(json!({ "gateway": "fd00::1" })), &["spec.gateway: Invalid"]),
        ("gateway elsewhere", spec(json!({ "gateway": "192.0.2.1" })), &[]),
        ("excluded nonsense", excluded(&["10.0.0.1/"]), &["spec.excludedAddresses[0]: Invalid"]),
        ("excluded of IPv6", excluded(&["10.0.0.12", "fd00::1"]), &["spec.excludedAddresses[1]: Invalid"]),
    ];
    for kind in ["InClusterIPPool", "GlobalInClusterIPPool"] {
        creations(GROUP, kind, &good, cases);
        updates(GROUP, kind, &good, cases);
    }
}

#[test]
fn a_pool_that_was_stored_before_keeps_its_spec() {
    let bad =
        json!({ "metadata": { "finalizers": ["x"] }, "spec": { "addresses": ["nowhere"], "prefix": 24 } });
    let mut new = bad.clone();
    new["metadata"]["finalizers"] = json!([]);
    assert!(admit(GROUP, "InClusterIPPool", &mut new, Some(&bad), false, &Facts::of_empty_server()).is_ok());
    new["spec"]["prefix"] = json!(25);
    assert!(admit(GROUP, "InClusterIPPool", &mut new, Some(&bad), false, &Facts::of_empty_server()).is_err());
}

#[test]
fn a_pool_without_a_free_address_is_warned_about() {
    let mut pool =
        spec(json!({ "addresses": ["10.0.0.0", "10.0.0.1"], "prefix": 24, "gateway": "10.0.0.1" }));
    let warnings =
        admit(GROUP, "InClusterIPPool", &mut pool, None, false, &Facts::of_empty_server()).unwrap();
    assert_eq!(warnings, ["the pool has no address to allocate: all are excluded, reserved, or the gateway"]);
}

/// Returns the runs of what a pool allocates, as `first-last`, and their number of addresses.
fn allocated(value: Value) -> (String, u128) {
    let spec: InClusterIPPoolSpec = serde_json::from_value(value).unwrap();
    let set = allocatable(&spec).unwrap();
    let runs: Vec<String> = set.runs().map(|(first, last)| format!("{first}-{last}")).collect();
    (runs.join(" "), set.count())
}

#[test]
fn what_a_pool_allocates() {
    let cases = [
        (json!({ "addresses": ["10.0.0.0/24"], "prefix": 24 }), "10.0.0.1-10.0.0.254", 254),
        (
            json!({ "addresses": ["10.0.0.0/24"], "prefix": 24, "allocateReservedIPAddresses": true }),
            "10.0.0.0-10.0.0.255",
            256,
        ),
        (
            json!({ "addresses": ["10.0.0.0/29"], "prefix": 29, "gateway": "10.0.0.3" }),
            "10.0.0.1-10.0.0.2 10.0.0.4-10.0.0.6",
            5,
        ),
        (
            json!({ "addresses": ["10.0.0.0/24"], "prefix": 24, "excludedAddresses": ["10.0.0.8/29", "10.0.0.1", "10.0.0.100-10.0.0.254"] }),
            "10.0.0.2-10.0.0.7 10.0.0.16-10.0.0.99",
            90,
        ),
        // The reserved addresses are those of the network, not of the ranges.
        (json!({ "addresses": ["10.0.0.0/24", "10.0.1.0/24"], "prefix": 22 }), "10.0.0.1-10.0.1.255", 511),
        (json!({ "addresses": ["fd00::/126"], "prefix": 126 }), "fd00::1-fd00::3", 3),
        (
            json!({ "addresses": ["fd00::/64"], "prefix": 64, "gateway": "fd00::1", "excludedAddresses": ["fd00::/112"] }),
            "fd00::1:0-fd00::ffff:ffff:ffff:ffff",
            (1 << 64) - (1 << 16),
        ),
        (json!({ "addresses": ["10.0.0.1/32"], "prefix": 32 }), "", 0),
        (
            json!({ "addresses": ["10.0.0.1"], "prefix": 32, "allocateReservedIPAddresses": true }),
            "10.0.0.1-10.0.0.1",
            1,
        ),
    ];
    for (spec, expected, count) in cases {
        assert_eq!(allocated(spec.clone()), (expected.to_owned(), count), "{spec}");
    }
}

#[test]
fn a_pool_of_many_entries_is_read_at_once_and_its_problems_are_few() {
    let entry = |number: u32| {
        let (first, last) = (number * 4, number * 4 + 1);
        let text = |low: u32| std::net::Ipv4Addr::from_bits(0x0a00_0000 + low);
        format!("{}-{}", text(first), text(last))
    };
    let many: Vec<String> = (0..100_000).map(entry).collect();
    let excluded: Vec<String> =
        (0..10_000).map(|number| format!("10.{}.{}.1", number / 256, number % 256)).collect();
    let spec = InClusterIPPoolSpec {
        addresses: many,
        excluded_addresses: excluded,
        prefix: 8,
        ..InClusterIPPoolSpec::default()
    };
    // Each excluded address below the last range is the second one of a range; 10.0.0.0 is reserved.
    let inside = (0..10_000_u32).filter(|number| number * 256 < 400_000).count() as u128;
    assert_eq!(allocatable(&spec).unwrap().count(), 200_000 - inside - 1);

    let nonsense = InClusterIPPoolSpec {
        addresses: vec!["nowhere".to_owned(); 100_000],
        prefix: 24,
        ..InClusterIPPoolSpec::default()
    };
    assert_eq!(allocatable(&nonsense).unwrap_err().len(), MAX_PROBLEMS);
}

#[test]
fn a_change_does_not_take_allocated_addresses_out() {
    let spec = |value: Value| serde_json::from_value::<InClusterIPPoolSpec>(value).unwrap();
    let old = spec(json!({ "addresses": ["10.0.0.10-10.0.0.19"], "prefix": 24 }));
    let cases: &[(Value, &[&str])] = &[
        (json!({ "addresses": ["10.0.0.0/24"], "prefix": 24 }), &[]),
        (json!({ "addresses": ["10.0.0.11-10.0.0.19"], "prefix": 24 }), &["10.0.0.10"]),
        (
            json!({ "addresses": ["10.0.0.10-10.0.0.14"], "prefix": 24, "gateway": "10.0.0.10" }),
            &["10.0.0.10", "10.0.0.15"],
        ),
        (
            json!({ "addresses": ["10.0.0.10-10.0.0.19"], "prefix": 24, "excludedAddresses": ["10.0.0.15"] }),
            &["10.0.0.15"],
        ),
        (json!({ "addresses": ["nowhere"], "prefix": 24 }), &[]),
    ];
    for (new, expected) in cases {
        // The last one was outside before.
        let allocated = ["10.0.0.10", "10.0.0.15", "10.0.0.99"].map(|text| text.parse().unwrap());
        let found = taken_out(&old, &spec(new.clone()), allocated);
        let found: Vec<&str> = found.iter().map(|problem| problem.value.as_str().unwrap()).collect();
        assert_eq!(found, *expected, "{new}");
    }
}

#[test]
fn a_pool_in_use_is_neither_shrunk_nor_deleted() {
    let facts = |addresses: &[&str]| Facts {
        allocated: Fact::Known(addresses.iter().map(|text| text.parse().unwrap()).collect()),
        ..Facts::default()
    };
    let old = spec(json!({ "addresses": ["10.0.0.10-10.0.0.19"], "prefix": 24 }));
    let new = spec(json!({ "addresses": ["10.0.0.11-10.0.0.19"], "prefix": 24 }));
    for kind in ["InClusterIPPool", "GlobalInClusterIPPool"] {
        let update = |facts| {
            let found = check(GROUP, kind, &new, Some(&old), false, Features::default(), &facts);
            found.map_err(|errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>())
        };
        assert_eq!(update(facts(&["10.0.0.11"])), Ok(Vec::new()));
        let refused = update(facts(&["10.0.0.10"])).unwrap_err();
        assert!(
            refused.len() == 1 && refused[0].starts_with("spec: Invalid value: \"10.0.0.10\""),
            "{refused:?}"
        );
        assert!(update(Facts::default()).is_err(), "a server that does not look");

        let delete = |pool: &Value, facts| check_deletion(GROUP, kind, pool, None, &facts);
        assert_eq!(delete(&old, facts(&[])), Ok(()));
        assert_eq!(
            delete(&old, facts(&["10.0.0.10", "10.0.0.11", "10.0.0.12", "10.0.0.13"])).unwrap_err(),
            "IPAddresses have addresses of it: 10.0.0.10, 10.0.0.11, 10.0.0.12 and 1 more; \
             delete their IPAddressClaims first"
        );
        assert!(delete(&old, Facts::default()).is_err(), "a server that does not look");
        for annotation in [
            "ipam.cluster.x-k8s.io/skip-validate-delete-webhook",
            "clusterctl.cluster.x-k8s.io/delete-for-move",
        ] {
            let pool = json!({ "metadata": { "annotations": { annotation: "" } }, "spec": old["spec"] });
            assert_eq!(delete(&pool, facts(&["10.0.0.10"])), Ok(()), "{annotation}");
        }
    }
}
