//! Claims get, keep and return addresses.

use schemas::HasConditions;
use schemas::ipam::{GlobalInClusterIPPool, IPAddress, IPAddressClaim, InClusterIPPool};
use serde_json::json;
use test_plane::{Fixture, get};

use crate::ipam::support::{
    GROUPS, address, address_in, claim, claim_of, global_pool, has_reason, numbers, pool, ready, start,
};

#[tokio::test(start_paused = true)]
async fn a_claim_gets_an_address_in_the_form_of_upstream() {
    let fixture = Fixture::new(GROUPS, start).await;
    fixture.create(pool("10.0.0.19")).await;
    let mut labelled = claim("a");
    labelled["metadata"]["labels"] = json!({"a": "b"});
    fixture.create(labelled).await;
    fixture.until("a has an address", |manager| address(manager, "a").is_some()).await;

    let claim = fixture.get::<IPAddressClaim>("a").unwrap();
    assert!(claim.condition_is_true("Ready"));
    assert_eq!(claim.metadata.finalizers.as_ref().unwrap(), &["ipam.cluster.x-k8s.io/ReleaseAddress"]);
    // The address has the name of its claim: upstream's provider would give another one otherwise.
    let given = fixture.get::<IPAddress>("a").unwrap();
    assert_eq!(given.spec.address, "10.0.0.10");
    assert_eq!((given.spec.prefix, given.spec.gateway.as_deref()), (24, Some("10.0.0.1")));
    assert_eq!((given.spec.claim_ref.name.as_str(), &given.spec.pool_ref), ("a", &claim.spec.pool_ref));
    assert_eq!(given.metadata.finalizers.as_ref().unwrap(), &["ipam.cluster.x-k8s.io/ProtectAddress"]);
    assert_eq!(given.metadata.labels, None);
    let owners: Vec<_> = given
        .metadata
        .owner_references
        .iter()
        .flatten()
        .map(|owner| (owner.kind.as_str(), owner.controller, owner.block_owner_deletion))
        .collect();
    let expected = [("IPAddressClaim", Some(true), Some(true)), ("InClusterIPPool", Some(false), Some(true))];
    assert_eq!(owners, expected);
    let pool = fixture.get::<InClusterIPPool>("pool").unwrap();
    assert_eq!(pool.metadata.finalizers.as_ref().unwrap(), &["ipam.cluster.x-k8s.io/ProtectPool"]);
    fixture.until("the pool counts it", |manager| numbers(manager) == Some([10, 1, 9, 0])).await;
}

#[tokio::test(start_paused = true)]
async fn a_claim_of_an_exhausted_pool_gets_the_next_address_that_becomes_free() {
    let fixture = Fixture::new(GROUPS, start).await;
    fixture.create(claim("a")).await;
    fixture.until("there is no pool", |manager| has_reason(manager, "a", "PoolNotReady")).await;
    assert_eq!(
        ready(&fixture.manager, "a").unwrap().1,
        "there is no InClusterIPPool default/pool: create it"
    );
    fixture.create(pool("10.0.0.11")).await;
    fixture.create(claim("b")).await;
    fixture
        .until("both have addresses", |manager| address(manager, "a").and(address(manager, "b")).is_some())
        .await;
    fixture.create(claim("c")).await;
    fixture.until("the pool is exhausted", |manager| has_reason(manager, "c", "PoolExhausted")).await;
    let message = ready(&fixture.manager, "c").unwrap().1;
    let expected = "InClusterIPPool default/pool has no free address: all 2 are allocated. \
        Add addresses to it, or delete a claim that is no longer needed";
    assert_eq!(message, expected);
    fixture.until("the pool is full", |manager| numbers(manager) == Some([2, 2, 0, 0])).await;

    let writes = fixture.requests.writes();
    tokio::time::sleep(std::time::Duration::from_secs(3600)).await;
    assert_eq!(fixture.requests.writes(), writes, "nothing polls");
    let freed = address(&fixture.manager, "a");
    fixture.delete::<IPAddressClaim>("a").await;
    fixture.until("c has the address of a", |manager| address(manager, "c") == freed).await;
    assert!(fixture.get::<IPAddressClaim>("c").unwrap().condition_is_true("Ready"));
    fixture.create(claim("d")).await;
    fixture.until("the pool is exhausted", |manager| has_reason(manager, "d", "PoolExhausted")).await;
    fixture.patch::<InClusterIPPool>("pool", json!({"spec": {"addresses": ["10.0.0.10-10.0.0.12"]}})).await;
    fixture
        .until("d has the new address", |manager| address(manager, "d").as_deref() == Some("10.0.0.12"))
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_pool_that_shrinks_keeps_what_it_has_given() {
    let fixture = Fixture::new(GROUPS, start).await;
    fixture.create(pool("10.0.0.11")).await;
    fixture.create(claim("a")).await;
    fixture.create(claim("b")).await;
    fixture.until("the pool is full", |manager| numbers(manager) == Some([2, 2, 0, 0])).await;
    let spec = json!({"spec": {"addresses": ["10.0.0.11-10.0.0.13"], "gateway": "10.0.0.13"}});
    fixture.patch::<InClusterIPPool>("pool", spec).await;
    fixture.until("one is outside", |manager| numbers(manager) == Some([2, 2, 1, 1])).await;
    fixture.create(claim("c")).await;
    fixture
        .until("c has the free one", |manager| address(manager, "c").as_deref() == Some("10.0.0.12"))
        .await;
    assert_eq!(address(&fixture.manager, "a").as_deref(), Some("10.0.0.10"));
    fixture.patch::<InClusterIPPool>("pool", json!({"spec": {"excludedAddresses": ["10.0.0.12"]}})).await;
    fixture.until("an excluded one, too", |manager| numbers(manager) == Some([1, 3, 0, 2])).await;
}

#[tokio::test(start_paused = true)]
async fn a_pool_is_deleted_after_its_last_address() {
    let fixture = Fixture::new(GROUPS, start).await;
    fixture.create(pool("10.0.0.19")).await;
    fixture.create(claim("a")).await;
    fixture.until("a has an address", |manager| address(manager, "a").is_some()).await;
    fixture.delete::<InClusterIPPool>("pool").await;
    fixture.create(claim("b")).await;
    fixture.until("no more is given", |manager| has_reason(manager, "b", "PoolNotReady")).await;
    assert_eq!(ready(&fixture.manager, "b").unwrap().1, "InClusterIPPool default/pool is being deleted");
    assert!(fixture.get::<InClusterIPPool>("pool").is_some());
    fixture.delete::<IPAddressClaim>("a").await;
    fixture.until("the pool is gone", |manager| get::<InClusterIPPool>(manager, "pool").is_none()).await;
    assert!(fixture.get::<IPAddress>("a").is_none() && fixture.get::<IPAddressClaim>("a").is_none());
    // A claim of a pool that is gone can be deleted, too.
    fixture.delete::<IPAddressClaim>("b").await;
    fixture.until("b is gone", |manager| get::<IPAddressClaim>(manager, "b").is_none()).await;
}

#[tokio::test(start_paused = true)]
async fn claims_of_all_namespaces_share_a_global_pool() {
    let fixture = Fixture::new(GROUPS, start).await;
    let namespaces = ["red", "blue", "default"];
    for namespace in ["red", "blue"] {
        fixture
            .create(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}))
            .await;
    }
    fixture.create(global_pool("10.0.0.12")).await;
    // A pool of the same name that is not theirs.
    fixture.create(pool("10.0.0.19")).await;
    for namespace in namespaces {
        let mut claim = claim_of("GlobalInClusterIPPool", "same");
        claim["metadata"]["namespace"] = namespace.into();
        fixture.create(claim).await;
    }
    fixture
        .until("all have addresses", |manager| {
            namespaces.iter().all(|namespace| address_in(manager, namespace, "same").is_some())
        })
        .await;
    let mut all: Vec<String> =
        namespaces.iter().map(|namespace| address_in(&fixture.manager, namespace, "same").unwrap()).collect();
    all.sort();
    assert_eq!(all, ["10.0.0.10", "10.0.0.11", "10.0.0.12"]);
    let pool = |manager: &engine::Manager| {
        let key = engine::NamespacedName::new("", "pool");
        let status = manager.objects::<GlobalInClusterIPPool>().get(&key)?.status.clone()?.ip_addresses?;
        Some([status.total, status.used, status.free])
    };
    fixture.until("the pool counts them", |manager| pool(manager) == Some([3, 3, 0])).await;
    assert_eq!(numbers(&fixture.manager), Some([10, 0, 10, 0]));
    fixture.create(claim_of("GlobalInClusterIPPool", "more")).await;
    fixture.until("it is exhausted", |manager| has_reason(manager, "more", "PoolExhausted")).await;
    let freed = address_in(&fixture.manager, "red", "same");
    fixture.delete_in::<IPAddressClaim>("red", "same").await;
    fixture.until("the free one goes elsewhere", |manager| address(manager, "more") == freed).await;
}

#[tokio::test(start_paused = true)]
async fn claims_of_other_pools_are_left_alone() {
    let fixture = Fixture::new(GROUPS, start).await;
    fixture.create(pool("10.0.0.19")).await;
    for (name, group, kind) in [
        ("a", "ipam.metal3.io", "IPPool"),
        ("b", "ipam.metal3.io", "InClusterIPPool"),
        ("c", "ipam.cluster.x-k8s.io", "OtherPool"),
    ] {
        let mut other = claim_of(kind, name);
        other["spec"]["poolRef"]["apiGroup"] = group.into();
        fixture.create(other).await;
    }
    fixture.create(claim("d")).await;
    fixture.until("d has an address", |manager| address(manager, "d").is_some()).await;
    for name in ["a", "b", "c"] {
        let claim = fixture.get::<IPAddressClaim>(name).unwrap();
        assert!(claim.status.is_none() && claim.metadata.finalizers.is_none(), "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn addresses_of_ipv6() {
    let fixture = Fixture::new(GROUPS, start).await;
    let mut pool = pool("");
    pool["spec"] = json!({"addresses": ["fd00::/64"], "prefix": 64, "gateway": "fd00::1"});
    fixture.create(pool).await;
    fixture.create(claim("a")).await;
    fixture.until("a has an address", |manager| address(manager, "a").as_deref() == Some("fd00::2")).await;
    assert_eq!(fixture.get::<IPAddress>("a").unwrap().spec.prefix, 64);
    fixture.until("a large number is shown", |manager| numbers(manager).is_some_and(|all| all[1] == 1)).await;
    assert_eq!(numbers(&fixture.manager), Some([i64::MAX, 1, i64::MAX, 0]));
}

#[tokio::test(start_paused = true)]
async fn moved_objects_without_a_status_keep_their_addresses() {
    let mut fixture = Fixture::new(GROUPS, |_| ()).await;
    fixture.create(pool("10.0.0.19")).await;
    fixture.create(claim("a")).await;
    // As clusterctl leaves them: no status, and owners that it could not find.
    fixture
        .create(json!({
            "apiVersion": "ipam.cluster.x-k8s.io/v1beta2", "kind": "IPAddress",
            "metadata": {"name": "a", "finalizers": ["ipam.cluster.x-k8s.io/ProtectAddress"]},
            "spec": {"address": "10.0.0.15", "prefix": 24, "claimRef": {"name": "a"},
                "poolRef": {"apiGroup": "ipam.cluster.x-k8s.io", "kind": "InClusterIPPool", "name": "pool"}},
        }))
        .await;
    fixture.start = Box::new(start);
    fixture.restart().await;
    fixture
        .until("a keeps its address", |manager| address(manager, "a").as_deref() == Some("10.0.0.15"))
        .await;
    let owners = fixture.get::<IPAddress>("a").unwrap().metadata.owner_references.clone().unwrap();
    let claim = fixture.get::<IPAddressClaim>("a").unwrap();
    assert_eq!((owners.len(), Some(&owners[0].uid)), (2, claim.metadata.uid.as_ref()));
    fixture.delete::<IPAddressClaim>("a").await;
    fixture.until("it is released", |manager| get::<IPAddress>(manager, "a").is_none()).await;
}
