//! Claims get an index, addresses and Secrets, and return them.
#![allow(clippy::unwrap_used, missing_docs, reason = "a test")]

use std::collections::BTreeSet;
use std::time::Duration;

use engine::Manager;
use k8s_openapi::api::core::v1::Secret;
use schemas::cluster::Cluster;
use schemas::infrastructure::{Metal3Data, Metal3DataClaim, Metal3DataTemplate, Metal3Machine};
use schemas::ipam::IPAddressClaim;
use schemas::metal3::BareMetalHost;
use schemas::metal3_ipam::{IPClaim, IPPool};
use serde_json::{Value, json};

use crate::metal_machines::data::fixture::{
    claim, data, fixture, indexes, is_ready, machine, problem, template,
};
use test_plane::{Fixture, get};

fn text(manager: &Manager, name: &str, key: &str) -> String {
    let secret = get::<Secret>(manager, name).unwrap();
    String::from_utf8(secret.data.as_ref().unwrap()[key].0.clone()).unwrap()
}

fn owners<K: kube::Resource>(object: &K) -> Vec<(String, Option<bool>)> {
    let owners = object.meta().owner_references.iter().flatten();
    owners.map(|owner| (format!("{} {}", owner.kind, owner.name), owner.controller)).collect()
}

async fn ready(fixture: &Fixture, name: &str) {
    machine(fixture, name).await;
    claim(fixture, name).await;
    fixture.until("the data are rendered", |manager| is_ready(manager, name)).await;
}

#[tokio::test(start_paused = true)]
async fn a_machine_gets_its_data_and_returns_its_index() {
    let fixture = fixture(template()).await;
    let start = fixture.manager.clock().monotonic();
    ready(&fixture, "m").await;
    assert!(
        fixture.manager.clock().monotonic() - start < Duration::from_millis(500),
        "nothing waits for a timer"
    );
    let manager = &fixture.manager;
    let expected = "index: node-10\nip: 10.0.0.1\nmachine: m-machine\nproviderid: default/m-host/m\n";
    assert_eq!(text(manager, "m-metadata", "metaData"), expected);
    let network = text(manager, "m-networkdata", "networkData");
    let arguments = metal::network_data::arguments(network.as_bytes()).unwrap();
    assert_eq!(arguments, ["firstlight.network=52:54:00:00:00:01,10.0.0.1/24,10.0.0.254,10.0.0.53"]);
    let secret = get::<Secret>(manager, "m-metadata").unwrap();
    assert_eq!(secret.type_.as_deref(), Some("infrastructure.cluster.x-k8s.io/secret"));
    assert_eq!(secret.metadata.labels.as_ref().unwrap()["cluster.x-k8s.io/cluster-name"], "c");
    assert_eq!(owners(secret.as_ref()), [("Metal3Data t-0".to_owned(), Some(true))]);

    let rendered = data(manager, "m").unwrap();
    let expected =
        [("Metal3DataTemplate t", Some(true)), ("Metal3DataClaim m", None), ("Metal3Machine m", None)];
    assert_eq!(owners(&rendered), expected.map(|(owner, controller)| (owner.to_owned(), controller)));
    let names = (rendered.spec.meta_data.unwrap().name, rendered.spec.network_data.unwrap().name);
    assert_eq!(names, (Some("m-metadata".into()), Some("m-networkdata".into())));
    let address = get::<IPClaim>(manager, "t-0-pool").unwrap();
    assert!(
        address
            .metadata
            .finalizers
            .as_ref()
            .unwrap()
            .iter()
            .any(|name| name == "metal3data.infrastructure.cluster.x-k8s.io")
    );
    assert_eq!(owners(address.as_ref()), [("Metal3Data t-0".to_owned(), Some(true))]);
    assert_eq!(
        owners(get::<Metal3DataTemplate>(manager, "t").unwrap().as_ref()),
        [("Cluster c".to_owned(), None)]
    );

    ready(&fixture, "n").await;
    fixture
        .until("the template lists both", |manager| indexes(manager) == [(0, "m".into()), (1, "n".into())])
        .await;
    fixture.delete::<Metal3DataClaim>("m").await;
    fixture.until("the index is free", |manager| indexes(manager) == [(1, "n".into())]).await;
    fixture.until("the address is free", |manager| get::<IPClaim>(manager, "t-0-pool").is_none()).await;
    fixture.until("the Secrets are gone", |manager| get::<Secret>(manager, "m-metadata").is_none()).await;
    ready(&fixture, "o").await;
    assert_eq!(data(&fixture.manager, "o").unwrap().metadata.name.as_deref(), Some("t-0"));

    let writes = fixture.requests.writes();
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert_eq!(fixture.requests.writes(), writes, "nothing is written at rest");
    fixture.delete::<Metal3DataTemplate>("t").await;
    for name in ["n", "o"] {
        fixture.delete::<Metal3DataClaim>(name).await;
    }
    fixture.until("the template is gone", |manager| get::<Metal3DataTemplate>(manager, "t").is_none()).await;
    assert!(
        fixture.list::<Metal3Data>().await.is_empty() && fixture.list::<Metal3DataClaim>().await.is_empty()
    );
    fixture.until("all addresses are free", |manager| manager.objects::<IPClaim>().all().is_empty()).await;
}

#[tokio::test(start_paused = true)]
async fn a_claim_that_its_machine_holds_keeps_the_addresses() {
    let fixture = fixture(template()).await;
    ready(&fixture, "m").await;
    fixture.patch::<Metal3DataClaim>("m", json!({"metadata": {"finalizers": [
        "metal3dataclaim.infrastructure.cluster.x-k8s.io", "metal3machine.infrastructure.cluster.x-k8s.io"]}})).await;
    fixture.delete::<Metal3DataClaim>("m").await;
    fixture
        .until("the data are being deleted", |manager| {
            get::<Metal3Data>(manager, "t-0").is_some_and(|data| data.metadata.deletion_timestamp.is_some())
        })
        .await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert!(
        fixture.get::<IPClaim>("t-0-pool").is_some_and(|claim| claim.metadata.deletion_timestamp.is_none())
    );
    ready(&fixture, "n").await;
    assert_eq!(
        data(&fixture.manager, "n").unwrap().metadata.name.as_deref(),
        Some("t-1"),
        "index 0 is still taken"
    );
    fixture.patch::<Metal3DataClaim>("m", json!({"metadata": {"finalizers": null}})).await;
    fixture.until("the data are gone", |manager| get::<Metal3Data>(manager, "t-0").is_none()).await;
    fixture.until("the address is free", |manager| get::<IPClaim>(manager, "t-0-pool").is_none()).await;
}

#[tokio::test(start_paused = true)]
async fn errors_say_what_is_missing_and_end_with_it() {
    let mut template = template();
    template["networkData"]["links"]["ethernets"][0]["macAddress"] = json!({"fromHostInterface": "eno9"});
    let fixture = fixture(template).await;
    machine(&fixture, "m").await;
    claim(&fixture, "m").await;
    fixture.until("the interface is missing", |manager| problem(manager, "m").is_some()).await;
    let expected = "spec.networkData of Metal3DataTemplate default/t: BareMetalHost default/m-host has no interface \"eno9\"; \
                    it has eno1 (52:54:00:00:00:01), eno2 (52:54:00:00:00:02)";
    assert_eq!(problem(&fixture.manager, "m").unwrap(), expected);
    assert!(fixture.list::<Secret>().await.is_empty(), "both Secrets or none");
    let mut host = fixture.list::<BareMetalHost>().await.remove(0);
    let nics = &mut host.status.as_mut().unwrap().hardware.as_mut().unwrap().nics;
    nics[1].name = Some("eno9".into());
    let status =
        json!({"metadata": {"resourceVersion": host.metadata.resource_version}, "status": host.status});
    fixture
        .manager
        .objects::<BareMetalHost>()
        .merge(&engine::NamespacedName::of(&host), Some("status"), status)
        .await
        .unwrap();
    fixture.until("the data are rendered", |manager| is_ready(manager, "m")).await;
    assert_eq!(problem(&fixture.manager, "m"), None);
    let network = text(&fixture.manager, "m-networkdata", "networkData");
    assert!(network.contains("52:54:00:00:00:02"), "{network}");
}

#[tokio::test(start_paused = true)]
async fn a_host_with_a_reserved_address_gives_it_to_each_of_its_machines() {
    let fixture = fixture(template()).await;
    // As upstream's `--enable-bmh-name-based-preallocation`, without an option.
    let reserved = json!({"spec": {"preAllocations": {"m-host-pool": "10.0.0.3"}}});
    fixture.patch::<IPPool>("pool", reserved).await;
    ready(&fixture, "other").await;
    ready(&fixture, "m").await;
    let manager = &fixture.manager;
    assert!(text(manager, "m-metadata", "metaData").contains("ip: 10.0.0.3\n"));
    assert!(text(manager, "other-metadata", "metaData").contains("ip: 10.0.0.1\n"));
    let labels = get::<IPClaim>(manager, "m-host-pool").unwrap().metadata.labels.clone().unwrap();
    let label = |name: &str| labels[&format!("infrastructure.cluster.x-k8s.io/{name}")].as_str();
    assert_eq!((label("data-name"), label("pool-name")), ("t-1", "pool"));

    // The claim keeps its name without the reservation.
    fixture.patch::<IPPool>("pool", json!({"spec": {"preAllocations": null}})).await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(manager.objects::<IPClaim>().all().len(), 2);
    let reserved = json!({"spec": {"preAllocations": {"m-host-pool": "10.0.0.3"}}});
    fixture.patch::<IPPool>("pool", reserved).await;
    // The next machine of the host waits for the address of the first.
    machine(&fixture, "n").await;
    let same_host = json!({"metadata": {"annotations": {"metal3.io/BareMetalHost": "default/m-host"}}});
    fixture.patch::<Metal3Machine>("n", same_host).await;
    claim(&fixture, "n").await;
    let waits =
        |manager: &Manager| problem(manager, "n").is_some_and(|problem| problem.contains("m-host-pool"));
    fixture.until("it waits", waits).await;
    let start = fixture.manager.clock().monotonic();
    fixture.delete::<Metal3DataClaim>("m").await;
    fixture.until("it has the address", |manager| is_ready(manager, "n")).await;
    assert!(
        fixture.manager.clock().monotonic() - start < Duration::from_secs(1),
        "nothing waits for a timer"
    );
    assert!(text(&fixture.manager, "n-metadata", "metaData").contains("ip: 10.0.0.3\n"));
}

#[tokio::test(start_paused = true)]
async fn a_host_of_another_namespace_is_not_read() {
    let fixture = fixture(template()).await;
    fixture.create(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other"}})).await;
    fixture
        .create(json!({"apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost",
            "metadata": {"name": "m-host", "namespace": "other"}, "spec": {"online": true}}))
        .await;
    machine(&fixture, "m").await;
    let elsewhere = json!({"metadata": {"annotations": {"metal3.io/BareMetalHost": "other/m-host"}}});
    fixture.patch::<Metal3Machine>("m", elsewhere).await;
    claim(&fixture, "m").await;
    let is_refused = |manager: &Manager| {
        problem(manager, "m").is_some_and(|problem| problem.contains("no BareMetalHost other/m-host"))
    };
    fixture.until("it says so", is_refused).await;
}

#[tokio::test(start_paused = true)]
async fn an_exhausted_pool_is_reported_and_waited_for() {
    let fixture = fixture(template()).await;
    for name in ["a", "b", "c"] {
        ready(&fixture, name).await;
    }
    machine(&fixture, "d").await;
    claim(&fixture, "d").await;
    fixture.until("the pool is exhausted", |manager| problem(manager, "d").is_some()).await;
    let text = problem(&fixture.manager, "d").unwrap();
    let expected = "pool \"pool\" gives no address to claim \"t-3-pool\": IPPool default/pool has no free address. Its ranges: 10.0.0.1-10.0.0.3";
    assert!(text.starts_with(expected), "{text}");
    fixture
        .patch::<IPPool>("pool", json!({"spec": {"pools": [{"start": "10.0.0.1", "end": "10.0.0.4"}]}}))
        .await;
    fixture.until("there is an address", |manager| is_ready(manager, "d")).await;
}

#[tokio::test(start_paused = true)]
async fn data_wait_for_their_objects_in_any_order() {
    let fixture = fixture(template()).await;
    machine(&fixture, "m").await;
    fixture
        .patch::<Metal3Machine>("m", json!({"metadata": {"annotations": {"metal3.io/BareMetalHost": null}}}))
        .await;
    fixture.patch::<Cluster>("c", json!({"spec": {"paused": true}})).await;
    claim(&fixture, "m").await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert!(data(&fixture.manager, "m").is_none(), "the Cluster is paused");
    fixture.patch::<Cluster>("c", json!({"spec": {"paused": false}})).await;
    fixture.until("there is an index", |manager| data(manager, "m").is_some()).await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert!(
        !is_ready(&fixture.manager, "m") && problem(&fixture.manager, "m").is_none(),
        "it has no host yet"
    );
    let annotate = |host: &str| json!({"metadata": {"annotations": {"metal3.io/BareMetalHost": host}}});
    fixture.patch::<Metal3Machine>("m", annotate("default/other")).await;
    fixture.until("the host does not exist", |manager| problem(manager, "m").is_some()).await;
    fixture.patch::<Metal3Machine>("m", annotate("default/m-host")).await;
    fixture.until("the data are rendered", |manager| is_ready(manager, "m")).await;
    fixture.delete::<Secret>("m-metadata").await;
    fixture
        .until("a lost Secret is rendered again", |manager| get::<Secret>(manager, "m-metadata").is_some())
        .await;
}

#[tokio::test(start_paused = true)]
async fn an_empty_template_gives_ready_data_and_a_claim_without_machine_is_refused() {
    let fixture = fixture(json!({"clusterName": "c"})).await;
    ready(&fixture, "m").await;
    assert!(fixture.list::<Secret>().await.is_empty());
    let lonely = json!({"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "Metal3DataClaim",
        "metadata": {"name": "lonely"}, "spec": {"template": {"name": "t"}}});
    fixture.create(lonely).await;
    let refused = |manager: &Manager| {
        get::<Metal3DataClaim>(manager, "lonely").and_then(|claim| claim.status.clone()?.error_message)
    };
    fixture.until("it is refused", |manager| refused(manager).is_some()).await;
    assert!(refused(&fixture.manager).unwrap().contains("no owner reference to a Metal3Machine"));
}

#[tokio::test(start_paused = true)]
async fn pools_of_other_kinds_get_claims_of_cluster_api() {
    let fixture = fixture(json!({"clusterName": "c", "metaData": {"ipAddressesFromPool": [
        {"key": "ip", "name": "other", "kind": "InClusterIPPool", "apiGroup": "ipam.cluster.x-k8s.io"}]}}))
    .await;
    machine(&fixture, "m").await;
    claim(&fixture, "m").await;
    fixture.until("there is a claim", |manager| get::<IPAddressClaim>(manager, "t-0-other").is_some()).await;
    let asked = fixture.get::<IPAddressClaim>("t-0-other").unwrap();
    assert_eq!(
        (asked.spec.pool_ref.kind.as_str(), asked.spec.pool_ref.name.as_str()),
        ("InClusterIPPool", "other")
    );
    let failure = json!([{"type": "Ready", "status": "False", "reason": "PoolExhausted", "message": "full", "lastTransitionTime": "2026-01-01T00:00:00Z"}]);
    let status = |status: Value| json!({"status": status});
    let claims = fixture.manager.objects::<IPAddressClaim>();
    let key = engine::NamespacedName::new("default", "t-0-other");
    claims.merge(&key, Some("status"), status(json!({"conditions": failure}))).await.unwrap();
    fixture
        .until("its failure is reported", |manager| {
            problem(manager, "m").is_some_and(|text| text.contains("PoolExhausted: full"))
        })
        .await;
    claims.merge(&key, Some("status"), status(json!({"addressRef": {"name": "x"}}))).await.unwrap();
    fixture.create(json!({"apiVersion": "ipam.cluster.x-k8s.io/v1beta2", "kind": "IPAddress", "metadata": {"name": "x"},
        "spec": {"address": "10.9.0.1", "prefix": 24, "claimRef": {"name": "t-0-other"},
            "poolRef": {"apiGroup": "ipam.cluster.x-k8s.io", "kind": "InClusterIPPool", "name": "other"}}})).await;
    fixture.until("the data are rendered", |manager| is_ready(manager, "m")).await;
    assert_eq!(
        text(&fixture.manager, "m-metadata", "metaData"),
        "ip: 10.9.0.1\nproviderid: default/m-host/m\n"
    );
    fixture.delete::<Metal3DataClaim>("m").await;
    fixture.until("the claim is gone", |manager| get::<IPAddressClaim>(manager, "t-0-other").is_none()).await;
    let names: BTreeSet<String> =
        fixture.list::<Metal3Data>().await.into_iter().filter_map(|data| data.metadata.name).collect();
    assert!(names.is_empty(), "{names:?}");
}
