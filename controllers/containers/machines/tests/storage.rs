//! Volumes of claims, as folders in the nodes.
#![allow(clippy::unwrap_used, missing_docs, reason = "a test")]

use std::time::Duration;

use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim};
use k8s_openapi::api::storage::v1::StorageClass;
use kube::api::{Api, Patch, PatchParams, PostParams};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use test_plane::World;

use crate::containers_machines::fixture::{cluster, is_ready, machine, world};
use crate::containers_machines::host::Host;

const NAME: &str = "first-cp-1";

fn object<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

/// Returns a world with a node, and a host in whose cluster a class has this provisioner.
async fn with_class(provisioner: &str) -> (World, Host) {
    let (world, host) = world().await;
    cluster(&world, "default").await;
    machine(&world, "default", NAME, json!({})).await;
    world.until("it is ready", |manager| is_ready(manager, NAME)).await;
    let class: StorageClass = object(json!({"metadata": {"name": "standard"}, "provisioner": provisioner}));
    Api::all(host.workload()).create(&PostParams::default(), &class).await.unwrap();
    (world, host)
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

/// What was done with folders in nodes.
fn folders(host: &Host) -> Vec<String> {
    let is_folder = |change: &&String| change.starts_with("mkdir ") || change.starts_with("rm ");
    host.with(|contents| contents.changes.iter().filter(is_folder).cloned().collect())
}

#[tokio::test(start_paused = true)]
async fn a_claim_gets_a_folder_in_its_node_which_goes_with_it() {
    let (world, host) = with_class("firstlight.dev/node-storage").await;
    claim(&host, "shared", NAME, "ReadWriteMany").await;
    claim(&host, "elsewhere", "somebody-elses", "ReadWriteOnce").await;
    let made = claim(&host, "data", NAME, "ReadWriteOnce").await;
    let name = format!("pvc-{}", made.metadata.uid.unwrap());
    let path = format!("/var/local-path-provisioner/{name}");
    world.until("a folder", |_| !folders(&host).is_empty()).await;
    let volumes: Api<PersistentVolume> = Api::all(host.workload());
    tokio::time::sleep(Duration::from_secs(30)).await;
    assert_eq!(folders(&host), [format!("mkdir {path} in {NAME}")], "once, and no other");
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
    world.until("its removal", |_| folders(&host).len() == 2).await;
    tokio::time::sleep(Duration::from_secs(30)).await;
    assert_eq!(folders(&host)[1..], [format!("rm {path} in {NAME}")]);
    assert!(volumes.get_opt(&name).await.unwrap().is_none());
    world.manager.stop().await;
}

#[tokio::test(start_paused = true)]
async fn claims_of_other_provisioners_are_left_alone() {
    let (world, host) = with_class("rancher.io/local-path").await;
    claim(&host, "data", NAME, "ReadWriteOnce").await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(folders(&host), [""; 0]);
    world.manager.stop().await;
}
