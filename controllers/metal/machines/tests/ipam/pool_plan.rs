//! Tables over the plan of a pool.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

use std::sync::Arc;

use chrono::{DateTime, Utc};
use engine::NamespacedName;
use metal_machines::ipam::claims::{Api, Claim as _, Refusal};
use metal_machines::ipam::ip_pool::observed::{Known, Observed, Waiting};
use metal_machines::ipam::ip_pool::plan::{Action, Plan, plan, status_delay};
use metal_machines::ipam::names::POOL_FINALIZER;
use schemas::cluster::Cluster;
use schemas::metal3_ipam::{IPPool, IPPoolSpec, IPPoolStatus, Pool};

fn now() -> DateTime<Utc> {
    DateTime::from_timestamp(1_800_000_000, 0).unwrap()
}

fn pool(start: &str, end: &str) -> IPPool {
    let mut pool = IPPool {
        spec: IPPoolSpec {
            name_prefix: "p".into(),
            pools: vec![Pool { start: Some(start.into()), end: Some(end.into()), ..Pool::default() }],
            ..IPPoolSpec::default()
        },
        ..IPPool::default()
    };
    pool.metadata.finalizers = Some(vec![POOL_FINALIZER.into()]);
    pool
}

fn claim(name: &str) -> Waiting {
    Waiting {
        api: Api::Metal3,
        name: name.into(),
        created: now(),
        requested: None,
        is_deleting: false,
        is_used: false,
        has_finalizer: true,
    }
}

fn address(address: &str, claim: &str) -> Known {
    Known {
        api: Api::Metal3,
        name: format!("p-{}", address.replace('.', "-")),
        address: address.into(),
        claim: claim.into(),
        is_of_pool: true,
        is_deleting: false,
        has_claim: true,
    }
}

fn observed(pool: IPPool, claims: Vec<Waiting>, addresses: Vec<Known>) -> Observed {
    Observed {
        name: NamespacedName::new("default", "pool"),
        pool: Some(Arc::new(pool)),
        cluster: None,
        claims,
        taken: addresses.iter().map(|address| address.address.parse().unwrap()).collect(),
        allocated: addresses.iter().filter(|address| address.is_of_pool).count(),
        indexes: None,
        addresses,
    }
}

/// Returns what each claim gets: an address, a word, or the message of a refusal.
fn given(plan: &Plan) -> Vec<(String, String)> {
    let text = |action: &Action| match action {
        Action::Allocate(name, given) => format!("{name} {}", given.address),
        Action::Settle(name) => format!("settle {name}"),
        Action::Release(name) => format!("release {}", name.as_deref().unwrap_or("nothing")),
        Action::Refuse(refusal) => format!("{refusal:?}"),
    };
    plan.steps.iter().map(|step| (step.claim.clone(), text(&step.action))).collect()
}

fn check(observed: &Observed, expected: &[(&str, &str)]) {
    let plan = plan(observed, now());
    let given = given(&plan);
    assert_eq!(given.len(), expected.len(), "{given:?}");
    for ((claim, text), (expected_claim, part)) in given.iter().zip(expected) {
        assert!(claim == expected_claim && text.contains(part), "{claim}: {text:?} has no {part:?}");
    }
}

#[test]
fn the_oldest_claim_gets_the_lowest_free_address() {
    let mut old = claim("z");
    old.created -= chrono::Duration::seconds(9);
    let cluster_api = Waiting { api: Api::ClusterApi, ..claim("a") };
    let claims = vec![cluster_api, claim("b"), old];
    let known =
        vec![address("10.0.0.2", "other"), Known { is_of_pool: false, ..address("10.0.0.3", "foreign") }];
    let expected = [("z", "p-10-0-0-1 10.0.0.1"), ("b", "10.0.0.4"), ("a", "10.0.0.5")];
    check(&observed(pool("10.0.0.1", "10.0.0.9"), claims, known), &expected);
}

#[test]
fn claims_keep_the_address_that_exists_for_them() {
    let known = vec![address("10.0.0.7", "a"), Known { is_deleting: true, ..address("10.0.0.8", "b") }];
    let cluster_api = Waiting { api: Api::ClusterApi, ..claim("a") };
    let observed = observed(pool("10.0.0.1", "10.0.0.9"), vec![claim("a"), claim("b"), cluster_api], known);
    check(&observed, &[("a", "settle p-10-0-0-7"), ("a", "p-10-0-0-1 ")]);
}

#[test]
fn deleted_claims_release_their_address_when_nobody_uses_it() {
    let deleting = |name: &str| Waiting { is_deleting: true, ..claim(name) };
    let claims = vec![
        deleting("a"),
        deleting("b"),
        Waiting { is_used: true, ..deleting("c") },
        Waiting { has_finalizer: false, ..deleting("d") },
    ];
    let orphan = Known { is_deleting: true, has_claim: false, ..address("10.0.0.9", "gone") };
    let held = Known { has_claim: false, ..address("10.0.0.8", "gone too") };
    let known = vec![address("10.0.0.1", "a"), address("10.0.0.3", "c"), orphan, held];
    let expected = [("a", "release p-10-0-0-1"), ("b", "release nothing")];
    let mut observed = observed(pool("10.0.0.1", "10.0.0.9"), claims, known);
    check(&observed, &expected);
    assert_eq!(plan(&observed, now()).orphans, [(Api::Metal3, "p-10-0-0-9".to_owned())]);
    observed.pool = None;
    check(&observed, &expected);
}

#[test]
fn refusals_say_what_was_looked_at() {
    let mut pool = pool("10.0.0.1", "10.0.0.3");
    pool.spec.pre_allocations = [("mine", "10.0.0.3"), ("far", "10.9.9.9"), ("late", "10.0.0.1")]
        .map(|(claim, address)| (claim.to_owned(), address.to_owned()))
        .into();
    let asking = |name: &str, address: &str| Waiting { requested: Some(address.into()), ..claim(name) };
    let known = vec![address("10.0.0.1", "first")];
    let cases = [
        (claim("mine"), "p-10-0-0-3 10.0.0.3"),
        (asking("mine", "10.0.0.3"), "p-10-0-0-3 10.0.0.3"),
        (
            asking("mine", "10.0.0.2"),
            "reserves 10.0.0.3 for this claim, but its annotation ipAddress asks for 10.0.0.2",
        ),
        (claim("far"), "in none of its ranges: 10.0.0.1-10.0.0.3 (3 addresses)"),
        (claim("late"), "reserves 10.0.0.1 for this claim, but claim \\\"first\\\" has it"),
        (asking("x", "10.0.0.2"), "p-10-0-0-2 10.0.0.2"),
        (
            asking("x", "10.0.0.1"),
            "Failed(\"the address 10.0.0.1 of annotation ipAddress cannot be allocated: claim \\\"first\\\" has it",
        ),
        (asking("x", "10.0.0.3"), "reserves it for another claim"),
        (asking("x", "10.0.0.4"), "it is in no range of IPPool default/pool: 10.0.0.1-10.0.0.3"),
        (asking("x", "ten"), "annotation ipAddress \\\"ten\\\" is no IP address"),
    ];
    for (claim, expected) in cases {
        let name = claim.name.clone();
        check(&observed(pool.clone(), vec![claim], known.clone()), &[(&name, expected)]);
    }
    let full = observed(pool, vec![claim("a"), claim("b")], known);
    let exhausted = "Exhausted(\"IPPool default/pool has no free address. Its ranges: 10.0.0.1-10.0.0.3 (3 addresses); \
                     2 allocated, 3 reserved by spec.preAllocations";
    check(&full, &[("a", "p-10-0-0-2 10.0.0.2"), ("b", exhausted)]);
}

#[test]
fn a_pool_that_is_not_ready_says_why() {
    let base = observed(pool("10.0.0.1", "10.0.0.3"), vec![claim("a")], vec![]);
    let with = |change: fn(&mut IPPool)| {
        let mut pool = base.pool.as_deref().unwrap().clone();
        change(&mut pool);
        Observed {
            pool: Some(Arc::new(pool)),
            claims: base.claims.clone(),
            name: base.name.clone(),
            ..Observed::default()
        }
    };
    let none = Observed { claims: base.claims.clone(), name: base.name.clone(), ..Observed::default() };
    check(&none, &[("a", "NotReady(\"there is no IPPool default/pool: create it")]);
    let deleting = with(|pool| pool.metadata.deletion_timestamp = Some(engine::time::time(now())));
    check(&deleting, &[("a", "is being deleted")]);
    assert_eq!(plan(&deleting, now()).pool.unwrap().metadata.finalizers, None);
    let mut waiting = with(|pool| pool.spec.cluster_name = Some("c".into()));
    check(&waiting, &[("a", "waits for Cluster default/c of its spec.clusterName")]);
    let mut cluster = Cluster::default();
    cluster.metadata.name = Some("c".into());
    waiting.cluster = Some(Arc::new(cluster));
    check(&waiting, &[("a", "p-10-0-0-1 ")]);
    let wanted = plan(&waiting, now()).pool.unwrap().metadata;
    assert_eq!(wanted.labels.unwrap()["cluster.x-k8s.io/cluster-name"], "c");
    assert_eq!(wanted.owner_references.unwrap()[0].kind, "Cluster");
}

#[test]
fn the_status_lists_the_addresses_and_is_written_at_intervals() {
    let known: Vec<Known> =
        (0..5_000).map(|i| address(&format!("10.0.{}.{}", i / 250, i % 250), &format!("c{i}"))).collect();
    let written_ago = |seconds: i64, indexes: &[(&str, &str)]| {
        let mut pool = pool("10.0.0.0", "10.0.255.255");
        pool.status = Some(IPPoolStatus {
            indexes: indexes
                .iter()
                .map(|(claim, address)| (claim.to_string(), address.to_string()))
                .collect(),
            last_updated: Some(machinery::clock::rfc3339(now() - chrono::Duration::seconds(seconds))),
        });
        pool
    };
    let planned = |pool: IPPool, known: &[Known]| {
        let mut observed = observed(pool, vec![], known.to_vec());
        let delay = status_delay(observed.pool.as_deref().unwrap(), known.len(), now());
        let indexes = known.iter().map(|known| (known.claim.clone(), known.address.clone()));
        observed.indexes = delay.is_none().then(|| indexes.collect());
        let plan = plan(&observed, now());
        (plan.pool.unwrap().status.unwrap().indexes.len(), plan.later.map(|later| later.as_secs()))
    };
    assert_eq!(planned(pool("10.0.0.0", "10.0.255.255"), &known), (5_000, None), "the first status");
    assert_eq!(planned(written_ago(2, &[]), &known), (0, Some(3)), "5 000 addresses: every five seconds");
    assert_eq!(planned(written_ago(5, &[]), &known), (5_000, None));
    assert_eq!(planned(written_ago(0, &[]), &known[..1]), (0, Some(0)), "one address: every millisecond");
    assert_eq!(
        planned(written_ago(0, &[("c0", "10.0.0.0")]), &known[..1]),
        (1, Some(0)),
        "looked at again when it is due"
    );
    assert_eq!(planned(written_ago(0, &[("c0", "10.0.0.0")]), &[]), (0, None), "an empty pool at once");
}

#[test]
fn a_deleted_pool_stays_until_its_last_address_is_released() {
    let mut pool = pool("10.0.0.1", "10.0.0.3");
    pool.metadata.deletion_timestamp = Some(engine::time::time(now()));
    let keeps = |addresses: Vec<Known>| {
        plan(&observed(pool.clone(), vec![], addresses), now()).pool.unwrap().metadata.finalizers.is_some()
    };
    assert!(keeps(vec![address("10.0.0.1", "a")]));
    assert!(!keeps(vec![Known { is_of_pool: false, ..address("10.0.0.1", "a") }]));
}

#[test]
fn reasons_are_those_of_cluster_api() {
    let mut claim = schemas::ipam::IPAddressClaim::default();
    for (refusal, reason) in [
        (Refusal::Exhausted("m".into()), "PoolExhausted"),
        (Refusal::Failed("m".into()), "AllocationFailed"),
        (Refusal::NotReady("m".into()), "PoolNotReady"),
    ] {
        claim.refuse(&refusal, now());
        let condition = schemas::HasConditions::condition(&claim, "Ready").unwrap();
        assert_eq!((condition.reason.as_str(), condition.message.as_str()), (reason, "m"));
    }
}
