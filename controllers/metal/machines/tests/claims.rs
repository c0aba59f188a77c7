//! HostClaims of a tenant get hosts of another namespace, if a policy allows them, and return them.
#![allow(clippy::unwrap_used, missing_docs, reason = "a test")]

use std::time::Duration;

use engine::Manager;
use engine::object::annotation;
use k8s_openapi::api::core::v1::{Namespace, Secret};
use metal::names::{PAUSED, REBOOT};
use schemas::HasConditions;
use schemas::infrastructure::Metal3Machine;
use schemas::metal3::{BareMetalHost, HostClaim, HostDeployPolicy};
use serde_json::{Value, json};
use test_plane::Fixture;

use crate::metal_machines::fixture::{
    IMAGE, VERSION, becomes, change, claim, consumer, content, fixture, get, host, host_of, image, is_ready,
    policy, said, secret,
};

const INFRASTRUCTURE: &str = "infrastructure.cluster.x-k8s.io";

#[tokio::test(start_paused = true)]
async fn a_claim_gets_a_host_changes_its_image_and_returns_it() {
    let fixture = fixture().await;
    host(&fixture, "rack1").await;
    policy(&fixture, json!({"names": ["tenant"]})).await;
    let start = fixture.manager.clock().monotonic();
    claim(&fixture, json!({"userData": {"name": "boot"}})).await;
    fixture
        .until("it waits for its Secret", |manager| {
            said(manager, "Synchronized").1 == "UserDataSecretSyncFailure"
        })
        .await;
    assert_eq!((consumer(&host_of(&fixture.manager)), image(&fixture.manager)), (Some("HostClaim"), None));
    secret(&fixture, "tenant", "boot", "one").await;
    fixture.until("the host has the image", |manager| image(manager).is_some()).await;
    assert_eq!(content(&fixture.manager, "metal", "rack1-userdata").as_deref(), Some("one"));
    assert_eq!(
        host_of(&fixture.manager).spec.user_data.as_ref().unwrap().name.as_deref(),
        Some("rack1-userdata")
    );
    becomes(&fixture, "rack1", "provisioned").await;
    is_ready(&fixture).await;
    let waited = fixture.manager.clock().monotonic() - start;
    assert!(waited < Duration::from_secs(1), "nothing waits for a timer: {waited:?}");
    let writes = fixture.requests.writes();
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert_eq!(fixture.requests.writes(), writes, "nothing is written at rest");

    fixture.patch_in::<Secret>("tenant", "boot", json!({"stringData": {"userData": "two"}})).await;
    fixture
        .until("the copy follows", |manager| {
            content(manager, "metal", "rack1-userdata").as_deref() == Some("two")
        })
        .await;
    change(&fixture, json!({"image": {"url": "http://images/newer.raw"}})).await;
    fixture.until("the change is refused", |manager| said(manager, "Synchronized").0 == "False").await;
    assert_eq!(image(&fixture.manager).as_deref(), Some(IMAGE));
    change(&fixture, json!({"image": null})).await;
    fixture.until("the image is removed", |manager| image(manager).is_none()).await;
    becomes(&fixture, "rack1", "available").await;
    change(&fixture, json!({"image": {"url": "http://images/newer.raw", "checksum": "abc"}})).await;
    fixture.until("the host has the new image", |manager| image(manager).is_some()).await;
    becomes(&fixture, "rack1", "provisioned").await;
    is_ready(&fixture).await;

    fixture.delete_in::<HostClaim>("tenant", "c").await;
    fixture.until("the host is emptied", |manager| image(manager).is_none()).await;
    fixture
        .until("the copy is deleted", |manager| content(manager, "metal", "rack1-userdata").is_none())
        .await;
    becomes(&fixture, "rack1", "deprovisioning").await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert!(consumer(&host_of(&fixture.manager)).is_some(), "it is released after it is cleaned");
    becomes(&fixture, "rack1", "available").await;
    fixture.until("the host is free", |manager| consumer(&host_of(manager)).is_none()).await;
    fixture.until("the claim is gone", |manager| get::<HostClaim>(manager, "tenant", "c").is_none()).await;
    assert_eq!(host_of(&fixture.manager).spec.automated_cleaning_mode.as_deref(), Some("metadata"));
}

#[tokio::test(start_paused = true)]
async fn only_a_policy_opens_a_namespace() {
    let fixture = fixture().await;
    host(&fixture, "rack1").await;
    claim(&fixture, json!({"hostSelector": {"inNamespace": "metal"}})).await;
    fixture.until("no policy", |manager| said(manager, "Associated").2.contains("no HostDeployPolicy")).await;
    policy(&fixture, json!({"hasLabels": [{"name": "site", "value": "one"}]})).await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(consumer(&host_of(&fixture.manager)), None);
    let start = fixture.manager.clock().monotonic();
    fixture.patch::<Namespace>("tenant", json!({"metadata": {"labels": {"site": "one"}}})).await;
    fixture.until("the host is used", |manager| consumer(&host_of(manager)) == Some("HostClaim")).await;
    assert!(
        fixture.manager.clock().monotonic() - start < Duration::from_secs(1),
        "nothing waits for a timer"
    );
    // A host that is in use is not taken away.
    fixture.delete_in::<HostDeployPolicy>("metal", "tenants").await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(consumer(&host_of(&fixture.manager)), Some("HostClaim"));
}

#[tokio::test(start_paused = true)]
async fn a_host_does_not_get_secrets_by_naming_a_claim() {
    let fixture = fixture().await;
    policy(&fixture, json!({"names": ["tenant"]})).await;
    secret(&fixture, "tenant", "boot", "the tenant's").await;
    let name = |host: &str| {
        let reference =
            json!({"apiVersion": VERSION, "kind": "HostClaim", "name": "c", "namespace": "tenant"});
        json!({"apiVersion": VERSION, "kind": "BareMetalHost", "metadata": {"name": host, "namespace": "default"},
            "spec": {"online": true, "consumerRef": reference}})
    };
    fixture.create(name("a")).await;
    claim(&fixture, json!({"userData": {"name": "boot"}})).await;
    fixture
        .until("it waits for a host", |manager| said(manager, "Associated").2.contains("no host fits"))
        .await;
    host(&fixture, "rack1").await;
    fixture.until("it has a host", |manager| said(manager, "Associated").0 == "True").await;
    let claim = get::<HostClaim>(&fixture.manager, "tenant", "c").unwrap();
    let given = claim.status.clone().unwrap().bare_metal_host.unwrap();
    assert_eq!((given.namespace.as_str(), given.name.as_str()), ("metal", "rack1"));
    fixture.create(name("b")).await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    for host in ["a", "b"] {
        assert_eq!(content(&fixture.manager, "default", &format!("{host}-userdata")), None);
        assert!(get::<BareMetalHost>(&fixture.manager, "default", host).unwrap().spec.user_data.is_none());
    }
}

#[tokio::test(start_paused = true)]
async fn no_secret_of_the_host_s_namespace_is_read_or_overwritten() {
    let fixture = fixture().await;
    host(&fixture, "rack1").await;
    policy(&fixture, json!({"names": ["tenant"]})).await;
    secret(&fixture, "metal", "boot", "the owner's").await;
    secret(&fixture, "metal", "rack1-userdata", "the owner's").await;
    claim(&fixture, json!({"userData": {"name": "boot"}})).await;
    fixture
        .until("only its own namespace counts", |manager| {
            said(manager, "Synchronized").2.contains("Secret tenant/boot")
        })
        .await;
    secret(&fixture, "tenant", "boot", "the tenant's").await;
    fixture
        .until("the copy has no place", |manager| said(manager, "Synchronized").2.contains("somebody else"))
        .await;
    assert_eq!(content(&fixture.manager, "metal", "rack1-userdata").as_deref(), Some("the owner's"));
    assert_eq!(image(&fixture.manager), None);
    fixture.delete_in::<HostClaim>("tenant", "c").await;
    fixture.until("the claim is gone", |manager| get::<HostClaim>(manager, "tenant", "c").is_none()).await;
    assert_eq!(content(&fixture.manager, "metal", "rack1-userdata").as_deref(), Some("the owner's"));
}

#[tokio::test(start_paused = true)]
async fn a_paused_claim_pauses_its_host_and_a_reboot_is_passed_on_once() {
    let fixture = fixture().await;
    host(&fixture, "rack1").await;
    policy(&fixture, json!({})).await;
    claim(&fixture, json!({})).await;
    fixture.until("the host has the image", |manager| image(manager).is_some()).await;
    becomes(&fixture, "rack1", "provisioned").await;
    is_ready(&fixture).await;
    let annotate = |annotations: Value| json!({"metadata": {"annotations": annotations}});
    fixture.patch_in::<HostClaim>("tenant", "c", annotate(json!({REBOOT: ""}))).await;
    fixture
        .until("the host reboots", |manager| annotation(host_of(manager).as_ref(), REBOOT).is_some())
        .await;
    let is_taken = |manager: &Manager| {
        annotation(get::<HostClaim>(manager, "tenant", "c").unwrap().as_ref(), REBOOT).is_none()
    };
    fixture.until("the claim asks no longer", is_taken).await;
    fixture.patch_in::<BareMetalHost>("metal", "rack1", annotate(json!({REBOOT: null}))).await;
    fixture.patch_in::<HostClaim>("tenant", "c", annotate(json!({"cluster.x-k8s.io/paused": ""}))).await;
    let paused = |manager: &Manager| annotation(host_of(manager).as_ref(), PAUSED).map(str::to_owned);
    fixture
        .until("the host is paused", |manager| paused(manager).as_deref() == Some("metal3.io/hostclaim"))
        .await;
    fixture.patch_in::<HostClaim>("tenant", "c", annotate(json!({"cluster.x-k8s.io/paused": null}))).await;
    fixture.until("the host goes on", |manager| paused(manager).is_none()).await;
    assert_eq!(annotation(host_of(&fixture.manager).as_ref(), REBOOT), None);
}

#[tokio::test(start_paused = true)]
async fn a_reboot_is_passed_on_once_whatever_fails_after_it() {
    let fixture = fixture().await;
    host(&fixture, "rack1").await;
    policy(&fixture, json!({})).await;
    secret(&fixture, "tenant", "boot", "one").await;
    claim(&fixture, json!({"userData": {"name": "boot"}})).await;
    fixture.until("the host has the image", |manager| image(manager).is_some()).await;
    becomes(&fixture, "rack1", "provisioned").await;
    is_ready(&fixture).await;
    fixture.requests.refuse(Some("DELETE /api/v1/namespaces/metal/secrets/rack1-userdata"));
    let annotate = |value: Value| json!({"metadata": {"annotations": {REBOOT: value}}});
    let mut asked = annotate(json!(""));
    asked["spec"] = json!({"userData": null});
    fixture.patch_in::<HostClaim>("tenant", "c", asked).await;
    let reboots = |manager: &Manager| annotation(host_of(manager).as_ref(), REBOOT).is_some();
    fixture.until("the host reboots", reboots).await;
    fixture.patch_in::<BareMetalHost>("metal", "rack1", annotate(Value::Null)).await;
    fixture
        .until("the copy cannot be deleted", |manager| said(manager, "Synchronized").2.contains("refuses"))
        .await;
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert!(content(&fixture.manager, "metal", "rack1-userdata").is_some());
    assert!(!reboots(&fixture.manager), "one reboot");
    fixture.requests.refuse(None);
    fixture
        .until("the copy is deleted", |manager| content(manager, "metal", "rack1-userdata").is_none())
        .await;
}

/// Creates a Metal3Machine that waits for a host of `metal`.
async fn machine(fixture: &Fixture) {
    let metadata = |name: &str| json!({"name": name, "namespace": "metal"});
    let api = "cluster.x-k8s.io/v1beta2";
    let reference = |kind: &str, name: &str| json!({"apiGroup": INFRASTRUCTURE, "kind": kind, "name": name});
    fixture
        .create(json!({"apiVersion": api, "kind": "Cluster", "metadata": metadata("k"),
            "spec": {"infrastructureRef": reference("Metal3Cluster", "k")},
            "status": {"initialization": {"infrastructureProvisioned": true}}}))
        .await;
    let infrastructure = format!("{INFRASTRUCTURE}/v1beta2");
    fixture
        .create(json!({"apiVersion": infrastructure, "kind": "Metal3Cluster", "metadata": metadata("k"),
            "spec": {"controlPlaneEndpoint": {"host": "10.0.0.10", "port": 6443}}}))
        .await;
    let machine = fixture
        .create(json!({"apiVersion": api, "kind": "Machine", "metadata": metadata("m"), "spec": {"clusterName": "k",
            "bootstrap": {"dataSecretName": "boot"}, "infrastructureRef": reference("Metal3Machine", "m")}}))
        .await;
    let owner = json!({"apiVersion": api, "kind": "Machine", "name": "m", "uid": machine.metadata.uid, "controller": true});
    fixture
        .create(json!({"apiVersion": infrastructure, "kind": "Metal3Machine",
            "metadata": {"name": "m", "namespace": "metal", "ownerReferences": [owner]},
            "spec": {"image": {"url": IMAGE, "checksum": "abc"}}}))
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_host_has_one_consumer_of_either_kind() {
    let fixture = fixture().await;
    policy(&fixture, json!({"names": ["tenant"]})).await;
    machine(&fixture).await;
    claim(&fixture, json!({})).await;
    fixture.until("the claim waits", |manager| said(manager, "Associated").1 == "NoBareMetalHost").await;
    let machine = |manager: &Manager| {
        let machine = get::<Metal3Machine>(manager, "metal", "m");
        machine.and_then(|machine| machine.condition("AssociateBareMetalHost").cloned()).unwrap_or_default()
    };
    fixture
        .until("the machine waits", |manager| machine(manager).reason == "AssociateBareMetalHostFailed")
        .await;
    // Both want the host at the same time.
    host(&fixture, "rack1").await;
    fixture
        .until("one has it, and the other says so", |manager| {
            let taken = "is used by another consumer";
            match consumer(&host_of(manager)) {
                Some("HostClaim") => machine(manager).message.contains(taken),
                Some(_) => said(manager, "Associated").2.contains(taken) && machine(manager).status == "True",
                None => false,
            }
        })
        .await;
    let first = consumer(&host_of(&fixture.manager)).map(str::to_owned);
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert_eq!(consumer(&host_of(&fixture.manager)), first.as_deref());
    host(&fixture, "rack2").await;
    fixture
        .until("both have a host", |manager| {
            machine(manager).status == "True" && said(manager, "Associated").0 == "True"
        })
        .await;
}
