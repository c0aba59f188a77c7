//! Manifests come into workload clusters, and what became of them is recorded.
#![allow(clippy::unwrap_used, missing_docs, reason = "a test")]

use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use schemas::addons::{ClusterResourceSet, ClusterResourceSetBinding};
use schemas::cluster::Cluster;
use serde_json::{Value, json};
use test_plane::get;

use crate::addons::support::workload::v;
use crate::addons::support::{
    cluster, config_map, fixture, is_applied, manifest, owners, recorded, said, secret, set,
};

const SECRET_TYPE: &str = "addons.cluster.x-k8s.io/resource-set";

#[tokio::test(start_paused = true)]
async fn objects_are_created_once_and_then_left_alone() {
    let fixture = fixture().await;
    let workload = cluster(&fixture, "blue").await;
    let start = fixture.manager.clock().monotonic();
    config_map(&fixture, "maps", &[manifest("one", "1"), manifest("two", "1")].join("---\n")).await;
    secret(&fixture, "secrets", SECRET_TYPE, &manifest("three", "1")).await;
    set(&fixture, "ApplyOnce", &["ConfigMap/maps", "Secret/secrets"]).await;
    fixture.until("the set is applied", is_applied).await;
    let waited = fixture.manager.clock().monotonic() - start;
    assert!(waited < Duration::from_secs(1), "nothing waits for a timer: {waited:?}");
    for name in ["one", "two", "three"] {
        assert_eq!(workload.data(name).await, v("1"), "{name}");
    }
    let entry = recorded(&fixture.manager, "blue", "secrets").unwrap();
    assert!(entry.applied && entry.hash.unwrap().starts_with("sha256:"));
    assert_eq!(owners::<ClusterResourceSetBinding>(&fixture.manager, "blue"), ["set"]);
    assert_eq!(owners::<ConfigMap>(&fixture.manager, "maps"), ["set"]);
    assert_eq!(owners::<Secret>(&fixture.manager, "secrets"), ["set"]);

    let writes = fixture.requests.writes();
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert_eq!(fixture.requests.writes(), writes, "nothing is written at rest");

    fixture.patch::<ConfigMap>("maps", json!({"data": {"k": manifest("one", "2")}})).await;
    workload.config_maps().delete("two", &Default::default()).await.unwrap();
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!((workload.data("one").await, workload.data("two").await), (v("1"), Value::Null));
    assert_eq!(fixture.requests.writes(), writes);
}

#[tokio::test(start_paused = true)]
async fn objects_follow_their_manifests() {
    let fixture = fixture().await;
    let workload = cluster(&fixture, "blue").await;
    config_map(&fixture, "maps", &manifest("one", "1").replace("{v:", "{old: \"1\", v:")).await;
    set(&fixture, "Reconcile", &["ConfigMap/maps"]).await;
    fixture.until("the set is applied", is_applied).await;
    assert_eq!(workload.data("one").await, json!({"old": "1", "v": "1"}));
    workload.patch("one", json!({"metadata": {"labels": {"others": "1"}, "finalizers": ["others/f"]}})).await;
    let before = workload.config_maps().get("one").await.unwrap().metadata;

    let hash = recorded(&fixture.manager, "blue", "maps").unwrap().hash;
    fixture.patch::<ConfigMap>("maps", json!({"data": {"k": manifest("one", "2")}})).await;
    fixture
        .until("the change is recorded", |manager| recorded(manager, "blue", "maps").unwrap().hash != hash)
        .await;
    assert_eq!(workload.data("one").await, v("2"));
    let after = workload.config_maps().get("one").await.unwrap().metadata;
    assert_eq!((after.uid, after.labels, after.finalizers), (before.uid, before.labels, before.finalizers));

    // What somebody else changes stays until the manifests change.
    workload.patch("one", json!({"data": {"v": "others"}})).await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(workload.data("one").await, v("others"));
}

#[tokio::test(start_paused = true)]
async fn what_is_wrong_is_said_and_can_be_mended() {
    let fixture = fixture().await;
    let workload = cluster(&fixture, "blue").await;
    set(&fixture, "Reconcile", &["ConfigMap/maps", "Secret/secrets"]).await;
    fixture.until("there is nothing to apply yet", is_applied).await;
    assert_eq!(recorded(&fixture.manager, "blue", "maps"), None);

    secret(&fixture, "secrets", "Opaque", &manifest("two", "1")).await;
    fixture.until("the type is wrong", |manager| said(manager).1 == "WrongSecretType").await;
    config_map(&fixture, "maps", &manifest("one", "1")).await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(workload.data("one").await, Value::Null, "nothing is applied");
    fixture.delete::<Secret>("secrets").await;
    secret(&fixture, "secrets", SECRET_TYPE, &manifest("two", "1")).await;
    let is_right = |manager: &_| {
        is_applied(manager) && recorded(manager, "blue", "secrets").is_some_and(|entry| entry.applied)
    };
    fixture.until("the type is right", is_right).await;
    assert_eq!((workload.data("one").await, workload.data("two").await), (v("1"), v("1")));

    let broken = "not: [a manifest, although it is long enough";
    fixture.patch::<ConfigMap>("maps", json!({"data": {"k": broken}})).await;
    fixture.until("it cannot be read", |manager| said(manager).1 == "NotApplied").await;
    let entry = recorded(&fixture.manager, "blue", "maps").unwrap();
    assert_eq!((entry.applied, entry.hash), (false, None));
    let message = said(&fixture.manager).2;
    assert!(message.starts_with("ConfigMap maps: key \"k\", document 1: it is neither"), "{message}");
    let writes = fixture.requests.writes();
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert_eq!(fixture.requests.writes(), writes, "a mistake is not written again and again");
    fixture.patch::<ConfigMap>("maps", json!({"data": {"k": manifest("one", "2")}})).await;
    fixture.until("it can be read", is_applied).await;
    assert_eq!(workload.data("one").await, v("2"));
}

#[tokio::test(start_paused = true)]
async fn one_object_holds_up_no_other() {
    let fixture = fixture().await;
    let workload = cluster(&fixture, "blue").await;
    let generated = manifest("made", "1").replace("name: made", "generateName: made-");
    let list = format!(
        "{{apiVersion: v1, kind: List, items: [{{{}}}]}}\n",
        manifest("listed", "1").trim().replace('\n', ", ")
    );
    let nameless = "apiVersion: v1\nkind: ConfigMap\n";
    let made = async || {
        let all = workload.config_maps().list(&Default::default()).await.unwrap();
        let names = all.items.into_iter().filter_map(|object| object.metadata.name);
        names.filter(|name| name.starts_with("made-")).count()
    };
    config_map(&fixture, "maps", &[nameless, &generated, &list, &manifest("one", "1")].join("---\n")).await;
    config_map(&fixture, "empty", "").await;
    set(&fixture, "ApplyOnce", &["ConfigMap/maps", "ConfigMap/empty"]).await;
    fixture.until("one has no name", |manager| said(manager).1 == "NotApplied").await;
    let expected =
        "ConfigMap maps: key \"k\", document 1 (ConfigMap): metadata.name is missing, or is no name";
    assert_eq!(said(&fixture.manager).2, expected);
    assert_eq!((workload.data("one").await, workload.data("listed").await), (v("1"), v("1")));
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert_eq!(made().await, 1, "no further attempt creates another one");

    let named = [generated.as_str(), &manifest("one", "1")].join("---\n");
    fixture.patch::<ConfigMap>("maps", json!({"data": {"k": named}})).await;
    fixture.until("all have names", is_applied).await;
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert_eq!(made().await, 1);

    // What is wrong beside it is corrected later: it is the same one. In another resource it would be another one, and equal ones are two.
    let lost = generated.replace("namespace: default", "namespace: absent");
    config_map(&fixture, "late", &[generated.as_str(), &lost, &generated].join("---\n")).await;
    fixture
        .patch::<ClusterResourceSet>(
            "set",
            json!({"spec": {"resources": [{"kind": "ConfigMap", "name": "late"}]}}),
        )
        .await;
    fixture.until("one is refused", |manager| said(manager).2.contains("absent")).await;
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert_eq!(made().await, 3);
    let found = [generated.as_str(), &manifest("two", "1"), &generated].join("---\n");
    fixture.patch::<ConfigMap>("late", json!({"data": {"k": found}})).await;
    fixture.until("all are applied", is_applied).await;
    assert_eq!((made().await, workload.data("two").await), (3, v("1")));
}

#[tokio::test(start_paused = true)]
async fn a_secret_that_is_refused_is_not_quoted() {
    let fixture = fixture().await;
    let workload = cluster(&fixture, "blue").await;
    let bad = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: HUNTER2, namespace: default, labels: {hunter2: '!hunter2'}}\n";
    let unknown = "apiVersion: hunter2.example.org/v1\nkind: Hunter2\nmetadata: {name: hunter2}\n";
    secret(&fixture, "secrets", SECRET_TYPE, &[manifest("one", "1").as_str(), bad, unknown].join("---\n"))
        .await;
    set(&fixture, "ApplyOnce", &["Secret/secrets"]).await;
    fixture.until("it is refused", |manager| said(manager).1 == "NotApplied").await;
    let message = said(&fixture.manager).2;
    let expected = "Secret secrets: key \"k\", document 2: the workload cluster refused it: 422 Invalid, \
                    key \"k\", document 3: the workload cluster does not serve its kind";
    assert_eq!(message, expected);
    let set = get::<ClusterResourceSet>(&fixture.manager, "set").unwrap();
    let binding = get::<ClusterResourceSetBinding>(&fixture.manager, "blue").unwrap();
    let text = serde_json::to_string(&json!([set.as_ref(), binding.as_ref()])).unwrap();
    assert!(!text.to_lowercase().contains("hunter"), "{text}");
    assert_eq!(workload.data("one").await, v("1"), "the others are applied");
}

#[tokio::test(start_paused = true)]
async fn a_kind_is_applied_before_its_objects() {
    let fixture = fixture().await;
    let workload = cluster(&fixture, "blue").await;
    let thing = "apiVersion: example.org/v1\nkind: Thing\nmetadata: {name: t}\nspec: {a: 1}\n";
    let kind = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "things.example.org"},
        "spec": {
            "group": "example.org", "scope": "Cluster", "names": {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                "type": "object", "x-kubernetes-preserve-unknown-fields": true}}}],
        },
    });
    config_map(&fixture, "kinds", &format!("{thing}---\n{kind}\n")).await;
    set(&fixture, "Reconcile", &["ConfigMap/kinds"]).await;
    fixture.until("the set is applied", is_applied).await;
    let found = workload.get("/apis/example.org/v1/things/t").await.unwrap();
    assert_eq!(found["spec"], json!({"a": 1}));
}

#[tokio::test(start_paused = true)]
async fn a_silent_cluster_delays_no_other() {
    let fixture = fixture().await;
    let (blue, red) = (cluster(&fixture, "blue").await, cluster(&fixture, "red").await);
    config_map(&fixture, "maps", &manifest("one", "1")).await;
    set(&fixture, "ApplyOnce", &["ConfigMap/maps"]).await;
    fixture.until("the set is applied", is_applied).await;
    red.be_silent(true);
    let start = fixture.manager.clock().monotonic();
    config_map(&fixture, "more", &manifest("two", "1")).await;
    let resources = json!([{"kind": "ConfigMap", "name": "maps"}, {"kind": "ConfigMap", "name": "more"}]);
    fixture.patch::<ClusterResourceSet>("set", json!({"spec": {"resources": resources}})).await;
    fixture
        .until("the other cluster has it", |manager| {
            recorded(manager, "blue", "more").is_some_and(|entry| entry.applied)
        })
        .await;
    let waited = fixture.manager.clock().monotonic() - start;
    assert!(waited < Duration::from_secs(1), "{waited:?}");
    assert_eq!(blue.data("two").await, v("1"));
    fixture.until("the silence is said", |manager| said(manager).1 == "NotApplied").await;
    let message = said(&fixture.manager).2;
    let expected = "Cluster red: ConfigMap more: the workload cluster does not answer: no answer within 15 s";
    assert_eq!(message, expected);
    red.be_silent(false);
    fixture.until("it answers again", is_applied).await;
    assert_eq!(red.data("two").await, v("1"));
}

#[tokio::test(start_paused = true)]
async fn clusters_come_and_go() {
    let fixture = fixture().await;
    config_map(&fixture, "maps", &manifest("one", "1")).await;
    set(&fixture, "ApplyOnce", &["ConfigMap/maps"]).await;
    let blue = cluster(&fixture, "blue").await;
    fixture.until("the set is applied", is_applied).await;
    fixture
        .patch::<Cluster>("blue", json!({"spec": {"paused": true}, "metadata": {"labels": {"more": "yes"}}}))
        .await;
    config_map(&fixture, "more", &manifest("two", "1")).await;
    let resources = json!([{"kind": "ConfigMap", "name": "maps"}, {"kind": "ConfigMap", "name": "more"}]);
    fixture.patch::<ClusterResourceSet>("set", json!({"spec": {"resources": resources}})).await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(blue.data("two").await, Value::Null, "a paused Cluster is left alone");
    fixture.patch::<Cluster>("blue", json!({"spec": {"paused": null}})).await;
    fixture
        .until("the pause is over", |manager| {
            recorded(manager, "blue", "more").is_some_and(|entry| entry.applied)
        })
        .await;

    let red = cluster(&fixture, "red").await;
    fixture
        .until("the second Cluster has both", |manager| {
            recorded(manager, "red", "more").is_some_and(|entry| entry.applied)
        })
        .await;
    assert_eq!((red.data("one").await, red.data("two").await), (v("1"), v("1")));
    let has_binding =
        |manager: &engine::Manager, name: &str| get::<ClusterResourceSetBinding>(manager, name).is_some();
    fixture.delete::<ClusterResourceSetBinding>("red").await;
    fixture.until("a lost binding is made again", |manager| has_binding(manager, "red")).await;

    fixture.delete::<Cluster>("red").await;
    fixture.until("the binding goes with its Cluster", |manager| !has_binding(manager, "red")).await;
    fixture.delete::<ClusterResourceSet>("set").await;
    fixture
        .until("the set is gone", |manager| {
            get::<ClusterResourceSet>(manager, "set").is_none() && !has_binding(manager, "blue")
        })
        .await;
    assert_eq!(blue.data("one").await, v("1"), "objects stay");
}
