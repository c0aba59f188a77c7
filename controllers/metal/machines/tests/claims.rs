//! HostClaims of a tenant get hosts of another namespace, if a policy admits them, and return them.
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
use test_plane::World;

use crate::metal_machines::fixture::{
    IMAGE, VERSION, becomes, change, claim, consumer, content, get, host, host_of, image, is_ready, policy,
    said, secret, world,
};

const INFRASTRUCTURE: &str = "infrastructure.cluster.x-k8s.io";

#[tokio::test(start_paused = true)]
async fn a_claim_gets_a_host_changes_its_image_and_returns_it() {
    let world = world().await;
    host(&world, "rack1").await;
    policy(&world, json!({"names": ["tenant"]})).await;
    let start = world.manager.clock().monotonic();
    claim(&world, json!({"userData": {"name": "boot"}})).await;
    world
        .until("it waits for its Secret", |manager| {
            said(manager, "Synchronized").1 == "UserDataSecretSyncFailure"
        })
        .await;
    assert_eq!((consumer(&host_of(&world.manager)), image(&world.manager)), (Some("HostClaim"), None));
    secret(&world, "tenant", "boot", "one").await;
    world.until("the host has the image", |manager| image(manager).is_some()).await;
    assert_eq!(content(&world.manager, "metal", "rack1-userdata").as_deref(), Some("one"));
    assert_eq!(
        host_of(&world.manager).spec.user_data.as_ref().unwrap().name.as_deref(),
        Some("rack1-userdata")
    );
    becomes(&world, "rack1", "provisioned").await;
    is_ready(&world).await;
    let waited = world.manager.clock().monotonic() - start;
    assert!(waited < Duration::from_secs(1), "nothing waits for a timer: {waited:?}");
    let writes = world.requests.writes();
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert_eq!(world.requests.writes(), writes, "nothing is written at rest");

    world.patch_in::<Secret>("tenant", "boot", json!({"stringData": {"userData": "two"}})).await;
    world
        .until("the copy follows", |manager| {
            content(manager, "metal", "rack1-userdata").as_deref() == Some("two")
        })
        .await;
    change(&world, json!({"image": {"url": "http://images/newer.raw"}})).await;
    world.until("the change is refused", |manager| said(manager, "Synchronized").0 == "False").await;
    assert_eq!(image(&world.manager).as_deref(), Some(IMAGE));
    change(&world, json!({"image": null})).await;
    world.until("the image is removed", |manager| image(manager).is_none()).await;
    becomes(&world, "rack1", "available").await;
    change(&world, json!({"image": {"url": "http://images/newer.raw", "checksum": "abc"}})).await;
    world.until("the host has the new image", |manager| image(manager).is_some()).await;
    becomes(&world, "rack1", "provisioned").await;
    is_ready(&world).await;

    world.delete_in::<HostClaim>("tenant", "c").await;
    world.until("the host is emptied", |manager| image(manager).is_none()).await;
    world.until("the copy is deleted", |manager| content(manager, "metal", "rack1-userdata").is_none()).await;
    becomes(&world, "rack1", "deprovisioning").await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert!(consumer(&host_of(&world.manager)).is_some(), "it is released after it is cleaned");
    becomes(&world, "rack1", "available").await;
    world.until("the host is free", |manager| consumer(&host_of(manager)).is_none()).await;
    world.until("the claim is gone", |manager| get::<HostClaim>(manager, "tenant", "c").is_none()).await;
    assert_eq!(host_of(&world.manager).spec.automated_cleaning_mode.as_deref(), Some("metadata"));
}

#[tokio::test(start_paused = true)]
async fn only_a_policy_opens_a_namespace() {
    let world = world().await;
    host(&world, "rack1").await;
    claim(&world, json!({"hostSelector": {"inNamespace": "metal"}})).await;
    world.until("no policy", |manager| said(manager, "Associated").2.contains("no HostDeployPolicy")).await;
    policy(&world, json!({"hasLabels": [{"name": "site", "value": "one"}]})).await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(consumer(&host_of(&world.manager)), None);
    let start = world.manager.clock().monotonic();
    world.patch::<Namespace>("tenant", json!({"metadata": {"labels": {"site": "one"}}})).await;
    world.until("the host is used", |manager| consumer(&host_of(manager)) == Some("HostClaim")).await;
    assert!(world.manager.clock().monotonic() - start < Duration::from_secs(1), "nothing waits for a timer");
    // A host that is in use is not taken away.
    world.delete_in::<HostDeployPolicy>("metal", "tenants").await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(consumer(&host_of(&world.manager)), Some("HostClaim"));
}

#[tokio::test(start_paused = true)]
async fn a_host_does_not_get_secrets_by_naming_a_claim() {
    let world = world().await;
    policy(&world, json!({"names": ["tenant"]})).await;
    secret(&world, "tenant", "boot", "the tenant's").await;
    let name = |host: &str| {
        let reference =
            json!({"apiVersion": VERSION, "kind": "HostClaim", "name": "c", "namespace": "tenant"});
        json!({"apiVersion": VERSION, "kind": "BareMetalHost", "metadata": {"name": host, "namespace": "default"},
            "spec": {"online": true, "consumerRef": reference}})
    };
    world.create(name("a")).await;
    claim(&world, json!({"userData": {"name": "boot"}})).await;
    world
        .until("it waits for a host", |manager| said(manager, "Associated").2.contains("no host fits"))
        .await;
    host(&world, "rack1").await;
    world.until("it has a host", |manager| said(manager, "Associated").0 == "True").await;
    let claim = get::<HostClaim>(&world.manager, "tenant", "c").unwrap();
    let given = claim.status.clone().unwrap().bare_metal_host.unwrap();
    assert_eq!((given.namespace.as_str(), given.name.as_str()), ("metal", "rack1"));
    world.create(name("b")).await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    for host in ["a", "b"] {
        assert_eq!(content(&world.manager, "default", &format!("{host}-userdata")), None);
        assert!(get::<BareMetalHost>(&world.manager, "default", host).unwrap().spec.user_data.is_none());
    }
}

#[tokio::test(start_paused = true)]
async fn no_secret_of_the_host_s_namespace_is_read_or_overwritten() {
    let world = world().await;
    host(&world, "rack1").await;
    policy(&world, json!({"names": ["tenant"]})).await;
    secret(&world, "metal", "boot", "the owner's").await;
    secret(&world, "metal", "rack1-userdata", "the owner's").await;
    claim(&world, json!({"userData": {"name": "boot"}})).await;
    world
        .until("only its own namespace counts", |manager| {
            said(manager, "Synchronized").2.contains("Secret tenant/boot")
        })
        .await;
    secret(&world, "tenant", "boot", "the tenant's").await;
    world
        .until("the copy has no place", |manager| said(manager, "Synchronized").2.contains("somebody else"))
        .await;
    assert_eq!(content(&world.manager, "metal", "rack1-userdata").as_deref(), Some("the owner's"));
    assert_eq!(image(&world.manager), None);
    world.delete_in::<HostClaim>("tenant", "c").await;
    world.until("the claim is gone", |manager| get::<HostClaim>(manager, "tenant", "c").is_none()).await;
    assert_eq!(content(&world.manager, "metal", "rack1-userdata").as_deref(), Some("the owner's"));
}

#[tokio::test(start_paused = true)]
async fn a_paused_claim_pauses_its_host_and_a_reboot_is_passed_on_once() {
    let world = world().await;
    host(&world, "rack1").await;
    policy(&world, json!({})).await;
    claim(&world, json!({})).await;
    world.until("the host has the image", |manager| image(manager).is_some()).await;
    becomes(&world, "rack1", "provisioned").await;
    is_ready(&world).await;
    let annotate = |annotations: Value| json!({"metadata": {"annotations": annotations}});
    world.patch_in::<HostClaim>("tenant", "c", annotate(json!({REBOOT: ""}))).await;
    world.until("the host reboots", |manager| annotation(host_of(manager).as_ref(), REBOOT).is_some()).await;
    let is_taken = |manager: &Manager| {
        annotation(get::<HostClaim>(manager, "tenant", "c").unwrap().as_ref(), REBOOT).is_none()
    };
    world.until("the claim asks no longer", is_taken).await;
    world.patch_in::<BareMetalHost>("metal", "rack1", annotate(json!({REBOOT: null}))).await;
    world.patch_in::<HostClaim>("tenant", "c", annotate(json!({"cluster.x-k8s.io/paused": ""}))).await;
    let paused = |manager: &Manager| annotation(host_of(manager).as_ref(), PAUSED).map(str::to_owned);
    world
        .until("the host is paused", |manager| paused(manager).as_deref() == Some("metal3.io/hostclaim"))
        .await;
    world.patch_in::<HostClaim>("tenant", "c", annotate(json!({"cluster.x-k8s.io/paused": null}))).await;
    world.until("the host goes on", |manager| paused(manager).is_none()).await;
    assert_eq!(annotation(host_of(&world.manager).as_ref(), REBOOT), None);
}

#[tokio::test(start_paused = true)]
async fn a_reboot_is_passed_on_once_whatever_fails_after_it() {
    let world = world().await;
    host(&world, "rack1").await;
    policy(&world, json!({})).await;
    secret(&world, "tenant", "boot", "one").await;
    claim(&world, json!({"userData": {"name": "boot"}})).await;
    world.until("the host has the image", |manager| image(manager).is_some()).await;
    becomes(&world, "rack1", "provisioned").await;
    is_ready(&world).await;
    world.requests.refuse(Some("DELETE /api/v1/namespaces/metal/secrets/rack1-userdata"));
    let annotate = |value: Value| json!({"metadata": {"annotations": {REBOOT: value}}});
    let mut asked = annotate(json!(""));
    asked["spec"] = json!({"userData": null});
    world.patch_in::<HostClaim>("tenant", "c", asked).await;
    let reboots = |manager: &Manager| annotation(host_of(manager).as_ref(), REBOOT).is_some();
    world.until("the host reboots", reboots).await;
    world.patch_in::<BareMetalHost>("metal", "rack1", annotate(Value::Null)).await;
    world
        .until("the copy cannot be deleted", |manager| said(manager, "Synchronized").2.contains("refuses"))
        .await;
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert!(content(&world.manager, "metal", "rack1-userdata").is_some());
    assert!(!reboots(&world.manager), "one reboot");
    world.requests.refuse(None);
    world.until("the copy is deleted", |manager| content(manager, "metal", "rack1-userdata").is_none()).await;
}

/// Creates a Metal3Machine that waits for a host of `metal`.
async fn machine(world: &World) {
    let metadata = |name: &str| json!({"name": name, "namespace": "metal"});
    let api = "cluster.x-k8s.io/v1beta2";
    let reference = |kind: &str, name: &str| json!({"apiGroup": INFRASTRUCTURE, "kind": kind, "name": name});
    world
        .create(json!({"apiVersion": api, "kind": "Cluster", "metadata": metadata("k"),
            "spec": {"infrastructureRef": reference("Metal3Cluster", "k")},
            "status": {"initialization": {"infrastructureProvisioned": true}}}))
        .await;
    let infrastructure = format!("{INFRASTRUCTURE}/v1beta2");
    world
        .create(json!({"apiVersion": infrastructure, "kind": "Metal3Cluster", "metadata": metadata("k"),
            "spec": {"controlPlaneEndpoint": {"host": "10.0.0.10", "port": 6443}}}))
        .await;
    let machine = world
        .create(json!({"apiVersion": api, "kind": "Machine", "metadata": metadata("m"), "spec": {"clusterName": "k",
            "bootstrap": {"dataSecretName": "boot"}, "infrastructureRef": reference("Metal3Machine", "m")}}))
        .await;
    let owner = json!({"apiVersion": api, "kind": "Machine", "name": "m", "uid": machine.metadata.uid, "controller": true});
    world
        .create(json!({"apiVersion": infrastructure, "kind": "Metal3Machine",
            "metadata": {"name": "m", "namespace": "metal", "ownerReferences": [owner]},
            "spec": {"image": {"url": IMAGE, "checksum": "abc"}}}))
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_host_has_one_consumer_of_either_kind() {
    let world = world().await;
    policy(&world, json!({"names": ["tenant"]})).await;
    machine(&world).await;
    claim(&world, json!({})).await;
    world.until("the claim waits", |manager| said(manager, "Associated").1 == "NoBareMetalHost").await;
    let machine = |manager: &Manager| {
        let machine = get::<Metal3Machine>(manager, "metal", "m");
        machine.and_then(|machine| machine.condition("AssociateBareMetalHost").cloned()).unwrap_or_default()
    };
    world
        .until("the machine waits", |manager| machine(manager).reason == "AssociateBareMetalHostFailed")
        .await;
    // Both want the host at the same time.
    host(&world, "rack1").await;
    world
        .until("one has it, and the other says so", |manager| {
            let taken = "is used by another consumer";
            match consumer(&host_of(manager)) {
                Some("HostClaim") => machine(manager).message.contains(taken),
                Some(_) => said(manager, "Associated").2.contains(taken) && machine(manager).status == "True",
                None => false,
            }
        })
        .await;
    let first = consumer(&host_of(&world.manager)).map(str::to_owned);
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert_eq!(consumer(&host_of(&world.manager)), first.as_deref());
    host(&world, "rack2").await;
    world
        .until("both have a host", |manager| {
            machine(manager).status == "True" && said(manager, "Associated").0 == "True"
        })
        .await;
}
