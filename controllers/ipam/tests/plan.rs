//! Tables over the plan of a pool.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use cluster_ipam::ledger::Taken;
use cluster_ipam::limits::{CLAIMS_IN_A_RECONCILE, NEXT_CLAIMS};
use cluster_ipam::names::{PROTECT_ADDRESS, PROTECT_POOL, RELEASE_ADDRESS};
use cluster_ipam::pool::observed::{Observed, Waiting};
use cluster_ipam::pool::plan::{Action, Plan, plan};
use engine::NamespacedName;
use schemas::ipam::{IPAddress, IPAddressClaim, InClusterIPPool};
use serde_json::{Value, json};

use crate::ipam::support;

const NOW: &str = "2026-11-21T10:00:00Z";

fn now() -> DateTime<Utc> {
    NOW.parse().unwrap()
}

fn pool(spec: Value) -> InClusterIPPool {
    let mut pool = support::pool("");
    pool["spec"] = spec;
    pool["metadata"] =
        json!({"name": "pool", "namespace": "default", "uid": "pool", "finalizers": [PROTECT_POOL]});
    serde_json::from_value(pool).unwrap()
}

fn ten() -> Value {
    json!({"addresses": ["10.0.0.10-10.0.0.19"], "prefix": 24})
}

/// Returns a claim that is `age` seconds old.
fn claim(name: &str, age: i64) -> Waiting {
    let mut claim: IPAddressClaim = serde_json::from_value(support::claim(name)).unwrap();
    claim.metadata.namespace = Some("default".into());
    claim.metadata.uid = Some(name.into());
    claim.metadata.finalizers = Some(vec![RELEASE_ADDRESS.into()]);
    let created = machinery::clock::rfc3339(now() - chrono::Duration::seconds(age));
    claim.metadata.creation_timestamp = serde_json::from_value(json!(created)).unwrap();
    Waiting { claim: Arc::new(claim), ..Waiting::default() }
}

/// Returns a claim whose deletion began `since` seconds ago, with its address.
fn deleting(name: &str, since: i64) -> Waiting {
    let mut waiting = with_address(claim(name, 100), "10.0.0.10");
    let deleted = machinery::clock::rfc3339(now() - chrono::Duration::seconds(since));
    Arc::make_mut(&mut waiting.claim).metadata.deletion_timestamp =
        serde_json::from_value(json!(deleted)).unwrap();
    waiting
}

fn with_address(mut waiting: Waiting, address: &str) -> Waiting {
    let mut made: IPAddress = IPAddress::default();
    made.metadata.name.clone_from(&waiting.claim.metadata.name);
    made.metadata.namespace = Some("default".into());
    made.metadata.finalizers = Some(vec![PROTECT_ADDRESS.into()]);
    made.spec.address = address.into();
    waiting.address = Some(Arc::new(made));
    waiting
}

fn observed(spec: Value, claims: Vec<Waiting>, taken: &[&str]) -> Observed<InClusterIPPool> {
    let addresses = taken.iter().map(|text| text.parse().unwrap()).collect();
    Observed {
        name: NamespacedName::new("default", "pool"),
        pool: Some(Arc::new(pool(spec))),
        claims,
        orphans: Vec::new(),
        taken: Taken { addresses, objects: taken.len(), ..Taken::default() },
    }
}

/// Returns what each claim gets: an address, or a word.
fn given(plan: &Plan<InClusterIPPool>) -> Vec<String> {
    let text = |action: &Action| match action {
        Action::Allocate(address) => address.spec.address.clone(),
        Action::Settle(address) => format!("keeps {}", address.spec.address),
        Action::Refuse(refusal) => refusal.reason().to_owned(),
        Action::Release(Some(address)) => format!("releases {}", address.name),
        Action::Release(None) => "goes".to_owned(),
    };
    plan.steps.iter().map(|step| format!("{} {}", step.claim.name, text(&step.action))).collect()
}

#[test]
fn the_oldest_claim_gets_the_lowest_free_address() {
    let claims = || vec![claim("young", 1), claim("b", 5), claim("a", 5), claim("old", 9)];
    let spec = |more: Value| {
        let mut spec = json!({"addresses": ["10.0.0.0/29"], "prefix": 29});
        spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        spec
    };
    let cases: Vec<(&str, Value, &[&str], [&str; 4])> = vec![
        (
            "network and broadcast",
            json!({}),
            &[],
            ["old 10.0.0.1", "a 10.0.0.2", "b 10.0.0.3", "young 10.0.0.4"],
        ),
        (
            "reserved ones, too",
            json!({"allocateReservedIPAddresses": true}),
            &["10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4"],
            ["old 10.0.0.0", "a 10.0.0.5", "b 10.0.0.6", "young 10.0.0.7"],
        ),
        (
            "gateway",
            json!({"gateway": "10.0.0.2"}),
            &[],
            ["old 10.0.0.1", "a 10.0.0.3", "b 10.0.0.4", "young 10.0.0.5"],
        ),
        (
            "excluded",
            json!({"excludedAddresses": ["10.0.0.1-10.0.0.3"]}),
            &[],
            ["old 10.0.0.4", "a 10.0.0.5", "b 10.0.0.6", "young PoolExhausted"],
        ),
        (
            "taken",
            json!({}),
            &["10.0.0.2", "10.0.0.4", "10.0.0.5"],
            ["old 10.0.0.1", "a 10.0.0.3", "b 10.0.0.6", "young PoolExhausted"],
        ),
        (
            "taken outside",
            json!({}),
            &["10.0.0.0", "10.0.0.7", "192.0.2.1"],
            ["old 10.0.0.1", "a 10.0.0.2", "b 10.0.0.3", "young 10.0.0.4"],
        ),
        (
            "ranges in order",
            json!({"addresses": ["10.0.0.5-10.0.0.6", "10.0.0.3", "10.0.0.1"]}),
            &[],
            ["old 10.0.0.1", "a 10.0.0.3", "b 10.0.0.5", "young 10.0.0.6"],
        ),
    ];
    for (name, more, taken, expected) in cases {
        let plan = plan(&observed(spec(more), claims(), taken), now());
        assert_eq!(given(&plan), expected, "{name}");
    }
}

#[test]
fn an_address_that_exists_is_kept() {
    let keeps = with_address(claim("a", 5), "10.0.0.15");
    let plan_of = |waiting: &Waiting| plan(&observed(ten(), vec![waiting.clone()], &["10.0.0.15"]), now());
    assert_eq!(given(&plan_of(&keeps)), ["a keeps 10.0.0.15"]);
    let Some(Action::Settle(wanted)) = plan_of(&keeps).steps.pop().map(|step| step.action) else { panic!() };
    assert_eq!(wanted.metadata.owner_references.map(|owners| owners.len()), Some(2));

    let mut leaving = keeps.clone();
    let address = Arc::make_mut(leaving.address.as_mut().unwrap());
    address.metadata.deletion_timestamp = serde_json::from_value(json!(NOW)).unwrap();
    assert_eq!(given(&plan_of(&leaving)), ["a keeps 10.0.0.15"], "its finalizer keeps it");
    Arc::make_mut(leaving.address.as_mut().unwrap()).metadata.finalizers = None;
    assert_eq!(given(&plan_of(&leaving)), ["a AllocationFailed"]);

    let mut held = keeps;
    held.is_held = true;
    assert_eq!(given(&plan_of(&held)), Vec::<String>::new());
    let outside = observed(
        json!({"addresses": ["nowhere"], "prefix": 24}),
        vec![with_address(claim("a", 5), "10.0.0.15")],
        &[],
    );
    assert_eq!(given(&plan(&outside, now())), ["a keeps 10.0.0.15"], "also in a pool that cannot be used");
}

#[test]
fn releases() {
    let grace = |seconds: i64| {
        let mut spec = ten();
        spec["addressReuseGracePeriodSeconds"] = json!(seconds);
        spec
    };
    let used = || {
        let mut used = deleting("a", 10);
        Arc::make_mut(&mut used.claim).metadata.finalizers.as_mut().unwrap().push("somebody/else".into());
        used
    };
    let foreground = || {
        let mut claim = deleting("a", 10);
        Arc::make_mut(&mut claim.claim)
            .metadata
            .finalizers
            .as_mut()
            .unwrap()
            .push("foregroundDeletion".into());
        claim
    };
    let without = |finalizers: bool, address: bool| {
        let mut claim = deleting("a", 10);
        if !finalizers {
            Arc::make_mut(&mut claim.claim).metadata.finalizers = None;
        }
        if !address {
            claim.address = None;
        }
        claim
    };
    let minute = Some(Duration::from_secs(50));
    type Case<'a> = (&'a str, Value, Waiting, &'a [&'a str], Option<Duration>);
    let cases: Vec<Case<'_>> = vec![
        ("no grace period", ten(), deleting("a", 0), &["a releases a"], None),
        ("grace period", grace(60), deleting("a", 10), &[], minute),
        ("at its end", grace(60), deleting("a", 60), &["a releases a"], None),
        ("deleted in the future", grace(60), deleting("a", -10), &[], Some(Duration::from_secs(60))),
        ("no address, no grace period", grace(60), without(true, false), &["a goes"], None),
        ("used", ten(), used(), &[], None),
        ("deleted in the foreground", ten(), foreground(), &["a releases a"], None),
        ("not ours", ten(), without(false, false), &[], None),
        ("its finalizer was removed", ten(), without(false, true), &["a releases a"], None),
    ];
    for (name, spec, waiting, expected, later) in cases {
        let plan = plan(&observed(spec, vec![waiting], &["10.0.0.10"]), now());
        assert_eq!(
            (given(&plan), plan.later),
            (expected.iter().map(|text| (*text).to_owned()).collect(), later),
            "{name}"
        );
    }
    let mut gone = observed(grace(60), vec![deleting("a", 0)], &["10.0.0.10"]);
    gone.pool = None;
    assert_eq!(given(&plan(&gone, now())), ["a releases a"]);
}

#[test]
fn the_pool() {
    let numbers = |plan: &Plan<InClusterIPPool>| {
        let numbers = plan.pool.clone().unwrap().status.unwrap().ip_addresses.unwrap();
        [numbers.total, numbers.used, numbers.free, numbers.out_of_range]
    };
    let plan_of = |spec: Value, taken: &[&str]| plan(&observed(spec, Vec::new(), taken), now());
    assert_eq!(numbers(&plan_of(ten(), &[])), [10, 0, 10, 0]);
    assert_eq!(numbers(&plan_of(ten(), &["10.0.0.10", "10.0.0.19", "10.0.0.20", "fd00::1"])), [10, 4, 8, 2]);
    let whole = json!({"addresses": ["::/0"], "prefix": 1, "allocateReservedIPAddresses": true});
    assert_eq!(plan_of(whole, &[]).pool.unwrap().status, None, "::/0 is larger than a network of prefix 1");
    let large = json!({"addresses": ["::/1"], "prefix": 1, "allocateReservedIPAddresses": true});
    assert_eq!(numbers(&plan_of(large, &["::1"])), [i64::MAX, 1, i64::MAX, 0]);

    let mut ending = observed(ten(), Vec::new(), &["10.0.0.10"]);
    let deleted = Arc::make_mut(ending.pool.as_mut().unwrap());
    deleted.metadata.deletion_timestamp = serde_json::from_value(json!(NOW)).unwrap();
    assert_eq!(plan(&ending, now()).pool.unwrap().metadata.finalizers.unwrap(), [PROTECT_POOL]);
    ending.taken = Taken::default();
    assert_eq!(plan(&ending, now()).pool.unwrap().metadata.finalizers, None);
}

#[test]
fn no_reconcile_serves_more_claims_than_the_limit() {
    let spec = json!({"addresses": ["10.0.0.0/8"], "prefix": 8});
    let cases = [
        (CLAIMS_IN_A_RECONCILE - 1, false),
        (CLAIMS_IN_A_RECONCILE, false),
        (CLAIMS_IN_A_RECONCILE + 1, true),
    ];
    for (count, is_more) in cases {
        let claims = (0..count).map(|number| claim(&format!("c{number}"), 5)).collect();
        let plan = plan(&observed(spec.clone(), claims, &[]), now());
        assert_eq!(plan.steps.len(), count.min(CLAIMS_IN_A_RECONCILE));
        assert_eq!(plan.later, is_more.then_some(NEXT_CLAIMS));
    }
}
