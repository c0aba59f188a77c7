//! Volumes of claims, as folders in the nodes.
#![allow(clippy::unwrap_used, missing_docs, reason = "a test")]

use std::sync::Arc;
use std::time::Duration;

use container_machines::storage::{Observed, Step, plan};
use k8s_openapi::api::core::v1::{Event, PersistentVolume, PersistentVolumeClaim};
use k8s_openapi::api::storage::v1::StorageClass;
use kube::api::{Api, Patch, PatchParams, PostParams};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use test_plane::Fixture;

use crate::containers_machines::fixture::{cluster, fixture, is_ready, machine};
use crate::containers_machines::host::Host;

const NAME: &str = "first-cp-1";

fn object<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

fn class(provisioner: &str, mode: &str) -> StorageClass {
    object(json!({"metadata": {"name": "standard"}, "provisioner": provisioner, "volumeBindingMode": mode}))
}

/// Returns a fixture with a node, and a host in whose cluster a class has this provisioner.
async fn with_class(provisioner: &str) -> (Fixture, Host) {
    let (fixture, host) = fixture().await;
    cluster(&fixture, "default").await;
    machine(&fixture, "default", NAME, json!({})).await;
    fixture.until("it is ready", |manager| is_ready(manager, NAME)).await;
    let class = class(provisioner, "WaitForFirstConsumer");
    Api::all(host.workload()).create(&PostParams::default(), &class).await.unwrap();
    (fixture, host)
}

/// Creates a claim that the scheduler has put on a node.
async fn claim(host: &Host, name: &str, node: &str, mode: &str) -> PersistentVolumeClaim {
    let claim: PersistentVolumeClaim = object(json!({
        "metadata": {"name": name, "annotations": {"volume.kubernetes.io/selected-node": node}},
        "spec": {"storageClassName": "standard", "accessModes": [mode],
            "resources": {"requests": {"storage": "1Gi"}}},
    }));
    Api::namespaced(host.workload(), "default").create(&PostParams::default(), &claim).await.unwrap()
}

/// Returns the events about a claim: reason, message and how often.
async fn told(host: &Host, claim: &str) -> Vec<(String, String, i32)> {
    let events: Api<Event> = Api::namespaced(host.workload(), "default");
    let events = events.list(&Default::default()).await.unwrap().items.into_iter();
    let of_claim = events.filter(|event| event.involved_object.name.as_deref() == Some(claim));
    let told = of_claim.map(|event| (event.reason.unwrap(), event.message.unwrap(), event.count.unwrap()));
    told.collect()
}

/// What was done with folders in nodes.
fn folders(host: &Host) -> Vec<String> {
    let is_folder = |change: &&String| change.starts_with("mkdir ") || change.starts_with("rm ");
    host.with(|contents| contents.changes.iter().filter(is_folder).cloned().collect())
}

#[tokio::test(start_paused = true)]
async fn a_claim_gets_a_folder_in_its_node_which_goes_with_it() {
    let (fixture, host) = with_class("firstlight.dev/node-storage").await;
    let made = claim(&host, "data", NAME, "ReadWriteOnce").await;
    let name = format!("pvc-{}", made.metadata.uid.unwrap());
    let path = format!("/var/local-path-provisioner/{name}");
    fixture.until("a folder", |_| !folders(&host).is_empty()).await;
    let volumes: Api<PersistentVolume> = Api::all(host.workload());
    tokio::time::sleep(Duration::from_secs(30)).await;
    assert_eq!(folders(&host), [format!("mkdir {path} in {NAME}")], "once, and no other");
    assert_eq!(told(&host, "data").await, []);
    let spec = volumes.get(&name).await.unwrap().spec.unwrap();
    assert_eq!(spec.local.unwrap().path, path);
    assert_eq!(spec.claim_ref.unwrap().name.as_deref(), Some("data"));
    assert_eq!(spec.capacity.unwrap()["storage"].0, "1Gi");
    let released = Patch::Merge(json!({"status": {"phase": "Released"}}));
    volumes.patch(&name, &PatchParams::default(), &released).await.unwrap();
    Api::<PersistentVolumeClaim>::namespaced(host.workload(), "default")
        .delete("data", &Default::default())
        .await
        .unwrap();
    fixture.until("its removal", |_| folders(&host).len() == 2).await;
    tokio::time::sleep(Duration::from_secs(30)).await;
    assert_eq!(folders(&host)[1..], [format!("rm {path} in {NAME}")]);
    assert!(volumes.get_opt(&name).await.unwrap().is_none());
    fixture.manager.stop().await;
}

#[tokio::test(start_paused = true)]
async fn claims_of_other_provisioners_are_left_alone() {
    let (fixture, host) = with_class("rancher.io/local-path").await;
    claim(&host, "data", NAME, "ReadWriteOnce").await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(folders(&host), [""; 0]);
    fixture.manager.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_claim_that_gets_no_volume_is_told_once_why() {
    let (fixture, host) = with_class("firstlight.dev/node-storage").await;
    claim(&host, "shared", NAME, "ReadWriteMany").await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    let expected = "spec.accessModes has ReadWriteMany, but a volume is in one node: ask for ReadWriteOnce or ReadWriteOncePod. \
        Then create the claim again: it cannot be changed";
    assert_eq!(
        told(&host, "shared").await,
        [("ProvisioningFailed".to_owned(), expected.to_owned(), 1)],
        "once, and nothing else"
    );
    assert_eq!(folders(&host), [""; 0]);
    fixture.manager.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_claim_waits_for_a_node_that_does_not_run_and_is_told() {
    let (fixture, host) = with_class("firstlight.dev/node-storage").await;
    host.with(|contents| contents.pause(NAME));
    claim(&host, "data", NAME, "ReadWriteOnce").await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    let said = told(&host, "data").await;
    assert!(
        said.len() == 1 && said[0].1.contains("node first-cp-1 does not run") && said[0].2 == 1,
        "{said:?}"
    );
    host.with(|contents| contents.start_again(NAME));
    fixture.until("its folder", |_| folders(&host).len() == 1).await;
    fixture.manager.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_claim_whose_node_was_replaced_is_scheduled_again() {
    const SELECTED: &str = "volume.kubernetes.io/selected-node";
    let (fixture, host) = with_class("firstlight.dev/node-storage").await;
    claim(&host, "data", "first-md-1", "ReadWriteOnce").await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    let claims: Api<PersistentVolumeClaim> = Api::namespaced(host.workload(), "default");
    let annotations = claims.get("data").await.unwrap().metadata.annotations.unwrap_or_default();
    assert_eq!(annotations.get(SELECTED), None, "the scheduler may choose another node");
    let text = "node first-md-1 is gone: the scheduler chooses another one".to_owned();
    assert_eq!(told(&host, "data").await, [("ProvisioningFailed".to_owned(), text, 1)]);
    let chosen = Patch::Merge(json!({"metadata": {"annotations": {SELECTED: NAME}}}));
    claims.patch("data", &PatchParams::default(), &chosen).await.unwrap();
    fixture.until("a folder", |_| folders(&host).len() == 1).await;
    fixture.manager.stop().await;
}

/// Merges `patch` (RFC 7386) into `target`.
fn merge(target: &mut Value, patch: &Value) {
    let Some(patch) = patch.as_object() else { return target.clone_from(patch) };
    for (key, value) in patch {
        match value {
            Value::Null => drop(target.as_object_mut().unwrap().remove(key)),
            value if value.is_object() && target[key].is_object() => merge(&mut target[key], value),
            value => target[key] = value.clone(),
        }
    }
}

/// Returns what is done for a claim with these changes, of a class with this binding mode, in a cluster where `a` is a node with a container and
/// `b` a Node without one.
fn done(mode: &str, changes: Value) -> String {
    let mut claim = json!({
        "metadata": {"name": "data", "namespace": "default", "uid": "u",
            "annotations": {"volume.kubernetes.io/selected-node": "a"}},
        "spec": {"storageClassName": "standard", "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}}},
    });
    merge(&mut claim, &changes);
    let observed = Observed {
        classes: vec![Arc::new(class("firstlight.dev/node-storage", mode))],
        claims: vec![Arc::new(object(claim))],
        nodes: ["a".to_owned()].into(),
        joined: ["a".to_owned(), "b".to_owned()].into(),
        ..Observed::default()
    };
    let steps = plan(&observed);
    let told = steps.iter().map(|step| match step {
        Step::Make { node, volume, .. } => format!("{} in {node}", volume.metadata.name.as_deref().unwrap()),
        Step::Refuse { why, .. } => why.clone(),
        Step::Reschedule { node, .. } => format!("not in {node}"),
        Step::Remove { .. } => "removal".to_owned(),
    });
    told.collect::<Vec<_>>().join(" and ")
}

#[test]
fn what_a_claim_gets() {
    const WAITS: &str = "WaitForFirstConsumer";
    const AGAIN: &str = ". Then create the claim again: it cannot be changed";
    let selected =
        |node: Value| json!({"metadata": {"annotations": {"volume.kubernetes.io/selected-node": node}}});
    let asked = json!({"metadata": {"annotations": {"volume.kubernetes.io/selected-node": null,
        "volume.kubernetes.io/storage-provisioner": "firstlight.dev/node-storage"}}});
    let spec = |spec: Value| json!({"spec": spec});
    let data = json!({"kind": "PersistentVolumeClaim", "name": "other"});
    let rows = [
        ("a volume", WAITS, json!({}), "pvc-u in a"),
        ("one for a single Pod", WAITS, spec(json!({"accessModes": ["ReadWriteOncePod"]})), "pvc-u in a"),
        ("no node yet: Kubernetes says so", WAITS, selected(Value::Null), ""),
        ("an empty one", WAITS, selected("".into()), ""),
        ("asked for before, and scheduled again", WAITS, asked.clone(), ""),
        ("another class", WAITS, spec(json!({"storageClassName": "other"})), ""),
        ("no class", WAITS, spec(json!({"storageClassName": null})), ""),
        ("bound", WAITS, spec(json!({"volumeName": "pvc-u"})), ""),
        ("deleted", WAITS, json!({"metadata": {"deletionTimestamp": "2026-11-21T00:00:00Z"}}), ""),
        ("a node that is gone", WAITS, selected("c".into()), "not in c"),
        (
            "a node of somebody else",
            WAITS,
            selected("b".into()),
            "node b is none of this cluster's DevMachines with the Docker backend: let its Pod run on one of these",
        ),
        ("a class that does not wait, and Kubernetes has not asked", "Immediate", selected(Value::Null), ""),
        (
            "a class that does not wait",
            "Immediate",
            asked,
            "no node was chosen, because the StorageClass standard has volumeBindingMode Immediate: make one with WaitForFirstConsumer",
        ),
        (
            "modes",
            WAITS,
            spec(json!({"accessModes": ["ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany"]})),
            "spec.accessModes has ReadOnlyMany, ReadWriteMany, but a volume is in one node: ask for ReadWriteOnce or ReadWriteOncePod",
        ),
        (
            "a block device",
            WAITS,
            spec(json!({"volumeMode": "Block"})),
            "spec.volumeMode is Block, but a volume is a folder: ask for Filesystem",
        ),
        (
            "a selector",
            WAITS,
            spec(json!({"selector": {}})),
            "spec.selector selects no new volume, only one that somebody creates: leave it out",
        ),
        (
            "a source",
            WAITS,
            spec(json!({"dataSource": data})),
            "spec.dataSource and spec.dataSourceRef are not supported, a volume is empty at first: leave them out",
        ),
        (
            "another source",
            WAITS,
            spec(json!({"dataSourceRef": data})),
            "spec.dataSource and spec.dataSourceRef are not supported, a volume is empty at first: leave them out",
        ),
        (
            "everything at once, whatever the node",
            WAITS,
            json!({"metadata": selected("c".into())["metadata"], "spec": {"volumeMode": "Block", "selector": {}}}),
            "spec.volumeMode is Block, but a volume is a folder: ask for Filesystem; \
             spec.selector selects no new volume, only one that somebody creates: leave it out",
        ),
    ];
    for (what, mode, changes, expected) in rows {
        let refused = expected.contains("spec.") || expected.contains("StorageClass");
        let expected = if refused { format!("{expected}{AGAIN}") } else { expected.to_owned() };
        assert_eq!(done(mode, changes), expected, "{what}");
    }
}

#[test]
fn which_volumes_are_removed() {
    let rows = [
        ("released", "firstlight.dev/node-storage", "a", "Delete", "Released", Some(Some("a"))),
        ("its node is gone", "firstlight.dev/node-storage", "c", "Delete", "Released", Some(None)),
        ("kept", "firstlight.dev/node-storage", "a", "Retain", "Released", None),
        ("bound", "firstlight.dev/node-storage", "a", "Delete", "Bound", None),
        ("of another provisioner", "rancher.io/local-path", "a", "Delete", "Released", None),
    ];
    for (what, provisioner, node, policy, phase, expected) in rows {
        let volume: PersistentVolume = object(json!({
            "metadata": {"name": "v", "annotations":
                {"pv.kubernetes.io/provisioned-by": provisioner, "firstlight.dev/node": node}},
            "spec": {"persistentVolumeReclaimPolicy": policy},
            "status": {"phase": phase},
        }));
        let (volumes, nodes) = (vec![Arc::new(volume)], ["a".to_owned()].into());
        let steps = plan(&Observed { volumes, nodes, ..Observed::default() });
        let removed = steps.first().map(|step| match step {
            Step::Remove { node, .. } => node.as_deref(),
            other => panic!("{what}: {other:?}"),
        });
        assert_eq!((removed, steps.len()), (expected, usize::from(expected.is_some())), "{what}");
    }
}
