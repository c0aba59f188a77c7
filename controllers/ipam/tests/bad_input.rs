//! Pools and claims as nobody should write them. The API server of these tests has no admission, as if the pools had been stored
//! before: nothing panics, the claims say what is wrong, and other pools go on.

use schemas::ipam::{IPAddress, IPAddressClaim, InClusterIPPool};
use serde_json::{Value, json};
use test_plane::{Fixture, get};

use crate::ipam::support::{GROUPS, address, claim, has_reason, numbers, pool, ready, start};

#[tokio::test(start_paused = true)]
async fn a_pool_that_cannot_be_used_says_so_in_its_claims() {
    let cases = [
        (json!({"addresses": [], "prefix": 24}), "spec.addresses must have at least one address"),
        (json!({"addresses": ["10.0.0.9-10.0.0.1"], "prefix": 24}), "spec.addresses[0] is reversed"),
        (json!({"addresses": ["10.0.0.1", "fd00::1"], "prefix": 24}), "spec.addresses[1] must be of IPv4"),
        (json!({"addresses": ["10.0.0.1"], "prefix": 0}), "spec.prefix must be the length"),
        (json!({"addresses": ["10.0.0.1"], "prefix": 33}), "spec.prefix must not be more than 32"),
        (
            json!({"addresses": ["10.0.0.1", "10.0.1.1"], "prefix": 24}),
            "spec.addresses[1] must be inside of 10.0.0.0/24",
        ),
        (
            json!({"addresses": ["10.0.0.1"], "prefix": 24, "gateway": "router"}),
            "spec.gateway must be an IP address",
        ),
        (
            json!({"addresses": ["10.0.0.1"], "prefix": 24, "excludedAddresses": ["x"]}),
            "spec.excludedAddresses[0] must be",
        ),
    ];
    let fixture = Fixture::new(GROUPS, start).await;
    fixture.create(pool("10.0.0.19")).await;
    let good = json!({"addresses": ["10.0.0.10"], "prefix": 24, "gateway": null, "excludedAddresses": null});
    for (spec, expected) in cases {
        let mut whole: Value = good.clone();
        whole.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
        fixture.patch::<InClusterIPPool>("pool", json!({"spec": whole})).await;
        fixture.create(claim("a")).await;
        fixture.until("the claim says why", |manager| has_reason(manager, "a", "PoolNotReady")).await;
        let message = ready(&fixture.manager, "a").unwrap().1;
        let start = format!("InClusterIPPool default/pool cannot be used: {expected}");
        assert!(message.starts_with(&start), "{message}");
        fixture.patch::<InClusterIPPool>("pool", json!({"spec": good})).await;
        fixture.until("a has an address", |manager| address(manager, "a").is_some()).await;
        fixture.delete::<IPAddressClaim>("a").await;
        fixture.until("a is gone", |manager| get::<IPAddressClaim>(manager, "a").is_none()).await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_address_of_the_same_name_that_is_not_the_claims() {
    let fixture = Fixture::new(GROUPS, start).await;
    fixture.create(pool("10.0.0.19")).await;
    fixture
        .create(json!({
            "apiVersion": "ipam.cluster.x-k8s.io/v1beta2", "kind": "IPAddress", "metadata": {"name": "a"},
            "spec": {"address": "192.0.2.1", "prefix": 24, "claimRef": {"name": "other"},
                "poolRef": {"apiGroup": "ipam.metal3.io", "kind": "IPPool", "name": "elsewhere"}},
        }))
        .await;
    fixture.create(claim("a")).await;
    fixture.until("the claim says why", |manager| has_reason(manager, "a", "AllocationFailed")).await;
    let expected = "IPAddress a exists, and is of claim other and IPPool elsewhere: delete it, or use another name for the claim";
    assert_eq!(ready(&fixture.manager, "a").unwrap().1, expected);
    fixture.delete::<IPAddress>("a").await;
    fixture.until("a has an address", |manager| address(manager, "a").is_some()).await;
}

#[tokio::test(start_paused = true)]
async fn two_addresses_that_somebody_made_equal_are_told() {
    let mut fixture = Fixture::new(GROUPS, |_| ()).await;
    fixture.create(pool("10.0.0.19")).await;
    for name in ["a", "b"] {
        fixture.create(claim(name)).await;
        fixture
            .create(json!({
                "apiVersion": "ipam.cluster.x-k8s.io/v1beta2", "kind": "IPAddress", "metadata": {"name": name},
                "spec": {"address": "10.0.0.10", "prefix": 24, "claimRef": {"name": name},
                    "poolRef": {"apiGroup": "ipam.cluster.x-k8s.io", "kind": "InClusterIPPool", "name": "pool"}},
            }))
            .await;
    }
    fixture.start = Box::new(start);
    fixture.restart().await;
    fixture.until("a says it", |manager| has_reason(manager, "a", "AllocationFailed")).await;
    fixture.until("b says it", |manager| has_reason(manager, "b", "AllocationFailed")).await;
    let expected = "another IPAddress of InClusterIPPool default/pool has the address 10.0.0.10, too: delete IPAddress b, and the claim gets another address";
    assert_eq!(ready(&fixture.manager, "b").unwrap().1, expected);
    fixture.delete::<IPAddress>("a").await;
    fixture.until("b has it", |manager| address(manager, "b").as_deref() == Some("10.0.0.10")).await;
    fixture.until("a has another one", |manager| address(manager, "a").as_deref() == Some("10.0.0.11")).await;
}

#[tokio::test(start_paused = true)]
async fn a_pool_of_many_ranges() {
    let ranges: Vec<String> = (0..20_000_u32)
        .map(|number| std::net::Ipv4Addr::from_bits(0x0a00_0000 + 2 * number).to_string())
        .collect();
    let excluded: Vec<&String> = ranges.iter().take(10_000).collect();
    let fixture = Fixture::new(GROUPS, start).await;
    let mut large = pool("");
    large["spec"] = json!({"addresses": ranges, "excludedAddresses": excluded, "prefix": 8});
    fixture.create(large).await;
    for number in 0..20 {
        fixture.create(claim(&format!("c{number}"))).await;
    }
    fixture.until("the pool counts them", |manager| numbers(manager) == Some([10_000, 20, 9_980, 0])).await;
    // The first range that is not excluded: the ten thousandth even number.
    assert_eq!(address(&fixture.manager, "c0").as_deref(), Some("10.0.78.32"));
}
