//! Foreground deletion of objects that own each other.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::time::Duration;

use registry::{Context, DeleteOptions, PatchBody, Propagation, Registry, Served, Subresource};
use serde_json::{Value, json};

use crate::registry::housekeeping::{create, delete, gone, map, maps, open, owned_by};

/// Lets an object own another one, which blocks its deletion.
async fn own(registry: &Registry, (served, namespace, name): (&Served, &str, &str), owners: Value) {
    let patch = json!({"metadata": {"ownerReferences": owners}});
    let patch = PatchBody::Merge(patch.to_string().into());
    registry.patch(&mut Context::default(), served, namespace, name, Subresource::None, patch).await.unwrap();
}

/// Creates ConfigMaps of which each owns the next one, and the last one the first one. Returns their names.
async fn ring(registry: &Registry, size: usize) -> Vec<String> {
    let names: Vec<String> = (0..size).map(|number| format!("m{number}")).collect();
    let mut objects = Vec::new();
    for name in &names {
        objects.push(map(registry, "default", name, Value::Null).await);
    }
    for (owner, name) in objects.iter().zip(names.iter().cycle().skip(1)) {
        own(registry, (&maps(registry), "default", name), owned_by(owner)).await;
    }
    names
}

async fn all_gone(registry: &Registry, names: &[String]) {
    let waiting = async {
        for name in names {
            gone(registry, &maps(registry), "default", name).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(4), waiting).await.expect("nobody waits for another one");
}

#[tokio::test(start_paused = true)]
async fn objects_that_own_each_other_are_deleted() {
    for size in [1, 2, 3, 5] {
        let registry = open().await;
        let names = ring(&registry, size).await;
        delete(&registry, &maps(&registry), "default", &names[0], Propagation::Foreground).await;
        all_gone(&registry, &names).await;
    }
}

/// Then no object of the ring is left that is not in foreground deletion.
#[tokio::test(start_paused = true)]
async fn rings_whose_objects_are_all_deleted_at_once() {
    let registry = open().await;
    let names = ring(&registry, 3).await;
    let maps = maps(&registry);
    let options = DeleteOptions { propagation: Some(Propagation::Foreground), ..DeleteOptions::default() };
    for name in &names {
        registry.delete(&mut Context::default(), &maps, "default", name, &options).await.unwrap();
    }
    all_gone(&registry, &names).await;
}

#[tokio::test(start_paused = true)]
async fn what_depends_on_a_ring_goes_before_it() {
    let registry = open().await;
    let names = ring(&registry, 2).await;
    let owner = registry.get(&maps(&registry), "default", &names[1], Subresource::None, "").await.unwrap();
    let held = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "held",
        "finalizers": ["test.io/hold"], "ownerReferences": owned_by(&serde_json::from_slice(&owner).unwrap())}});
    create(&registry, &maps(&registry), "default", held).await;
    delete(&registry, &maps(&registry), "default", &names[0], Propagation::Foreground).await;
    gone(&registry, &maps(&registry), "default", &names[0]).await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert!(registry.get(&maps(&registry), "default", &names[1], Subresource::None, "").await.is_ok());
    let release = PatchBody::Merge(r#"{"metadata":{"finalizers":null}}"#.into());
    let mut context = Context::default();
    registry
        .patch(&mut context, &maps(&registry), "default", "held", Subresource::None, release)
        .await
        .unwrap();
    all_gone(&registry, &names).await;
}

/// A cluster-scoped object cannot have a namespaced owner: the reference never resolves, and the object stays.
#[tokio::test(start_paused = true)]
async fn a_ring_over_a_cluster_scoped_object_is_none() {
    let registry = open().await;
    let roles = registry.served("rbac.authorization.k8s.io", "v1", "clusterroles").unwrap();
    let role = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "r"}});
    let role = create(&registry, &roles, "", role).await;
    let owners = json!([{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "name": "r",
        "uid": role["metadata"]["uid"], "blockOwnerDeletion": true}]);
    let owned = map(&registry, "default", "m0", owners).await;
    own(&registry, (&roles, "", "r"), owned_by(&owned)).await;
    delete(&registry, &maps(&registry), "default", "m0", Propagation::Foreground).await;
    all_gone(&registry, &["m0".to_owned()]).await;
    assert!(registry.get(&roles, "", "r", Subresource::None, "").await.is_ok());
    // The other way round, the reference of the ConfigMap resolves.
    let owners = json!([{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "name": "r",
        "uid": role["metadata"]["uid"], "blockOwnerDeletion": true}]);
    let owned = map(&registry, "default", "m0", owners).await;
    own(&registry, (&roles, "", "r"), owned_by(&owned)).await;
    delete(&registry, &roles, "", "r", Propagation::Foreground).await;
    all_gone(&registry, &["m0".to_owned()]).await;
    gone(&registry, &roles, "", "r").await;
}
